package offset

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// TestFootprint checks what offsets take, beside the strings that groups and topics share: under 100 bytes each from three partitions of a
// topic on.
func TestFootprint(t *testing.T) {
	t.Parallel()
	for _, size := range []int32{3, 10, 32, 100, 1000} {
		var topics Topics
		sets := make([]Set, 10)
		for g := range sets {
			for p := range size {
				topics.Apply(&sets[g], batch.Offset(p), record.Offset{Topic: fmt.Sprint("ord", "ers"), Partition: p, Value: &record.OffsetValue{
					Offset: batch.Offset(p), Expires: -1, Metadata: fmt.Sprint("member-", g), TopicID: topic.ID{1},
				}})
			}
		}
		var bytes uintptr
		names, metadata, shared := make(map[*byte]bool), make(map[*byte]bool), make(map[*more]bool)
		for g := range sets {
			bytes += uintptr(cap(sets[g].runs)) * unsafe.Sizeof(&run{})
			for _, r := range sets[g].runs {
				bytes += unsafe.Sizeof(*r) + uintptr(cap(r.list))*unsafe.Sizeof(Committed{})
				names[unsafe.StringData(r.topic)] = true
			}
			for _, c := range sets[g].All() {
				metadata[unsafe.StringData(c.Metadata)] = true
				shared[c.more] = true
			}
		}
		if each := float64(bytes) / float64(10*size); each > 100 {
			t.Errorf("%d partitions a group: %.1f bytes for each offset, want at most 100", size, each)
		}
		if runs := 10 * ((int(size) + runSize - 1) / runSize); len(names) != 1 || len(metadata) > runs || len(shared) != 1 {
			t.Errorf("%d partitions a group: %d names, %d metadata in %d runs, %d more", size, len(names), len(metadata), runs, len(shared))
		}
	}
}

// TestOrder checks that offsets stay sorted and counted, in whatever order they come and go.
func TestOrder(t *testing.T) {
	t.Parallel()
	type place struct {
		topic     string
		partition int32
	}
	var topics Topics
	var s Set
	random := rand.New(rand.NewPCG(1, 2))
	at := batch.Offset(0)
	want := make(map[place]batch.Offset)
	for range 5000 {
		where := place{fmt.Sprint("topic-", random.IntN(5)), int32(random.IntN(240) - 40)}
		e := record.Offset{Topic: where.topic, Partition: where.partition}
		delete(want, where)
		if random.IntN(3) > 0 {
			e.Value = &record.OffsetValue{Offset: at, Expires: -1}
			want[where] = at
		}
		topics.Apply(&s, at, e)
		at++
	}
	last, n := place{}, 0
	for name, c := range s.All() {
		here := place{name, c.Partition}
		if n > 0 && (here.topic < last.topic || here.topic == last.topic && here.partition <= last.partition) {
			t.Fatalf("%v stands after %v", here, last)
		}
		if offset, ok := want[here]; !ok || offset != c.Offset || s.Get(name, c.Partition) != c {
			t.Fatalf("%v is %d, want %d", here, c.Offset, offset)
		}
		last = here
		n++
	}
	if n != len(want) || s.Len() != n {
		t.Errorf("%d offsets and a count of %d, want %d", n, s.Len(), len(want))
	}
	for where := range want {
		topics.Apply(&s, at, record.Offset{Topic: where.topic, Partition: where.partition})
	}
	if s.Len() != 0 || len(s.runs) != 0 || topics.Len() != 0 || topics.Has("topic-1") {
		t.Errorf("%d runs and %d topics are left of nothing", len(s.runs), topics.Len())
	}
}

// TestNewestInTheLog checks that an offset that a transaction committed late does not replace one that follows it in the log.
func TestNewestInTheLog(t *testing.T) {
	t.Parallel()
	var topics Topics
	var s Set
	put := func(at, offset batch.Offset) {
		topics.Apply(&s, at, record.Offset{Topic: "t", Value: &record.OffsetValue{Offset: offset, Expires: -1}})
	}
	put(7, 70)
	put(5, 50)
	topics.Apply(&s, 6, record.Offset{Topic: "t"})
	if c := s.Get("t", 0); c == nil || c.Offset != 70 || c.Logged != 7 {
		t.Errorf("the offset is %+v, want that of record 7", c)
	}
}

// TestWhatMany checks what offsets have in common: it is told apart where it differs.
func TestWhatMany(t *testing.T) {
	t.Parallel()
	var topics Topics
	var s Set
	for p := range int32(4) {
		v := &record.OffsetValue{Expires: -1}
		if p > 0 {
			v.TopicID = topic.ID{byte(p % 2)}
		}
		if p == 3 {
			v.Expires = 9
		}
		topics.Apply(&s, batch.Offset(p), record.Offset{Topic: "t", Partition: p, Value: v})
	}
	for p, want := range []more{{expires: -1}, {topic.ID{1}, -1}, {expires: -1}, {topic.ID{1}, 9}} {
		c := s.Get("t", int32(p))
		if got := (more{c.TopicID(), c.Expires()}); got != want {
			t.Errorf("partition %d: %+v, want %+v", p, got, want)
		}
		if c.Of(topic.ID{2}) == (want.topicID == topic.ID{1}) || !c.Of(topic.ID{}) || !c.Of(want.topicID) {
			t.Errorf("partition %d is of the wrong topic", p)
		}
	}
}
