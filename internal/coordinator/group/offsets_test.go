package group

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// TestOffsetFootprint checks what the offsets of groups take, beside the strings that groups and topics share: under 100 bytes each from
// three partitions of a topic on.
func TestOffsetFootprint(t *testing.T) {
	t.Parallel()
	for _, size := range []int32{3, 10, 32, 100, 1000} {
		m := New(Options{})
		for g := range 10 {
			for p := range size {
				e := record.Offset{Group: fmt.Sprint("group-", g), Topic: "orders", Partition: p, Value: &record.OffsetValue{
					Offset: batch.Offset(p), Expires: -1, Metadata: fmt.Sprint("member-", g), TopicID: topic.ID{1},
				}}
				m.applyOffset(batch.Offset(p), e)
			}
		}
		var bytes uintptr
		texts := make(map[*byte]bool)
		for _, g := range m.sorted() {
			bytes += uintptr(cap(g.offsets.runs)) * unsafe.Sizeof(&run{})
			for _, r := range g.offsets.runs {
				bytes += unsafe.Sizeof(*r) + uintptr(cap(r.list))*unsafe.Sizeof(committed{})
				texts[unsafe.StringData(r.topic)] = true
			}
			for _, c := range g.offsets.all() {
				texts[unsafe.StringData(c.metadata)] = true
			}
		}
		if each := float64(bytes) / float64(10*size); each > 100 {
			t.Errorf("%d partitions a group: %.1f bytes for each offset, want at most 100", size, each)
		}
		// One copy of the topic's name, and one of a member's metadata for each of its runs.
		if limit := 1 + 10*(int(size)+runSize-1)/runSize + 10; len(texts) > limit {
			t.Errorf("%d partitions a group: %d strings, want at most %d", size, len(texts), limit)
		}
	}
}

// TestOffsetOrder checks that offsets stay sorted and counted, in whatever order they come and go.
func TestOffsetOrder(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	random := rand.New(rand.NewPCG(1, 2))
	at := batch.Offset(0)
	want := make(map[place]batch.Offset)
	for range 5000 {
		where := place{fmt.Sprint("topic-", random.IntN(5)), int32(random.IntN(240) - 40)}
		e := record.Offset{Group: "g", Topic: where.topic, Partition: where.partition}
		delete(want, where)
		if random.IntN(3) > 0 {
			e.Value = &record.OffsetValue{Offset: at, Expires: -1}
			want[where] = at
		}
		m.applyOffset(at, e)
		at++
	}
	g := m.find("g")
	last, n := place{}, 0
	for name, c := range g.offsets.all() {
		here := place{name, c.part}
		if n > 0 && (here.topic < last.topic || here.topic == last.topic && here.partition <= last.partition) {
			t.Fatalf("%v stands after %v", here, last)
		}
		if offset, ok := want[here]; !ok || offset != c.offset {
			t.Fatalf("%v is %d, want %d", here, c.offset, offset)
		}
		last = here
		n++
	}
	if n != len(want) || g.offsets.count != n {
		t.Errorf("%d offsets and a count of %d, want %d", n, g.offsets.count, len(want))
	}
	for where := range want {
		m.applyOffset(at, record.Offset{Group: "g", Topic: where.topic, Partition: where.partition})
	}
	if len(m.groups) != 0 || len(m.topics) != 0 {
		t.Errorf("%d groups and %d topics are left of nothing", len(m.groups), len(m.topics))
	}
}

// TestOlderRecordLater checks that an offset that a transaction committed late does not replace one that follows it in the log.
func TestOlderRecordLater(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	put := func(at, offset batch.Offset) {
		m.applyOffset(at, record.Offset{Group: "g", Topic: "t", Value: &record.OffsetValue{Offset: offset, Expires: -1}})
	}
	put(7, 70)
	put(5, 50)
	m.applyOffset(6, record.Offset{Group: "g", Topic: "t"})
	if c := m.find("g").offsets.get("t", 0); c == nil || c.offset != 70 || c.logged != 7 {
		t.Errorf("the offset is %+v, want that of record 7", c)
	}
}

// BenchmarkApplyOffsets replays a million offsets: of few groups with many partitions, of many with few, and one of each.
func BenchmarkApplyOffsets(b *testing.B) {
	const n = 1_000_000
	for _, partitions := range []int{1, 3, 100, n} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			records := make([]record.Record, n)
			for i := range records {
				g := fmt.Sprintf("consumer-group-%07d", i/partitions)
				records[i] = record.Offset{Group: g, Topic: "a-topic-of-some-length", Partition: int32(i % partitions), Value: &record.OffsetValue{
					Offset: batch.Offset(i), LeaderEpoch: 3, Metadata: g, Committed: 1e12, Expires: -1, TopicID: topic.ID{7},
				}}.Record()
			}
			b.ReportAllocs()
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				m := New(Options{})
				for i, r := range records {
					if err := m.Apply(batch.Offset(i), 1e12, r.Key, r.Value); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/offset")
				runtime.KeepAlive(m)
				b.StartTimer()
			}
			runtime.KeepAlive(records)
		})
	}
}
