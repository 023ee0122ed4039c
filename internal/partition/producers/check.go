package producers

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// draft is a producer as the group being judged would leave it.
type draft struct {
	producer
	accepted bool // the group has a batch for it
	// refused: the group had a batch at this sequence that was not taken. It matters for a producer that nothing
	// is known of: it may start at any sequence, but not past one of its own batches.
	refused         bool
	refusedSequence int32
}

// Verdict is the judgement on a batch that was not refused.
type Verdict struct {
	// Duplicate: the batch was written before, at [Base, Last], with Timestamp (ms).
	Duplicate  bool
	Base, Last batch.Offset
	Timestamp  int64
}

// Check judges batch b, which would be written at base with timestamp (its largest, in ms), at time now. Only the
// header of b is read. Errors wrap kerr values, with Kafka's rules (ProducerAppendInfo, ProducerStateEntry):
//
//   - INVALID_PRODUCER_EPOCH: an epoch older than the newest seen (KIP-588).
//   - OUT_OF_ORDER_SEQUENCE_NUMBER: a gap; a new epoch that does not start at 0; or a retry older than the five
//     batches remembered, for which Kafka has had no code of its own (DUPLICATE_SEQUENCE_NUMBER) since 1.0.
//
// A producer that nothing is known of may start at any sequence (KIP-360).
func (t *Table) Check(now int64, b batch.Batch, base batch.Offset, timestamp int64) (Verdict, error) {
	if !b.HasProducerID() {
		return Verdict{}, nil
	}
	d := t.draft(b.ProducerID())
	if v, ok := d.duplicate(b); ok {
		return v, nil
	}
	if err := d.admit(b); err != nil {
		d.refuse(b)
		return Verdict{}, err
	}
	d.append(b, base, timestamp)
	d.touched = now
	d.accepted = true
	return Verdict{}, nil
}

// Refuse notes that b, a batch of the group, was refused for a reason of its own: what its producer sends after
// it in the group is a gap.
func (t *Table) Refuse(b batch.Batch) {
	if b.HasProducerID() {
		t.draft(b.ProducerID()).refuse(b)
	}
}

// draft is the draft of that id, started from the table if the group has none yet.
func (t *Table) draft(id int64) *draft {
	i, ok := t.draftAt[id]
	if !ok {
		d := draft{producer: newProducer(id)}
		if j, known := t.at[id]; known {
			d.producer = t.producers[j]
		}
		i = len(t.drafts)
		t.drafts = append(t.drafts, d)
		t.draftAt[id] = i
	}
	return &t.drafts[i]
}

func (d *draft) refuse(b batch.Batch) {
	if !d.refused {
		d.refused, d.refusedSequence = true, b.BaseSequence()
	}
}

// duplicate looks for b among the remembered batches.
func (d *draft) duplicate(b batch.Batch) (Verdict, bool) {
	if b.ProducerEpoch() != d.epoch || b.BaseSequence() < 0 {
		return Verdict{}, false
	}
	for _, w := range d.batches[:d.n] {
		if w.lastSequence == b.LastSequence() && w.delta == b.LastOffsetDelta() {
			return Verdict{Duplicate: true, Base: w.firstOffset(), Last: w.lastOffset, Timestamp: w.timestamp}, true
		}
	}
	return Verdict{}, false
}

// admit decides whether b may follow.
func (d *draft) admit(b batch.Batch) error {
	epoch, sequence := b.ProducerEpoch(), b.BaseSequence()
	switch {
	case epoch < d.epoch:
		return fmt.Errorf("producer %d: epoch %d is older than %d, the newest seen: %w",
			d.id, epoch, d.epoch, kerr.InvalidProducerEpoch)
	case sequence < 0:
		// A coordinator's batch: it has an epoch to be fenced by but no sequence.
		return nil
	case d.epoch == batch.NoProducerEpoch:
		if d.refused && sequence != d.refusedSequence {
			return fmt.Errorf("producer %d epoch %d: sequence %d comes after %d, which was refused: %w",
				d.id, epoch, sequence, d.refusedSequence, kerr.OutOfOrderSequenceNumber)
		}
		return nil
	case epoch > d.epoch:
		if sequence != 0 {
			return fmt.Errorf("producer %d: epoch %d starts with sequence %d, expected 0: %w",
				d.id, epoch, sequence, kerr.OutOfOrderSequenceNumber)
		}
		return nil
	}
	if next := d.nextSequence(); sequence != next {
		return fmt.Errorf("producer %d epoch %d: sequence %d, expected %d: %w",
			d.id, epoch, sequence, next, kerr.OutOfOrderSequenceNumber)
	}
	return nil
}
