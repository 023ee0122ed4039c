package interop

import (
	"context"
	"errors"
	"sync"

	"github.com/segmentio/kafka-go"
)

func (s segmentio) Strategies() []string { return []string{"range", "roundrobin"} }

type segmentioMember struct {
	owned
	addr  string
	in    membership
	group *kafka.ConsumerGroup
	runs  sync.WaitGroup
}

func (s segmentio) Join(in membership) (member, error) {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: in.Group, Brokers: []string{s.addr}, Topics: []string{in.Topic}, StartOffset: kafka.FirstOffset,
		GroupBalancers: []kafka.GroupBalancer{map[string]kafka.GroupBalancer{
			"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{},
		}[in.Strategy]},
		HeartbeatInterval: memberHeartbeat, SessionTimeout: memberSession, JoinGroupBackoff: memberHeartbeat,
	})
	if err != nil {
		return nil, err
	}
	m := &segmentioMember{addr: s.addr, in: in, group: group}
	m.runs.Go(func() {
		for {
			gen, err := group.Next(context.Background())
			if errors.Is(err, kafka.ErrGroupClosed) {
				return
			}
			if err == nil {
				m.serve(gen)
			}
		}
	})
	return m, nil
}

// serve reads what the generation gives, until it ends.
func (m *segmentioMember) serve(gen *kafka.Generation) {
	for _, a := range gen.Assignments[m.in.Topic] {
		m.add(int32(a.ID))
		gen.Start(func(ctx context.Context) {
			defer m.remove(int32(a.ID))
			r := kafka.NewReader(kafka.ReaderConfig{
				Brokers: []string{m.addr}, Topic: m.in.Topic, Partition: a.ID, MaxWait: memberHeartbeat, MaxBytes: 1 << 20,
			})
			defer r.Close()
			if err := r.SetOffset(a.Offset); err != nil {
				return
			}
			for {
				msg, err := r.ReadMessage(ctx)
				if err != nil {
					return
				}
				m.in.Seen(int32(msg.Partition), msg.Offset)
				if gen.CommitOffsets(map[string]map[int]int64{m.in.Topic: {a.ID: msg.Offset + 1}}) == nil { // else it is seen again
					m.in.committed(int32(a.ID), msg.Offset+1)
				}
			}
		})
	}
}

func (m *segmentioMember) Leave() error {
	err := m.group.Close()
	m.runs.Wait()
	return err
}
