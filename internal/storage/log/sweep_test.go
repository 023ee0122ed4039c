package log_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// threeSegments is a synced log of segments 0, 3 and 6, three batches of one record each, closed clean or not.
func threeSegments(t *testing.T, clean bool) (*vfs.Mem, log.Options, []batch.Batch) {
	t.Helper()
	fs, opts := vfs.NewMem(), defaults()
	var all []batch.Batch
	for i := range batch.Offset(9) {
		all = append(all, mk(t, i, 1, 20, 0, epoch0.UnixMilli()+int64(i)))
	}
	opts.SegmentBytes = int64(3 * len(all[0]))
	l := openLog(t, fs, log.OpenOptions{Options: opts})
	for _, b := range all {
		appendAt(t, l, epoch0, b)
	}
	if _, err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(clean); err != nil {
		t.Fatal(err)
	}
	if got, want := logs(t, fs), []int64{0, 3, 6}; !slices.Equal(got, want) {
		t.Fatalf("segments %v, expected %v", got, want)
	}
	return fs, opts, all
}

func writeFile(t *testing.T, fs vfs.FS, name string, content []byte, flag int) {
	t.Helper()
	file, err := fs.OpenFile("t-0/"+name, syscall.O_RDWR|syscall.O_CREAT|flag)
	if err != nil {
		t.Fatal(err)
	}
	size, err := file.Size()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(content, size); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func join(batches ...batch.Batch) (b []byte) {
	for _, x := range batches {
		b = append(b, x...)
	}
	return b
}

func names(t *testing.T, fs vfs.FS) (list []string) {
	t.Helper()
	entries, err := fs.ReadDir("t-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestLeftovers opens directories that crashes left, as Kafka's LogLoader does.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, fs vfs.FS, all []batch.Batch)
		want func(all []batch.Batch) []byte
		logs []int64
	}{
		"deleted, cleaned and orphaned files go": {
			func(t *testing.T, fs vfs.FS, all []batch.Batch) {
				for _, name := range []string{
					"00000000000000000000.log.deleted", "00000000000000000003.index.deleted", "00000000000000000003.snapshot.deleted",
					"00000000000000000000.log.cleaned", "00000000000000000000.timeindex.cleaned", "00000000000000000077.index",
					"00000000000000000077.timeindex", "00000000000000000078.txnindex",
				} {
					writeFile(t, fs, name, all[0], 0)
				}
			},
			func(all []batch.Batch) []byte { return join(all...) },
			[]int64{0, 3, 6},
		},
		"a swap replaces what it overlaps": {
			func(t *testing.T, fs vfs.FS, all []batch.Batch) {
				writeFile(t, fs, "00000000000000000000.log.swap", join(all[1], all[5]), 0)
				writeFile(t, fs, "00000000000000000000.index.swap", nil, 0)
			},
			func(all []batch.Batch) []byte { return join(all[1], all[5], all[6], all[7], all[8]) },
			[]int64{0, 6},
		},
		"a swap of one segment": {
			func(t *testing.T, fs vfs.FS, all []batch.Batch) {
				writeFile(t, fs, "00000000000000000003.log.swap", join(all[5]), 0)
			},
			func(all []batch.Batch) []byte { return join(all[0], all[1], all[2], all[5], all[6], all[7], all[8]) },
			[]int64{0, 3, 6},
		},
		"a swap whose log has its name already": {
			func(t *testing.T, fs vfs.FS, _ []batch.Batch) {
				writeFile(t, fs, "00000000000000000003.timeindex.swap", []byte("x"), 0)
			},
			func(all []batch.Batch) []byte { return join(all...) },
			[]int64{0, 3, 6},
		},
		"a swap beside cleaned files is half a split (KAFKA-6264)": {
			func(t *testing.T, fs vfs.FS, all []batch.Batch) {
				writeFile(t, fs, "00000000000000000003.log.swap", join(all[5]), 0)
				writeFile(t, fs, "00000000000000000003.log.cleaned", join(all[5]), 0)
			},
			func(all []batch.Batch) []byte { return join(all...) },
			[]int64{0, 3, 6},
		},
	} {
		for _, clean := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, clean %v", name, clean), func(t *testing.T) {
				t.Parallel()
				fs, opts, all := threeSegments(t, clean)
				c.make(t, fs, all)
				l := openLog(t, fs, log.OpenOptions{Options: opts, Clean: clean, RecoveryPoint: 9, Compacted: true})
				var got []byte
				for from := batch.Offset(0); from < l.End(); {
					r, err := l.Read(from, l.End(), 1<<20, true)
					if err != nil {
						t.Fatal(err)
					}
					b := bytesOf(t, &r)
					got = append(got, b...)
					for len(b) > 0 {
						var x batch.Batch
						if x, b, err = batch.Next(b); err != nil {
							t.Fatal(err)
						}
						from = x.NextOffset()
					}
				}
				if !bytes.Equal(got, c.want(all)) || l.End() != 9 {
					t.Errorf("%d bytes up to %d, expected %d", len(got), l.End(), len(c.want(all)))
				}
				if got := logs(t, fs); !slices.Equal(got, c.logs) {
					t.Errorf("segments %v, expected %v", got, c.logs)
				}
				for _, name := range names(t, fs) {
					if strings.Count(name, ".") > 1 || strings.HasPrefix(name, "0000000000000000007") {
						t.Errorf("left: %s", name)
					}
				}
			})
		}
	}
}

