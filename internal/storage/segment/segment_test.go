package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const testInterval = 300

// mk makes a batch of count records at base.
func mk(t rapid.TB, base batch.Offset, count int, ts int64) batch.Batch {
	t.Helper()
	var w batch.Builder
	w.Reset(batch.NewFields(base))
	for i := range count {
		w.Append(batch.Record{Offset: base + batch.Offset(i), Delta: int32(i), Timestamp: ts + int64(i), Value: bytes.Repeat([]byte{1}, 20)})
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// filled is a sealed segment of n batches of two records, from offset base on, of which every tenth offset is missing.
func filled(t rapid.TB, fs vfs.FS, base batch.Offset, n int) (s *Segment, all []batch.Batch) {
	t.Helper()
	s, err := Create(fs, "d", base, testInterval, 0)
	if err != nil {
		t.Fatal(err)
	}
	next := base
	for i := range n {
		b := mk(t, next, 2, int64(1000+i*10-i%3*25))
		put(t, s, b)
		all = append(all, b)
		next = b.NextOffset()
		if i%10 == 9 {
			next++
		}
	}
	return s, all
}

func put(t rapid.TB, s *Segment, group ...batch.Batch) {
	t.Helper()
	pos, vec, n := s.Size(), [][]byte(nil), int64(0)
	for _, b := range group {
		vec = append(vec, b)
		n += int64(len(b))
	}
	if err := s.Write(vec); err != nil {
		t.Fatal(err)
	}
	s.Publish(n)
	s.Index(group, pos, testInterval)
}

func newDir(t rapid.TB) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	return fs
}

// check finds offsets and timestamps.
func check(t rapid.TB, s *Segment, all []batch.Batch) {
	t.Helper()
	pos, largest := int64(0), Timestamp{NoTimestamp, s.base}
	at := s.base
	for i, b := range all {
		if i%max(len(all)/100, 1) != 0 {
			at = b.LastOffset() // of a long log, a hundred batches by every offset
		}
		for ; at < b.NextOffset(); at++ {
			found, ok, err := s.Locate(at, s.Size())
			if err != nil || !ok || found.Pos != pos || found.Size != len(b) || found.Base != b.BaseOffset() {
				t.Fatalf("locate %d: %+v %v %v, expected %d bytes at %d", at, found, ok, err, len(b), pos)
			}
		}
		pos += int64(len(b))
		if b.MaxTimestamp() > largest.At {
			largest = Timestamp{b.MaxTimestamp(), b.LastOffset()}
		}
	}
	if _, ok, err := s.Locate(at, s.Size()); ok || err != nil {
		t.Fatalf("locate %d, the end: %v %v", at, ok, err)
	}
	if got, err := s.Largest(); err != nil || got != largest {
		t.Fatalf("largest is %v %v, expected %v", got, err, largest)
	}
	if len(all) <= 300 {
		checkLast(t, s, all)
	}
	for i := 0; i < len(all); i += max(len(all)/40, 1) {
		checkTime(t, s, all, all[i].MaxTimestamp())
	}
}

// checkLast finds the last whole batch below positions at, before and behind each batch's end.
func checkLast(t rapid.TB, s *Segment, all []batch.Batch) {
	t.Helper()
	pos, last := int64(0), Found{}
	expect := func(end int64, want Found, wantOK bool) {
		t.Helper()
		found, ok, err := s.LastBelow(end)
		if err != nil || ok != wantOK || ok && (found.Pos != want.Pos || found.Next != want.Next) {
			t.Fatalf("the last batch below %d is %+v %v %v, expected %+v %v", end, found, ok, err, want, wantOK)
		}
	}
	expect(0, last, false)
	for i, b := range all {
		pos += int64(len(b))
		expect(pos-1, last, i > 0)
		last = Found{Pos: pos - int64(len(b)), Next: b.NextOffset()}
		expect(pos, last, true)
		expect(pos+1, last, true)
	}
}

// checkTime checks that TimeStart passes no batch with a timestamp of at least ts.
func checkTime(t rapid.TB, s *Segment, all []batch.Batch, ts int64) {
	t.Helper()
	start, err := s.TimeStart(ts, s.base)
	if err != nil {
		t.Fatal(err)
	}
	pos := int64(0)
	for _, b := range all {
		if b.MaxTimestamp() >= ts {
			if start > pos {
				t.Fatalf("time %d starts at %d, the batch is at %d", ts, start, pos)
			}
			return
		}
		pos += int64(len(b))
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, base := range []batch.Offset{0, 42, math.MaxInt64} {
		for _, kind := range Kinds() {
			for _, state := range []State{Live, Cleaned, Swap, Deleted} {
				name := Name(base, kind, state)
				b, k, s, ok := ParseName(name)
				if !ok || b != base || k != kind || s != state {
					t.Errorf("%s parses as %d %s %s %v", name, b, k, s, ok)
				}
			}
		}
	}
	for _, name := range []string{
		"", ".log", "0.log", "0000000000000000000x.log", "00000000000000000000", "00000000000000000000.", "-0000000000000000001.log",
		"00000000000000000000.snapshot", "00000000000000000000.log.old", "00000000000000000000.log.deleted.x",
		"99999999999999999999.log", "leader-epoch-checkpoint",
	} {
		if _, _, _, ok := ParseName(name); ok {
			t.Errorf("%q is taken for a segment's file", name)
		}
	}
}

// TestOpenOrSealed finds everything in an active segment, after sealing, and after opening again, by two instances.
func TestOpenOrSealed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 5, 800} {
		fs := newDir(t)
		s, all := filled(t, fs, 1<<40, n)
		check(t, s, all)
		if err := s.Seal(); err != nil {
			t.Fatal(err)
		}
		check(t, s, all)
		check(t, Open(fs, "d", s.base, testInterval, s.Size(), true), all)
		again := Open(fs, "d", s.base, testInterval, s.Size(), true)
		last, ok, err := again.Activate(0)
		if err != nil || ok != (n > 0) || ok && last.Next != all[n-1].NextOffset() {
			t.Fatalf("activate: %+v %v %v", last, ok, err)
		}
		more := mk(t, s.base+2000, 1, 9_000_000)
		put(t, again, more)
		check(t, again, append(all, more))
	}
}

