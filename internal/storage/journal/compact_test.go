package journal_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// keyed appends a record with a key.
func (p *part) keyed(key, value string) error {
	var w batch.Builder
	base := p.log.End()
	w.Reset(batch.NewFields(base))
	w.Append(batch.Record{Offset: base, Timestamp: epoch0.UnixMilli(), Key: []byte(key), Value: []byte(value)})
	b, err := w.Build()
	if err != nil {
		return err
	}
	b.SetLeaderEpoch(3)
	return p.log.Append(epoch0, []batch.Batch{b})
}

// TestCompactedSegmentsStay: what the journal has of a segment that compaction has replaced is not written over the new one.
func TestCompactedSegmentsStay(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	j, parts := newJournal(mem, 256*journal.Block, 1), newParts(1)
	openAll(t, mem, j, parts)
	if err := j.Make(); err != nil {
		t.Fatal(err)
	}
	p := parts[0]
	for i := range 40 {
		if err := p.keyed(strconv.Itoa(i%3), strings.Repeat("v", 900)); err != nil {
			t.Fatal(err)
		}
		if err := commit(j, parts); err != nil {
			t.Fatal(err)
		}
	}
	entries, _, err := journal.Frames(mem)
	if err != nil || len(entries) < 10 || p.log.Segments() < 3 {
		t.Fatalf("%d frames, %d segments, %v", len(entries), p.log.Segments(), err)
	}
	cleaner := log.Cleaner{Memory: 1 << 20, LoadFactor: 0.9, Buffer: 4096, Newest: func(batch.Batch) bool { return false }}
	done, err := p.log.Compact(epoch0, p.log.End(), log.Compaction{DeleteRetention: time.Hour}, cleaner)
	if err != nil || done.After >= done.Before {
		t.Fatalf("compaction %+v: %v", done, err)
	}
	want, err := content(p.log)
	if err != nil {
		t.Fatal(err)
	}
	for keep := 0; keep <= 100; keep += 100 {
		disk := mem.CrashClone(vfs.CrashOptions{Keep: keep})
		report, err := journal.Replay(disk, topicOf(disk))
		if err != nil || report.Skipped == 0 {
			t.Fatalf("replay %+v: %v", report, err)
		}
		l, err := log.Open(disk, p.key.Dir, epoch0, log.OpenOptions{Options: p.options, RecoveryPoint: report.Restored[p.key], Compacted: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := content(l); err != nil || !slices.Equal(got, want) {
			t.Errorf("keep %d: %d batches, %d before the crash, %v", keep, len(got), len(want), err)
		}
	}
}
