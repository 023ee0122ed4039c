package interop

import (
	"testing"

	"github.com/IBM/sarama"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// ownTries is how many records each client produces and then asks for.
const ownTries = 200

// TestSaramaOwnRecord: a record acknowledged with acks=1, which is sarama's default, is below the newest offset at once, and
// an admin may delete up to it.
func TestSaramaOwnRecord(t *testing.T) {
	s := shopify{addr: startBroker(t), version: sarama.MaxVersion}
	c := s.config()
	c.Producer.RequiredAcks = sarama.WaitForLocal
	client, err := sarama.NewClient([]string{s.addr}, c)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for range ownTries {
		_, offset, err := producer.SendMessage(&sarama.ProducerMessage{Topic: "own", Value: sarama.StringEncoder("v")})
		if err != nil {
			t.Fatal(err)
		}
		if newest, err := client.GetOffset("own", 0, sarama.OffsetNewest); err != nil || newest != offset+1 {
			t.Errorf("after record %d the newest offset is %d, %v", offset, newest, err)
		}
		if offset%10 != 0 {
			continue
		}
		err = s.admin(func(a sarama.ClusterAdmin) error { return a.DeleteRecords("own", map[int32]int64{0: offset + 1}) })
		if err != nil {
			t.Errorf("delete the records up to %d: %v", offset, err)
		}
	}
}

// TestLibrdkafkaOwnRecord: the same of librdkafka with acks=1.
func TestLibrdkafkaOwnRecord(t *testing.T) {
	l := librdkafka{addr: startBroker(t)}
	p, err := kafka.NewProducer(l.config(kafka.ConfigMap{"acks": 1, "linger.ms": 0}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	topic, delivered := "own", make(chan kafka.Event, 1)
	for range ownTries {
		m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: 0}, Value: []byte("v")}
		if err := p.Produce(m, delivered); err != nil {
			t.Fatal(err)
		}
		got := (<-delivered).(*kafka.Message)
		if got.TopicPartition.Error != nil {
			t.Fatal(got.TopicPartition.Error)
		}
		_, high, err := p.QueryWatermarkOffsets(topic, 0, 10_000)
		if err != nil || high != int64(got.TopicPartition.Offset)+1 {
			t.Errorf("after record %d the newest offset is %d, %v", got.TopicPartition.Offset, high, err)
		}
	}
}
