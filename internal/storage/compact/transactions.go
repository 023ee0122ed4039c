package compact

import (
	"fmt"
	"sort"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Transactions is how the transactions of a part of the log ended, learned from its batches in order. Kafka reads it from
// the transaction index; the log itself says it too, and cannot have lost it.
type Transactions struct {
	open    map[int64]batch.Offset // producer id -> first offset of its open transaction
	order   []started              // every transaction's start, rising
	aborted map[int64][]span       // producer id -> its aborted transactions, rising
}

type started struct {
	producer int64
	first    batch.Offset
}

// span is a transaction from its first offset to its marker's.
type span struct{ first, marker batch.Offset }

// NewTransactions knows of none.
func NewTransactions() *Transactions {
	return &Transactions{open: make(map[int64]batch.Offset), aborted: make(map[int64][]span)}
}

// Data takes a batch that is no control batch; its header is enough.
func (t *Transactions) Data(b batch.Batch) {
	if !b.IsTransactional() {
		return
	}
	id := b.ProducerID()
	if _, ok := t.open[id]; !ok {
		t.open[id] = b.BaseOffset()
		t.order = append(t.order, started{id, b.BaseOffset()})
	}
}

// Control takes a whole control batch.
func (t *Transactions) Control(b batch.Batch) error {
	marker, ok, err := markerOf(b)
	if err != nil || !ok {
		return err
	}
	id := b.ProducerID()
	first, ok := t.open[id]
	if !ok {
		return nil // the data lies before the part that was read
	}
	delete(t.open, id)
	if marker.Type == batch.ControlAbort {
		t.aborted[id] = append(t.aborted[id], span{first, b.BaseOffset()})
	}
	for len(t.order) > 0 && !t.isOpen(t.order[0]) {
		t.order = t.order[1:] // what is kept is the oldest open one, and what began after it
	}
	return nil
}

func (t *Transactions) isOpen(s started) bool {
	first, ok := t.open[s.producer]
	return ok && first == s.first
}

// Aborted reports whether b is data of an aborted transaction.
func (t *Transactions) Aborted(b batch.Batch) bool {
	if !b.IsTransactional() {
		return false
	}
	spans := t.aborted[b.ProducerID()]
	i := sort.Search(len(spans), func(i int) bool { return spans[i].marker > b.BaseOffset() })
	return i < len(spans) && spans[i].first <= b.BaseOffset()
}

// FirstOpen is the first offset of the oldest transaction that has not ended; ok is false if there is none.
func (t *Transactions) FirstOpen() (first batch.Offset, ok bool) {
	if len(t.order) == 0 {
		return 0, false
	}
	return t.order[0].first, true
}

// markerOf is the marker in control batch b; ok is false if it has no record, or one that ends no transaction.
func markerOf(b batch.Batch) (m batch.Marker, ok bool, err error) {
	for r, err := range b.All(batch.Limit{}) {
		if err == nil {
			m, ok, err = batch.ParseMarker(r)
		}
		if err != nil {
			return m, false, fmt.Errorf("control batch at offset %d: %w", b.BaseOffset(), err)
		}
		return m, ok, nil
	}
	return m, false, nil
}
