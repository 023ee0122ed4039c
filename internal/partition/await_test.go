package partition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestTrace is the golden trace: every call to the file system that changes or syncs something, and between them the
// moments when an acknowledgement could leave. No "acknowledged" may stand before the sync after its write.
func TestTrace(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var lines []string
		var p *Partition
		waiting := map[string]*Produce{}
		look := func() {
			for _, name := range slices.Sorted(maps.Keys(waiting)) {
				if done, err := p.Await(waiting[name].End); done || err != nil {
					lines = append(lines, strings.TrimSuffix(fmt.Sprintf("acknowledged %s %v", name, err), " <nil>"))
					delete(waiting, name)
				}
			}
		}
		fs := newFS(t)
		fs.OnOp(func(op vfs.Op) {
			if matters(op) {
				lines = append(lines, op.String())
			}
			if p != nil {
				look()
			}
		})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines = nil
			switch d.Cmd {
			case "open":
				p = openTest(t, fs, func(o *OpenOptions) {
					if d.HasArg("memory") {
						memory(o)
					}
					if d.HasArg("segment") {
						var bytes int
						d.ScanArgs(t, "segment", &bytes)
						o.Log.SegmentBytes = int64(bytes)
					}
				})
			case "append": // one batch a line: NAME PRODUCER SEQUENCE
				traceAppend(t, p, d.Input, waiting)
			case "sync":
				mustSync(t, p)
			case "close":
				if err := p.Close(true); err != nil {
					t.Fatal(err)
				}
			}
			look()
			return strings.Join(append(lines, ""), "\n")
		})
	})
}

// matters leaves out what acknowledgements do not rest on: indexes, which are made from the log, and what fails.
func matters(op vfs.Op) bool {
	return op.Err == nil && !strings.HasSuffix(op.Name, "index")
}

func traceAppend(t *testing.T, p *Partition, input string, waiting map[string]*Produce) {
	var group []*Produce
	for line := range strings.Lines(input) {
		var name string
		var producer int64
		var sequence int32
		if _, err := fmt.Sscan(line, &name, &producer, &sequence); err != nil {
			t.Fatal(err)
		}
		pr := from(producer, 0, sequence, 1).produce(t)
		group = append(group, pr)
		waiting[name] = pr
		pr.End = 1 << 62 // not known before Append returns
	}
	p.Append(start, group)
	for _, pr := range group {
		if pr.Err != nil {
			t.Fatal(pr.Err)
		}
	}
}

// TestSyncCoversWhatWasWrittenBefore: appends go on while a sync runs, and are not acknowledged by it.
func TestSyncCoversWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	var p *Partition
	var during *Produce
	armed := false
	fs := vfs.Faulty(newFS(t), func(op vfs.Op) error {
		if armed && op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, ".log") {
			armed = false
			during = plain(1).produce(t)
			p.Append(start, []*Produce{during})
		}
		return nil
	})
	p = openTest(t, fs, nil)
	before := mustAppend(t, p, plain(1))[0]
	armed = true
	mustSync(t, p)
	if during == nil || during.Err != nil {
		t.Fatalf("no append during the sync: %+v", during)
	}
	if done, _ := p.Await(before.End); !done {
		t.Error("what was written before the sync is not acknowledged")
	}
	if done, _ := p.Await(during.End); done {
		t.Error("what was written during the sync is acknowledged")
	}
	mustSync(t, p)
	if done, _ := p.Await(during.End); !done {
		t.Error("what was written before the second sync is not acknowledged")
	}
}

// TestDuplicateWaitsForTheOriginal: a retry is never acknowledged ahead of the sync that covers what it repeats.
func TestDuplicateWaitsForTheOriginal(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	mustAppend(t, p, from(1, 0, 0, 3))
	again := appendAll(t, p, from(1, 0, 0, 3))[0]
	if !again.Duplicate || again.Base != 0 || again.End != 3 || again.Count != 0 || again.Bytes != 0 {
		t.Fatalf("retry: %+v", again)
	}
	if done, err := p.Await(again.End); done || err != nil {
		t.Errorf("before the sync: %t, %v", done, err)
	}
	mustSync(t, p)
	if done, err := p.Await(again.End); !done || err != nil {
		t.Errorf("after the sync: %t, %v", done, err)
	}
}

// TestFailedSyncIsFinal is case 23: an fsync that failed once is not asked again.
func TestFailedSyncIsFinal(t *testing.T) {
	t.Parallel()
	fail := false
	fs := vfs.Faulty(newFS(t), func(op vfs.Op) error {
		if fail && op.Kind == vfs.OpSync {
			fail = false
			return syscall.EIO
		}
		return nil
	})
	p := openTest(t, fs, nil)
	pr := mustAppend(t, p, plain(1))[0]
	w := NewWaiter()
	p.Watch(w)
	fail = true
	for range 2 {
		if err := p.Sync(); !errors.Is(err, syscall.EIO) || !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("sync: %v", err)
		}
	}
	if done, err := p.Await(pr.End); done || !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("await: %t, %v", done, err)
	}
	if len(w.C) != 1 {
		t.Error("the waiter was not woken")
	}
	checkResults(t, appendAll(t, p, plain(1)), "KAFKA_STORAGE_ERROR")
}

func TestFlushSettings(t *testing.T) {
	t.Parallel()
	syncer := &dirtied{}
	p := openTest(t, newFS(t), func(o *OpenOptions) {
		memory(o)
		o.Syncer, o.FlushMessages, o.FlushAge = syncer, 3, time.Second
	})
	mustAppend(t, p, plain(2))
	if syncer.count() != 0 {
		t.Error("told after 2 of 3 messages")
	}
	mustAppend(t, p, plain(1))
	if syncer.count() != 1 {
		t.Error("not told after flush.messages")
	}
	mustSync(t, p)
	mustAppend(t, p, plain(1))
	if err := p.Maintain(start.Add(999 * time.Millisecond)); err != nil || syncer.count() != 1 {
		t.Errorf("told before flush.ms: %v", err)
	}
	if err := p.Maintain(start.Add(time.Second)); err != nil || syncer.count() != 2 {
		t.Errorf("not told after flush.ms: %v", err)
	}
	opts := testOptions()
	p.SetOptions(opts)
	if syncer.count() != 3 {
		t.Error("not told when the topic became durable")
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	p := openTest(t, newFS(t), nil)
	w, other := NewWaiter(), NewWaiter()
	woken := func(w *Waiter) bool {
		select {
		case <-w.C:
			return true
		default:
			return false
		}
	}
	p.Watch(w)
	p.Watch(w)
	p.Watch(other)
	p.Unwatch(other)
	mustAppend(t, p, plain(1))
	if woken(w) {
		t.Error("woken by an append that is not committed")
	}
	mustSync(t, p)
	if !woken(w) || woken(other) {
		t.Error("not woken by the commit, or woken though it no longer watched")
	}
	mustAppend(t, p, plain(1))
	mustSync(t, p)
	if woken(w) {
		t.Error("woken twice")
	}
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"log start", func() { _, _ = p.DeleteRecords(1) }},
		{"role", func() { _ = p.Lead(start, 9) }},
		{"health", func() { p.Fail(syscall.EIO) }},
	} {
		p.Watch(w)
		c.change()
		if !woken(w) {
			t.Errorf("not woken by a change of %s", c.name)
		}
	}
}
