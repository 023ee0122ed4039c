package broker

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// BenchmarkStart is Open to the first acknowledged produce, with 10,000 partitions of 3 segments on disk, after a clean stop and after one
// that was not. Set TMPDIR to a memory disk to make the preparation quick.
func BenchmarkStart(b *testing.B) {
	opts := options(vfs.Cache(disk(b, b.TempDir()), 2000))
	opts.Topic = smallSegments{}
	prepare(b, opts)
	b.Run("clean", func(b *testing.B) { benchmarkStart(b, opts, func() {}) })
	b.Run("unclean", func(b *testing.B) {
		benchmarkStart(b, opts, func() {
			if _, _, err := takeMarker(opts.FS); err != nil {
				b.Fatal(err)
			}
		})
	})
}

const benchTopics, benchPartitions = 100, 100

func prepare(b *testing.B, opts Options) {
	node := bring(b, opts)
	value := strings.Repeat("x", 600)
	for i := range benchTopics {
		name := fmt.Sprintf("topic-%d", i)
		createTopic(b, node, name, benchPartitions)
		for index := range int32(benchPartitions) {
			p := touch(b, node, name, index)
			for range 3 {
				produce(b, p, value)
			}
		}
	}
	if err := node.Close(); err != nil {
		b.Fatal(err)
	}
}

func benchmarkStart(b *testing.B, opts Options, before func()) {
	for b.Loop() {
		b.StopTimer()
		before()
		held := heap()
		b.StartTimer()
		node := bring(b, opts)
		produce(b, touch(b, node, "topic-50", 7), "x")
		b.StopTimer()
		if st := node.Stats(); st.Hosted != benchTopics*benchPartitions {
			b.Fatalf("stats: %+v", st)
		}
		eventually(b, "recovery", func() bool { return node.CleanStart() || node.Stats().Opened == benchTopics*benchPartitions })
		b.ReportMetric(float64(heap()-held)/(1<<20), "heap-MiB")
		if err := node.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkLookup is what the hot path pays for finding an open partition.
func BenchmarkLookup(b *testing.B) {
	node := bring(b, options(vfs.NewMem()))
	for i := range 200 {
		createTopic(b, node, fmt.Sprintf("topic-%d", i), 1)
	}
	touch(b, node, "topic-77", 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := node.Partition("topic-77", 0); err != nil {
			b.Fatal(err)
		}
	}
}

// smallSegments gives each record a segment of its own.
type smallSegments struct{ defaults }

// Resolve is that of defaults but for the segments' size.
func (s smallSegments) Resolve(overrides map[string]string) partition.Options {
	o := s.defaults.Resolve(overrides)
	o.Log.SegmentBytes = 1024
	return o
}
