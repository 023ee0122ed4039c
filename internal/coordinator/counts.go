package coordinator

import (
	"log/slog"
	"maps"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// counts are what a shard has counted since the broker started. Those of a group go with it.
type counts struct {
	groups  map[string]*groupCounts
	most    int   // how many groups may have counts before those that are gone are looked for
	refused int64 // requests to commit of which some offset was refused
	removed int64 // offsets that expired or were deleted
}

// groupCounts are those of one group.
type groupCounts struct {
	commits    int64 // requests of which some offset was committed
	rebalances []Rebalances
}

const (
	// countsSpare is how many groups that are gone may have counts beside those that are there.
	countsSpare = 1024
	// reasonsMax bounds the reasons that are counted apart; the machine knows fewer.
	reasonsMax = 32
)

// ofLocked finds or makes the counts of a group.
func (s *shard) ofLocked(groupID string) *groupCounts {
	c := &s.mu.counts
	if n := c.groups[groupID]; n != nil {
		return n
	}
	if len(c.groups) >= c.most {
		s.forgetLocked()
		c.most = 2*len(c.groups) + countsSpare
	}
	if c.groups == nil {
		c.groups = make(map[string]*groupCounts)
	}
	n := new(groupCounts)
	c.groups[groupID] = n
	return n
}

// forgetLocked drops the counts of groups that are gone. While the shard is loaded nobody knows which these are.
func (s *shard) forgetLocked() {
	if s.mu.state == active {
		maps.DeleteFunc(s.mu.counts.groups, func(id string, _ *groupCounts) bool { return !s.mu.machine.Has(id) })
	}
}

// countLocked counts what a step did that was written.
func (s *shard) countLocked(in group.Input, effects group.Effects) {
	if in, ok := in.(group.Commit); ok {
		for _, r := range effects.Replies {
			if result, ok := r.Result.(group.CommitResult); ok && r.Token == in.Token {
				s.committedLocked(in.Group, result)
			}
		}
	}
	for _, r := range effects.Records {
		if len(r.Value) > 0 {
			continue
		}
		if e, err := record.Decode(r.Key, nil); err == nil {
			if _, ok := e.(record.Offset); ok {
				s.mu.counts.removed++
			}
		}
	}
}

func (s *shard) committedLocked(groupID string, result group.CommitResult) {
	var accepted, refused bool
	for _, t := range result.Topics {
		for _, p := range t.Partitions {
			accepted, refused = accepted || p.Err == nil, refused || p.Err != nil
		}
	}
	if accepted {
		s.ofLocked(groupID).commits++
	}
	if refused {
		s.mu.counts.refused++
	}
}

// rebalancedLocked counts a rebalance that began.
func (s *shard) rebalancedLocked(r group.Rebalance) {
	s.c.opts.Log.Debug("group rebalances", slog.String("group", r.Group), slog.String("reason", r.Reason), slog.String("detail", r.Detail))
	s.ofLocked(r.Group).rebalanced(r.Reason)
}

func (n *groupCounts) rebalanced(reason string) {
	for i := range n.rebalances {
		if r := &n.rebalances[i]; r.Reason == reason || i == reasonsMax {
			r.Count++
			return
		}
	}
	if len(n.rebalances) == reasonsMax {
		reason = "other"
	}
	n.rebalances = append(n.rebalances, Rebalances{reason, 1})
}
