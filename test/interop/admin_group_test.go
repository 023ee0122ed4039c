package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"github.com/twmb/franz-go/pkg/kadm"
)

// groupAdmin looks after groups from outside.
type groupAdmin interface {
	Name() string
	// SetOffset commits where a group without members is in partition 0 of a topic.
	SetOffset(ctx context.Context, group, topic string, at int64) error
	// OffsetOf is where a group is; -1 if it has no offset there.
	OffsetOf(ctx context.Context, group, topic string) (int64, error)
	Groups(ctx context.Context) ([]string, error)
	// StateOf is a group's state and how many members it has.
	StateOf(ctx context.Context, group string) (state string, members int, err error)
	DeleteGroup(ctx context.Context, group string) error
}

// TestGroupAdmin: groups are listed, shown, moved and deleted by the admin clients of others; not while they have members.
func TestGroupAdmin(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, groupSettings...)
	for _, a := range []groupAdmin{franz{addr: addr}, shopify{addr: addr, version: sarama.MaxVersion}, shopify{addr: addr, version: sarama.V2_1_0_0}, librdkafka{addr}} {
		t.Run(a.Name(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			administer(ctx, t, a, franz{addr: addr}, "admin-"+a.Name())
		})
	}
}

func administer(ctx context.Context, t *testing.T, a groupAdmin, f franz, name string) {
	create(ctx, t, f, name, nil)
	if err := f.Produce(ctx, name, produceOptions{Codec: "none"}, numbered(10)); err != nil {
		t.Fatal(err)
	}
	at := func(want int64) {
		t.Helper()
		if got, err := a.OffsetOf(ctx, name, name); err != nil || got != want {
			t.Fatalf("the group is at %d, %v; want %d", got, err, want)
		}
	}
	state := func(want string, n int) {
		t.Helper()
		if got, members, err := a.StateOf(ctx, name); err != nil || got != want || members != n {
			t.Fatalf("the group is %s with %d members, %v; want %s with %d", got, members, err, want, n)
		}
	}
	for _, to := range []int64{7, 4} {
		if err := a.SetOffset(ctx, name, name, to); err != nil {
			t.Fatal(err)
		}
		at(to)
	}
	state("Empty", 0)
	seen := make(chan int64, 100)
	m, err := f.Join(membership{Group: name, Topic: name, Strategy: "range", Seen: func(_ int32, offset int64) { seen <- offset }})
	if err != nil {
		t.Fatal(err)
	}
	for want := range 6 {
		if got := <-seen; got != int64(4+want) {
			t.Fatalf("offset %d came, want %d", got, 4+want)
		}
	}
	state("Stable", 1)
	if err := a.DeleteGroup(ctx, name); err == nil {
		t.Error("a group with a member is deleted")
	}
	if err := a.SetOffset(ctx, name, name, 1); err == nil {
		t.Error("a group with a member is moved by somebody else")
	}
	if err := m.Leave(); err != nil {
		t.Fatal(err)
	}
	at(10)
	if all, err := a.Groups(ctx); err != nil || !slices.Contains(all, name) {
		t.Fatalf("there are %v, %v", all, err)
	}
	if err := a.DeleteGroup(ctx, name); err != nil {
		t.Fatal(err)
	}
	at(-1)
	if all, err := a.Groups(ctx); err != nil || slices.Contains(all, name) {
		t.Fatalf("there are %v, %v", all, err)
	}
	if err := a.DeleteGroup(ctx, name); err == nil {
		t.Error("a group is deleted twice")
	}
}

func (f franz) SetOffset(ctx context.Context, group, topic string, at int64) error {
	return f.admin(func(a *kadm.Client) error {
		var offsets kadm.Offsets
		offsets.AddOffset(topic, 0, at, -1)
		return a.CommitAllOffsets(ctx, group, offsets)
	})
}

func (f franz) OffsetOf(ctx context.Context, group, topic string) (at int64, err error) {
	err = f.admin(func(a *kadm.Client) error {
		offsets, err := a.FetchOffsetsForTopics(ctx, group, topic)
		at = offsets[topic][0].At
		return err
	})
	return at, err
}

func (f franz) Groups(ctx context.Context) (names []string, err error) {
	err = f.admin(func(a *kadm.Client) error {
		groups, err := a.ListGroups(ctx)
		names = groups.Groups()
		return err
	})
	return names, err
}

func (f franz) StateOf(ctx context.Context, group string) (state string, members int, err error) {
	err = f.admin(func(a *kadm.Client) error {
		groups, err := a.DescribeGroups(ctx, group)
		state, members = groups[group].State, len(groups[group].Members)
		return errors.Join(err, groups[group].Err)
	})
	return state, members, err
}

