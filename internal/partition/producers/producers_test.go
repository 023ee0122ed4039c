package producers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// header builds the header of a batch as a producer would send it.
type header struct {
	producer    int64
	epoch       int16
	sequence    int32
	count       int32
	base        batch.Offset
	timestamp   int64
	txn, marker bool
}

func (h header) batch() batch.Batch {
	b := make(batch.Batch, batch.HeaderSize)
	binary.BigEndian.PutUint64(b, uint64(h.base))
	b[16] = 2
	if h.txn || h.marker {
		b[22] |= 1 << 4
	}
	if h.marker {
		b[22] |= 1 << 5
	}
	binary.BigEndian.PutUint32(b[23:], uint32(h.count-1))
	binary.BigEndian.PutUint64(b[35:], uint64(h.timestamp))
	binary.BigEndian.PutUint64(b[43:], uint64(h.producer))
	binary.BigEndian.PutUint16(b[51:], uint16(h.epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(h.sequence))
	binary.BigEndian.PutUint32(b[57:], uint32(h.count))
	return b
}

// TestScripts runs testdata. The commands:
//
//	check    a group, one batch a line: PRODUCER EPOCH SEQUENCE COUNT [txn] [refused] [old]; prints the verdicts
//	commit, discard
//	apply    batches of the log, one a line: BASE PRODUCER EPOCH SEQUENCE COUNT [txn] [marker] [old]; old: timestamps of 1 s ago
//	expire   age=MS
//	restart  Snapshot and Restore at the log's end
//	time     now=MS
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{table: New(), now: 1000}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	table *Table
	now   int64
	end   batch.Offset // of the log
	next  batch.Offset // of the group being judged
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "check":
		s.next = s.end
		return s.check(t, d.Input)
	case "commit":
		s.table.Commit()
		s.end = s.next
	case "discard":
		s.table.Discard()
	case "apply":
		for line := range strings.Lines(d.Input) {
			h := header{timestamp: s.now}
			scan(t, line, &h.base, &h.producer, &h.epoch, &h.sequence, &h.count)
			h.txn, h.marker = strings.Contains(line, "txn"), strings.Contains(line, "marker")
			h.timestamp -= age(line)
			s.table.Apply(s.now, h.batch())
			s.end = h.base + batch.Offset(h.count)
		}
	case "expire":
		var age int64
		d.ScanArgs(t, "age", &age)
		s.table.Expire(s.now, age)
	case "restart":
		restored, err := Restore(s.now, s.table.Snapshot(nil), s.end)
		if err != nil {
			return err.Error()
		}
		s.table = restored
	case "time":
		d.ScanArgs(t, "now", &s.now)
		return ""
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return s.dump()
}

func (s *script) check(t *testing.T, input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		h := header{timestamp: s.now}
		scan(t, line, &h.producer, &h.epoch, &h.sequence, &h.count)
		h.txn = strings.Contains(line, "txn")
		h.timestamp -= age(line)
		if strings.Contains(line, "refused") {
			s.table.Refuse(h.batch())
			continue
		}
		v, err := s.table.Check(s.now, h.batch(), s.next, h.timestamp)
		switch {
		case err != nil:
			fmt.Fprintln(&out, err)
		case v.Duplicate:
			fmt.Fprintf(&out, "duplicate of %d to %d at %d ms\n", v.Base, v.Last, v.Timestamp)
		default:
			fmt.Fprintf(&out, "accepted at %d\n", s.next)
			s.next += batch.Offset(h.count)
		}
	}
	return out.String()
}

// age is how old a batch's timestamps are, in ms.
func age(line string) int64 {
	if strings.Contains(line, "old") {
		return 1000
	}
	return 0
}

func scan(t *testing.T, line string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscan(line, into...); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}

func (s *script) dump() string {
	var out strings.Builder
	for _, p := range s.table.producers {
		fmt.Fprintf(&out, "producer %d epoch %d", p.id, p.epoch)
		if p.txnFirst >= 0 {
			fmt.Fprintf(&out, " transaction from %d", p.txnFirst)
		}
		for _, w := range p.batches[:p.n] {
			fmt.Fprintf(&out, " [%d-%d at %d]", w.firstSequence(), w.lastSequence, w.firstOffset())
		}
		fmt.Fprintln(&out)
	}
	if out.Len() == 0 {
		return "no producers\n"
	}
	return out.String()
}