// TestTails has the ends that power cuts and tools leave. What is past the recovery point is cut, what is below shuts the log.
func TestTails(t *testing.T) {
	t.Parallel()
	tails := map[string]func(all []batch.Batch) []byte{
		"zeros":                         func([]batch.Batch) []byte { return make([]byte, 5000) },
		"one zero":                      func([]batch.Batch) []byte { return []byte{0} },
		"garbage":                       func([]batch.Batch) []byte { return []byte(strings.Repeat("garbage ", 100)) },
		"a part of a header":            func([]batch.Batch) []byte { return at(9)[:40] },
		"a part of a batch":             func([]batch.Batch) []byte { return at(9)[:70] },
		"an old batch":                  func(all []batch.Batch) []byte { return all[2] },
		"the last batch once more":      func(all []batch.Batch) []byte { return all[8] },
		"a bad CRC":                     func([]batch.Batch) []byte { b := at(9); b[65]++; return b },
		"a hole, and then a good batch": func([]batch.Batch) []byte { return append(holed(9), at(10)...) },
	}
	for name, tail := range tails {
		for _, clean := range []bool{false, true} { // a marker may be wrong
			t.Run(fmt.Sprintf("%s, clean %v", name, clean), func(t *testing.T) {
				t.Parallel()
				fs, opts, all := threeSegments(t, clean)
				writeFile(t, fs, "00000000000000000006.log", tail(all), 0)
				if clean && (name == "an old batch" || name == "the last batch once more" || name == "a bad CRC" || name == "a hole, and then a good batch") {
					return // only headers are read after a clean stop
				}
				l := openLog(t, fs, log.OpenOptions{Options: opts, Clean: clean, RecoveryPoint: 9})
				if r := l.Recovery(); l.End() != 9 || r.Bad == nil || r.Cut != int64(len(tail(all))) {
					t.Errorf("log ends at %d: %+v", l.End(), r)
				}
				appendAt(t, l, epoch0, at(9))
				if err := prefix(l, append(all, at(9)), 0); err != nil {
					t.Error(err)
				}
				if err := l.Close(false); err != nil {
					t.Fatal(err)
				}
				if !clean && !strings.HasPrefix(name, "a bad CRC") && !strings.HasPrefix(name, "a hole") { // see TestBitRot
					refuses(t, fs, opts, tail(all))
				}
			})
		}
	}
}

// holed is a batch of four sectors, one of which was never written.
func holed(base batch.Offset) batch.Batch {
	b := mk(nowhere{}, base, 1, 2000, 0, epoch0.UnixMilli())
	clear(b[400:1600])
	return b
}

