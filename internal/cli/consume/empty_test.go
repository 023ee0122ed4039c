package consume

import (
	"slices"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

func TestPastEmpty(t *testing.T) {
	t.Parallel()
	var w batch.Builder
	build := func(base, last batch.Offset, records int) []byte {
		w.Reset(batch.Fields{BaseOffset: base, LastOffset: last, ProducerID: 1, BaseSequence: 0, MaxTimestamp: 5})
		for i := range records {
			w.Append(batch.Record{Offset: base + batch.Offset(i), Timestamp: 5})
		}
		b, err := w.Build()
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(b)
	}
	full, empty, emptyToo := build(10, 11, 2), build(12, 15, 0), build(16, 16, 0)
	for _, tt := range []struct {
		name       string
		batches    []byte
		next, want int64
	}{
		{"nothing", nil, 12, 12},
		{"a record is there", full, 11, 11},
		{"a batch of earlier records, then none", slices.Concat(full, empty), 12, 16},
		{"two without records", slices.Concat(empty, emptyToo), 12, 17},
		{"in the middle of one", empty, 14, 16},
		{"a record after one", slices.Concat(empty, build(16, 16, 1)), 12, 16},
		{"a cut one", slices.Concat(empty, emptyToo[:20]), 12, 16},
		{"rubbish", []byte("rubbish"), 12, 12},
	} {
		if got := pastEmpty(tt.batches, tt.next); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
