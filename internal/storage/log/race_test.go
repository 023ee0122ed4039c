package log_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestBeside runs readers and a syncer beside an appender that rolls, deletes and truncates: whatever a reader gets is
// whole batches of the right offsets, below its limit.
func TestBeside(t *testing.T) {
	t.Parallel()
	opts := defaults()
	opts.SegmentBytes, opts.IndexInterval, opts.RetentionBytes, opts.RetentionAge = 3000, 300, 20_000, -1
	l, err := log.Open(vfs.NewMem(), "t-0", epoch0, log.OpenOptions{Options: opts, Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var beside, begun sync.WaitGroup
	begun.Add(3)
	for i := range uint64(3) {
		beside.Go(func() {
			dice := rand.New(rand.NewPCG(i, 1))
			begun.Done()
			for {
				select {
				case <-stop:
					return
				default:
					readSome(t, l, dice)
				}
			}
		})
	}
	beside.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := l.Sync(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	begun.Wait() // on a busy machine the appender may be done before a reader has run
	appendMany(t, l)
	close(stop)
	beside.Wait()
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
}

func appendMany(t *testing.T, l *log.Log) {
	for i := range 3000 {
		b := mk(t, l.End(), 1+i%3, i%200, batch.Epoch(i/500), epoch0.UnixMilli()+int64(i))
		if err := l.Append(epoch0.Add(time.Duration(i)*time.Millisecond), []batch.Batch{b}); err != nil {
			t.Error(err)
			return
		}
		var err error
		switch {
		case i%50 == 0:
			_, err = l.Retain(epoch0, l.End())
		case i%333 == 0:
			err = l.AdvanceStart(l.End() - 20)
		case i%777 == 0: // nothing above the high watermark is sent, so readers stay well below
			err = l.Truncate(l.End() - 1)
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func readSome(t *testing.T, l *log.Log, dice *rand.Rand) {
	start, limit := l.Start(), l.End()-15
	if limit <= start {
		return
	}
	from := start + batch.Offset(dice.Int64N(int64(limit-start)))
	r, err := l.Read(from, limit, 1<<20, true)
	if errors.Is(err, log.ErrOffsetOutOfRange) {
		return // deleted meanwhile
	}
	if err != nil {
		t.Errorf("read [%d, %d): %v", from, limit, err)
		return
	}
	got := make([]byte, r.Len())
	if n, err := r.ReadAt(got, 0); n < len(got) {
		t.Errorf("read [%d, %d): %d of %d bytes, %v", from, limit, n, len(got), err)
	}
	r.Release()
	next := from
	for len(got) > 0 {
		var b batch.Batch
		if b, got, err = batch.Next(got); err != nil {
			t.Errorf("read [%d, %d) at %d: %v", from, limit, next, err)
			return
		}
		if b.CheckCRC() != nil || b.LastOffset() < next || b.LastOffset() >= limit {
			t.Errorf("read [%d, %d) at %d: batch [%d, %d)", from, limit, next, b.BaseOffset(), b.NextOffset())
			return
		}
		next = b.NextOffset()
	}
	if dice.IntN(10) == 0 {
		if _, _, err := l.FindTimestamp(epoch0.UnixMilli()+dice.Int64N(3000), limit); err != nil {
			t.Errorf("find below %d: %v", limit, err)
		}
		if _, _, err := l.MaxTimestamp(limit); err != nil {
			t.Errorf("max timestamp below %d: %v", limit, err)
		}
	}
}
