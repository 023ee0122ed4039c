package log_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// BenchmarkAppend appends one batch, its offsets set in place, to a log on disk.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			fs, err := vfs.OS(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			opts := defaults()
			opts.SegmentBytes, opts.RetentionBytes, opts.RetentionAge = 256<<20, 256<<20, -1
			l, err := log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts, Clean: true})
			if err != nil {
				b.Fatal(err)
			}
			group := []batch.Batch{mk(b, 0, 1, size, 0, epoch0.UnixMilli())}
			b.SetBytes(int64(len(group[0])))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				group[0].SetBaseOffset(batch.Offset(i))
				if err := l.Append(epoch0, group); err != nil {
					b.Fatal(err)
				}
				if l.Oversize() {
					if _, err := l.Retain(epoch0, l.End()); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := l.Close(false); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// sparse makes a closed log of n segments, each of a few batches with an index entry for each.
func sparse(t testing.TB, fs vfs.FS, n int) (opts log.Options, end batch.Offset) {
	t.Helper()
	opts = defaults()
	opts.IndexInterval, opts.SegmentBytes = 0, 1
	one := mk(t, 0, 1, 20, 0, epoch0.UnixMilli())
	opts.SegmentBytes = int64(4 * len(one))
	l, err := log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts, Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	for l.Segments() < n || l.End() == 0 || l.End()%4 != 0 {
		one.SetBaseOffset(l.End())
		if err := l.Append(epoch0, []batch.Batch{one}); err != nil {
			t.Fatal(err)
		}
		if l.End()%400 == 0 { // or Mem remembers every change of the directory
			if _, err := l.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	end = l.End()
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	return opts, end
}

// TestReadsAreConstant counts the file operations of one read in a log of one segment and of 10,000.
func TestReadsAreConstant(t *testing.T) {
	t.Parallel()
	var counts []int64
	for _, n := range []int{1, 10_000} {
		fs := vfs.NewMem()
		opts, end := sparse(t, fs, n)
		var ops atomic.Int64
		l, err := log.Open(vfs.Trace(fs, func(vfs.Op) { ops.Add(1) }), "t-0", epoch0, log.OpenOptions{Options: opts, Clean: true})
		if err != nil {
			t.Fatal(err)
		}
		ops.Store(0)
		most := int64(0)
		for from := end % 4; from < end; from += max(4*batch.Offset(n/50), 1) {
			before := ops.Load()
			r, err := l.Read(from+2, end, 1<<20, true)
			if err != nil || r.Len() == 0 {
				t.Fatalf("read at %d: %d bytes, %v", from+2, r.Len(), err)
			}
			r.Release()
			most = max(most, ops.Load()-before)
			if n == 1 {
				break
			}
		}
		counts = append(counts, most)
	}
	// The cold read of a sealed segment opens its log and index and checks the index; the only segment is open already.
	if counts[0] > 12 || counts[1] > 12 {
		t.Errorf("a cold read took %d operations with one segment and %d with 10,000, expected at most 12", counts[0], counts[1])
	}
}

// BenchmarkRead reads one batch in the middle, with everything open.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("%d segments", n), func(b *testing.B) {
			fs := vfs.NewMem()
			opts, end := sparse(b, fs, n)
			var reads atomic.Int64
			count := func(op vfs.Op) {
				if op.Kind == vfs.OpRead {
					reads.Add(1)
				}
			}
			l, err := log.Open(vfs.Trace(fs, count), "t-0", epoch0, log.OpenOptions{Options: opts, Clean: true})
			if err != nil {
				b.Fatal(err)
			}
			at := end / 2 / 4 * 4
			read := func(i int) {
				r, err := l.Read(at+batch.Offset(i%3), end, 100, true)
				if err != nil || r.Len() == 0 {
					b.Fatal(r.Len(), err)
				}
				r.Release()
			}
			read(1)
			reads.Store(0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				read(i)
			}
			b.ReportMetric(float64(reads.Load())/float64(b.N), "reads/op")
		})
	}
}

// TestAppendAllocates says what an append costs in memory once a log is warm.
func TestAppendAllocates(t *testing.T) {
	fs := vfs.NewMem()
	l, err := log.Open(quiet{fs}, "t-0", epoch0, log.OpenOptions{Options: defaults(), Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	group := []batch.Batch{mk(t, 0, 1, 100, 0, epoch0.UnixMilli())}
	append1 := func() {
		group[0].SetBaseOffset(l.End())
		if err := l.Append(epoch0, group); err != nil {
			t.Fatal(err)
		}
	}
	append1()
	if n := testing.AllocsPerRun(1000, append1); n > 0 {
		t.Errorf("an append allocates %v times, expected none", n)
	}
}

// quiet is an FS whose files take writes and keep nothing, so that only the log's own allocations count.
type quiet struct{ vfs.FS }

func (q quiet) OpenFile(name string, flag int) (vfs.File, error) {
	file, err := q.FS.OpenFile(name, flag)
	return quietFile{file}, err
}

type quietFile struct{ vfs.File }

func (quietFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

func (quietFile) WriteVec(bufs [][]byte, _ int64) (n int, err error) {
	for _, b := range bufs {
		n += len(b)
	}
	return n, nil
}
