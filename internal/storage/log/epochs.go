package log

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// epochStart says that epoch's first record has offset start.
type epochStart struct {
	epoch batch.Epoch
	start batch.Offset
}

// epochs are the starts of the leader epochs in the log, both fields rising (Kafka's LeaderEpochFileCache). Readers take
// the list as it is; changes replace it.
type epochs struct {
	list atomic.Pointer[[]epochStart]
	mu   struct {
		sync.Mutex
		dirty bool // the file is behind
	}
}

func (e *epochs) all() []epochStart {
	if list := e.list.Load(); list != nil {
		return *list
	}
	return nil
}

// behind says that the file is to be written.
func (e *epochs) behind() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.dirty
}

func (e *epochs) latest() batch.Epoch {
	if list := e.all(); len(list) > 0 {
		return list[len(list)-1].epoch
	}
	return batch.NoEpoch
}

// set replaces the list; the file is written by the next flush.
func (e *epochs) set(list []epochStart) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list.Store(&list)
	e.mu.dirty = true
}

// observe enters the epochs of appended batches.
func (e *epochs) observe(group []batch.Batch) {
	latest := e.latest()
	for _, b := range group {
		if epoch := b.LeaderEpoch(); epoch != latest && epoch >= 0 {
			e.assign(epoch, b.BaseOffset())
			latest = epoch
		}
	}
}

// assign starts epoch at start. Entries that contradict it go, as in Kafka.
func (e *epochs) assign(epoch batch.Epoch, start batch.Offset) {
	list := e.all()
	n := len(list)
	for n > 0 && (list[n-1].epoch >= epoch || list[n-1].start >= start) {
		n--
	}
	e.set(append(slices.Clone(list[:n]), epochStart{epoch, start}))
}

// correct makes the list agree with a batch read from the log.
func (e *epochs) correct(header batch.Batch) {
	epoch := header.LeaderEpoch()
	if epoch < 0 || e.of(header.BaseOffset()) == epoch {
		return
	}
	e.assign(epoch, header.BaseOffset())
}

// truncateEnd removes the epochs that start at end or later.
func (e *epochs) truncateEnd(end batch.Offset) {
	list := e.all()
	n := len(list)
	for n > 0 && list[n-1].start >= end {
		n--
	}
	if n < len(list) {
		e.set(slices.Clone(list[:n]))
	}
}

// truncateStart removes the epochs that end at start or before; the first one left starts at start.
func (e *epochs) truncateStart(start batch.Offset) {
	list := e.all()
	n := sort.Search(len(list), func(i int) bool { return list[i].start > start })
	if n == 0 || n == 1 && list[0].start == start {
		return
	}
	kept := slices.Clone(list[n-1:])
	kept[0].start = start
	e.set(kept)
}

// of is the epoch of the record at offset, or NoEpoch.
func (e *epochs) of(offset batch.Offset) batch.Epoch {
	list := e.all()
	n := sort.Search(len(list), func(i int) bool { return list[i].start > offset })
	if n == 0 {
		return batch.NoEpoch
	}
	return list[n-1].epoch
}

// endOf answers for a requested epoch, in a log that ends at end (LeaderEpochFileCache.endOffsetFor).
func (e *epochs) endOf(epoch batch.Epoch, end batch.Offset) (batch.Epoch, batch.Offset) {
	list := e.all()
	if epoch < 0 || len(list) == 0 {
		return batch.NoEpoch, -1
	}
	if list[len(list)-1].epoch == epoch {
		return epoch, end
	}
	higher := sort.Search(len(list), func(i int) bool { return list[i].epoch > epoch })
	switch higher {
	case len(list): // newer than all that is known
		return batch.NoEpoch, -1
	case 0: // older than all that is kept: what there is begins with the first one
		return epoch, list[0].start
	default:
		return list[higher-1].epoch, list[higher].start
	}
}

// LatestEpoch is the newest leader epoch with a record (or assigned), or batch.NoEpoch.
func (l *Log) LatestEpoch() batch.Epoch { return l.epochs.latest() }

// EpochEnd answers OffsetForLeaderEpoch (KIP-101, KIP-279): the largest epoch at most the asked one and the offset
// where it ends. An epoch newer than all known gives batch.NoEpoch and -1.
func (l *Log) EpochEnd(epoch batch.Epoch) (batch.Epoch, batch.Offset) {
	return l.epochs.endOf(epoch, l.End())
}

// EpochOf is the leader epoch of the record at offset, or batch.NoEpoch.
func (l *Log) EpochOf(offset batch.Offset) batch.Epoch { return l.epochs.of(offset) }

// AssignEpoch notes that epoch starts at the log's end, though it has no record yet: a new leader does this, so that it can
// say where the epochs before end (KIP-101). It needs the partition's lock.
func (l *Log) AssignEpoch(epoch batch.Epoch) {
	if epoch != l.epochs.latest() && epoch >= 0 {
		l.epochs.assign(epoch, l.End())
	}
}
