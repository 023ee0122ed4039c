package broker

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/repair"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// flip changes a byte of a file.
func flip(t testing.TB, files vfs.FS, name string, pos int64) {
	t.Helper()
	content, err := readSmall(files, name)
	if err != nil {
		t.Fatal(err)
	}
	content[pos] ^= 0x41
	put(t, files, name, string(content))
}

// crashedWith makes a directory of topic a with partitions 0 and 1, of three batches each, after a crash.
func crashedWith(t testing.TB, checkpointed bool) vfs.FS {
	t.Helper()
	files := vfs.NewMem()
	b := bring(t, options(files))
	createTopic(t, b, "a", 2)
	for i := range int32(2) {
		for _, v := range []string{"one", "two", "three"} {
			produce(t, touch(t, b, "a", i), v)
		}
	}
	if checkpointed {
		if err := b.writeCheckpoints(); err != nil {
			t.Fatal(err)
		}
	}
	return files.CrashClone(vfs.CrashOptions{Keep: 0})
}

const logOfA = "a-0/00000000000000000000.log"

// TestCorruptPartitionIsAlone breaks the chain of batches: the partition is offline, with the place and what to do, and all
// else is served.
func TestCorruptPartitionIsAlone(t *testing.T) {
	t.Parallel()
	for _, checkpointed := range []bool{false, true} {
		files := crashedWith(t, checkpointed)
		flip(t, files, logOfA, 10) // the length of the first batch
		before, err := readSmall(files, logOfA)
		if err != nil {
			t.Fatal(err)
		}
		var log logs
		opts := options(files)
		opts.Log = logTo(&log)
		b := bring(t, opts)
		if _, err := b.Partition("a", 0); !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("a damaged partition: %v, want KAFKA_STORAGE_ERROR", err)
		}
		if got := values(t, touch(t, b, "a", 1)); got != "one two three" {
			t.Errorf("its neighbour: %q", got)
		}
		if st := b.Stats(); st.Offline != 1 || !b.Offline("a", 0) || b.Offline("a", 1) || b.Offline("a", 2) || b.Offline("b", 0) {
			t.Errorf("stats: %+v, want a-0 offline", st)
		}
		all := b.Troubles("a")
		if len(all) != 1 || all[0].Index != 0 || !all[0].Offline {
			t.Fatalf("troubles: %+v", all)
		}
		for _, text := range []string{all[0].Text, log.String()} {
			for _, want := range []string{logOfA + " at position 0", "ottla log repair --data", " a-0"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in: %s", want, text)
				}
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if clean, _, _ := takeMarker(files); clean {
			t.Error("the stop is called clean with a partition offline")
		}
		if after, err := readSmall(files, logOfA); err != nil || !bytes.Equal(after, before) {
			t.Errorf("the log was changed, %v", err)
		}
	}
}

// TestDamagedBatch flips a bit in a batch that others follow: the partition is online, and only that batch cannot be read.
func TestDamagedBatch(t *testing.T) {
	t.Parallel()
	for _, checkpointed := range []bool{false, true} {
		files := crashedWith(t, checkpointed)
		content, err := readSmall(files, logOfA)
		if err != nil {
			t.Fatal(err)
		}
		flip(t, files, logOfA, int64(bytes.Index(content, []byte("two"))))
		var log logs
		opts := options(files)
		opts.Log = logTo(&log)
		b := bring(t, opts)
		p := touch(t, b, "a", 0)
		produce(t, p, "four")
		if b.Offline("a", 0) || p.Offsets().HighWatermark != 4 {
			t.Errorf("offline %v, %+v", b.Offline("a", 0), p.Offsets())
		}
		for offset, want := range []string{"one", "", "threefour", "four"} {
			got, err := readAt(p, batch.Offset(offset))
			if got != want || (want == "") != errors.Is(err, kerr.CorruptMessage) {
				t.Errorf("offset %d: %q, %v, want %q", offset, got, err, want)
			}
		}
		all := b.Troubles("a")
		if len(all) != 1 || all[0].Index != 0 || all[0].Offline {
			t.Fatalf("troubles: %+v", all)
		}
		for _, text := range []string{all[0].Text, log.String()} {
			for _, want := range []string{logOfA, "CRC", "ottla log repair --data", " a-0"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in: %s", want, text)
				}
			}
		}
	}
}

// readAt returns the values that one read at offset gives.
func readAt(p *partition.Partition, offset batch.Offset) (text string, err error) {
	r, _, err := p.Read(partition.Fetch{Offset: offset, LeaderEpoch: batch.NoEpoch, MaxBytes: 1 << 20, Whole: true})
	if err != nil {
		return "", err
	}
	defer r.Release()
	content := make([]byte, r.Len())
	if _, err := r.ReadAt(content, 0); err != nil {
		return "", err
	}
	for len(content) > 0 {
		var b batch.Batch
		if b, content, err = batch.Next(content); err != nil {
			return text, err
		}
		for record, err := range b.All(batch.Limit{}) {
			if err != nil {
				return text, err
			}
			text += string(record.Value)
		}
	}
	return text, nil
}

