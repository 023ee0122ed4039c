package log

import (
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
)

// loadEpochs reads the leader-epoch checkpoint; false if it is missing or unreadable.
func (l *Log) loadEpochs() bool {
	list, err := readEpochs(l.fs, l.dir)
	if err != nil {
		return false
	}
	l.epochs.list.Store(&list)
	return true
}

// repairEpochs makes the epochs fit the log's bounds, and rebuilds them from the batches if there was no file to believe, or it
// does not have the last batch's epoch: it was lost, damaged or old.
func (l *Log) repairEpochs(end batch.Offset) error {
	l.epochs.truncateEnd(end)
	if l.Size() > 0 {
		latest, err := l.lastEpoch()
		if err != nil {
			return err
		}
		if !l.loaded.epochFile || latest > l.epochs.latest() {
			if err := l.rebuildEpochs(latest); err != nil {
				return err
			}
		}
	}
	l.epochs.truncateStart(l.Start())
	return nil
}

// lastEpoch is the leader epoch of the log's last batch.
func (l *Log) lastEpoch() (batch.Epoch, error) {
	if epoch := l.loaded.lastEpoch; epoch >= 0 {
		return epoch, nil
	}
	segs := *l.segs.Load()
	for _, seg := range slices.Backward(segs) {
		if seg.Size() == 0 {
			continue
		}
		last, ok, err := seg.Last()
		if ok {
			return last.Epoch, nil
		}
		if err != nil {
			return batch.NoEpoch, err
		}
	}
	return batch.NoEpoch, nil
}

// rebuildEpochs reads them from the batches. Epochs only rise, so a segment that begins and ends in one epoch is not
// walked.
func (l *Log) rebuildEpochs(latest batch.Epoch) error {
	l.epochs.set(nil)
	var segs []*segment.Segment
	for _, s := range *l.segs.Load() {
		if s.Size() > 0 {
			segs = append(segs, s)
		}
	}
	for i, s := range segs {
		first, err := s.At(0, s.Size())
		if err != nil {
			return err
		}
		next := latest
		if i+1 < len(segs) {
			after, err := segs[i+1].At(0, segs[i+1].Size())
			if err != nil {
				return err
			}
			next = after.Epoch
		}
		if first.Epoch == next {
			if next != l.epochs.latest() && next >= 0 {
				l.epochs.assign(next, first.Base)
			}
			continue
		}
		err = s.Scan(0, s.Size(), func(h batch.Batch, _ int64, _ int) error {
			l.epochs.correct(h)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
