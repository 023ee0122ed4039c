package coordinator

import (
	"slices"

	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// surveyChunk is how many offsets are looked at before others get the shard's lock: well under a millisecond.
const surveyChunk = 4096

// surveyed is a group as it was when it was looked at.
type surveyed struct {
	group.Surveyed
	counts groupCounts
}

// survey calls fn with each group, without the lock. A shard that does not serve has none, and one that stops serving meanwhile no more.
func (s *shard) survey(fn func(surveyed)) {
	s.mu.Lock()
	var ids []string
	if s.mu.state == active {
		ids = s.mu.machine.IDs()
	}
	s.mu.Unlock()
	var chunk []surveyed
	for len(ids) > 0 {
		var n int
		chunk, n = s.surveySome(chunk[:0], ids)
		for _, g := range chunk {
			fn(g)
		}
		clear(chunk)
		ids = ids[n:]
	}
}

// surveySome looks at the groups of ids until it has seen about surveyChunk offsets, and returns how many of ids it took.
func (s *shard) surveySome(into []surveyed, ids []string) (chunk []surveyed, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state != active {
		return into, len(ids)
	}
	for seen := 0; n < len(ids) && seen < surveyChunk; n++ {
		g, ok := s.mu.machine.Survey(ids[n])
		if !ok {
			continue
		}
		for i := range g.Topics {
			seen += len(g.Topics[i].Offsets)
		}
		seen++ // a group without offsets is not free
		all := surveyed{Surveyed: g}
		if counted := s.mu.counts.groups[ids[n]]; counted != nil {
			all.counts = groupCounts{commits: counted.commits, rebalances: slices.Clone(counted.rebalances)}
		}
		into = append(into, all)
	}
	return into, n
}

// figures are the shard's own.
func (s *shard) figures() (state state, refused, removed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.state, s.mu.counts.refused, s.mu.counts.removed
}
