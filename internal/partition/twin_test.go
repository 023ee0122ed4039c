package partition

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// stored is a batch of the slow twin's log.
type stored struct {
	proto
	base batch.Offset
}

// twin is a partition as a list. It knows producers by looking through all of it.
type twin struct {
	batches []stored
	end     batch.Offset
	durable batch.Offset
	start   batch.Offset
}

// judge says what must become of o: a code, a duplicate's base, or neither (-1).
func (w *twin) judge(o proto) (*kerr.Error, batch.Offset) {
	var mine []stored
	for _, s := range w.batches {
		if s.producer == o.producer {
			mine = append(mine, s)
		}
	}
	if len(mine) == 0 || o.producer < 0 {
		return nil, -1
	}
	for _, s := range mine[max(0, len(mine)-5):] {
		if s.sequence == o.sequence && s.count == o.count {
			return nil, s.base
		}
	}
	if last := mine[len(mine)-1]; o.sequence != last.sequence+int32(last.count) {
		return kerr.OutOfOrderSequenceNumber, -1
	}
	return nil, -1
}

func (w *twin) append(o proto) {
	w.batches = append(w.batches, stored{o, w.end})
	w.end += batch.Offset(o.count)
}

// cut drops what a crash took.
func (w *twin) cut(end batch.Offset) {
	for len(w.batches) > 0 && w.batches[len(w.batches)-1].base >= end {
		w.batches = w.batches[:len(w.batches)-1]
	}
	w.end = end
}

func (w *twin) draw(t *rapid.T) proto {
	id := rapid.Int64Range(-1, 2).Draw(t, "producer")
	n := rapid.IntRange(1, 3).Draw(t, "count")
	if id < 0 {
		return plain(n)
	}
	next := int32(0)
	var mine []stored
	for _, s := range w.batches {
		if s.producer == id {
			mine, next = append(mine, s), s.sequence+int32(s.count)
		}
	}
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0 && len(mine) > 0:
		return mine[rapid.IntRange(0, len(mine)-1).Draw(t, "retry")].proto
	case kind == 1:
		return from(id, 0, next+1, n)
	}
	return from(id, 0, next, n)
}

// TestTwin compares the partition with the twin over random groups, syncs, clean stops, kills and power cuts.
func TestTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		fs, slow := vfs.NewMem(), &twin{}
		small := func(o *OpenOptions) { o.Log.SegmentBytes = 600 }
		p := openBriefly(t, fs, small)
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			switch rapid.IntRange(0, 7).Draw(rt, "step") {
			case 0:
				mustSync(t, p)
				slow.durable = slow.end
			case 1:
				mustClose(t, p)
				slow.durable = slow.end
				p = openBriefly(t, fs, func(o *OpenOptions) { small(o); o.Clean, o.StartOffset = true, slow.start })
			case 2:
				keep := rapid.SampledFrom([]int{0, 100}).Draw(rt, "keep")
				fs = fs.CrashClone(vfs.CrashOptions{Keep: keep})
				p = openBriefly(t, fs, func(o *OpenOptions) { small(o); o.StartOffset = slow.start })
				if end := p.Offsets().End; end < slow.durable || end > slow.end || keep == 100 && end != slow.end {
					rt.Fatalf("recovered to %d of [%d, %d]", end, slow.durable, slow.end)
				}
				slow.cut(p.Offsets().End)
				slow.durable = slow.end
			default:
				compareGroup(t, rt, p, slow)
			}
			want := Offsets{Start: slow.start, HighWatermark: slow.durable, LastStable: slow.durable, End: slow.end}
			if marks := p.Offsets(); marks != want {
				rt.Fatalf("%+v, want %+v", marks, want)
			}
		}
		mustSync(t, p)
		compareLog(t, rt, p, slow)
		_ = p.Close(false)
	})
}

func compareGroup(t *testing.T, rt *rapid.T, p *Partition, slow *twin) {
	var group []*Produce
	type outcome struct {
		code *kerr.Error
		base batch.Offset
		end  batch.Offset
	}
	var want []outcome
	for range rapid.IntRange(1, 5).Draw(rt, "batches") {
		o := slow.draw(rt)
		group = append(group, o.produce(t))
		code, original := slow.judge(o)
		switch {
		case code != nil:
			want = append(want, outcome{code: code, base: -1, end: -1})
		case original >= 0:
			want = append(want, outcome{base: original, end: original + batch.Offset(o.count)})
		default:
			slow.append(o)
			want = append(want, outcome{base: slow.end - batch.Offset(o.count), end: slow.end})
		}
	}
	p.Append(start, group)
	for i, pr := range group {
		w := want[i]
		if w.code != nil && !errors.Is(pr.Err, w.code) || w.code == nil && pr.Err != nil || pr.Base != w.base || pr.End != w.end {
			rt.Fatalf("batch %d: %s, want %v [%d, %d)", i, describe(pr), w.code, w.base, w.end)
		}
		if done, err := p.Await(pr.End); pr.Err == nil && (done != (pr.End <= slow.durable) || err != nil) {
			rt.Fatalf("await %d: %t, %v, durable to %d", pr.End, done, err, slow.durable)
		}
	}
}

func compareLog(t *testing.T, rt *rapid.T, p *Partition, slow *twin) {
	got := readAll(t, p)
	if len(got) != len(slow.batches) {
		rt.Fatalf("%d batches, want %d", len(got), len(slow.batches))
	}
	for i, b := range got {
		s := slow.batches[i]
		if b.BaseOffset() != s.base || int(b.Count()) != s.count || b.ProducerID() != s.producer || b.BaseSequence() != s.sequence {
			rt.Fatalf("batch %d is [%d, %d) of %d, want %+v", i, b.BaseOffset(), b.NextOffset(), b.ProducerID(), s)
		}
	}
}
