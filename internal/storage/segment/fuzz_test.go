package segment

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// FuzzRecover walks arbitrary bytes as a log: what is adopted are whole batches with good CRCs and rising offsets, it is
// a prefix of the bytes, and a second walk finds nothing to cut.
func FuzzRecover(f *testing.F) {
	fs := newDir(f)
	s, _ := filled(f, fs, 5, 12)
	whole := read(f, fs, s.Name(Log))
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(append(bytes.Clone(whole), make([]byte, 100)...))
	f.Add(append(bytes.Clone(whole), whole...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		fs := newDir(t)
		s := Open(fs, "d", 5, testInterval, int64(len(content)), false)
		write(t, fs, s.Name(Log), content)
		var offsets []batch.Offset
		r, err := s.Recover(Limits{Limit: 1000}, func(h batch.Batch, _ bool) { offsets = append(offsets, h.BaseOffset(), h.NextOffset()) })
		if err != nil {
			t.Fatal(err)
		}
		if (r.Bad == nil) != (r.Valid == r.Size) || r.Size != int64(len(content)) {
			t.Fatalf("%+v of %d bytes", r, len(content))
		}
		if err := s.Adopt(r, 0); err != nil {
			t.Fatal(err)
		}
		rest, next := content[:r.Valid], s.base
		for len(rest) > 0 {
			var b batch.Batch
			if b, rest, err = batch.Next(rest); err != nil || (b.CheckCRC() != nil) != s.DamageAt(r.Valid-int64(len(b)+len(rest))) || b.BaseOffset() < next {
				t.Fatalf("adopted %v at %d: %v", b, next, err)
			}
			next = b.NextOffset()
		}
		if next != r.Next || next > 1000 {
			t.Fatalf("ends at %d, the batches at %d", r.Next, next)
		}
		for i := 0; i < len(offsets); i += 2 {
			if found, ok, err := s.Locate(offsets[i], s.Size()); err != nil || !ok || found.Next != offsets[i+1] {
				t.Fatalf("locate %d: %+v %v %v", offsets[i], found, ok, err)
			}
		}
		if again, err := Open(fs, "d", 5, testInterval, r.Valid, false).Recover(Limits{Limit: 1000}, func(batch.Batch, bool) {}); err != nil || again.Bad != nil || again.Next != r.Next {
			t.Fatalf("again: %+v %v", again, err)
		}
	})
}

// FuzzSide puts arbitrary bytes where the indexes should be: every offset is found. A time index of pairs that are all in
// the log, but are not its largest so far, is beyond what a lookup can tell; it only leads to a batch.
func FuzzSide(f *testing.F) {
	fs := newDir(f)
	s, all := filled(f, fs, 3, 40)
	if err := errors.Join(s.Seal(), s.Release()); err != nil {
		f.Fatal(err)
	}
	log, index, times := read(f, fs, s.Name(Log)), read(f, fs, s.Name(Index)), read(f, fs, s.Name(TimeIndex))
	f.Add(index, times)
	f.Add(index[:8], times[:12])
	f.Add(index[:9], times[:13])
	f.Add(times, index)
	f.Add(make([]byte, 80), make([]byte, 120))
	f.Fuzz(func(t *testing.T, damagedIndex, damagedTimes []byte) {
		fs := newDir(t)
		write(t, fs, s.Name(Log), log)
		write(t, fs, s.Name(Index), damagedIndex)
		write(t, fs, s.Name(TimeIndex), damagedTimes)
		opened := Open(fs, "d", 3, testInterval, int64(len(log)), true)
		for i, b := range all {
			found, ok, err := opened.Locate(b.LastOffset(), opened.Size())
			if err != nil || !ok || found.Base != b.BaseOffset() {
				t.Fatalf("locate batch %d: %+v %v %v", i, found, ok, err)
			}
			if start, err := opened.TimeStart(b.MaxTimestamp(), opened.Base()); err != nil || start < opened.Size() && !begins(all, start) {
				t.Fatalf("time %d starts at %d, %v", b.MaxTimestamp(), start, err)
			}
		}
		if _, err := opened.Largest(); err != nil {
			t.Fatal(err)
		}
		last, ok, err := Open(fs, "d", 3, testInterval, int64(len(log)), true).Activate(0)
		if err != nil || !ok || last.Next != all[len(all)-1].NextOffset() {
			t.Fatalf("activate: %+v %v %v", last, ok, err)
		}
	})
}

// begins reports whether a batch begins at pos.
func begins(all []batch.Batch, pos int64) bool {
	for _, b := range all {
		if pos == 0 {
			return true
		}
		pos -= int64(len(b))
	}
	return false
}
