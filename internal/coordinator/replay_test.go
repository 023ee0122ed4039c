package coordinator

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// compacted are topics that are rolled and compacted as a test asks for it.
func compacted() setup {
	return setup{
		resolve: func(o *partition.Options) { o.Log.SegmentAge, o.Delete = time.Hour, true },
		broker:  func(o *broker.Options) { o.Cleaner = func() broker.Cleaner { return broker.Cleaner{Off: true} } },
	}
}

// roll begins a new segment in the partition of a group.
func (n *node) roll(t testing.TB, groupID string) *partition.Partition {
	t.Helper()
	p, err := n.broker.Partition(Topic, PartitionFor(groupID, 3))
	if err == nil {
		err = p.Maintain(time.Now().Add(2 * time.Hour))
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compact rolls and compacts the partition of a group.
func (n *node) compact(t testing.TB, groupID string) {
	t.Helper()
	if _, err := n.roll(t, groupID).Compact(time.Now().Add(2*time.Hour), log.Cleaner{Memory: 1 << 20, LoadFactor: 0.9, Buffer: 1 << 16}); err != nil {
		t.Fatal(err)
	}
}

// cut truncates a segment of a group's partition, whose node is stopped, as it would be had compaction left no more of it.
func cut(t testing.TB, files vfs.FS, groupID string, size int64) {
	t.Helper()
	f, err := files.OpenFile(fmt.Sprintf("%s-%d/%020d.log", Topic, PartitionFor(groupID, 3), 0), os.O_RDWR)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Sync(), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEndIsCompactedAway: Kafka's cleaner leaves nothing of a log's last records if these were tombstones, and the segment that comes after them
// is empty. There is nothing more to come.
func TestEndIsCompactedAway(t *testing.T) {
	t.Parallel()
	for _, left := range []int{0, 1} {
		files := vfs.NewMem()
		n := compacted().bring(t, files)
		n.topicOf(t, "orders")
		n.serve(t, "g")
		var size int64
		for i := range 3 {
			if err := n.commit(t, "g", "orders", 7); err != nil {
				t.Fatal(err)
			}
			if p, _ := n.broker.Partition(Topic, PartitionFor("g", 3)); i < left {
				size = p.Size()
			}
		}
		n.roll(t, "g")
		n.stop()
		cut(t, files, "g", size)
		n = bring(t, files)
		n.serve(t, "g")
		if got := n.eventually(t, "g", "orders"); got != 8*batch.Offset(left)-1 {
			t.Errorf("committed is %d", got)
		}
		if err := n.commit(t, "g", "orders", 8); err != nil {
			t.Error(err)
		}
		n.stop()
		n = bring(t, files)
		if got := n.eventually(t, "g", "orders"); got != 8 {
			t.Errorf("committed is %d, want 8", got)
		}
	}
}

// written is a batch that a test puts in the log of groups.
type written struct {
	producer int64 // of a transaction, or 0
	records  []record.Record
	end      batch.ControlType // with a producer: its marker, in place of records
}

const noEnd = batch.ControlType(-1)

// committing is a batch that commits an offset of group g in orders, of which -1 removes it.
func committing(producer int64, offset batch.Offset) written {
	e := record.Offset{Group: "g", Topic: "orders"}
	if offset >= 0 {
		e.Value = &record.OffsetValue{Offset: offset, LeaderEpoch: -1, Committed: 1, Expires: -1}
	}
	return written{producer: producer, records: []record.Record{e.Record()}, end: noEnd}
}

// ending is the marker of a transaction.
func ending(producer int64, end batch.ControlType) written {
	return written{producer: producer, end: end}
}

func (w written) build(t testing.TB, sequence int) batch.Batch {
	t.Helper()
	if w.producer > 0 && w.end != noEnd {
		b, err := batch.Marker{Type: w.end}.Batch(w.producer, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	fields := batch.NewFields(0)
	if w.producer > 0 {
		fields.Transactional, fields.ProducerID, fields.ProducerEpoch, fields.BaseSequence = true, w.producer, 0, int32(sequence)
	}
	var builder batch.Builder
	builder.Reset(fields)
	for i, r := range w.records {
		builder.Append(batch.Record{Offset: batch.Offset(i), Timestamp: 1, Key: r.Key, Value: r.Value})
	}
	b, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// written makes files with a topic, and with batches in the log of group g.
func writtenTo(t testing.TB, batches ...written) *vfs.Mem {
	t.Helper()
	files := vfs.NewMem()
	n := setup{still: true}.bring(t, files)
	n.topicOf(t, "orders")
	n.locate(t, "g")
	p, err := n.broker.Partition(Topic, PartitionFor("g", 3))
	if err != nil {
		t.Fatal(err)
	}
	sequences := map[int64]int{}
	for _, w := range batches {
		pr := partition.Produce{Records: w.build(t, sequences[w.producer]), Internal: true}
		sequences[w.producer] += len(w.records)
		if p.Append(time.Now(), []*partition.Produce{&pr}); pr.Err != nil {
			t.Fatal(pr.Err)
		}
	}
	n.stop()
	return files
}

// TestTransactionalOffsets: of an offset that a Kafka broker's directory brought in a transaction, what counts is the end of that, and what else
// became of the key between the two: the newest record in the log wins, and a tombstone is for it too (OffsetMetadataManager.replay).
func TestTransactionalOffsets(t *testing.T) {
	t.Parallel()
	commit, abort := batch.ControlCommit, batch.ControlAbort
	for name, c := range map[string]struct {
		log  []written
		want batch.Offset
	}{
		"open":                       {[]written{committing(0, 1), committing(5, 2)}, 1},
		"committed":                  {[]written{committing(0, 1), committing(5, 2), ending(5, commit)}, 2},
		"aborted":                    {[]written{committing(0, 1), committing(5, 2), ending(5, abort)}, 1},
		"of another":                 {[]written{committing(5, 2), committing(6, 3), ending(6, abort), ending(5, commit)}, 2},
		"twice":                      {[]written{committing(5, 2), committing(5, 3), ending(5, commit)}, 3},
		"overtaken":                  {[]written{committing(5, 2), committing(0, 3), ending(5, commit)}, 3},
		"overtaken by a transaction": {[]written{committing(5, 2), committing(6, 3), ending(6, commit), ending(5, commit)}, 3},
		"older first":                {[]written{committing(5, 2), committing(6, 3), ending(5, commit), ending(6, commit)}, 3},
		"removed meanwhile":          {[]written{committing(5, 2), committing(0, -1), ending(5, commit)}, -1},
		"removed from two":           {[]written{committing(5, 2), committing(6, 2), committing(0, -1), ending(5, commit), ending(6, commit)}, -1},
		"again after it was removed": {[]written{committing(5, 2), committing(0, -1), committing(5, 4), ending(5, commit)}, 4},
		"removed before":             {[]written{committing(0, 1), committing(0, -1), committing(5, 2), ending(5, commit)}, 2},
		"the next transaction":       {[]written{committing(5, 2), ending(5, abort), committing(5, 3), ending(5, commit)}, 3},
		"an end of nothing":          {[]written{committing(0, 1), ending(5, commit), ending(6, abort)}, 1},
	} {
		n := bring(t, writtenTo(t, c.log...))
		if got := n.eventually(t, "g", "orders"); got != c.want {
			t.Errorf("%s: committed is %d, want %d", name, got, c.want)
		}
		n.stop()
	}
}

// TestStartMovesWhileLoading: the log is compacted, and its start moves, between the reads of a replay.
func TestStartMovesWhileLoading(t *testing.T) {
	t.Parallel()
	var between atomic.Pointer[func()]
	mem := vfs.NewMem()
	files := vfs.Faulty(mem, func(op vfs.Op) error {
		if fn := between.Load(); fn != nil && op.Kind == vfs.OpRead && strings.HasPrefix(op.Name, Topic) && op.Len >= loadRead/2 {
			if between.CompareAndSwap(fn, nil) {
				(*fn)()
			}
		}
		return nil
	})
	for _, cut := range []string{"compacted", "start"} {
		n := compacted().bring(t, files)
		n.topicOf(t, cut)
		id := cut
		n.serve(t, id)
		for round := range batch.Offset(3) {
			n.commitWide(t, id, cut, 10_000, round)
			n.roll(t, id)
		}
		p := n.roll(t, id)
		fn := func() {
			if cut == "compacted" {
				n.compact(t, id)
			} else if _, err := p.DeleteRecords(p.Offsets().HighWatermark - 10_000); err != nil {
				t.Error(err)
			}
		}
		between.Store(&fn)
		n.reload(id)
		topics := n.all(t, id)
		if between.Load() != nil {
			t.Fatal("nothing happened in between")
		}
		if len(topics) != 1 || len(topics[0].Partitions) != 10_000 {
			t.Fatalf("%s: not all is there: %d topics", cut, len(topics))
		}
		for _, o := range topics[0].Partitions {
			if o.Offset != 2 {
				t.Fatalf("%s: %+v", cut, o)
			}
		}
		n.stop()
	}
}

// TestMalformedRecord: nothing of its shard is served, since nobody knows what else is missing; one line of the log says where it is and what to
// do. Types that are not known are skipped, as Kafka's CoordinatorLoaderImpl does.
func TestMalformedRecord(t *testing.T) {
	t.Parallel()
	unknown := written{end: noEnd, records: []record.Record{{Key: []byte{0, 99, 1}, Value: []byte("from the future")}}}
	n := bring(t, writtenTo(t, committing(0, 1), unknown, committing(0, 2)))
	if got := n.eventually(t, "g", "orders"); got != 2 {
		t.Errorf("committed is %d, want 2", got)
	}
	good, bad := committing(0, 3).records[0], committing(0, 4).records[0]
	bad.Value = bad.Value[:5]
	for name, batches := range map[string][]written{
		"value": {committing(0, 1), {end: noEnd, records: []record.Record{good, bad}}, committing(0, 5)},
		"key":   {committing(0, 1), {end: noEnd, records: []record.Record{good, {Key: []byte{0}, Value: good.Value}}}},
		"transaction": {
			committing(0, 1),
			{end: noEnd, records: []record.Record{good}},
			{producer: 5, end: noEnd, records: []record.Record{bad}},
			ending(5, batch.ControlCommit),
		},
	} {
		var told lines
		n := setup{log: told.logger()}.bring(t, writtenTo(t, batches...))
		for _, err := n.committed(t, "g", "orders"); !errors.Is(err, kerr.CoordinatorNotAvailable); _, err = n.committed(t, "g", "orders") {
			if err == nil {
				t.Fatalf("%s: an offset is shown", name)
			}
		}
		if err := n.commit(t, "g", "orders", 9); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("%s: commit: %v", name, err)
		}
		if found := told.with("level=ERROR", "record at offset 2", fmt.Sprint("partition=", PartitionFor("g", 3)), "malformed", "next=", "ottla log dump"); len(found) != 1 {
			t.Errorf("%s: told: %q", name, &told.text)
		}
	}
}
