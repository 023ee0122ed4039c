package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
)

// LogDir describes a log directory, for DescribeLogDirs.
type LogDir struct {
	Path       string
	ID         [16]byte
	Err        error // why it is offline (KAFKA_STORAGE_ERROR, wrapped), or nil
	Free       int64 // bytes; -1 if not known
	Total      int64 // bytes; -1 if not known
	Partitions []LogDirPartition
}

// LogDirPartition is one partition of a log directory.
type LogDirPartition struct {
	Topic string
	Index int32
	Size  int64 // bytes of its segments; 0 until it is open if nothing is known of it
	// Segments is their number, 0 until it is open.
	Segments int
}

// LogDirs describes the log directories; partitions that want says no to are left out (nil: none is). They come by topic and index.
func (b *Broker) LogDirs(want func(topic string, index int32) bool) []LogDir {
	dir := LogDir{Path: b.opts.DataDir, ID: b.properties.directoryID, Free: -1, Total: -1}
	if err := b.offline(); err != nil {
		dir.Err = fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
	}
	if room, err := b.opts.FS.Space(); err == nil {
		dir.Free, dir.Total = room.Free, room.Total
	}
	for _, s := range b.table.Load().slots() {
		if want == nil || want(s.id.Topic, s.id.Index) {
			dir.Partitions = append(dir.Partitions, LogDirPartition{Topic: s.id.Topic, Index: s.id.Index, Size: s.size(), Segments: s.segments()})
		}
	}
	return []LogDir{dir}
}

// size is the bytes of the partition's segments as far as is known.
func (s *slot) size() int64 {
	if p := s.open.Load(); p != nil {
		return p.Size()
	}
	return max(s.known.size, 0)
}

// segments is the number of the partition's segments, 0 if it is not open or has no directory.
func (s *slot) segments() int {
	if p := s.open.Load(); p != nil && !p.Absent() {
		return p.Segments()
	}
	return 0
}

// Known is what is known of a partition here, without opening it: its marks, and the partition itself if it is open. Of one that is not open,
// the marks are those of the last stop or checkpoint. It is false if the partition is not hosted here.
func (b *Broker) Known(topic string, index int32) (p *partition.Partition, marks partition.Offsets, ok bool) {
	h, ok := b.table.Load().byName.Get(topic)
	if !ok || index < 0 || int(index) >= len(h.slots) || h.slots[index] == nil {
		return nil, partition.Offsets{}, false
	}
	s := h.slots[index]
	if open := s.open.Load(); open != nil {
		marks = open.Offsets()
		return open, marks, true
	}
	// A clean stop commits all there is; after a crash there is the checkpoint alone, which may be behind.
	end := max(s.known.end, s.known.highWatermark)
	return nil, partition.Offsets{Start: s.known.start, HighWatermark: end, LastStable: end, End: end}, true
}

// Stats are figures for metrics.
type Stats struct {
	Hosted     int   // partitions with a replica here
	Opened     int   // of these, open
	Offline    int   // of these, those that cannot be served
	Recovering int   // partitions that wait for recovery in the background
	Syncs      int64 // fsyncs of partitions
	SyncsAsked int64 // how often one was asked for
	DiskFull   bool
	Cleaner    CleanerStats
}

// Stats counts.
func (b *Broker) Stats() Stats {
	st := Stats{Recovering: int(b.recovering.Load()), DiskFull: b.space.full.Load(), Cleaner: b.cleaner.stats()}
	b.table.Load().all(func(s *slot) {
		st.Hosted++
		if s.open.Load() != nil {
			st.Opened++
		}
		if s.offline() != nil {
			st.Offline++
		}
	})
	st.Syncs, st.SyncsAsked = b.syncer.figures()
	return st
}

// TopicSizes gives fn the bytes of each topic's segments here.
func (b *Broker) TopicSizes(fn func(topic string, bytes int64)) {
	for name, h := range b.table.Load().byName.All() {
		var bytes int64
		for _, s := range h.slots {
			if s != nil {
				bytes += s.size()
			}
		}
		fn(name, bytes)
	}
}
