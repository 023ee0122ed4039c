package interop

import (
	"context"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestGroupOutlivesBroker kills the broker under members of both protocols, and starts it again: the group goes on as it was. Nobody joins
// again, each has the partitions that it had, and what was committed is not seen again.
func TestGroupOutlivesBroker(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"range", "cooperative-sticky", "consumer"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			dir := filepath.Join(t.TempDir(), "data")
			cmd, addr := startAt(t, dir, groupSettings...)
			f := franz{addr: addr}
			if err := f.CreateTopic(ctx, "orders", 6, nil); err != nil {
				t.Fatal(err)
			}
			var commits atomic.Int64
			var members []member
			for _, c := range []joiner{f, librdkafka{addr}, f} {
				if strategy == "consumer" && c.Name() == "librdkafka" {
					c = f // whose session is the broker's, which is short here
				}
				m, err := c.Join(membership{
					Group: "readers", Topic: "orders", Strategy: strategy, Seen: func(int32, int64) {}, Committed: func(int32, int64) { commits.Add(1) },
				})
				if err != nil {
					t.Fatal(err)
				}
				members = append(members, m)
			}
			settled(ctx, t, 6, members)
			committed(ctx, t, f, &commits)
			before, had := roster(ctx, t, f), ownedBy(members)
			for range 3 {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // killed
				cmd, _ = startOn(t, dir, addr, groupSettings...)
				committed(ctx, t, f, &commits)
				if after := roster(ctx, t, f); !slices.Equal(before, after) {
					t.Errorf("the group was %v, and is %v", before, after)
				}
				if has := ownedBy(members); !slices.EqualFunc(had, has, slices.Equal) {
					t.Errorf("members had %v, and have %v", had, has)
				}
			}
			for _, m := range members {
				if err := m.Leave(); err != nil {
					t.Error(err)
				}
			}
			stop(t, cmd)
		})
	}
}

// committed sends records and waits until the group has committed them.
func committed(ctx context.Context, t *testing.T, f franz, commits *atomic.Int64) {
	t.Helper()
	before := commits.Load()
	if err := f.Produce(ctx, "orders", produceOptions{Codec: "none"}, numbered(10)); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for commits.Load() == before {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the group does not go on")
		}
	}
}

func ownedBy(members []member) (all [][]int32) {
	for _, m := range members {
		all = append(all, m.Owned())
	}
	return all
}

// roster is the ids of the group's members, as the coordinator knows them.
func roster(ctx context.Context, t *testing.T, f franz) (ids []string) {
	t.Helper()
	client, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	next, err := adm.DescribeConsumerGroups(ctx, "readers")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range next["readers"].Members {
		ids = append(ids, m.MemberID)
	}
	if len(ids) == 0 {
		old, err := adm.DescribeGroups(ctx, "readers")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range old["readers"].Members {
			ids = append(ids, m.MemberID)
		}
	}
	slices.Sort(ids)
	return ids
}
