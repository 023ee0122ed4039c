package log

import (
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// Damage is a batch that cannot be read.
type Damage struct {
	File string // its segment's log
	segment.Damage
}

// Damage lists the batches that are known to be unreadable, by offset, at most that many, and counts them all. What is known was found by
// the recovery of this opening, or by compaction: large reads go past here unread.
func (l *Log) Damage(most int) (list []Damage, count int) {
	for _, s := range *l.segs.Load() {
		for _, d := range s.Damage() {
			if count++; len(list) < most {
				list = append(list, Damage{s.Name(segment.Log), d})
			}
		}
	}
	return list, count
}

// Unreadable reports whether the batch at offset is known to be damaged.
func (l *Log) Unreadable(offset batch.Offset) bool {
	w := l.window()
	for _, d := range w.segs[w.find(offset)].Damage() {
		if d.Base <= offset && offset < d.Next {
			return true
		}
	}
	return false
}