func (f franz) DeleteGroup(ctx context.Context, group string) error {
	return f.admin(func(a *kadm.Client) error {
		resp, err := a.DeleteGroup(ctx, group)
		return errors.Join(err, resp.Err)
	})
}

func (s shopify) SetOffset(_ context.Context, group, topic string, at int64) error {
	client, err := sarama.NewClient([]string{s.addr}, s.config())
	if err != nil {
		return err
	}
	defer client.Close()
	coordinator, err := client.Coordinator(group)
	if err != nil {
		return err
	}
	req := &sarama.OffsetCommitRequest{ConsumerGroup: group, Version: 2, ConsumerGroupGeneration: -1, RetentionTime: -1}
	req.AddBlock(topic, 0, at, 0, "")
	resp, err := coordinator.CommitOffset(req)
	if err == nil && resp.Errors[topic][0] != sarama.ErrNoError {
		return resp.Errors[topic][0]
	}
	return err
}

func (s shopify) OffsetOf(_ context.Context, group, topic string) (at int64, err error) {
	err = s.admin(func(a sarama.ClusterAdmin) error {
		resp, err := a.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
		if err == nil {
			at = resp.GetBlock(topic, 0).Offset
		}
		return err
	})
	return at, err
}

func (s shopify) Groups(context.Context) (names []string, err error) {
	err = s.admin(func(a sarama.ClusterAdmin) error {
		groups, err := a.ListConsumerGroups()
		for name := range groups {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

func (s shopify) StateOf(_ context.Context, group string) (state string, members int, err error) {
	err = s.admin(func(a sarama.ClusterAdmin) error {
		groups, err := a.DescribeConsumerGroups([]string{group})
		if err != nil || len(groups) != 1 {
			return fmt.Errorf("%d groups are described: %w", len(groups), err)
		}
		state, members = groups[0].State, len(groups[0].Members)
		return nil
	})
	return state, members, err
}

func (s shopify) DeleteGroup(_ context.Context, group string) error {
	return s.admin(func(a sarama.ClusterAdmin) error { return a.DeleteConsumerGroup(group) })
}

func (l librdkafka) SetOffset(ctx context.Context, group, topic string, at int64) error {
	return l.admin(func(a *kafka.AdminClient) error {
		p := kafka.TopicPartition{Topic: &topic, Partition: 0, Offset: kafka.Offset(at)}
		resp, err := a.AlterConsumerGroupOffsets(ctx, []kafka.ConsumerGroupTopicPartitions{{Group: group, Partitions: []kafka.TopicPartition{p}}})
		if err != nil {
			return err
		}
		return resp.ConsumerGroupsTopicPartitions[0].Partitions[0].Error
	})
}

func (l librdkafka) OffsetOf(ctx context.Context, group, topic string) (at int64, err error) {
	err = l.admin(func(a *kafka.AdminClient) error {
		p := kafka.TopicPartition{Topic: &topic, Partition: 0}
		resp, err := a.ListConsumerGroupOffsets(ctx, []kafka.ConsumerGroupTopicPartitions{{Group: group, Partitions: []kafka.TopicPartition{p}}})
		if err != nil {
			return err
		}
		if at = int64(resp.ConsumerGroupsTopicPartitions[0].Partitions[0].Offset); at < 0 {
			at = -1 // the client has a number of its own for none
		}
		return nil
	})
	return at, err
}

func (l librdkafka) Groups(ctx context.Context) (names []string, err error) {
	err = l.admin(func(a *kafka.AdminClient) error {
		resp, err := a.ListConsumerGroups(ctx)
		for _, g := range resp.Valid {
			names = append(names, g.GroupID)
		}
		return errors.Join(append(resp.Errors, err)...)
	})
	return names, err
}

func (l librdkafka) StateOf(ctx context.Context, group string) (state string, members int, err error) {
	err = l.admin(func(a *kafka.AdminClient) error {
		resp, err := a.DescribeConsumerGroups(ctx, []string{group})
		if err != nil {
			return err
		}
		g := resp.ConsumerGroupDescriptions[0]
		state, members = g.State.String(), len(g.Members)
		if g.Error.Code() != kafka.ErrNoError {
			return g.Error
		}
		return nil
	})
	return state, members, err
}

func (l librdkafka) DeleteGroup(ctx context.Context, group string) error {
	return l.admin(func(a *kafka.AdminClient) error {
		resp, err := a.DeleteConsumerGroups(ctx, []string{group})
		if err != nil {
			return err
		}
		if e := resp.ConsumerGroupResults[0].Error; e.Code() != kafka.ErrNoError {
			return e
		}
		return nil
	})
}
