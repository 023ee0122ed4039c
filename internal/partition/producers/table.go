package producers

import (
	"math"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// window is how many of a producer's newest batches are remembered (Kafka's
// ProducerStateEntry.NUM_BATCHES_TO_RETAIN); clients keep no more than five requests in flight for it.
const window = 5

// noOffset stands for "no offset".
const noOffset batch.Offset = -1

// written is one remembered batch.
type written struct {
	lastSequence int32
	delta        int32 // last sequence - first sequence, and last offset - first offset
	lastOffset   batch.Offset
	timestamp    int64 // ms
}

func (w written) firstSequence() int32      { return subSequence(w.lastSequence, w.delta) }
func (w written) firstOffset() batch.Offset { return w.lastOffset - batch.Offset(w.delta) }

// subSequence is sequence - delta, where 2^31-1 comes before 0 (Kafka's DefaultRecordBatch.decrementSequence).
func subSequence(sequence, delta int32) int32 {
	return int32((int64(sequence) - int64(delta)) & math.MaxInt32)
}

// producer is what is known of one producer id; about 170 bytes.
type producer struct {
	id               int64
	epoch            int16
	n                int8 // how many of batches are in use
	coordinatorEpoch int32
	lastTimestamp    int64        // ms, of the newest batch or marker
	touched          int64        // ms, when the producer was last heard of: what expiry goes by
	txnFirst         batch.Offset // first offset of the open transaction, or noOffset
	batches          [window]written
}

func newProducer(id int64) producer {
	return producer{id: id, epoch: batch.NoProducerEpoch, coordinatorEpoch: -1, lastTimestamp: batch.NoTimestamp, txnFirst: noOffset}
}

// nextSequence is the sequence that follows what was written in this epoch.
func (p *producer) nextSequence() int32 {
	if p.n == 0 || p.batches[p.n-1].lastSequence < 0 {
		return 0
	}
	return batch.AddSequence(p.batches[p.n-1].lastSequence, 1)
}

// setEpoch moves to epoch; a new one starts with no batches.
func (p *producer) setEpoch(epoch int16) {
	if p.epoch != epoch {
		p.epoch, p.n = epoch, 0
	}
}

func (p *producer) remember(w written) {
	if p.n == window {
		copy(p.batches[:], p.batches[1:])
		p.n--
	}
	p.batches[p.n] = w
	p.n++
	p.lastTimestamp = w.timestamp
}

// append takes batch b, whose first record is at base. Only the header is read, so of a transaction's marker neither
// kind nor coordinator epoch is known.
func (p *producer) append(b batch.Batch, base batch.Offset, timestamp int64) {
	p.setEpoch(b.ProducerEpoch())
	if b.IsControl() {
		p.lastTimestamp, p.txnFirst = timestamp, noOffset
		return
	}
	delta := b.LastOffsetDelta()
	p.remember(written{
		lastSequence: b.LastSequence(), delta: delta, lastOffset: base + batch.Offset(delta), timestamp: timestamp,
	})
	if b.IsTransactional() && p.txnFirst == noOffset {
		p.txnFirst = base
	}
}

// Table is the producers of one partition. The zero value is not ready: use New.
type Table struct {
	producers []producer
	at        map[int64]int // producer id -> its place in producers

	drafts  []draft       // what the group being judged would leave
	draftAt map[int64]int // producer id -> its place in drafts
}

// New returns an empty table.
func New() *Table {
	return &Table{at: make(map[int64]int), draftAt: make(map[int64]int)}
}

// Len is the number of producer ids.
func (t *Table) Len() int { return len(t.producers) }

// entry is the producer of that id, made if it is not there.
func (t *Table) entry(id int64) *producer {
	i, ok := t.at[id]
	if !ok {
		i = len(t.producers)
		t.producers = append(t.producers, newProducer(id))
		t.at[id] = i
	}
	return &t.producers[i]
}

// Commit makes the group that was checked part of the state. Call it once its write is done.
func (t *Table) Commit() {
	for i := range t.drafts {
		if t.drafts[i].accepted {
			*t.entry(t.drafts[i].id) = t.drafts[i].producer
		}
	}
	t.Discard()
}

// Discard forgets the group that was checked.
func (t *Table) Discard() {
	t.drafts = t.drafts[:0]
	clear(t.draftAt)
}

// Apply takes a batch that the log holds already, unconditionally (KAFKA-6003: what a leader wrote is not judged
// again).
func (t *Table) Apply(now int64, b batch.Batch) {
	if !b.HasProducerID() {
		return
	}
	p := t.entry(b.ProducerID())
	p.append(b, b.BaseOffset(), b.MaxTimestamp())
	p.touched = min(now, p.lastTimestamp)
}

// ApplyDamaged takes the header of a batch that cannot be read. It is believed only where it goes on with what the producer wrote
// before: else a flipped bit could fence a producer, or have its next batch refused. A producer whose newest batch is passed over is told
// OUT_OF_ORDER_SEQUENCE_NUMBER, and goes on with a new epoch.
func (t *Table) ApplyDamaged(now int64, b batch.Batch) {
	i, known := t.at[b.ProducerID()]
	if !known || b.IsControl() || b.Count() != b.LastOffsetDelta()+1 {
		return
	}
	if p := &t.producers[i]; p.epoch == b.ProducerEpoch() && p.n > 0 && p.nextSequence() == b.BaseSequence() {
		t.Apply(now, b)
	}
}

// Newest returns a function that tells, of a batch by its header, whether it is one of those remembered now, or a marker
// of a producer that has written nothing since. Compaction must leave such batches, or the producer's sequence would be
// lost with the next restart (KAFKA-7385). The function goes on knowing what was remembered when it was made.
func (t *Table) Newest() func(header batch.Batch) bool {
	type marker struct {
		producer int64
		epoch    int16
	}
	offsets := make(map[batch.Offset]struct{})
	markers := make(map[marker]struct{})
	for i := range t.producers {
		p := &t.producers[i]
		for _, w := range p.batches[:p.n] {
			offsets[w.lastOffset] = struct{}{}
		}
		if p.n == 0 {
			markers[marker{p.id, p.epoch}] = struct{}{}
		}
	}
	return func(h batch.Batch) bool {
		if h.IsControl() {
			_, ok := markers[marker{h.ProducerID(), h.ProducerEpoch()}]
			return ok
		}
		_, ok := offsets[h.LastOffset()]
		return ok
	}
}

// Expire forgets the producers that were not heard of for age ms (producer.id.expiration.ms) and have no open
// transaction. Kafka goes by the newest batch's timestamp, which the client sets: one that writes old data loses
// its duplicates at every check, and a timestamp in the far future is kept for ever. Here a live append counts by
// this node's clock, and only what was read back from disk by its timestamp.
func (t *Table) Expire(now, age int64) {
	for i := 0; i < len(t.producers); {
		p := &t.producers[i]
		if p.txnFirst != noOffset || now-p.touched < age {
			i++
			continue
		}
		delete(t.at, p.id)
		last := len(t.producers) - 1
		if i != last {
			t.producers[i] = t.producers[last]
			t.at[t.producers[i].id] = i
		}
		t.producers = t.producers[:last]
	}
}