// refuses checks that a log with the same tail below its recovery point stays shut, and is as it was.
func refuses(t *testing.T, fs *vfs.Mem, opts log.Options, tail []byte) {
	t.Helper()
	writeFile(t, fs, "00000000000000000009.log", tail, syscall.O_TRUNC)
	before := names(t, fs)
	_, err := log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts, RecoveryPoint: 10})
	if !errors.Is(err, batch.ErrCorrupt) || !strings.Contains(err.Error(), ".log at position") {
		t.Errorf("opened with damage below the recovery point: %v", err)
	}
	if after := names(t, fs); !slices.Equal(before, after) {
		t.Errorf("files %v, before %v", after, before)
	}
}

func at(base batch.Offset) batch.Batch { return mk(nowhere{}, base, 1, 20, 0, epoch0.UnixMilli()) }

// TestHoles: a segment that does not follow the one before it is a torn tail past the recovery point, and damage below it. In a compacted topic it
// is what Kafka's cleaner left, if that has been there or all was synced.
func TestHoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point     batch.Offset
		compacted bool
		cleaned   batch.Offset
		end       batch.Offset // -1: the log stays shut
	}{
		{0, false, 0, 3},
		{2, false, 0, 3},
		{3, false, 0, 3},
		{4, false, 0, -1},
		{5, false, 0, -1},
		{9, false, 0, 9},
		{0, true, 0, 3},
		{3, true, 3, 3},
		{4, true, 0, 9},
		{0, true, 4, 9},
		{0, true, 6, 9},
		{9, true, 9, 9},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			t.Parallel()
			fs, opts, _ := threeSegments(t, false)
			if err := fs.Remove("t-0/00000000000000000003.log"); err != nil {
				t.Fatal(err)
			}
			l, err := log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts, RecoveryPoint: c.point, Compacted: c.compacted, Cleaned: c.cleaned})
			if c.end < 0 {
				if !errors.Is(err, batch.ErrCorrupt) {
					t.Errorf("opened: %v", err)
				}
				return
			}
			if err != nil || l.End() != c.end {
				t.Errorf("log ends at %d, expected %d: %v", l.End(), c.end, err)
			}
		})
	}
}

// TestStraySegment: an empty file that a failed roll left inside another segment's offsets is removed.
func TestStraySegment(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{false, true} {
		for _, stray := range []string{"00000000000000000004.log", "00000000000000000007.log", "00000000000000000008.log"} {
			if clean && stray == "00000000000000000004.log" {
				continue // after a clean stop only the last segment is looked at
			}
			fs, opts, all := threeSegments(t, clean)
			writeFile(t, fs, stray, nil, 0)
			l := openLog(t, fs, log.OpenOptions{Options: opts, Clean: clean})
			if err := prefix(l, all, 0); err != nil || l.End() != 9 || l.Segments() != 3 {
				t.Errorf("clean %v, %s: log ends at %d with %d segments: %v", clean, stray, l.End(), l.Segments(), err)
			}
		}
	}
}

// TestEpochFileRebuilt damages the leader-epoch checkpoint in each way: it is made good from the log (case 25).
func TestEpochFileRebuilt(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"missing": "", "garbage": "garbage", "without the newest": "0\n1\n0 0\n", "empty": "0\n0\n", "beyond the end": "0\n2\n0 0\n9 900\n",
	} {
		for _, clean := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, clean %v", name, clean), func(t *testing.T) {
				t.Parallel()
				fs, opts := vfs.NewMem(), defaults()
				opts.SegmentBytes = 300
				m := &machine{fs: fs, opts: opts, now: epoch0}
				l := openLog(t, fs, log.OpenOptions{Options: opts})
				for i := range batch.Offset(40) {
					b := mk(t, i, 1, 20, batch.Epoch(i/7), 5)
					appendAt(t, l, epoch0, b)
					m.batches = append(m.batches, b)
				}
				m.end = 40
				if _, err := l.Sync(); err != nil {
					t.Fatal(err)
				}
				if err := l.Close(clean); err != nil {
					t.Fatal(err)
				}
				if name == "missing" {
					if err := fs.Remove("t-0/leader-epoch-checkpoint"); err != nil {
						t.Fatal(err)
					}
				} else {
					writeFile(t, fs, "leader-epoch-checkpoint", []byte(content), syscall.O_TRUNC)
				}
				m.check(t, openLog(t, fs, log.OpenOptions{Options: opts, Clean: clean, RecoveryPoint: 40}))
			})
		}
	}
}