// TestPartitionMetadataRebuilt damages or removes partition.metadata after a crash whose newest records stand in the journal alone: they are
// restored, and the file is as it was.
func TestPartitionMetadataRebuilt(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "nonsense", "version: 7\ntopic_id: none", "missing"} {
		mem := vfs.NewMem()
		b := still(t, journaled(mem))
		list := settled(t, b, "a", 4)
		b.syncer.commit(b.journal, dirty(t, b, list, "second"))
		files := mem.CrashClone(vfs.CrashOptions{Keep: 0})
		const name = "a-0/partition.metadata"
		whole, err := readSmall(files, name)
		if err != nil {
			t.Fatal(err)
		}
		if content == "missing" {
			err = files.Remove(name)
		} else {
			put(t, files, name, content)
		}
		if err != nil {
			t.Fatal(err)
		}
		again := bring(t, journaled(files))
		for i := range int32(4) {
			if got := values(t, touch(t, again, "a", i)); got != "first second" {
				t.Errorf("%q: a-%d has %q", content, i, got)
			}
		}
		if mended, err := readSmall(files, name); err != nil || !bytes.Equal(mended, whole) {
			t.Errorf("%q became %q, %v", content, mended, err)
		}
	}
}

// TestAnotherTopicsDirectory: a directory that names another topic is offline and as it was, and its records are not the new topic's.
func TestAnotherTopicsDirectory(t *testing.T) {
	t.Parallel()
	files := crashedWith(t, true)
	put(t, files, "a-0/partition.metadata", fmt.Sprintf("version: 0\ntopic_id: %s", randomID()))
	b := bring(t, options(files))
	if _, err := b.Partition("a", 0); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("a stale directory: %v, want KAFKA_STORAGE_ERROR", err)
	}
	if all := b.Troubles("a"); len(all) != 1 || !all[0].Offline || !strings.Contains(all[0].Text, "older topic") || strings.Contains(all[0].Text, "log repair") {
		t.Errorf("troubles: %+v", all)
	}
}

// TestDamagedMetadataLog: the broker does not start with a damaged metadata log, whatever the recovery point says, cuts nothing of it, and says
// what to do.
func TestDamagedMetadataLog(t *testing.T) {
	t.Parallel()
	const name = "__cluster_metadata-0/00000000000000000000.log"
	for _, checkpointed := range []bool{false, true} {
		for _, pos := range []int64{10, 75} { // a length, a record
			files := crashedWith(t, checkpointed)
			flip(t, files, name, pos)
			before, err := readSmall(files, name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), options(files))
			if err == nil || !strings.Contains(err.Error(), "put back a copy of __cluster_metadata-0") || !errors.Is(err, batch.ErrCorrupt) {
				t.Errorf("byte %d: %v", pos, err)
			}
			if after, err := readSmall(files, name); err != nil || !bytes.Equal(after, before) {
				t.Errorf("byte %d: the log was changed, %v", pos, err)
			}
		}
	}
}

// TestRepairBesideAJournal: what stands in the journal alone is in the segments before a repair moves their bytes. A directory that does not say
// whose it is stops the repair, and costs nothing.
func TestRepairBesideAJournal(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	b := still(t, journaled(mem))
	list := settled(t, b, "a", 4)
	b.syncer.commit(b.journal, dirty(t, b, list, "second"))
	files := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	flip(t, files, logOfA, 70) // in the record "first"
	stranger := files.CrashClone(vfs.CrashOptions{Keep: 100})
	put(t, stranger, "a-1/partition.metadata", "noise")
	if _, _, err := repair.Open(stranger, true); err == nil || !strings.Contains(err.Error(), "a-1/partition.metadata") {
		t.Errorf("a directory of nobody: %v", err)
	}
	for _, disk := range []vfs.FS{files, stranger} {
		if disk == stranger { // as the error says
			if err := bring(t, journaled(disk)).Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, waits, err := repair.Open(disk, false); err != nil || waits != (disk == files) {
			t.Errorf("the journal waits: %v, %v", waits, err)
		}
		d, _, err := repair.Open(disk, true)
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Plan("a-0")
		if err == nil {
			_, err = d.Apply(p)
		}
		if err != nil || p.Offsets() != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		again := bring(t, journaled(disk))
		for i, want := range []string{"second", "first second", "first second", "first second"} {
			if got := values(t, touch(t, again, "a", int32(i))); got != want {
				t.Errorf("a-%d has %q, want %q", i, got, want)
			}
		}
	}
}
