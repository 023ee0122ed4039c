package repair

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const (
	dir   = "t-0"
	count = 9 // batches of one record, three a segment
)

var now = time.Unix(1_700_000_000, 0)

func options(size int) log.Options {
	return log.Options{
		SegmentBytes: int64(3 * size), SegmentAge: 1 << 60, IndexInterval: 50, IndexBytesMax: 1 << 20, RetentionBytes: -1, RetentionAge: -1,
	}
}

// filled is a synced log that was not closed cleanly, with its recovery point, and its batches.
func filled(t *testing.T) (*vfs.Mem, []batch.Batch) {
	t.Helper()
	files := vfs.NewMem()
	var all []batch.Batch
	for i := range batch.Offset(count) {
		var w batch.Builder
		w.Reset(batch.NewFields(i))
		w.Append(batch.Record{Offset: i, Timestamp: now.UnixMilli() + int64(i), Value: fmt.Appendf(nil, "value of offset %d", i)})
		b, err := w.Build()
		if err != nil {
			t.Fatal(err)
		}
		b.SetLeaderEpoch(7)
		all = append(all, slices.Clone(b))
	}
	l, err := log.Open(files, dir, now, log.OpenOptions{Options: options(len(all[0]))})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if err := l.Append(now, []batch.Batch{slices.Clone(b)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
	put(t, files, "recovery-point-offset-checkpoint", "0\n1\nt 0 9\n")
	if err := files.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	return files, all
}

func put(t *testing.T, files vfs.FS, name, content string) {
	t.Helper()
	if err := vfs.WriteFile(files, name, []byte(content), true); err != nil {
		t.Fatal(err)
	}
}

func name(base int) string {
	return dir + "/" + segment.Name(batch.Offset(base), segment.Log, segment.Live)
}

func content(t *testing.T, files vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(files, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// change spoils a file of files.
func change(t *testing.T, files vfs.FS, name string, do func(b []byte) []byte) {
	t.Helper()
	put(t, files, name, string(do(content(t, files, name))))
}

// damage is a way to spoil a log, and what cannot be had back.
type damage struct {
	name string
	do   func(t *testing.T, files vfs.FS, size int)
	lost []int // offsets
}

func flipped(base, at int) func(*testing.T, vfs.FS, int) {
	return func(t *testing.T, files vfs.FS, _ int) {
		change(t, files, name(base), func(b []byte) []byte { b[at] ^= 0x41; return b })
	}
}

func damages(size int) []damage {
	return []damage{
		{"a bit of a payload", flipped(3, size+70), []int{4}},
		{"a bit of the first payload", flipped(0, 70), []int{0}},
		{"a bit of a segment's last payload", flipped(3, 2*size+70), []int{5}},
		{"a bit of the log's last payload", flipped(6, 2*size+70), []int{8}},
		{"a base offset, low", flipped(3, size+7), nil},
		{"a base offset, high", flipped(3, size), nil},
		{"a base offset of a segment's last batch", flipped(0, 2*size+5), nil},
		{"a base offset of the log's last batch", flipped(6, 2*size), nil},
		{"a length", flipped(3, size+10), nil},
		{"a length of the log's first batch", flipped(0, 8), nil},
		{"a length of the log's last batch", flipped(6, 2*size+9), nil},
		{"a magic", flipped(3, 16), nil},
		{"a stored CRC", flipped(3, size+18), []int{4}},
		{"a last offset delta", flipped(3, size+23), []int{4}},
		{"a header of zeros", func(t *testing.T, files vfs.FS, size int) {
			change(t, files, name(3), func(b []byte) []byte { clear(b[size : size+61]); return b })
		}, []int{4}},
		{"two batches of noise", func(t *testing.T, files vfs.FS, size int) {
			change(t, files, name(3), func(b []byte) []byte { copy(b, bytes.Repeat([]byte{2, 0xfe}, size)); return b })
		}, []int{3, 4}},
		{"a segment of noise", func(t *testing.T, files vfs.FS, size int) {
			change(t, files, name(3), func([]byte) []byte { return bytes.Repeat([]byte{2, 0xfe}, size) })
		}, []int{3, 4, 5}},
		{"a cut segment", func(t *testing.T, files vfs.FS, size int) {
			change(t, files, name(3), func(b []byte) []byte { return b[:size+30] })
		}, []int{4, 5}},
		{"a segment cut between batches", func(t *testing.T, files vfs.FS, size int) {
			change(t, files, name(3), func(b []byte) []byte { return b[:size] })
		}, []int{4, 5}},
		{"a lost segment", func(t *testing.T, files vfs.FS, _ int) {
			if err := errors.Join(files.Remove(name(3)), files.SyncDir(dir)); err != nil {
				t.Fatal(err)
			}
		}, []int{3, 4, 5}},
		{"the log's last segment cut", func(t *testing.T, files vfs.FS, size int) {
			change(t, files, name(6), func(b []byte) []byte { return b[:2*size+30] })
		}, []int{8}},
		{"three places", func(t *testing.T, files vfs.FS, size int) {
			flipped(0, size+70)(t, files, size)
			flipped(3, size+20)(t, files, size)
			flipped(6, size+2)(t, files, size)
		}, []int{1, 4}},
	}
}

// mend plans and applies a repair.
func mend(t *testing.T, files vfs.FS) *Plan {
	t.Helper()
	d, _, err := Open(files, true)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Plan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRepair damages a log in each way: afterwards it opens, holds all that was whole, gives no offset twice and is appended to, and the
// damaged segments are kept as they were.
func TestRepair(t *testing.T) {
	t.Parallel()
	_, sample := filled(t)
	for _, c := range damages(len(sample[0])) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files, all := filled(t)
			c.do(t, files, len(all[0]))
			before := map[string][]byte{}
			for _, base := range []int{0, 3, 6} {
				if _, err := files.Stat(name(base)); err == nil {
					before[name(base)] = content(t, files, name(base))
				}
			}
			p := mend(t, files)
			if !p.Needed() || p.Offsets() != int64(len(c.lost)) {
				t.Fatalf("plan %+v, want lost %v", p, c.lost)
			}
			for file := range before {
				if slices.Contains(p.Files(), file) && !bytes.Equal(content(t, files, file+".damaged"), before[file]) {
					t.Errorf("%s is not kept", file)
				}
			}
			check(t, files, all, c.lost)
			if again := mend(t, files); again.Needed() {
				t.Errorf("a second repair finds %+v", again)
			}
		})
	}
}

// check opens the log and reads it.
func check(t *testing.T, files vfs.FS, all []batch.Batch, lost []int) {
	t.Helper()
	l, err := log.Open(files, dir, now, log.OpenOptions{Options: options(len(all[0])), RecoveryPoint: count})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close(false) }()
	if r := l.Recovery(); r.Cut != 0 || r.Damaged != 0 || r.Missing != 0 || l.End() != count {
		t.Errorf("log ends at %d: %+v", l.End(), r)
	}
	var got []int
	for at := l.Start(); at < l.End(); {
		r, err := l.Read(at, l.End(), 1<<20, true)
		if err != nil {
			t.Fatalf("read at %d: %v", at, err)
		}
		rest := make([]byte, r.Len())
		if _, err := r.ReadAt(rest, 0); err != nil {
			t.Fatal(err)
		}
		r.Release()
		for len(rest) > 0 {
			var b batch.Batch
			if b, rest, err = batch.Next(rest); err != nil || b.CheckCRC() != nil || b.BaseOffset() != at {
				t.Fatalf("batch at %d: %v, %v", at, b, err)
			}
			if at = b.NextOffset(); b.Count() > 0 {
				got = append(got, int(b.BaseOffset()))
				if !bytes.Equal(b, all[b.BaseOffset()]) {
					t.Errorf("the batch at %d is another one", b.BaseOffset())
				}
			}
		}
	}
	var want []int
	for i := range all {
		if !slices.Contains(lost, i) {
			want = append(want, i)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
	if l.LatestEpoch() != 7 {
		t.Errorf("epoch %d, want 7", l.LatestEpoch())
	}
}

// TestCrash cuts the power at every change of the disk: the log is as it was or repaired, and a second repair ends the first one.
func TestCrash(t *testing.T) {
	t.Parallel()
	_, sample := filled(t)
	for i, c := range damages(len(sample[0])) {
		files, all := filled(t)
		c.do(t, files, len(all[0]))
		dice := rand.New(rand.NewPCG(uint64(i), 1))
		var disks []*vfs.Mem
		files.OnOp(func(vfs.Op) {
			for _, keep := range []int{0, 50, 100} {
				disks = append(disks, files.CrashClone(vfs.CrashOptions{Keep: keep, Rand: rand.New(rand.NewPCG(dice.Uint64(), 2))}))
			}
		})
		mend(t, files)
		files.OnOp(nil)
		for _, disk := range disks {
			mend(t, disk)
			check(t, disk, all, c.lost)
		}
		if len(disks) < 20 {
			t.Errorf("%s: only %d crashes", c.name, len(disks))
		}
	}
}

// TestTornEndIsLeft: what a crash left of the end above the recovery point is for the next start to cut.
func TestTornEndIsLeft(t *testing.T) {
	t.Parallel()
	files, all := filled(t)
	whole := content(t, files, name(6))
	change(t, files, name(6), func(b []byte) []byte { return append(b, make([]byte, 300)...) })
	put(t, files, "replication-offset-checkpoint", "0\n1\nt 0 12\n") // a topic in memory may be ahead
	if p := mend(t, files); p.Needed() || p.Torn != 300 {
		t.Errorf("plan %+v", p)
	}
	change(t, files, name(6), func([]byte) []byte { return whole })
	check(t, files, all, nil)
}

// TestOffsetsThatWereSeen: where the end is damaged below the recovery point, offsets that consumers have seen beyond it are not given again.
func TestOffsetsThatWereSeen(t *testing.T) {
	t.Parallel()
	files, all := filled(t)
	put(t, files, "replication-offset-checkpoint", "0\n1\nt 0 12\n")
	flipped(6, 2*len(all[0])+18)(t, files, 0)
	flipped(6, 2*len(all[0])+8)(t, files, 0)
	p := mend(t, files)
	if n := len(p.Lost); n != 1 || p.Lost[0].First != 8 || p.Lost[0].Last != 11 {
		t.Fatalf("plan %+v", p)
	}
	l, err := log.Open(files, dir, now, log.OpenOptions{Options: options(100), RecoveryPoint: count})
	if err != nil || l.End() != 12 {
		t.Fatalf("%v, the log ends at %d", err, l.End())
	}
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
}

// TestRefused: the metadata log, what is no partition, and what a compaction has left half done.
func TestRefused(t *testing.T) {
	t.Parallel()
	files, _ := filled(t)
	put(t, files, dir+"/00000000000000000003.log.swap", "")
	d, _, err := Open(files, true)
	if err != nil {
		t.Fatal(err)
	}
	for partition, want := range map[string]string{"__cluster_metadata-0": "topics would be forgotten", "t": "must be a partition's directory", dir: "compaction"} {
		if _, err := d.Plan(partition); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", partition, err, want)
		}
	}
	if names, err := d.Partitions(); err != nil || !slices.Equal(names, []string{dir}) {
		t.Errorf("partitions %v, %v", names, err)
	}
}

// FuzzExamine puts arbitrary bytes in a segment: a repair never fails, and what it leaves is whole.
func FuzzExamine(f *testing.F) {
	f.Add([]byte("noise"), uint16(3))
	f.Add(bytes.Repeat([]byte{2}, 300), uint16(0))
	f.Fuzz(func(t *testing.T, noise []byte, at uint16) {
		files, _ := filled(t)
		change(t, files, name(3), func(b []byte) []byte {
			n := int(at) % len(b)
			return append(b[:n:n], append(noise, b[min(n+len(noise), len(b)):]...)...)
		})
		mend(t, files)
		l, err := log.Open(files, dir, now, log.OpenOptions{Options: options(100), RecoveryPoint: count})
		if err != nil || l.Recovery().Damaged > 0 || l.End() != count {
			t.Fatalf("%v, %+v", err, l)
		}
		_ = l.Close(false)
	})
}
