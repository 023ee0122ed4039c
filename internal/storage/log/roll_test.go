package log_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

func openLog(t *testing.T, fs vfs.FS, opts log.OpenOptions) *log.Log {
	t.Helper()
	l, err := log.Open(fs, "t-0", epoch0, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func appendAt(t *testing.T, l *log.Log, now time.Time, group ...batch.Batch) {
	t.Helper()
	if err := l.Append(now, group); err != nil {
		t.Fatal(err)
	}
}

// logs are the base offsets of the segments in the directory.
func logs(t *testing.T, fs vfs.FS) (bases []int64) {
	t.Helper()
	list, err := fs.ReadDir("t-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if digits, ok := strings.CutSuffix(e.Name(), ".log"); ok {
			var base int64
			if _, err := fmt.Sscanf(digits, "%d", &base); err != nil {
				t.Fatal(err)
			}
			bases = append(bases, base)
		}
	}
	return bases
}

// TestRoll has each reason to start a new segment (Kafka's LogSegment.shouldRoll).
func TestRoll(t *testing.T) {
	t.Parallel()
	ts := epoch0.UnixMilli()
	for name, c := range map[string]struct {
		change func(*log.Options)
		second func(*testing.T) batch.Batch
		after  time.Duration
		want   []int64
	}{
		"no reason": {nil, func(t *testing.T) batch.Batch { return mk(t, 1, 1, 10, 0, ts) }, time.Hour, []int64{0}},
		"size": {
			func(o *log.Options) { o.SegmentBytes = 130 },
			func(t *testing.T) batch.Batch { return mk(t, 1, 1, 10, 0, ts) }, 0,
			[]int64{0, 1},
		},
		"timestamps, though the clock stands": {
			func(o *log.Options) { o.SegmentAge = time.Minute },
			func(t *testing.T) batch.Batch { return mk(t, 1, 1, 10, 0, ts+60_001) }, 0,
			[]int64{0, 1},
		},
		"the clock does not count with timestamps": {
			func(o *log.Options) { o.SegmentAge = time.Minute },
			func(t *testing.T) batch.Batch { return mk(t, 1, 1, 10, 0, ts+60_000) }, time.Hour,
			[]int64{0},
		},
		"index room": {
			func(o *log.Options) { o.IndexInterval, o.IndexBytesMax = 0, 24 }, // one place of the time index is kept
			func(t *testing.T) batch.Batch { return mk(t, 1, 1, 10, 0, ts+1) }, 0, []int64{0},
		},
		"relative offset (case 26)": {nil, func(t *testing.T) batch.Batch { return mk(t, math.MaxInt32+1, 1, 10, 0, ts) }, 0, []int64{0, 1}},
		"relative offset past the new segment too": {
			nil, func(t *testing.T) batch.Batch { return mk(t, 5*math.MaxInt32, 1, 10, 0, ts) }, 0, []int64{0, 5 * math.MaxInt32},
		},
		"largest relative offset": {nil, func(t *testing.T) batch.Batch { return mk(t, math.MaxInt32, 1, 10, 0, ts) }, 0, []int64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs, opts := vfs.NewMem(), defaults()
			if c.change != nil {
				c.change(&opts)
			}
			l := openLog(t, fs, log.OpenOptions{Options: opts})
			first, second := mk(t, 0, 1, 10, 0, ts), c.second(t)
			appendAt(t, l, epoch0, first)
			appendAt(t, l, epoch0.Add(c.after), second)
			if got := logs(t, fs); !slices.Equal(got, c.want) {
				t.Errorf("segments %v, expected %v", got, c.want)
			}
			for _, b := range []batch.Batch{first, second} {
				r, err := l.Read(b.BaseOffset(), l.End(), 1, true)
				if err != nil || string(bytesOf(t, &r)) != string(b) {
					t.Errorf("read at %d: %v", b.BaseOffset(), err)
				}
			}
		})
	}
}

// TestIndexRoom fills the smaller index; the next entry is in a new segment.
func TestIndexRoom(t *testing.T) {
	t.Parallel()
	fs, opts := vfs.NewMem(), defaults()
	opts.IndexInterval, opts.IndexBytesMax = 0, 36 // three places of 12, one kept: two entries
	l := openLog(t, fs, log.OpenOptions{Options: opts})
	for i := range 10 {
		appendAt(t, l, epoch0, mk(t, l.End(), 1, 10, 0, epoch0.UnixMilli()+int64(i)))
	}
	if got, want := logs(t, fs), []int64{0, 3, 6, 9}; !slices.Equal(got, want) {
		t.Errorf("segments %v, expected %v", got, want)
	}
}

