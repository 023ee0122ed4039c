package host

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The garbage that may pile up before it is collected: four times what lives, since that is little where few partitions are open and
// a collection costs the same however little there is; but not more than garbageMax, unless more than that lives.
const (
	gcPercentMax = 400
	gcPercentMin = 100
	garbageMax   = 64 << 20
)

// gcPercent is the percentage for a live heap of so many bytes.
func gcPercent(live uint64) int {
	if live == 0 {
		return gcPercentMax
	}
	return min(max(int(100*garbageMax/live), gcPercentMin), gcPercentMax)
}

// FollowHeap sets the percentage by what lives until ctx ends.
func FollowHeap(ctx context.Context) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	set := gcPercentMax
	debug.SetGCPercent(set)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(live)
		if want := gcPercent(live[0].Value.Uint64()); want != set {
			set = want
			debug.SetGCPercent(set)
		}
	}
}