func TestSnapshotIsKafkas(t *testing.T) {
	t.Parallel()
	table := New()
	table.Apply(99, header{producer: 4000, epoch: 3, sequence: 0, count: 10, base: 100, timestamp: 55}.batch())
	got := table.Snapshot([]byte("before"))[len("before"):]
	want := []byte{
		0, 1, // version
		0, 0, 0, 0, // crc, below
		0, 0, 0, 1, // entries
		0, 0, 0, 0, 0, 0, 0x0f, 0xa0, // producer id
		0, 3, // epoch
		0, 0, 0, 9, // last sequence
		0, 0, 0, 0, 0, 0, 0, 109, // last offset
		0, 0, 0, 9, // offset delta
		0, 0, 0, 0, 0, 0, 0, 55, // timestamp
		0xff, 0xff, 0xff, 0xff, // coordinator epoch
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // open transaction
	}
	copy(want[2:6], got[2:6]) // TestRestoreRefuses proves the CRC
	if !slices.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func TestRestoreTakesKafkasLastEntry(t *testing.T) {
	t.Parallel()
	table := New()
	for i := range int32(7) {
		table.Apply(0, header{producer: 1, sequence: i * 10, count: 10, base: batch.Offset(i * 10)}.batch())
	}
	ours := table.Snapshot(nil)
	// What Kafka makes of our file: a map by id, in which the last entry read stands.
	last := ours[len(ours)-snapshotEntry:]
	if sequence := binary.BigEndian.Uint32(last[10:]); sequence != 69 {
		t.Errorf("the last entry ends with sequence %d, want the newest batch's 69", sequence)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	table := New()
	table.Apply(0, header{producer: 1, count: 5, base: 95}.batch())
	good := table.Snapshot(nil)
	if _, err := Restore(0, good, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(0, good, 99); !errors.Is(err, batch.ErrCorrupt) {
		t.Errorf("a snapshot of more than the log has: %v", err)
	}
	for n := range good {
		if _, err := Restore(0, good[:n], 100); !errors.Is(err, batch.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(good), err)
		}
		for bit := range 8 {
			bad := slices.Clone(good)
			bad[n] ^= 1 << bit
			if _, err := Restore(0, bad, 100); !errors.Is(err, batch.ErrCorrupt) {
				t.Errorf("bit %d of byte %d flipped: %v", bit, n, err)
			}
		}
	}
}

func TestSequenceWraps(t *testing.T) {
	t.Parallel()
	table := New()
	const top = 1<<31 - 1
	for _, h := range []header{
		{producer: 1, sequence: top - 3, count: 6, base: 0}, // ends with sequence 2^31+1 wrapped: 2
		{producer: 1, sequence: 2, count: 1, base: 6},
	} {
		if _, err := table.Check(0, h.batch(), h.base, 0); err != nil {
			t.Fatal(err)
		}
	}
	v, err := table.Check(0, header{producer: 1, sequence: top - 3, count: 6}.batch(), 7, 0)
	if err != nil || !v.Duplicate || v.Base != 0 || v.Last != 5 {
		t.Errorf("retry over the wrap: %+v, %v", v, err)
	}
	if _, err := table.Check(0, header{producer: 1, sequence: 4, count: 1}.batch(), 7, 0); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
		t.Errorf("a gap after the wrap: %v", err)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	table := New()
	b := header{producer: 7, count: 10}.batch()
	base := batch.Offset(0)
	step := func() {
		binary.BigEndian.PutUint32(b[53:], uint32(base))
		if _, err := table.Check(1, b, base, 1); err != nil {
			t.Fatal(err)
		}
		table.Commit()
		base += 10
	}
	step()
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations for each batch", n)
	}
}

func BenchmarkCheckCommit(b *testing.B) {
	table := New()
	h := header{producer: 7, count: 10}.batch()
	b.ReportAllocs()
	base := batch.Offset(0)
	for b.Loop() {
		binary.BigEndian.PutUint32(h[53:], uint32(base)&(1<<31-1))
		_, _ = table.Check(1, h, base, 1)
		table.Commit()
		base += 10
	}
}

// TestApplyDamaged: the header of a batch that cannot be read counts only where it goes on with what its producer wrote before.
func TestApplyDamaged(t *testing.T) {
	t.Parallel()
	first := header{producer: 1, epoch: 3, sequence: 0, count: 5}
	for name, c := range map[string]struct {
		damaged header
		next    int32 // the sequence that is accepted then
	}{
		"goes on":               {header{producer: 1, epoch: 3, sequence: 5, count: 5}, 10},
		"another epoch":         {header{producer: 1, epoch: 7, sequence: 0, count: 5}, 5},
		"another sequence":      {header{producer: 1, epoch: 3, sequence: 50, count: 5}, 5},
		"a producer of nowhere": {header{producer: 9, epoch: 3, sequence: 5, count: 5}, 5},
	} {
		table := New()
		table.Apply(0, first.batch())
		c.damaged.base = 5
		table.ApplyDamaged(0, c.damaged.batch())
		if table.Len() != 1 {
			t.Errorf("%s: %d producers are known", name, table.Len())
		}
		for _, sequence := range []int32{c.next + 1, c.next} {
			b := header{producer: 1, epoch: 3, sequence: sequence, count: 1}.batch()
			_, err := table.Check(0, b, 10, 0)
			if (err == nil) != (sequence == c.next) {
				t.Errorf("%s: sequence %d: %v, want %d", name, sequence, err, c.next)
			}
			table.Discard()
		}
	}
}
