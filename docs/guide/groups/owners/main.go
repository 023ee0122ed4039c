// Owners shows who owns the three partitions of a topic as one consumer after another joins a group and leaves it again.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var names = []string{"a", "b", "c", "d"}

var protocols = map[string][]kgo.Opt{
	"range":       {kgo.Balancers(kgo.RangeBalancer())},
	"roundrobin":  {kgo.Balancers(kgo.RoundRobinBalancer())},
	"sticky":      {kgo.Balancers(kgo.StickyBalancer())},
	"cooperative": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	"next":        {kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()},
}

func main() {
	protocol := flag.String("protocol", "cooperative", "range, roundrobin, sticky, cooperative, or next (generation)")
	flag.Parse()
	s := &scene{group: "owners-" + *protocol, next: *protocol == "next", owned: make(map[string][]int32)}
	if err := s.play(protocols[*protocol]); err != nil {
		log.Fatal(err)
	}
}

// scene is a group and what its members own, by their own account.
type scene struct {
	group string
	next  bool
	admin *kadm.Client

	mu      sync.Mutex
	owned   map[string][]int32
	leaving string
	givenUp []int32
}

func (s *scene) play(options []kgo.Opt) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	broker := kgo.SeedBrokers(cmp.Or(os.Getenv("OTTLA_BROKERS"), "127.0.0.1:9092"))
	admin, err := kadm.NewOptClient(broker)
	if err != nil {
		return err
	}
	defer admin.Close()
	s.admin = admin

	fmt.Printf("%-11s%-9s%-9s%-9s%-9s%s\n", "consumers", names[0], names[1], names[2], names[3], "given up on the way")
	var members []*kgo.Client
	defer func() {
		for _, member := range members {
			member.Close()
		}
	}()
	for n, name := range names {
		member, err := kgo.NewClient(append([]kgo.Opt{
			broker, kgo.ClientID(name), kgo.ConsumerGroup(s.group), kgo.ConsumeTopics("orders"), kgo.HeartbeatInterval(200 * time.Millisecond),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { s.gains(name, got["orders"]) }),
			kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { s.loses(name, gone["orders"]) }),
		}, options...)...)
		if err != nil {
			return err
		}
		members = append(members, member)
		if err := s.settle(ctx, n+1); err != nil {
			return err
		}
	}
	for n := len(names) - 1; n > 0; n-- {
		s.leave(names[n])
		members[n].Close()
		if err := s.settle(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = name
}

func (s *scene) gains(name string, got []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owned[name] = append(s.owned[name], got...)
	slices.Sort(s.owned[name])
}

func (s *scene) loses(name string, gone []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owned[name] = slices.DeleteFunc(s.owned[name], func(p int32) bool { return slices.Contains(gone, p) })
	if name != s.leaving {
		s.givenUp = append(s.givenUp, gone...)
	}
}

// settle waits until n members own what the coordinator says they do, which is everything, and shows it.
func (s *scene) settle(ctx context.Context, n int) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		want, err := s.assignment(ctx)
		if err != nil {
			return err
		}
		if s.settled(want, n) {
			s.show(n)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *scene) settled(want map[string][]int32, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for name, partitions := range want {
		if !slices.Equal(partitions, s.owned[name]) {
			return false
		}
		all += len(partitions)
	}
	return len(want) == n && all == 3
}

func (s *scene) show(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := []string{fmt.Sprintf("%-11d", n)}
	for i, name := range names {
		owned := ""
		if i < n {
			owned = cmp.Or(list(s.owned[name]), "-")
		}
		line = append(line, fmt.Sprintf("%-9s", owned))
	}
	slices.Sort(s.givenUp)
	line = append(line, list(s.givenUp))
	fmt.Println(strings.TrimRight(strings.Join(line, ""), " "))
	s.givenUp = nil
}

func list(partitions []int32) string { return strings.Trim(fmt.Sprint(partitions), "[]") }

// assignment is what each member is to own by the coordinator's account; nothing while the group is not stable.
func (s *scene) assignment(ctx context.Context) (map[string][]int32, error) {
	want := make(map[string][]int32)
	if s.next {
		groups, err := s.admin.DescribeConsumerGroups(ctx, s.group)
		for _, m := range groups[s.group].Members {
			if groups[s.group].State == "Stable" {
				want[m.ClientID] = slices.Sorted(maps.Keys(m.TargetAssignment["orders"]))
			}
		}
		return want, err
	}
	groups, err := s.admin.DescribeGroups(ctx, s.group)
	for _, m := range groups[s.group].Members {
		if c, ok := m.Assigned.AsConsumer(); ok && groups[s.group].State == "Stable" {
			want[m.ClientID] = nil
			for _, t := range c.Topics {
				want[m.ClientID] = slices.Sorted(slices.Values(t.Partitions))
			}
		}
	}
	return want, err
}
