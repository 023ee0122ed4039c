import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Is a member of a group until its input ends: ADDR GROUP TOPIC STRATEGY. Writes a line for each thing that happens to it. */
public class Member {
    static synchronized void tell(String what, int partition, long offset) {
        System.out.println(what + " " + partition + " " + offset);
        System.out.flush();
    }

    static Properties config(String addr, String group, String strategy) {
        Properties p = new Properties();
        p.put("bootstrap.servers", addr);
        p.put("group.id", group);
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        p.put("fetch.max.wait.ms", "200");
        p.put("key.deserializer", ByteArrayDeserializer.class);
        p.put("value.deserializer", ByteArrayDeserializer.class);
        if (strategy.equals("consumer")) {
            p.put("group.protocol", "consumer");
            return p;
        }
        p.put("session.timeout.ms", "6000");
        p.put("heartbeat.interval.ms", "200");
        p.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + Map.of(
            "range", "RangeAssignor", "roundrobin", "RoundRobinAssignor", "sticky", "StickyAssignor",
            "cooperative-sticky", "CooperativeStickyAssignor").get(strategy));
        return p;
    }

    public static void main(String[] args) throws Exception {
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config(args[0], args[1], args[3]));
        Thread main = Thread.currentThread();
        Thread input = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException e) {
                // it has ended
            }
            consumer.wakeup();
        });
        input.setDaemon(true);
        input.start();
        consumer.subscribe(List.of(args[2]), new ConsumerRebalanceListener() {
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                partitions.forEach(p -> tell("assigned", p.partition(), 0));
            }

            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                partitions.forEach(p -> tell("revoked", p.partition(), 0));
            }
        });
        try {
            while (true) {
                var records = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<byte[], byte[]> r : records) {
                    tell("seen", r.partition(), r.offset());
                }
                if (records.isEmpty()) {
                    continue;
                }
                try {
                    consumer.commitSync();
                    for (TopicPartition p : records.partitions()) {
                        var of = records.records(p);
                        tell("committed", p.partition(), of.get(of.size() - 1).offset() + 1);
                    }
                } catch (org.apache.kafka.common.errors.WakeupException e) {
                    throw e;
                } catch (KafkaException e) {
                    // what is not committed is seen again
                }
            }
        } catch (org.apache.kafka.common.errors.WakeupException e) {
            // it is to leave
        }
        consumer.close();
    }
}
