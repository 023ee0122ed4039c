package journal_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const logFile = "00000000000000000000.log"

// scene is two partitions with a few frames in the journal, none of them settled.
func scene(t *testing.T, files vfs.FS, frames int) (*journal.Journal, []*part) {
	t.Helper()
	j, parts := newJournal(files, 64*journal.Block, 99), newParts(2)
	openAll(t, files, j, parts)
	warm(t, parts)
	if err := j.Make(); err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		for _, p := range parts {
			if err := p.append(strings.Repeat("v", 10+i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := commit(j, parts); err != nil {
			t.Fatal(err)
		}
	}
	return j, parts
}

// change alters a byte of a file, durably.
func change(t *testing.T, files vfs.FS, name string, pos int64, content []byte) {
	t.Helper()
	f, err := files.OpenFile(name, syscall.O_RDWR)
	if err == nil {
		_, err = f.WriteAt(content, pos)
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sizeOf is a file's size; -1 if it is not there.
func sizeOf(files vfs.FS, name string) int64 {
	info, err := files.Stat(name)
	if err != nil {
		return -1
	}
	return info.Size()
}

func replay(t *testing.T, files vfs.FS) journal.Report {
	t.Helper()
	report, err := journal.Replay(files, topicOf(files))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Stat(journal.File); err == nil {
		t.Error("the journal is still there")
	}
	return report
}

func TestReplayRestores(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	_, parts := scene(t, mem, 3)
	disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	report := replay(t, disk)
	if !report.There || report.Frames != 3 || report.Entries != 6 || report.Skipped != 0 || report.Restored[parts[1].key] != 4 {
		t.Errorf("report %+v", report)
	}
	for _, p := range parts {
		if _, err := p.check(disk.CrashClone(vfs.CrashOptions{Keep: 0}), report.Restored); err != nil {
			t.Error(err)
		}
	}
	if again := replay(t, vfs.NewMem()); again.There {
		t.Error("a journal where there is none")
	}
}

// TestReplayAfterTheEndOfAProcess: all bytes are in the page cache, and nothing is written.
func TestReplayAfterTheEndOfAProcess(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	scene(t, mem, 3)
	if report := replay(t, mem); report.Bytes != 0 || report.Entries != 6 {
		t.Errorf("report %+v", report)
	}
}

func TestReplaySkips(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*testing.T, *vfs.Mem){
		"another topic's directory": func(t *testing.T, disk *vfs.Mem) {
			change(t, disk, "t0-0/partition.metadata", 0, []byte(topic.ID{5: 5}.String()))
		},
		"a directory that does not say": func(t *testing.T, disk *vfs.Mem) {
			if err := disk.Remove("t0-0/partition.metadata"); err != nil {
				t.Fatal(err)
			}
		},
		"a directory that says nonsense": func(t *testing.T, disk *vfs.Mem) {
			change(t, disk, "t0-0/partition.metadata", 0, []byte("*"))
		},
		"no directory": func(t *testing.T, disk *vfs.Mem) {
			if err := disk.RemoveAll("t0-0"); err != nil {
				t.Fatal(err)
			}
		},
		"no segment": func(t *testing.T, disk *vfs.Mem) {
			if err := disk.Remove("t0-0/" + logFile); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewMem()
			_, parts := scene(t, mem, 3)
			disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
			harm(t, disk)
			before := sizeOf(disk, "t0-0/"+logFile)
			report := replay(t, disk)
			if report.Skipped != 3 || report.Entries != 3 || len(report.Restored) != 1 {
				t.Errorf("report %+v", report)
			}
			if after := sizeOf(disk, "t0-0/"+logFile); after != before {
				t.Errorf("the segment has %d bytes, %d before", after, before)
			}
			if _, err := parts[1].check(disk, report.Restored); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamagedFrame: a frame behind the damage proves that what is damaged was acknowledged. The rest is restored, and what is then not
// whole is refused by recovery, not cut.
func TestDamagedFrame(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	_, parts := scene(t, mem, 3)
	disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	change(t, disk, journal.File, 2*journal.Block+100, []byte("damage"))
	report := replay(t, disk)
	if len(report.Damaged) != 1 || !errors.Is(report.Damaged[0], batch.ErrCorrupt) || report.Frames != 2 {
		t.Fatalf("report %+v", report)
	}
	if _, err := parts[0].check(disk, report.Restored); !errors.Is(err, batch.ErrCorrupt) {
		t.Errorf("a partition with a hole: %v", err)
	}

	torn := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	change(t, torn, journal.File, 3*journal.Block+100, []byte("damage"))
	if report := replay(t, torn); len(report.Damaged) != 0 || report.Frames != 2 {
		t.Errorf("a torn end: %+v", report)
	}
}

// TestRecordsCannotPassForAFrame writes records that hold a frame, where a torn frame leaves them at a block's start.
func TestRecordsCannotPassForAFrame(t *testing.T) {
	t.Parallel()
	forge := vfs.NewMem()
	scene(t, forge, 3) // with another secret the same frames
	mem := vfs.NewMem()
	j, parts := newJournal(mem, 64*journal.Block, 98), newParts(2)
	openAll(t, mem, j, parts)
	if err := j.Make(); err != nil {
		t.Fatal(err)
	}
	f, err := forge.OpenFile(journal.File, 0)
	if err != nil {
		t.Fatal(err)
	}
	frames := make([]byte, 3*journal.Block)
	if _, err := f.ReadAt(frames, journal.Block); err != nil {
		t.Fatal(err)
	}
	disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	change(t, disk, journal.File, journal.Block, bytes.Repeat(frames, 4))
	if report := replay(t, disk); report.Frames != 0 || len(report.Damaged) != 0 {
		t.Errorf("report %+v", report)
	}
}

func TestNewerJournalIsRefused(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	scene(t, mem, 1)
	journal.Newer(mem)
	if _, err := journal.Replay(mem, topicOf(mem)); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("a journal of a newer program: %v", err)
	}
	if _, err := mem.Stat(journal.File); err != nil {
		t.Error("it was removed")
	}
}

// TestReplayFaults fails every call of a replay once: it is an error, or all is restored; and the next replay restores all.
func TestReplayFaults(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	_, parts := scene(t, mem, 3)
	base := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	for n := int64(1); ; n++ {
		disk := base.CrashClone(vfs.CrashOptions{Keep: 0})
		var hit atomic.Bool
		fail := vfs.FailNth(n, func(vfs.Op) bool { return true }, syscall.EIO)
		faulty := vfs.Faulty(disk, func(op vfs.Op) error {
			err := fail(op)
			if err != nil {
				hit.Store(true)
			}
			return err
		})
		first, err := journal.Replay(faulty, topicOf(faulty))
		if !hit.Load() {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		disk = disk.CrashClone(vfs.CrashOptions{Keep: 0})
		if report := replay(t, disk); err != nil {
			first = report
		}
		for _, p := range parts {
			if _, err := p.check(disk, first.Restored); err != nil {
				t.Fatalf("call %d failed: %v", n, err)
			}
		}
	}
}
