package journal_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// BenchmarkDirty makes n partitions, with a batch of so many bytes each, durable: by the journal, with its settling, or by fdatasync of
// the files, four at a time. It is where the line between them in docs/adr comes from.
func BenchmarkDirty(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 64 << 10, 256 << 10} {
		for _, n := range []int{1, 2, 3, 4, 8, 32} {
			if size*n > 1<<20 {
				continue
			}
			for _, how := range []string{"files", "journal"} {
				b.Run(fmt.Sprintf("bytes=%d/n=%d/%s", size, n, how), func(b *testing.B) { benchDirty(b, size, n, how == "journal") })
			}
		}
	}
}

func benchDirty(b *testing.B, size, n int, journaled bool) {
	disk, err := vfs.OS(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer disk.Close()
	j := newJournal(disk, 64<<20, 1)
	parts := newParts(64) // dirtied in turn
	for _, p := range parts {
		p.options = settings()
		p.options.SegmentBytes = math.MaxInt32
	}
	openAll(b, disk, j, parts)
	var settlers sync.WaitGroup
	for range 2 {
		settlers.Go(j.Settle)
	}
	if err := j.Make(); err != nil {
		b.Fatal(err)
	}
	var c commits
	text := strings.Repeat("x", size)
	b.ReportAllocs()
	b.SetBytes(int64(size * n))
	at := 0
	for b.Loop() {
		dirty := make([]*part, n)
		for i := range dirty {
			dirty[i] = parts[at%len(parts)]
			at++
			if err := dirty[i].appendBatch(text); err != nil {
				b.Fatal(err)
			}
		}
		if journaled {
			err = c.commit(j, dirty)
		} else {
			err = syncFiles(dirty)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	j.Stop()
	settlers.Wait()
	for _, p := range parts {
		_ = p.log.Close(false)
	}
	_ = j.Close()
}

// syncFiles syncs the parts' files, four at a time, as the broker's workers do.
func syncFiles(parts []*part) error {
	var group sync.WaitGroup
	errs := make([]error, 4)
	for i := range min(4, len(parts)) {
		group.Go(func() {
			for at := i; at < len(parts); at += 4 {
				if _, err := parts[at].log.Sync(); err != nil {
					errs[i] = err
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// appendBatch appends without a note of it.
func (p *part) appendBatch(value string) error {
	b, err := mk(p.log.End(), value)
	if err != nil {
		return err
	}
	return p.log.Append(epoch0, []batch.Batch{b})
}
