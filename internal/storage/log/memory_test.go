package log_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestIdleMemory bounds what an open log that nobody uses holds, the file system's own handles left out.
func TestIdleMemory(t *testing.T) { // not parallel: it reads the heap
	const logs, limit = 400, 8 << 10
	fs := vfs.NewMem()
	opts := defaults()
	opts.SegmentBytes = 3000
	for i := range logs {
		l, err := log.Open(fs, fmt.Sprintf("t-%d", i), epoch0, log.OpenOptions{Options: opts})
		if err != nil {
			t.Fatal(err)
		}
		for l.Segments() < 3 {
			appendAt(t, l, epoch0, mk(t, l.End(), 1, 900, batch.Epoch(1), 5))
		}
		if err := l.Close(true); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var open []*log.Log
	for i := range logs {
		l, err := log.Open(fs, fmt.Sprintf("t-%d", i), epoch0, log.OpenOptions{Options: opts, Clean: true})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, l)
	}
	each := (int64(heap()) - int64(before)) / logs
	runtime.KeepAlive(open)
	t.Logf("%d bytes for each of %d open logs", each, logs)
	if each > limit {
		t.Errorf("an idle log holds %d bytes, the limit is %d", each, limit)
	}
}
