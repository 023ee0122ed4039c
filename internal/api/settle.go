package api

import (
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// settleMax bounds how long a request without a timeout of its own waits for the sync under way. It is below the time
// after which any client gives up a request, so that the client reads a code and retries.
const settleMax = 5 * time.Second

// watch is a reply's place among the waiters of one partition at a time.
type watch struct {
	partition *partition.Partition
	waiter    *partition.Waiter
}

// committed reports whether everything of p below end is committed. If it is not, it watches p for w and looks again.
func (v *watch) committed(p *partition.Partition, end batch.Offset, w *partition.Waiter) (bool, error) {
	done, err := p.Await(end)
	if done || err != nil || w == nil {
		return done, err
	}
	if v.partition != p {
		v.stop()
	}
	v.partition, v.waiter = p, w
	p.Watch(w)
	return p.Await(end)
}

// stop leaves the waiters.
func (v *watch) stop() {
	if v.partition != nil {
		v.partition.Unwatch(v.waiter)
	}
	*v = watch{}
}

// write is what a reply waits for: the records of a partition below end were acknowledged, and are about to be committed.
type write struct {
	partition *partition.Partition
	end       batch.Offset
}

// settling is the writes that must be committed before a reply may say how far a partition reaches: a client that was
// answered with acks=1 finds its record, and a power cut takes back nothing that an answer showed (docs/adr/0009).
type settling struct {
	writes   []write
	failed   map[*partition.Partition]error // will never be committed here; nil while all is well
	deadline time.Time
	watch    watch
}

// add adds what p acknowledged below end, unless it is committed.
func (s *settling) add(p *partition.Partition, end batch.Offset) {
	done, err := p.Await(end)
	switch {
	case err != nil:
		s.fail(p, err)
	case !done:
		s.writes = append(s.writes, write{p, end})
	}
}

// fail remembers why the writes of p are never committed here.
func (s *settling) fail(p *partition.Partition, err error) {
	if s.failed == nil {
		s.failed = make(map[*partition.Partition]error)
	}
	s.failed[p] = err
}

// settled reports whether all writes are committed or failed. Otherwise it arranges that w is woken when it may be so.
func (s *settling) settled(w *partition.Waiter) bool {
	for n := len(s.writes); n > 0; n = len(s.writes) {
		last := s.writes[n-1]
		done, err := s.watch.committed(last.partition, last.end, w)
		switch {
		case err != nil:
			s.fail(last.partition, err)
		case !done:
			return false
		}
		s.writes = s.writes[:n-1]
	}
	s.watch.stop()
	return true
}

// expire fails the writes that are not committed in time with the code of the kerr value.
func (s *settling) expire(code *kerr.Error) {
	for _, w := range s.writes {
		done, err := w.partition.Await(w.end)
		if err == nil && !done {
			err = refuse(code, "records of %s below %d are acknowledged and not synced yet: retry", w.partition.ID(), w.end)
		}
		if err != nil {
			s.fail(w.partition, err)
		}
	}
}

// held returns about how many bytes of memory the writes take.
func (s *settling) held() int { return cap(s.writes) * int(unsafe.Sizeof(write{})) }