// TestIndexIsKafkas checks the entries by the rules of Kafka's LogSegment.append and its dump tool.
func TestIndexIsKafkas(t *testing.T) {
	t.Parallel()
	fs := newDir(t)
	s, all := filled(t, fs, 7, 500)
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	index, times := read(t, fs, s.Name(Index)), read(t, fs, s.Name(TimeIndex))
	var wantIndex, wantTimes []byte
	pos, since, largest, entered := 0, 0, Timestamp{NoTimestamp, 7}, int64(NoTimestamp)
	enter := func() {
		if largest.At > entered {
			wantTimes = binary.BigEndian.AppendUint64(wantTimes, uint64(largest.At))
			wantTimes = binary.BigEndian.AppendUint32(wantTimes, uint32(largest.Offset-7))
			entered = largest.At
		}
	}
	for _, b := range all {
		if b.MaxTimestamp() > largest.At {
			largest = Timestamp{b.MaxTimestamp(), b.LastOffset()}
		}
		if since > testInterval {
			wantIndex = binary.BigEndian.AppendUint32(wantIndex, uint32(b.LastOffset()-7))
			wantIndex = binary.BigEndian.AppendUint32(wantIndex, uint32(pos))
			enter()
			since = 0
		}
		pos += len(b)
		since += len(b)
	}
	enter()
	if !bytes.Equal(index, wantIndex) || !bytes.Equal(times, wantTimes) {
		t.Errorf("index has %d bytes, expected %d; time index %d, expected %d", len(index), len(wantIndex), len(times), len(wantTimes))
	}
	if len(index) == 0 || len(times) == 0 {
		t.Error("nothing was indexed")
	}
}