// TestEmptySegmentMoves: an empty first segment too far below the first offset is replaced.
func TestEmptySegmentMoves(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	l := openLog(t, fs, log.OpenOptions{Options: defaults()})
	appendAt(t, l, epoch0, mk(t, 3*math.MaxInt32, 1, 10, 0, 5))
	if got, want := logs(t, fs), []int64{3 * math.MaxInt32}; !slices.Equal(got, want) || l.Segments() != 1 {
		t.Errorf("segments %v, expected %v", got, want)
	}
}

// TestOnRoll is called before the group is written, and its error refuses the append and nothing else.
func TestOnRoll(t *testing.T) {
	t.Parallel()
	opts, refuse := defaults(), errors.New("refused")
	opts.SegmentBytes = 100
	var bases []batch.Offset
	var l *log.Log
	answer := error(nil)
	l = openLog(t, vfs.NewMem(), log.OpenOptions{Options: opts, OnRoll: func(base batch.Offset) error {
		bases = append(bases, base)
		if l.End() != base {
			t.Errorf("called for %d when the log ends at %d", base, l.End())
		}
		return answer
	}})
	appendAt(t, l, epoch0, mk(t, 0, 2, 10, 0, 5))
	answer = refuse
	if err := l.Append(epoch0, []batch.Batch{mk(t, 2, 1, 10, 0, 5)}); !errors.Is(err, refuse) || errors.Is(err, log.ErrFailed) || l.End() != 2 {
		t.Errorf("append: %v, the log ends at %d", err, l.End())
	}
	answer = nil
	appendAt(t, l, epoch0, mk(t, 2, 1, 10, 0, 5))
	if want := []batch.Offset{2, 2}; !slices.Equal(bases, want) {
		t.Errorf("called for %v, expected %v", bases, want)
	}
}

// TestAppendOrder: offsets below the end are refused and harm nothing (case 22).
func TestAppendOrder(t *testing.T) {
	t.Parallel()
	l := openLog(t, vfs.NewMem(), log.OpenOptions{Options: defaults()})
	appendAt(t, l, epoch0, mk(t, 0, 3, 10, 0, 5))
	for _, group := range [][]batch.Batch{{mk(t, 2, 1, 1, 0, 5)}, {mk(t, 3, 2, 1, 0, 5), mk(t, 4, 1, 1, 0, 5)}} {
		if err := l.Append(epoch0, group); err == nil || errors.Is(err, log.ErrFailed) {
			t.Errorf("append at %d: %v", group[0].BaseOffset(), err)
		}
	}
	appendAt(t, l, epoch0, mk(t, 3, 1, 1, 0, 5))
	if l.End() != 4 {
		t.Errorf("log ends at %d", l.End())
	}
}

// TestFullDisk: an append without room is cut back and its offsets are used again (case 27); reads and retention go on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	fs, opts := vfs.NewMem(), defaults()
	opts.SegmentBytes = 20_000
	l := openLog(t, fs, log.OpenOptions{Options: opts})
	fs.SetCapacity(64 << 10)
	big := func() batch.Batch { return mk(t, l.End(), 1, 9000, 0, epoch0.UnixMilli()) }
	var err error
	for err == nil {
		err = l.Append(epoch0, []batch.Batch{big()})
	}
	end := l.End()
	if !errors.Is(err, log.ErrNoSpace) || errors.Is(err, log.ErrFailed) || !errors.Is(err, syscall.ENOSPC) || end < 4 {
		t.Fatalf("append: %v, the log ends at %d", err, end)
	}
	if r, err := l.Read(end-1, end, 1, true); err != nil || r.Len() == 0 {
		t.Errorf("read: %d bytes, %v", r.Len(), err)
	}
	if _, err := l.Sync(); err != nil {
		t.Errorf("sync: %v", err)
	}
	opts.RetentionBytes = 1
	l.SetOptions(opts)
	if !l.Oversize() {
		t.Error("a log above retention.bytes is not oversize")
	}
	if n, err := l.Retain(epoch0, end); n == 0 || err != nil {
		t.Fatalf("retained: %d deleted, %v", n, err)
	}
	appendAt(t, l, epoch0, big())
	if l.End() != end+1 {
		t.Errorf("log ends at %d, expected %d", l.End(), end+1)
	}
}
