package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// compacting resolves every topic to a compacted one with small segments.
type compacting struct{ defaults }

func (c compacting) Resolve(overrides map[string]string) partition.Options {
	o := c.defaults.Resolve(overrides)
	o.Compact, o.Delete = true, false
	o.Log.SegmentBytes = 500
	o.Compaction = log.Compaction{MinDirtyRatio: 0.5, DeleteRetention: time.Hour}
	return o
}

func compactOptions(files vfs.FS) Options {
	o := options(files)
	o.Topic = compacting{}
	o.Cleaner = func() Cleaner { return Cleaner{Backoff: time.Millisecond, Threads: 2} }
	return o
}

func produceKeyed(t testing.TB, p *partition.Partition, key, value string) {
	t.Helper()
	var w batch.Builder
	w.Reset(batch.NewFields(0))
	w.Append(batch.Record{Timestamp: time.Now().UnixMilli(), Key: []byte(key), Value: []byte(value)})
	records, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	offered := &partition.Produce{Records: records}
	p.Append(time.Now(), []*partition.Produce{offered})
	if err := offered.Err; err != nil {
		t.Fatal(err)
	}
	if err := await(p, offered.End); err != nil {
		t.Fatal(err)
	}
}

func TestCleanerCompacts(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, compactOptions(files))
	createTopic(t, b, "keyed", 1)
	p := touch(t, b, "keyed", 0)
	for i := range 60 {
		produceKeyed(t, p, fmt.Sprint("k", i%3), fmt.Sprint("v", i))
	}
	eventually(t, "compaction", func() bool {
		st := b.Stats().Cleaner
		return st.RecordsRemoved >= 40 && st.BytesWritten > 0 && st.Passes > 0
	})
	got := strings.Fields(values(t, p))
	if n := len(got); n > 20 || strings.Join(got[n-3:], " ") != "v57 v58 v59" {
		t.Errorf("left are %v", got)
	}
	cleaned := p.Cleaned()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := readSmall(files, cleanedFile)
	if want := fmt.Sprintf("0\n1\nkeyed 0 %d\n", cleaned); err != nil || string(content) != want {
		t.Errorf("checkpoint is %q, %v; expected %q", content, err, want)
	}
	again := bring(t, compactOptions(files))
	if p := touch(t, again, "keyed", 0); p.Cleaned() < cleaned {
		t.Errorf("cleaned up to %d after a restart, expected %d", p.Cleaned(), cleaned)
	}
	deleteTopic(t, again, "keyed")
	eventually(t, "the entry is gone", func() bool {
		content, err := readSmall(files, cleanedFile)
		return err == nil && string(content) == "0\n0\n"
	})
}

func TestCleanerLeavesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	var out logs
	broken := errors.New("bad sector")
	files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRead && strings.HasPrefix(op.Name, "bad-0/") && op.Len > 100 {
			return broken
		}
		return nil
	})
	opts := compactOptions(files)
	opts.Log = logTo(&out)
	b := bring(t, opts)
	createTopic(t, b, "bad", 1)
	createTopic(t, b, "good", 1)
	for _, name := range []string{"bad", "good"} {
		p := touch(t, b, name, 0)
		for i := range 30 {
			produceKeyed(t, p, "k", fmt.Sprint("v", i))
		}
	}
	eventually(t, "compaction", func() bool {
		st := b.Stats().Cleaner
		return st.Uncleanable == 1 && st.RecordsRemoved > 0
	})
	if n := strings.Count(out.String(), "not compacted any more"); n != 1 || !strings.Contains(out.String(), "bad sector") {
		t.Errorf("%d lines: %s", n, out.String())
	}
	if err := b.Healthy(); err != nil {
		t.Error(err)
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	var limited throttle
	limited.limit(1000)
	for i, want := range []time.Duration{0, time.Second, 3 * time.Second} {
		if got := limited.delay(now, 1000*(i+1)); got != want {
			t.Errorf("delay %d is %v, expected %v", i, got, want)
		}
	}
	if got := limited.delay(now.Add(time.Minute), 1); got != 0 {
		t.Errorf("after a minute the delay is %v", got)
	}
	var free throttle
	if got := free.delay(now, 1<<30); got != 0 {
		t.Errorf("without a limit the delay is %v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := limited.wait(ended, now, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCleanerDefaults(t *testing.T) {
	t.Parallel()
	c := Cleaner{BytesPerSecond: 10_000}.withDefaults()
	if c.Threads != 1 || c.Memory != 128<<20 || c.LoadFactor != 0.9 || c.Buffer != 10_000 || c.Backoff != 15*time.Second {
		t.Errorf("got %+v", c)
	}
}

// TestCompactionThatMayBeTriedAgain: a partition stays cleanable after what another try may get over.
func TestCompactionThatMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b := still(t, options(vfs.NewMem()))
	for err, passing := range map[error]bool{
		fmt.Errorf("void a-0: %w", journal.ErrFull):                      true,
		fmt.Errorf("compact: %w", log.ErrNoSpace):                        true,
		fmt.Errorf("compact: %w", syscall.EMFILE):                        true,
		fmt.Errorf("compact a batch: %w", batch.ErrCorrupt):              false,
		fmt.Errorf("read a-0/00000000000000000000.log: %w", syscall.EIO): false,
	} {
		s := &slot{}
		b.cleaner.judge(b, s, err)
		if got := b.cleaner.free(s, b.Now()); got != passing {
			t.Errorf("after %q the partition is tried again: %v, want %v", err, got, passing)
		}
	}
}
