package compact

import "github.com/ottla-io/ottla/internal/protocol/batch"

// control decides about a control batch. A marker stays while the log has a batch of its transaction, even an empty one;
// then it gets a delete horizon, so that a reader who saw the data sees its end too (KIP-534), and goes when that has
// passed. Control records that end no transaction stay.
func (f *Filter) control(b batch.Batch, stay bool) (batch.Batch, error) {
	_, ends, err := markerOf(b)
	if err != nil {
		return nil, err
	}
	_, data := f.unmarked[b.ProducerID()]
	if ends {
		delete(f.unmarked, b.ProducerID())
	}
	if b.BaseOffset() >= f.rules.End {
		return b, nil
	}
	if b.Count() == 0 {
		return f.empty(b, stay)
	}
	if !ends || data {
		return b, nil
	}
	horizon, ok := b.DeleteHorizon()
	switch {
	case !ok:
		if err := f.all(b); err != nil {
			return nil, err
		}
		return f.rewrite(b, true)
	case f.rules.Now >= horizon:
		return f.empty(b, stay)
	}
	return b, nil
}
