package log

import (
	"sync"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// hints remember positions of batch boundaries that are likely to be asked for next: where the last ranges ended (a
// reader goes on there), and where the last limits stood. They spare a tailing reader every lookup.
type hints struct {
	sync.Mutex
	ring [8]hint
	next int
}

type hint struct {
	seg    *segment.Segment
	offset batch.Offset
	pos    int64
}

// get is the position in seg of the first batch at or after offset.
func (h *hints) get(seg *segment.Segment, offset batch.Offset) (int64, bool) {
	h.Lock()
	defer h.Unlock()
	for i := range h.ring {
		if e := &h.ring[i]; e.seg == seg && e.offset == offset {
			return e.pos, true
		}
	}
	return 0, false
}

func (h *hints) put(seg *segment.Segment, offset batch.Offset, pos int64) {
	h.Lock()
	defer h.Unlock()
	for i := range h.ring {
		if e := &h.ring[i]; e.seg == seg && e.offset == offset {
			e.pos = pos
			return
		}
	}
	h.ring[h.next] = hint{seg, offset, pos}
	h.next = (h.next + 1) % len(h.ring)
}

// clear forgets everything: after a truncation, or when a segment goes, whose memory the hints would keep.
func (h *hints) clear() {
	h.Lock()
	defer h.Unlock()
	h.ring = [8]hint{}
}
