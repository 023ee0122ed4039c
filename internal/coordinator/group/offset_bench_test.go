package group

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// million is a machine with a million offsets: of so many groups, each with as many partitions.
func million(b *testing.B, groups int) *Machine {
	b.Helper()
	m := New(Options{OffsetsRetention: time.Hour, RetentionInterval: time.Minute, RecordMax: 1 << 20})
	at := batch.Offset(0)
	for g := range groups {
		for p := range 1_000_000 / groups {
			m.applyOffset(at, record.Offset{Group: fmt.Sprintf("group-%07d", g), Topic: "orders", Partition: int32(p), Value: &record.OffsetValue{
				Offset: at, Committed: scriptEpoch.UnixMilli(), Expires: -1,
			}})
			at++
		}
	}
	m.Step(scriptEpoch, Loaded{})
	return m
}

// settle applies what in wants, and ticks until quiet; it returns the number of steps and the longest of them, which others wait for.
func settle(b *testing.B, m *Machine, now time.Time, in Input) (steps int, longest time.Duration) {
	b.Helper()
	for {
		began := time.Now()
		e := m.Step(now, in)
		for _, r := range e.Records {
			if err := m.Apply(m.applied, now.UnixMilli(), r.Key, r.Value); err != nil {
				b.Fatal(err)
			}
		}
		longest = max(longest, time.Since(began))
		steps++
		if next := m.Next(); next.Sub(now) > time.Second {
			return steps, longest
		}
		now, in = m.Next(), Tick{}
	}
}

// BenchmarkLargeRemovals measures what goes in many steps: a group of a million offsets is deleted, and a million offsets are looked at, or expire.
func BenchmarkLargeRemovals(b *testing.B) {
	for _, groups := range []int{1, 1000, 300_000} {
		for _, what := range []string{"delete", "look", "expire"} {
			if what == "delete" && groups > 1 {
				continue
			}
			b.Run(fmt.Sprintf("%s/groups=%d", what, groups), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					m := million(b, groups)
					now, in := scriptEpoch, Input(Tick{})
					switch what {
					case "delete":
						in = Delete{Caller: Caller{Token: 1}, Group: "group-0000000"}
					case "look":
						now = now.Add(time.Minute)
					case "expire":
						now = now.Add(time.Hour)
					}
					b.StartTimer()
					steps, longest := settle(b, m, now, in)
					b.ReportMetric(float64(steps), "steps")
					b.ReportMetric(float64(longest)/1e6, "longest-ms")
				}
			})
		}
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
