package record

import (
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// BenchmarkOffset is a commit of one offset, written and read, which loading does for each record.
func BenchmarkOffset(b *testing.B) {
	e := Offset{"payments", "orders", 7, &OffsetValue{Offset: 1 << 40, LeaderEpoch: 3, Committed: 1 << 40, Expires: -1, TopicID: [16]byte{1}}}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = e.Record()
		}
	})
	r := e.Record()
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := Decode(r.Key, r.Value); err != nil || got.(Offset).Value.Offset != batch.Offset(1<<40) {
				b.Fatal(got, err)
			}
		}
	})
}
