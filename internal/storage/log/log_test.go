package log_test

import (
	"bytes"
	"time"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
)

var epoch0 = time.UnixMilli(1_700_000_000_000)

func defaults() log.Options {
	return log.Options{
		SegmentBytes: 1 << 30, SegmentAge: 7 * 24 * time.Hour, IndexInterval: 4096, IndexBytesMax: 10 << 20,
		RetentionBytes: -1, RetentionAge: 7 * 24 * time.Hour,
	}
}

// mk makes a batch of n records at base, each with size bytes of value.
func mk(t rapid.TB, base batch.Offset, n, size int, epoch batch.Epoch, ts int64) batch.Batch {
	t.Helper()
	var w batch.Builder
	w.Reset(batch.NewFields(base))
	for i := range n {
		w.Append(batch.Record{Delta: int32(i), Offset: base + batch.Offset(i), Timestamp: ts + int64(i), Value: bytes.Repeat([]byte{byte(base)}, size)})
	}
	b, err := w.Build()
	if err != nil {
		t.Fatal(err)
	}
	b.SetLeaderEpoch(epoch)
	return b
}

// nowhere is a test to make batches for that cannot fail.
type nowhere struct{ rapid.TB }

func (nowhere) Helper() {}