func read(t rapid.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	file, err := fs.OpenFile(name, syscall.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	size, err := file.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if size > 0 {
		if _, err := file.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func write(t rapid.TB, fs vfs.FS, name string, content []byte) {
	t.Helper()
	file, err := fs.OpenFile(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_TRUNC)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSideFilesAreNotTrusted damages the index in many ways; every offset is found all the same (case 25).
func TestSideFilesAreNotTrusted(t *testing.T) {
	t.Parallel()
	damages := map[string]func(b []byte) []byte{
		"empty":         func([]byte) []byte { return nil },
		"half an entry": func(b []byte) []byte { return b[:len(b)-5] },
		"last half":     func(b []byte) []byte { return b[:len(b)/24*12/8*8] },
		"zero tail":     func(b []byte) []byte { return append(b, make([]byte, 240)...) },
		"all zeros":     func(b []byte) []byte { return make([]byte, len(b)) },
		"all ones":      func(b []byte) []byte { return bytes.Repeat([]byte{0xff}, len(b)) },
		"too long":      func(b []byte) []byte { return bytes.Repeat(b, 50) },
		"another's":     func(b []byte) []byte { return bytes.Repeat([]byte{0, 0, 0, 9}, len(b)/4) },
		"missing":       nil,
	}
	for name, damage := range damages {
		for _, kind := range []Kind{Index, TimeIndex} {
			t.Run(fmt.Sprintf("%s%s", name, kind), func(t *testing.T) {
				t.Parallel()
				fs := newDir(t)
				s, all := filled(t, fs, 100, 300)
				if err := errors.Join(s.Seal(), s.Release()); err != nil {
					t.Fatal(err)
				}
				if damage == nil {
					if err := fs.Remove(s.Name(kind)); err != nil {
						t.Fatal(err)
					}
				} else {
					write(t, fs, s.Name(kind), damage(read(t, fs, s.Name(kind))))
				}
				trusted := kind == Index || name != "last half" // a time index cut at an entry cannot be told from a shorter one
				check(t, Open(fs, "d", 100, testInterval, s.Size(), trusted), all)
			})
		}
	}
}

// TestIndexBitFlips flips every byte of an index, one at a time.
func TestIndexBitFlips(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Index, TimeIndex} {
		fs := newDir(t)
		s, all := filled(t, fs, 0, 40)
		if err := errors.Join(s.Seal(), s.Release()); err != nil {
			t.Fatal(err)
		}
		whole := read(t, fs, s.Name(kind))
		for i := range whole {
			for _, flip := range []byte{1, 0x80} {
				damaged := bytes.Clone(whole)
				damaged[i] ^= flip
				write(t, fs, s.Name(kind), damaged)
				opened := Open(fs, "d", 0, testInterval, s.Size(), true)
				check(t, opened, all)
				if err := opened.Release(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestFullDisk: without room for indexes appends go on, and everything is found.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	mem := newDir(t)
	fs := vfs.Faulty(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && op.Name != "d/"+Name(0, Log, Live) {
			return syscall.ENOSPC
		}
		return nil
	})
	s, all := filled(t, fs, 0, 700)
	check(t, s, all)
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	check(t, s, all)
	check(t, Open(mem, "d", 0, testInterval, s.Size(), true), all)
}

func TestHolds(t *testing.T) {
	t.Parallel()
	s := Open(vfs.NewMem(), "d", 10, testInterval, 0, true)
	if !s.Holds(10+math.MaxInt32) || s.Holds(10+math.MaxInt32+1) {
		t.Error("a segment holds relative offsets of 31 bits, no more (case 26)")
	}
}

// TestRemovedByLastReader: a retired segment is read by those who hold it, and by nobody else; the last one removes it.
func TestRemovedByLastReader(t *testing.T) {
	t.Parallel()
	fs := newDir(t)
	s, all := filled(t, fs, 0, 100)
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	reader := Open(fs, "d", 0, testInterval, s.Size(), true)
	if !reader.Acquire() {
		t.Fatal("an open segment cannot be acquired")
	}
	if err := errors.Join(reader.Retire(), reader.Release()); err != nil {
		t.Fatal(err)
	}
	check(t, reader, all) // nothing was open before: its files are opened by their new names
	if list, err := fs.ReadDir("d"); err != nil || len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	if err := reader.Release(); err != nil {
		t.Fatal(err)
	}
	if reader.Acquire() {
		t.Error("a removed segment was acquired")
	}
	if list, err := fs.ReadDir("d"); err != nil || len(list) != 0 {
		t.Errorf("left: %v %v", list, err)
	}
}

// TestSealThatFails: a segment that could not be sealed is appended to again, whatever became of its indexes.
func TestSealThatFails(t *testing.T) {
	t.Parallel()
	full := false
	fs := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if full && (op.Kind == vfs.OpWrite || op.Kind == vfs.OpCreate || op.Kind == vfs.OpTruncate) {
			return syscall.EMFILE
		}
		return nil
	})
	if err := fs.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	s, err := Create(fs, "d", 0, testInterval, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Preallocate(1 << 20)
	next := batch.Offset(0)
	more := func() {
		for range 40 {
			b := mk(t, next, 2, 1000+int64(next))
			put(t, s, b)
			next = b.NextOffset()
		}
	}
	more()
	full = true
	if err := s.Seal(); !vfs.IsShortage(err) {
		t.Fatalf("sealed: %v", err)
	}
	full = false
	more()
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	for offset := range next {
		found, ok, err := s.Locate(offset, s.Size())
		if err != nil || !ok || found.Base > offset || found.Next <= offset {
			t.Fatalf("offset %d: %+v, %v, %v", offset, found, ok, err)
		}
	}
}
