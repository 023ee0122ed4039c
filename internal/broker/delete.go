package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// deleter removes the directories of deleted partitions. What waits in it is bounded by the partitions there were.
type deleter struct {
	mu struct {
		sync.Mutex
		// pending are the slots whose directories still have their names, by directory, oldest first: a topic may be deleted, made
		// again and deleted again before anything was done.
		pending map[string][]*slot
		// renamed are directories that only wait to be removed.
		renamed []string
	}
	wake chan struct{}
}

func newDeleter() *deleter {
	d := &deleter{wake: make(chan struct{}, 1)}
	d.mu.pending = map[string][]*slot{}
	return d
}

// add takes over the slots of a deleted topic.
func (d *deleter) add(slots []*slot) {
	d.mu.Lock()
	for _, s := range slots {
		if s != nil {
			d.mu.pending[s.dir()] = append(d.mu.pending[s.dir()], s)
		}
	}
	d.mu.Unlock()
	d.signal()
}

// addRenamed takes over a directory that was renamed.
func (d *deleter) addRenamed(dir string) {
	d.mu.Lock()
	d.mu.renamed = append(d.mu.renamed, dir)
	d.mu.Unlock()
	d.signal()
}

func (d *deleter) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// of is the oldest deleted slot whose directory still has the name dir; nil if there is none.
func (d *deleter) of(dir string) *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	if list := d.mu.pending[dir]; len(list) > 0 {
		return list[0]
	}
	return nil
}

func (d *deleter) done(s *slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := s.dir()
	list := slices.DeleteFunc(d.mu.pending[dir], func(other *slot) bool { return other == s })
	if len(list) == 0 {
		delete(d.mu.pending, dir)
		return
	}
	d.mu.pending[dir] = list
}

// any is some pending slot, the oldest of its directory; nil if there is none.
func (d *deleter) any() *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range d.mu.pending {
		return list[0]
	}
	return nil
}

// next takes a renamed directory; empty if there is none.
func (d *deleter) next() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.mu.renamed) == 0 {
		return ""
	}
	dir := d.mu.renamed[0]
	d.mu.renamed = d.mu.renamed[1:]
	return dir
}

// clearDir makes sure that s's directory is not that of a deleted topic of the same name.
func (b *Broker) clearDir(s *slot) error {
	for old := b.deleter.of(s.dir()); old != nil && old != s; old = b.deleter.of(s.dir()) {
		if err := b.retire(old); err != nil {
			return err
		}
	}
	return nil
}

// retire closes a deleted partition and renames its directory, so that its name is free. What waits on it is told to look for
// the leader again; readers keep the files they hold.
func (b *Broker) retire(s *slot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.retired {
		b.deleter.done(s)
		return nil
	}
	if p := s.open.Load(); p != nil {
		if err := p.Close(false); err != nil {
			b.log.Warn("close of a deleted partition", slog.Any("partition", s.id), slog.Any("err", err))
		}
		s.mu.there = true
	}
	if err := b.forgetCleaned(s); err != nil {
		return err
	}
	if s.mu.there {
		if err := b.setAside(s.dir(), s.id.Topic, s.id.Index); err != nil {
			return err
		}
	}
	s.mu.retired = true
	b.deleter.done(s)
	return nil
}

// setAside renames a partition's directory as Kafka does and hands it to the deleter.
func (b *Broker) setAside(dir, name string, index int32) error {
	aside := topic.DeleteDir(name, index, randomID())
	err := b.opts.FS.Rename(dir, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = b.opts.FS.SyncDir(".")
	}
	if err != nil {
		return fmt.Errorf("rename %s to %s: %w", dir, aside, err)
	}
	b.deleter.addRenamed(aside)
	return nil
}

// runDeleter removes directories until ctx ends; what is left is done after the next start.
func (b *Broker) runDeleter(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.deleter.wake:
		}
		b.retireAll(ctx)
		for dir := b.deleter.next(); dir != "" && ctx.Err() == nil; dir = b.deleter.next() {
			if err := b.opts.FS.RemoveAll(dir); err != nil {
				b.log.Error("cannot remove a deleted partition", slog.String("dir", dir), slog.Any("err", err))
			}
		}
	}
}

// retireAll renames all that wait for it.
func (b *Broker) retireAll(ctx context.Context) {
	for s := b.deleter.any(); s != nil && ctx.Err() == nil; s = b.deleter.any() {
		if err := b.retire(s); err != nil {
			b.fail(err)
			return
		}
	}
}
