package interop

import (
	"context"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func (s shopify) Strategies() []string { return []string{"range", "roundrobin", "sticky"} }

type saramaMember struct {
	owned
	in    membership
	group sarama.ConsumerGroup
	stop  context.CancelFunc
	runs  sync.WaitGroup
}

func (s shopify) Join(in membership) (member, error) {
	c := s.config()
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{map[string]sarama.BalanceStrategy{
		"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(), "sticky": sarama.NewBalanceStrategySticky(),
	}[in.Strategy]}
	c.Consumer.Group.Session.Timeout, c.Consumer.Group.Heartbeat.Interval = memberSession, memberHeartbeat
	c.Consumer.Group.InstanceId = in.Instance
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	group, err := sarama.NewConsumerGroup([]string{s.addr}, in.Group, c)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &saramaMember{in: in, group: group, stop: stop}
	m.runs.Go(func() {
		for range group.Errors() { // a member that is thrown out joins again below
		}
	})
	m.runs.Go(func() {
		for ctx.Err() == nil {
			_ = group.Consume(ctx, []string{in.Topic}, m) // ends at each rebalance
		}
	})
	return m, nil
}

func (m *saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.add(s.Claims()[m.in.Topic]...)
	return nil
}

func (m *saramaMember) Cleanup(s sarama.ConsumerGroupSession) error {
	m.remove(s.Claims()[m.in.Topic]...)
	return nil
}

func (m *saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	tick := time.NewTicker(memberHeartbeat)
	defer tick.Stop()
	defer s.Commit()
	for {
		select {
		case r, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			m.in.Seen(r.Partition, r.Offset)
			s.MarkMessage(r, "")
		case <-tick.C:
			s.Commit()
		case <-s.Context().Done():
			return nil
		}
	}
}

func (m *saramaMember) Leave() error {
	m.stop()
	err := m.group.Close()
	m.runs.Wait()
	return err
}
