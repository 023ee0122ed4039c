package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/journal"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

var epoch0 = time.UnixMilli(1_700_000_000_000)

func settings() log.Options {
	return log.Options{
		SegmentBytes: 12 << 10, SegmentAge: time.Hour, IndexInterval: 512, IndexBytesMax: 1 << 16, RetentionBytes: -1, RetentionAge: -1,
	}
}

// written is one batch of one record.
type written struct {
	base  batch.Offset
	value string
}

// part is a partition as the journal's users have it: a log, and what was promised of it.
type part struct {
	key     journal.Key
	log     *log.Log
	fs      vfs.FS
	journal *journal.Journal
	options log.Options // the zero value: settings

	history  []written    // from start on
	start    batch.Offset // as checkpointed
	point    batch.Offset // the recovery point, as checkpointed
	acked    batch.Offset
	promises sync.Mutex   // of acked: settling runs beside commits
	cutting  batch.Offset // -1, or where a truncation under way cuts
}

func (p *part) Settle() error {
	end, err := p.log.Sync()
	if err == nil {
		p.promise(end)
	}
	return err
}

func (p *part) promise(end batch.Offset) {
	p.promises.Lock()
	defer p.promises.Unlock()
	p.acked = max(p.acked, end)
}

func (p *part) open(files vfs.FS, j *journal.Journal) (err error) {
	p.fs, p.journal = files, j
	if p.options.SegmentBytes == 0 {
		p.options = settings()
	}
	p.log, err = log.Open(files, p.key.Dir, epoch0, log.OpenOptions{
		Options: p.options, RecoveryPoint: p.point, StartOffset: p.start,
		OnRewrite: func() error { return p.journal.Void(p.key) },
	})
	return err
}

