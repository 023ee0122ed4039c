package journal_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestFullUntilSettled fills the journal: a half is used again only when all that stands in it is synced in its own files.
func TestFullUntilSettled(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	j, parts := newJournal(mem, 16*journal.Block, 1), newParts(2)
	openAll(t, mem, j, parts)
	warm(t, parts)
	if err := j.Make(); err != nil {
		t.Fatal(err)
	}
	var g journal.Group
	fill := func() (frames int) {
		for {
			g.Reset()
			if err := parts[0].append("x"); err != nil {
				t.Fatal(err)
			}
			tail, ok := parts[0].log.TakeTail()
			if !ok {
				t.Fatal("no tail")
			}
			e := journal.Entry{Key: parts[0].key, Base: tail.Base, Pos: tail.Pos, End: tail.End}
			if err := g.Add(e, tail.Len, tail, parts[0]); err != nil {
				t.Fatal(err)
			}
			err := j.Commit(&g)
			tail.Done(err == nil)
			if errors.Is(err, journal.ErrFull) {
				return frames
			}
			if err != nil {
				t.Fatal(err)
			}
			frames++
		}
	}
	if n := fill(); n != 12 { // two halves of eight blocks, less the header and the room for void frames
		t.Errorf("%d frames fit", n)
	}
	if err := j.SettleOne(); err != nil {
		t.Fatal(err)
	}
	if parts[0].log.RecoveryPoint() == 0 {
		t.Error("nothing was settled")
	}
	if n := fill(); n != 6 {
		t.Errorf("%d frames fit after a half was settled", n)
	}
	for i := range 4 { // the room that is kept for them: one frame a half
		if err := j.Void(parts[0].key); i == 0 && err != nil || i == 3 && !errors.Is(err, journal.ErrFull) {
			t.Errorf("void %d in a full journal: %v", i, err)
		}
	}
	if err := j.Void(parts[1].key); err != nil {
		t.Errorf("void of what the journal does not have: %v", err)
	}
}

// TestTailOrder: while a sealed segment is not synced, nothing of the one after it may go to the journal.
func TestTailOrder(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	j, parts := newJournal(mem, 64*journal.Block, 1), newParts(1)
	openAll(t, mem, j, parts)
	p := parts[0]
	for p.log.Segments() == 1 {
		if err := p.append(strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := p.log.TakeTail(); ok {
		t.Fatal("a tail behind an unsynced segment")
	}
	if err := p.Settle(); err != nil {
		t.Fatal(err)
	}
	if err := p.append("x"); err != nil {
		t.Fatal(err)
	}
	tail, ok := p.log.TakeTail()
	if !ok || tail.Base == 0 || tail.Len == 0 {
		t.Fatalf("tail %+v, %v", tail, ok)
	}
	if _, ok := p.log.TakeTail(); ok {
		t.Error("two tails at a time")
	}
	tail.Done(false)
	again, ok := p.log.TakeTail()
	if !ok || again.Pos != tail.Pos {
		t.Errorf("tail %+v, %v after one that was given back", again, ok)
	}
	again.Done(true)
	if p.log.Pending() != 0 || p.log.Unsynced() == 0 {
		t.Errorf("%d bytes are durable nowhere, %d unsynced", p.log.Pending(), p.log.Unsynced())
	}
}

// TestFaults fails every call on the journal's file once: what was acknowledged is there after a power cut.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, &vfs.ShortWriteError{N: 100, Err: syscall.ENOSPC}} {
		for n := int64(1); ; n++ {
			if !lifeWithFault(t, n, cause) {
				break
			}
		}
	}
}

// lifeWithFault fails the n-th call on the journal; false if there were fewer.
func lifeWithFault(t *testing.T, n int64, cause error) bool {
	t.Helper()
	mem := vfs.NewMem()
	hit := false
	fail := vfs.FailNth(n, func(op vfs.Op) bool { return op.Name == journal.File || op.Kind == vfs.OpSyncDir && op.Name == "." }, cause)
	var armed bool
	files := vfs.Faulty(mem, func(op vfs.Op) error {
		if !armed {
			return nil
		}
		err := fail(op)
		hit = hit || err != nil
		return err
	})
	j, parts := newJournal(files, 16*journal.Block, 1), newParts(3)
	openAll(t, files, j, parts)
	armed = true
	err := j.Make()
	for i := 0; i < 30 && err == nil; i++ {
		for _, p := range parts {
			if err := p.append(strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err = commit(j, parts); err == nil && i%3 == 0 {
			err = j.SettleOne()
		}
		if err == nil && i%10 == 9 {
			p := parts[i%len(parts)]
			if err = p.log.Truncate(p.log.End() - 1); err == nil {
				p.history = p.history[:len(p.history)-1]
				p.acked = min(p.acked, p.log.End())
			} else {
				p.cutting, p.point = p.log.End()-1, 0
			}
		}
	}
	if err == nil {
		err = j.Drain()
	}
	disk := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	report, replayed := journal.Replay(disk, topicOf(disk))
	if replayed != nil {
		t.Fatal(replayed)
	}
	for _, p := range parts {
		if _, bad := p.check(disk, report.Restored); bad != nil {
			t.Fatalf("call %d fails with %v, which gives %v: %v", n, cause, err, bad)
		}
	}
	if !hit && err != nil {
		t.Fatal(err)
	}
	return hit
}

// TestConcurrentUse has several goroutines commit, void and settle; for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	j, parts := newJournal(mem, 64*journal.Block, 1), newParts(8)
	openAll(t, mem, j, parts)
	if err := j.Make(); err != nil {
		t.Fatal(err)
	}
	var users, settlers sync.WaitGroup
	for range 2 {
		settlers.Go(j.Settle)
	}
	for i := range 4 {
		users.Go(func() {
			mine := parts[2*i : 2*i+2]
			for n := range 100 {
				for _, p := range mine {
					if err := p.append(strconv.Itoa(n)); err != nil {
						t.Error(err)
					}
				}
				if err := commit(j, mine); err != nil {
					t.Error(err)
				}
				if n%20 == 19 {
					if err := mine[0].log.Truncate(mine[0].log.End() - 1); err != nil && !errors.Is(err, journal.ErrFull) {
						t.Error(err)
					}
				}
				if err := j.Turn(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	j.Stop()
	settlers.Wait()
	if err := j.Drain(); err != nil {
		t.Error(err)
	}
	for _, p := range parts {
		if p.log.Unsynced() != 0 {
			t.Errorf("%s has %d unsynced bytes after Drain", p.key.Dir, p.log.Unsynced())
		}
	}
}
