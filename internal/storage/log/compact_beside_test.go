package log_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestCompactGivesUp changes the log at each moment of a pass.
func TestCompactGivesUp(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(k *kept) error{
		"trim":     func(k *kept) error { return k.l.AdvanceStart(50) },
		"retain":   func(k *kept) error { _, err := k.l.Retain(k.now.Add(time.Hour), k.l.End()); return err },
		"truncate": func(k *kept) error { return k.l.Truncate(90) },
		"empty":    func(k *kept) error { return k.l.TruncateAll(1000) },
		"close":    func(k *kept) error { return k.l.Close(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at += 2 {
				k := dirtyLog(t, vfs.NewMem())
				if name == "retain" {
					o := k.opts.Options
					o.RetentionBytes = 2000
					k.l.SetOptions(o)
				}
				limit, calls := k.l.End(), 0
				if name == "truncate" {
					limit = 90 // the high watermark: nobody truncates below it
				}
				cleaner := k.cleaner(1 << 20)
				cleaner.Pace = func(int) error {
					if calls++; calls == at {
						return change(k)
					}
					return nil
				}
				done, err := k.l.Compact(k.now, limit, settings(), cleaner)
				if calls < at {
					if at < 30 {
						t.Fatalf("only %d moments", calls)
					}
					break
				}
				switch {
				case name == "close" && errors.Is(err, log.ErrClosed):
					k.reopenAfterClose(t)
				case name == "close" || err != nil && !errors.Is(err, log.ErrChanged):
					t.Fatalf("at moment %d: %+v, %v", at, done, err)
				}
				k.checkAll(t, fmt.Sprint("moment ", at))
			}
		})
	}
}

// checkAll checks a log that may have lost records at either end.
func (k *kept) checkAll(t *testing.T, name string) {
	t.Helper()
	k.records = keep(k.records, func(r rec) bool { return r.offset < k.l.End() })
	for producer, offset := range k.newest {
		if offset >= k.l.End() {
			delete(k.newest, producer)
		}
	}
	for _, tx := range k.open {
		tx.ended = false
	}
	for _, r := range k.records {
		if r.txn != nil && r.txn.marker >= k.l.End() {
			r.txn.ended = false
		}
	}
	k.check(named{t, name}, k.l, k.l.End())
	if _, err := k.l.Compact(k.now, k.l.End(), settings(), k.cleaner(1<<20)); err != nil {
		t.Fatalf("%s: again: %v", name, err)
	}
	k.check(named{t, name}, k.l, k.l.End())
}

func keep(records []rec, ok func(rec) bool) (out []rec) {
	for _, r := range records {
		if ok(r) {
			out = append(out, r)
		}
	}
	return out
}

func (k *kept) reopenAfterClose(t *testing.T) {
	t.Helper()
	opts := k.opts
	opts.Clean = true
	var err error
	if k.l, err = log.Open(k.fs, "t-0", k.now, opts); err != nil {
		t.Fatal(err)
	}
	entries, err := k.fs.ReadDir("t-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".cleaned") || strings.HasSuffix(e.Name(), ".swap") {
			t.Fatalf("%s is left", e.Name())
		}
	}
}

