package hostile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// smallDisk mounts a file system of 64 MiB.
func smallDisk(t *testing.T, kind string) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	dir = t.TempDir()
	args := []string{"-t", "tmpfs", "-o", "size=64m", "tmpfs", dir}
	if kind == "ext4" {
		image := filepath.Join(t.TempDir(), "disk")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, 64<<20); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mkfs.ext4", "-q", "-m", "0", image).CombinedOutput(); err != nil {
			t.Skipf("no ext4: %v: %s", err, out)
		}
		args = []string{"-o", "loop", image, dir}
	}
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("cannot mount: %v: %s", err, out)
	}
	t.Cleanup(func() { // after the broker's end, which was registered later
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// fill takes all room that is left on dir's disk.
func fill(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "other-program")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err = f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFullDisk fills the disk under a broker: by what it stores itself, and to the last byte by another program. Produces are refused with
// KAFKA_STORAGE_ERROR; reads, DeleteRecords, retention and deletions go on; it starts on the full disk; and when there is room, it
// takes produces again, with all that it acknowledged.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"tmpfs", "ext4"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mount := smallDisk(t, kind)
			fullDisk(t, mount)
		})
	}
}

func fullDisk(t *testing.T, mount string) {
	dir := filepath.Join(mount, "data")
	b := start(t, dir)
	b.create(t, "kept", 1)
	b.create(t, "trimmed", 1, "segment.bytes", "1048576")
	b.create(t, "deleted", 1, "segment.bytes", "1048576")
	b.produce(t, "kept", 0, numbered(10)...)
	want := numbered(10)
	c := b.dial(t)
	large := batchOf(1, recordOf(make([]byte, 500<<10)))
	for range 10 {
		c.ask(produceOf("trimmed", 0, large))
	}
	want = append(want, untilFull(t, b, c, "deleted", large, "kept")...)
	other := fill(t, mount)
	refused(t, b, c, "kept")
	b.wantValues(t, "kept", 0, want)

	b.kill() // and start on a disk without a byte
	b = start(t, dir)
	c = b.dial(t)
	c.ask(kmsg.NewPtrApiVersionsRequest()) // as clients do; a first frame is bounded
	b.wantValues(t, "kept", 0, want)
	refused(t, b, c, "kept")
	adm := kadm.NewClient(b.client(t))
	to := kadm.Offsets{}
	to.AddOffset("trimmed", 0, 8, -1)
	if got, err := adm.DeleteRecords(t.Context(), to); err != nil || got.Error() != nil {
		t.Errorf("DeleteRecords on a full disk: %v, %v", err, got.Error())
	}
	if _, err := adm.DeleteTopic(t.Context(), "deleted"); err != nil {
		t.Errorf("DeleteTopics on a full disk: %v\n%s", err, b.log)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		got := c.ask(produceOf("kept", 0, simpleBatch("again"))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if got.ErrorCode == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is room again, and produces are refused: %d\n%s", got.ErrorCode, b.log)
		}
	}
	b.wantValues(t, "kept", 0, append(want, "again"))
	b.serves(t)
	if text := b.log.String(); strings.Contains(text, "directory is offline") {
		t.Errorf("the directory went offline:\n%s", text)
	}
	b.stop(t)
	b = start(t, dir)
	b.wantValues(t, "kept", 0, append(want, "again"))
}

// untilFull produces batches to a topic until one is refused, and a small record to another between them. It returns those that were
// acknowledged.
func untilFull(t *testing.T, b *broker, c conn, topic string, batch []byte, between string) (values []string) {
	t.Helper()
	for i := range 400 {
		got := c.ask(produceOf(topic, 0, batch)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if got.ErrorCode == kerr.KafkaStorageError.Code {
			return values
		}
		if got.ErrorCode != 0 {
			t.Fatalf("batch %d: error %d, want none or KAFKA_STORAGE_ERROR\n%s", i, got.ErrorCode, b.log)
		}
		value := fmt.Sprint("between-", i)
		if c.ask(produceOf(between, 0, simpleBatch(value))).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode == 0 {
			values = append(values, value)
		}
	}
	t.Fatal("the disk is never full")
	return nil
}

// refused wants produces to be refused, soon.
func refused(t *testing.T, b *broker, c conn, topic string) {
	t.Helper()
	large := batchOf(1, recordOf(make([]byte, 900<<10)))
	for range 100 {
		got := c.ask(produceOf(topic, 0, large)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if got.ErrorCode == kerr.KafkaStorageError.Code {
			return
		}
		if got.ErrorCode != 0 {
			t.Fatalf("error %d on a full disk, want KAFKA_STORAGE_ERROR\n%s", got.ErrorCode, b.log)
		}
	}
	t.Fatalf("a full disk takes produces\n%s", b.log)
}
