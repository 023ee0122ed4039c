package producers

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// twin keeps every batch ever written and looks at all of them, each time.
type twin struct{ written []header }

// check says what becomes of h: an error, the original it repeats, or neither.
func (w *twin) check(h header) (*kerr.Error, *header) {
	var mine []header // the batches of the producer's newest epoch
	for _, o := range w.written {
		if o.producer != h.producer {
			continue
		}
		if len(mine) > 0 && mine[0].epoch != o.epoch {
			mine = nil
		}
		mine = append(mine, o)
	}
	if len(mine) == 0 {
		return nil, nil
	}
	if h.epoch != mine[0].epoch {
		switch {
		case h.epoch < mine[0].epoch:
			return kerr.InvalidProducerEpoch, nil
		case h.sequence != 0:
			return kerr.OutOfOrderSequenceNumber, nil
		}
		return nil, nil
	}
	for i := max(0, len(mine)-5); i < len(mine); i++ {
		if mine[i].sequence == h.sequence && mine[i].count == h.count {
			return nil, &mine[i]
		}
	}
	if last := mine[len(mine)-1]; h.sequence != last.sequence+last.count {
		return kerr.OutOfOrderSequenceNumber, nil
	}
	return nil, nil
}

func drawHeader(t *rapid.T, w *twin) header {
	h := header{
		producer: rapid.Int64Range(0, 2).Draw(t, "producer"),
		epoch:    rapid.Int16Range(0, 2).Draw(t, "epoch"),
		sequence: rapid.Int32Range(0, 4).Draw(t, "sequence"),
		count:    rapid.Int32Range(1, 3).Draw(t, "count"),
	}
	if n := len(w.written); n > 0 {
		switch o := w.written[rapid.IntRange(max(0, n-8), n-1).Draw(t, "which")]; rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0: // a retry
			h.producer, h.epoch, h.sequence, h.count = o.producer, o.epoch, o.sequence, o.count
		case 1, 2: // the next one
			h.producer, h.epoch, h.sequence = o.producer, o.epoch, o.sequence+o.count
		}
	}
	return h
}

func TestTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, slow := New(), &twin{}
		end := batch.Offset(0)
		for range rapid.IntRange(1, 12).Draw(t, "groups") {
			group := &twin{written: slices.Clone(slow.written)}
			next := end
			for range rapid.IntRange(1, 8).Draw(t, "batches") {
				h := drawHeader(t, group)
				v, err := table.Check(0, h.batch(), next, int64(next))
				wantErr, original := group.check(h)
				switch {
				case wantErr != nil:
					if !errors.Is(err, wantErr) {
						t.Fatalf("%+v: %v, want %v", h, err, wantErr)
					}
				case err != nil:
					t.Fatalf("%+v: %v", h, err)
				case original != nil:
					last := original.base + batch.Offset(original.count) - 1
					if !v.Duplicate || v.Base != original.base || v.Last != last || v.Timestamp != original.timestamp {
						t.Fatalf("%+v: %+v, want a duplicate of %+v", h, v, *original)
					}
				case v.Duplicate:
					t.Fatalf("%+v: %+v, want it accepted", h, v)
				default:
					h.base, h.timestamp = next, int64(next)
					group.written = append(group.written, h)
					next += batch.Offset(h.count)
				}
			}
			switch rapid.IntRange(0, 4).Draw(t, "outcome") {
			case 0:
				table.Discard()
			default:
				table.Commit()
				slow, end = group, next
			}
			table = reopen(t, table, slow, end)
		}
	})
}

// reopen replaces the table, sometimes, by one restored from a snapshot or rebuilt from the log.
func reopen(t *rapid.T, table *Table, slow *twin, end batch.Offset) *Table {
	switch rapid.IntRange(0, 5).Draw(t, "reopen") {
	case 0:
		restored, err := Restore(0, table.Snapshot(nil), end)
		if err != nil {
			t.Fatal(err)
		}
		return restored
	case 1: // a crash: an older snapshot, and the log from there
		at := rapid.IntRange(0, len(slow.written)).Draw(t, "snapshot")
		older := New()
		for _, h := range slow.written[:at] {
			older.Apply(0, h.batch())
		}
		restored, err := Restore(0, older.Snapshot(nil), end)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range slow.written[at:] {
			restored.Apply(0, h.batch())
		}
		if !bytes.Equal(sorted(restored), sorted(table)) {
			t.Fatal("the table rebuilt from the log differs from the live one")
		}
		return restored
	}
	return table
}

// sorted is a snapshot with the producers in the order of their ids.
func sorted(table *Table) []byte {
	c := &Table{producers: slices.Clone(table.producers)}
	slices.SortFunc(c.producers, func(a, b producer) int { return int(a.id - b.id) })
	return c.Snapshot(nil)
}

func FuzzRestore(f *testing.F) {
	table := New()
	f.Add(table.Snapshot(nil))
	for i := range int32(6) {
		table.Apply(9, header{producer: 1, epoch: 2, sequence: i, count: 1, base: batch.Offset(i), timestamp: 5}.batch())
	}
	table.Apply(9, header{producer: 2, sequence: 9, count: 3, base: 6, txn: true}.batch())
	table.Apply(9, header{producer: 3, count: 1, base: 9, marker: true}.batch())
	f.Add(table.Snapshot(nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) >= snapshotHeader { // let the fuzzer past the CRC
			file = slices.Clone(file)
			seal(file)
		}
		restored, err := Restore(1<<40, file, 1<<40)
		if err != nil {
			if !errors.Is(err, batch.ErrCorrupt) {
				t.Fatalf("not marked corrupt: %v", err)
			}
			return
		}
		once := restored.Snapshot(nil)
		again, err := Restore(1<<40, once, 1<<40)
		if err != nil {
			t.Fatalf("our own snapshot is refused: %v", err)
		}
		if !bytes.Equal(again.Snapshot(nil), once) {
			t.Fatal("a snapshot changed by a restore")
		}
	})
}