// TestCompactBeside compacts while one goroutine appends and others read and search.
func TestCompactBeside(t *testing.T) {
	t.Parallel()
	k := newKept(t, vfs.NewMem())
	for range 50 {
		k.produce(t, batch.CodecLZ4, -1, false, "a", "b", "c", "d")
	}
	var group sync.WaitGroup
	stop := make(chan struct{})
	running := func() bool {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	group.Go(func() {
		for i := 0; running() && i < 3000; i++ {
			b := bytes.Clone(mkKeyed(k.l.End()))
			if err := k.l.Append(k.now, []batch.Batch{b}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 2 {
		group.Go(func() {
			for running() {
				look(t, k.l)
				if _, ok, err := k.l.FindTimestamp(0, k.l.End()); err != nil || !ok {
					t.Errorf("first timestamp: %v, %v", ok, err)
					return
				}
				if _, _, err := k.l.MaxTimestamp(k.l.End()); err != nil {
					t.Error(err)
					return
				}
				var last batch.Offset = -1
				err := k.l.Scan(0, func(h batch.Batch) error {
					if h.BaseOffset() <= last {
						return fmt.Errorf("batch at %d after %d", h.BaseOffset(), last)
					}
					last = h.LastOffset()
					return nil
				})
				if err != nil || last < 199 {
					t.Errorf("scanned to %d: %v", last, err)
					return
				}
			}
		})
	}
	for range 25 {
		if _, err := k.l.Compact(k.now, k.l.End(), settings(), k.cleaner(1<<20)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	group.Wait()
}

func TestCompactLargeBatch(t *testing.T) {
	t.Parallel()
	k := newKept(t, vfs.NewMem())
	keys := make([]string, 500) // far above the buffer and segment.bytes
	for i := range keys {
		keys[i] = fmt.Sprint("k", i%7)
	}
	for _, codec := range codecs {
		k.produce(t, codec, -1, false, keys...)
	}
	k.seal(t)
	done := k.compact(t, k.l.End(), 1<<20)
	if done.RecordsKept != 7 {
		t.Errorf("%d records are left", done.RecordsKept)
	}
	k.check(t, k.l, done.To)
}

func TestDirt(t *testing.T) {
	t.Parallel()
	k := newKept(t, vfs.NewMem())
	for range 4 {
		k.produce(t, batch.CodecNone, -1, false, "a")
		k.seal(t) // 200 hours
	}
	k.produce(t, batch.CodecNone, -1, false, "a")
	size := k.l.Size() / 5
	for _, tt := range []struct {
		name     string
		limit    batch.Offset
		settings log.Compaction
		want     log.Dirt
		due      bool
	}{
		{"all but the active segment", 5, log.Compaction{}, log.Dirt{Bound: 4, Dirty: 4 * size}, true},
		{"below the limit's segment", 3, log.Compaction{}, log.Dirt{Bound: 3, Dirty: 3 * size}, true},
		{"nothing", 0, log.Compaction{}, log.Dirt{}, false},
		{"min lag", 5, log.Compaction{MinLag: 450 * time.Hour}, log.Dirt{Bound: 2, Dirty: 2 * size}, true},
		{"max lag", 5, log.Compaction{MinDirtyRatio: 1, MaxLag: 700 * time.Hour}, log.Dirt{Bound: 4, Dirty: 4 * size, Overdue: 100 * time.Hour}, true},
		{"not late", 5, log.Compaction{MinDirtyRatio: 1, MaxLag: 801 * time.Hour}, log.Dirt{Bound: 4, Dirty: 4 * size}, false},
	} {
		got, err := k.l.Dirt(k.now, tt.limit, tt.settings)
		if err != nil || got != tt.want || got.Due(tt.settings.MinDirtyRatio) != tt.due {
			t.Errorf("%s: %+v, due %v, %v; expected %+v", tt.name, got, got.Due(tt.settings.MinDirtyRatio), err, tt.want)
		}
	}
	k.compact(t, 2, 1<<20)
	got, err := k.l.Dirt(k.now, 5, log.Compaction{})
	if err != nil || got.From != 2 || got.Bound != 4 || got.Dirty != 2*size || got.Clean == 0 || got.Ratio() >= 1 {
		t.Errorf("after a pass: %+v, %v", got, err)
	}
}

// TestCompactTellsTheJournal checks that whoever keeps copies of bytes forgets them before they are replaced.
func TestCompactTellsTheJournal(t *testing.T) {
	t.Parallel()
	told, renames := 0, 0
	fs := vfs.Trace(vfs.NewMem(), func(op vfs.Op) {
		if op.Kind == vfs.OpRename && strings.HasSuffix(op.To, ".swap") {
			if renames++; told == 0 {
				t.Errorf("%v before the journal was told", op)
			}
		}
	})
	k := newKept(t, fs)
	k.produce(t, batch.CodecNone, -1, false, "a", "a")
	k.seal(t)
	if err := k.l.Close(true); err != nil {
		t.Fatal(err)
	}
	opts := k.opts
	opts.OnRewrite = func() error { told++; return errors.New("no") }
	var err error
	if k.l, err = log.Open(fs, "t-0", k.now, opts); err != nil {
		t.Fatal(err)
	}
	told = 0
	if _, err := k.l.Compact(k.now, 2, settings(), k.cleaner(1000)); err == nil || renames > 0 || told != 1 {
		t.Errorf("%v, %d renames", err, renames)
	}
	k.check(t, k.l, 0)
	opts.OnRewrite = func() error { told++; return nil }
	if err := k.l.Close(true); err != nil {
		t.Fatal(err)
	}
	if k.l, err = log.Open(fs, "t-0", k.now, opts); err != nil {
		t.Fatal(err)
	}
	told = 0 // by a pass, not by Open or Close
	if done := k.compact(t, 2, 1000); done.Replaced != 1 || renames == 0 || told != 1 {
		t.Errorf("%+v, %d renames, told %d times", done, renames, told)
	}
}