// identify writes the partition.metadata.
func (p *part) identify(files vfs.FS) error {
	f, err := files.OpenFile(p.key.Dir+"/partition.metadata", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(p.key.Topic.String()), 0); err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// topicOf reads what identify wrote.
func topicOf(files vfs.FS) func(string) (topic.ID, error) {
	return func(dir string) (id topic.ID, err error) {
		f, err := files.OpenFile(dir+"/partition.metadata", os.O_RDONLY)
		if err != nil {
			return id, err
		}
		defer f.Close()
		text := make([]byte, 22)
		if _, err := f.ReadAt(text, 0); err != nil {
			return id, err
		}
		return topic.ParseID(string(text))
	}
}

func mk(base batch.Offset, value string) (batch.Batch, error) {
	var w batch.Builder
	w.Reset(batch.NewFields(base))
	w.Append(batch.Record{Offset: base, Timestamp: epoch0.UnixMilli(), Value: []byte(value)})
	b, err := w.Build()
	b.SetLeaderEpoch(3)
	return b, err
}

func (p *part) append(value string) error {
	base := p.log.End()
	b, err := mk(base, value)
	if err != nil {
		return err
	}
	p.history = append(p.history, written{base, value}) // a crash during the write may leave it
	return p.log.Append(epoch0, []batch.Batch{b})
}

// content reads a log from its start on.
func content(l *log.Log) (list []written, err error) {
	for at := l.Start(); at < l.End(); {
		r, err := l.Read(at, l.End(), 1<<20, true)
		if err != nil {
			return list, err
		}
		raw := make([]byte, r.Len())
		_, err = r.ReadAt(raw, 0)
		r.Release()
		if err != nil {
			return list, err
		}
		for len(raw) > 0 {
			var b batch.Batch
			if b, raw, err = batch.Next(raw); err != nil {
				return list, err
			}
			for record, err := range b.All(batch.Limit{}) {
				if err != nil {
					return list, err
				}
				list = append(list, written{b.BaseOffset(), string(record.Value)})
			}
			at = b.NextOffset()
		}
	}
	return list, nil
}

// check opens what a crash left of the partition and compares it with what was promised. It returns the partition as it is there.
func (p *part) check(disk vfs.FS, restored map[journal.Key]batch.Offset) (*part, error) {
	q := &part{key: p.key, start: p.start, point: max(p.point, restored[p.key]), cutting: -1}
	if _, err := disk.Stat(p.key.Dir); errors.Is(err, fs.ErrNotExist) && p.acked == 0 {
		return q, nil
	}
	if err := q.open(disk, nil); err != nil {
		return q, fmt.Errorf("%s: %w", p.key.Dir, err)
	}
	promised := p.acked
	if p.cutting >= 0 {
		promised = min(promised, p.cutting)
	}
	if q.log.End() < promised {
		return q, fmt.Errorf("%s ends at %d, promised are %d (recovery %+v, point %d)", p.key.Dir, q.log.End(), promised, q.log.Recovery(), q.point)
	}
	got, err := content(q.log)
	if err != nil {
		return q, fmt.Errorf("%s: %w", p.key.Dir, err)
	}
	want := p.history
	for len(want) > 0 && len(got) > 0 && want[0].base < got[0].base {
		want = want[1:]
	}
	for i, w := range got {
		if i >= len(want) || want[i] != w {
			return q, fmt.Errorf("%s: batch %d of %d is at %d with %.20q; %d were written", p.key.Dir, i, len(got), w.base, w.value, len(want))
		}
	}
	q.history, q.acked = got, q.log.End()
	return q, nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newJournal(files vfs.FS, size int64, secret uint64) *journal.Journal {
	return journal.New(journal.Options{FS: files, Size: size, Secret: secret, Log: quiet()})
}

// commit takes the tails of parts into one frame; those that a journal does not suit are synced.
func commit(j *journal.Journal, parts []*part) error {
	var c commits
	return c.commit(j, parts)
}

// commits is what a user of the journal keeps between commits.
type commits struct {
	group journal.Group
	taken []*part
	tails []log.Tail
}

func (c *commits) commit(j *journal.Journal, parts []*part) error {
	g := &c.group
	g.Reset()
	taken, tails := c.taken[:0], c.tails[:0]
	for _, p := range parts {
		t, ok := p.log.TakeTail()
		if ok {
			e := journal.Entry{Key: p.key, Base: t.Base, Pos: t.Pos, End: t.End}
			if err := g.Add(e, t.Len, t, p); err != nil {
				t.Done(false)
				return err
			}
			taken, tails = append(taken, p), append(tails, t)
			continue
		}
		if err := p.Settle(); err != nil {
			return err
		}
	}
	if g.Count() == 0 {
		return nil
	}
	err := j.Commit(g)
	c.taken, c.tails = taken, tails
	for i, t := range tails {
		t.Done(err == nil)
		if err == nil {
			taken[i].promise(t.End)
		}
	}
	if errors.Is(err, journal.ErrFull) || errors.Is(err, journal.ErrOff) {
		for _, p := range taken {
			if err := p.Settle(); err != nil {
				return err
			}
		}
		return nil
	}
	return err
}

func newParts(n int) []*part {
	parts := make([]*part, n)
	for i := range parts {
		parts[i] = &part{key: journal.Key{Dir: fmt.Sprintf("t%d-0", i), Topic: topic.ID{0: 1, 15: byte(i + 1)}}, cutting: -1}
	}
	return parts
}

func openAll(t testing.TB, files vfs.FS, j *journal.Journal, parts []*part) {
	t.Helper()
	for _, p := range parts {
		err := p.open(files, j)
		if err == nil {
			err = p.identify(files)
		}
		p.log.DirChanged()
		if err == nil {
			err = p.Settle()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// warm gives each part a synced batch: the first one's epoch is written to a file of its own, which a journal does not do.
func warm(t testing.TB, parts []*part) {
	t.Helper()
	for _, p := range parts {
		if err := errors.Join(p.append("first"), p.Settle()); err != nil {
			t.Fatal(err)
		}
	}
}

func value(rng *rand.Rand, n int) string {
	return fmt.Sprintf("%d-%s", n, strings.Repeat("x", rng.IntN(300)))
}
