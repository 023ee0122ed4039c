package interop

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (f franz) Strategies() []string {
	return []string{"range", "roundrobin", "sticky", "cooperative-sticky", "consumer"}
}

type franzMember struct {
	owned
	in     membership
	client *kgo.Client
	stop   context.CancelFunc
	runs   sync.WaitGroup
}

func (f franz) Join(in membership) (member, error) {
	m := &franzMember{in: in}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(in.Group), kgo.ConsumeTopics(in.Topic), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(memberSession), kgo.HeartbeatInterval(memberHeartbeat), kgo.FetchMaxWait(memberHeartbeat),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { m.add(got[in.Topic]...) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { m.remove(lost[in.Topic]...) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { m.remove(lost[in.Topic]...) }),
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	if in.Instance != "" {
		opts = append(opts, kgo.InstanceID(in.Instance))
	}
	switch in.Strategy {
	case "range":
		opts = append(opts, kgo.Balancers(kgo.RangeBalancer()))
	case "roundrobin":
		opts = append(opts, kgo.Balancers(kgo.RoundRobinBalancer()))
	case "sticky":
		opts = append(opts, kgo.Balancers(kgo.StickyBalancer()))
	case "cooperative-sticky":
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case "consumer":
		opts = append(opts, kgo.WithContext(context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true))) //nolint:revive,staticcheck // the client's own key
	}
	var err error
	if m.client, err = f.open(opts...); err != nil {
		stop()
		return nil, err
	}
	m.runs.Go(func() {
		for ctx.Err() == nil {
			fetches := m.client.PollFetches(ctx)
			fetches.EachRecord(func(r *kgo.Record) { in.Seen(r.Partition, r.Offset) })
			_ = m.commit(ctx) // what is not committed is seen again
			m.client.AllowRebalance()
		}
	})
	return m, nil
}

func (m *franzMember) Leave() error {
	m.stop()
	m.runs.Wait()
	err := m.commit(context.Background())
	m.client.CloseAllowingRebalance()
	m.remove(m.Owned()...)
	return err
}

// commit commits what was seen.
func (m *franzMember) commit(ctx context.Context) (failed error) {
	m.client.CommitOffsetsSync(ctx, m.client.UncommittedOffsets(), func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err != nil || len(resp.Topics) == 0 {
			return
		}
		for i, p := range resp.Topics[0].Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				failed = err
				continue
			}
			m.in.committed(p.Partition, req.Topics[0].Partitions[i].Offset)
		}
	})
	return failed
}
