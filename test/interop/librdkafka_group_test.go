package interop

import (
	"context"
	"sync"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func (l librdkafka) Strategies() []string {
	return []string{"range", "roundrobin", "cooperative-sticky", "consumer"}
}

type librdkafkaMember struct {
	owned
	consumer *kafka.Consumer
	stop     context.CancelFunc
	runs     sync.WaitGroup
}

func (l librdkafka) Join(in membership) (member, error) {
	more := kafka.ConfigMap{
		"group.id": in.Group, "auto.offset.reset": "earliest", "enable.auto.commit": false, "fetch.wait.max.ms": int(memberHeartbeat.Milliseconds()),
	}
	if in.Strategy == "consumer" {
		more["group.protocol"] = "consumer"
	} else {
		more["partition.assignment.strategy"] = in.Strategy
		more["session.timeout.ms"], more["heartbeat.interval.ms"] = int(memberSession.Milliseconds()), int(memberHeartbeat.Milliseconds())
	}
	if in.Instance != "" {
		more["group.instance.id"] = in.Instance
	}
	c, err := kafka.NewConsumer(l.config(more))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &librdkafkaMember{consumer: c, stop: stop}
	if err := c.Subscribe(in.Topic, m.rebalanced); err != nil {
		stop()
		return nil, err
	}
	m.runs.Go(func() {
		for ctx.Err() == nil {
			if r, ok := c.Poll(20).(*kafka.Message); ok {
				in.Seen(r.TopicPartition.Partition, int64(r.TopicPartition.Offset))
				if _, err := c.CommitMessage(r); err == nil { // else it is seen again
					in.committed(r.TopicPartition.Partition, int64(r.TopicPartition.Offset)+1)
				}
			}
		}
	})
	return m, nil
}

// rebalanced follows what the member has; the client assigns by itself.
func (m *librdkafkaMember) rebalanced(_ *kafka.Consumer, e kafka.Event) error {
	switch e := e.(type) {
	case kafka.AssignedPartitions:
		for _, p := range e.Partitions {
			m.add(p.Partition)
		}
	case kafka.RevokedPartitions:
		for _, p := range e.Partitions {
			m.remove(p.Partition)
		}
	}
	return nil
}

func (m *librdkafkaMember) Leave() error {
	m.stop()
	m.runs.Wait()
	err := m.consumer.Close()
	m.remove(m.Owned()...)
	return err
}
