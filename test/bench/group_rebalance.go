//go:build linux

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The group of rebalanceSection.
const (
	rebalanceMembers    = 100
	rebalancePartitions = 1000
)

// rebalanceSection lets a member join a group of 100, and leave it, and counts the partitions that nobody had to stop consuming: of the next
// generation and, as its floor, of the classic protocol with the range assignor, Kafka's default. Members are franz-go's, all in this process.
func rebalanceSection(r *report) error {
	next, err := rebalanceRound(kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	if err != nil {
		return fmt.Errorf("next generation: %w", err)
	}
	classic, err := rebalanceRound(kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		return fmt.Errorf("classic: %w", err)
	}
	for i, what := range []string{"one joins", "one leaves"} {
		n, c := next[i], classic[i]
		r.line("group-rebalance", fmt.Sprintf("%s: of %d partitions keep consuming", what, rebalancePartitions), percent(n.kept), percent(c.kept), "", "at least 95 % (floor: classic)")
		r.line("group-rebalance", "  until all have their partitions", millis(n.took), millis(c.took), "", "")
	}
	return nil
}

func percent(partitions int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(partitions)/rebalancePartitions)
}

// rebalanced is how a rebalance went.
type rebalanced struct {
	kept int // partitions that their owner never gave up
	took time.Duration
}

// rebalanceRound lets one join, then another leave.
func rebalanceRound(opts ...kgo.Opt) (all []rebalanced, err error) {
	p, err := startBroker()
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if err := createTopic(p.addr, rebalancePartitions); err != nil {
		return nil, err
	}
	if err := locate(p.addr, "watched"); err != nil {
		return nil, err
	}
	w := &watch{owner: map[int32]int{}, stopped: map[int32]bool{}}
	defer w.closeAll()
	for range rebalanceMembers {
		if err := w.join(p.addr, opts); err != nil {
			return nil, err
		}
	}
	if _, err := w.settle(rebalanceMembers); err != nil {
		return nil, err
	}
	if err := w.join(p.addr, opts); err != nil {
		return nil, err
	}
	joined, err := w.settle(rebalanceMembers + 1)
	if err != nil {
		return nil, err
	}
	w.leave(rebalanceMembers / 2)
	left, err := w.settle(rebalanceMembers)
	return []rebalanced{joined, left}, err
}

// watch is a group's members, and knows who owns which partition.
type watch struct {
	members []*kgo.Client
	polls   sync.WaitGroup

	mu      sync.Mutex
	owner   map[int32]int
	stopped map[int32]bool // given up since the last settle
	broken  error
}

// join adds a member, which polls until it is closed.
func (w *watch) join(addr string, opts []kgo.Opt) error {
	i := len(w.members)
	gone := func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		w.lose(i, partitions[topicName])
	}
	m, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addr), kgo.ConsumeTopics(topicName), kgo.ConsumerGroup("watched"), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) { w.win(i, partitions[topicName]) }),
		kgo.OnPartitionsRevoked(gone), kgo.OnPartitionsLost(gone),
	}, opts...)...)
	if err != nil {
		return err
	}
	w.members = append(w.members, m)
	w.polls.Go(func() {
		for !m.PollFetches(context.Background()).IsClientClosed() {
		}
	})
	return nil
}

func (w *watch) leave(i int) { w.members[i].Close() }

// closeAll ends all members, those that have left too.
func (w *watch) closeAll() {
	for _, m := range w.members {
		w.polls.Go(m.Close)
	}
	w.polls.Wait()
}

func (w *watch) win(member int, partitions []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range partitions {
		if other, owned := w.owner[p]; owned && other != member {
			w.broken = fmt.Errorf("members %d and %d both own partition %d", other, member, p)
		}
		w.owner[p] = member
	}
}

func (w *watch) lose(member int, partitions []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range partitions {
		if w.owner[p] == member {
			delete(w.owner, p)
		}
		w.stopped[p] = true
	}
}

// settle waits until so many members own all partitions evenly, and says how that went since the last time.
func (w *watch) settle(members int) (rebalanced, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began := now()
	for range 12_000 {
		if kept, even, err := w.look(members); err != nil || even {
			return rebalanced{kept, now().Sub(began)}, err
		}
		<-tick.C
	}
	return rebalanced{}, fmt.Errorf("%d members do not own all partitions evenly after two minutes", members)
}

func (w *watch) look(members int) (kept int, even bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil || len(w.owner) < rebalancePartitions {
		return 0, false, w.broken
	}
	counts := make(map[int]int)
	for _, member := range w.owner {
		counts[member]++
	}
	if len(counts) != members {
		return 0, false, nil
	}
	for _, n := range counts {
		if n < rebalancePartitions/members || n > rebalancePartitions/members+1 {
			return 0, false, nil
		}
	}
	kept = rebalancePartitions - len(w.stopped)
	clear(w.stopped)
	return kept, true, nil
}
