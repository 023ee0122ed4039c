package interop

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestPatterns: a next-generation member subscribes to a pattern, which the broker matches: a topic that is made later joins on its own, and one
// that goes is left; what does not match is never there.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(ctx context.Context, addr, group, pattern string, seen chan<- string) error{
		"franz": franzPattern, "librdkafka": librdkafkaPattern,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			f := franz{addr: startBroker(t, groupSettings...)}
			for _, topic := range []string{"orders-1", "my-orders-1"} {
				create(ctx, t, f, topic, nil)
			}
			seen, ended := make(chan string, 1000), make(chan error, 1)
			go func() { ended <- read(ctx, f.addr, "by-pattern", "^orders-[0-9]$", seen) }()
			defer func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			await := func(topic string) {
				t.Helper()
				if err := f.Produce(ctx, topic, produceOptions{Codec: "none"}, numbered(1)); err != nil {
					t.Fatal(err)
				}
				select {
				case got := <-seen:
					if got != topic {
						t.Fatalf("a record of %s, want one of %s", got, topic)
					}
				case <-ctx.Done():
					t.Fatalf("no record of %s came", topic)
				}
			}
			await("orders-1")
			for _, topic := range []string{"orders-2", "orders-22"} {
				create(ctx, t, f, topic, nil)
			}
			await("orders-2")
			subscribed(ctx, t, f, "by-pattern", "orders-1", "orders-2")
			if err := f.DeleteTopic(ctx, "orders-1"); err != nil {
				t.Fatal(err)
			}
			subscribed(ctx, t, f, "by-pattern", "orders-2")
			await("orders-2")
		})
	}
}

// subscribed waits until the member of a group has these topics, and checks that the broker knows the pattern.
func subscribed(ctx context.Context, t *testing.T, f franz, group string, topics ...string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var m kadm.ConsumerGroupMember
		if err := f.admin(func(a *kadm.Client) error {
			groups, err := a.DescribeConsumerGroups(ctx, group)
			if err == nil && len(groups[group].Members) == 1 {
				m = groups[group].Members[0]
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		has := m.Assignment.Topics()
		if slices.Equal(has, topics) {
			if m.SubscribedTopicRegex == nil || *m.SubscribedTopicRegex == "" {
				t.Fatal("the client matched the pattern by itself")
			}
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the member has %v, want %v", has, topics)
		}
	}
}

func franzPattern(ctx context.Context, addr, group, pattern string, seen chan<- string) error {
	client, err := franz{addr: addr}.open(kgo.ConsumerGroup(group), kgo.ConsumeRegex(), kgo.ConsumeTopics(pattern), kgo.ServerSideBalancer(),
		kgo.Balancers(kgo.StickyBalancer()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(memberHeartbeat),
		kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { seen <- r.Topic })
	}
	return nil
}

func librdkafkaPattern(ctx context.Context, addr, group, pattern string, seen chan<- string) error {
	c, err := kafka.NewConsumer(librdkafka{addr}.config(kafka.ConfigMap{
		"group.id": group, "group.protocol": "consumer", "auto.offset.reset": "earliest", "fetch.wait.max.ms": int(memberHeartbeat.Milliseconds()),
	}))
	if err != nil {
		return err
	}
	if err := c.Subscribe(pattern, nil); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if r, ok := c.Poll(20).(*kafka.Message); ok && r.TopicPartition.Error == nil {
			seen <- *r.TopicPartition.Topic
		}
	}
	return c.Close()
}
