package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// openMax is how many segments are open at a time; each is synced before it is closed.
const openMax = 256

// syncers is how many of them are synced at a time: their file system's own commits are shared.
const syncers = 8

// restorer puts bytes into segments.
type restorer struct {
	files   vfs.FS
	topicOf func(dir string) (topic.ID, error)
	topics  map[string]topic.ID // of directories that were asked for; zero: none
	open    map[string]vfs.File // written to or compared, and not synced yet; nil: there is no such file
	bytes   int64
	buf     []byte
}

// restore writes an entry's bytes to its place; false if its topic or its segment is gone.
func (r *restorer) restore(e Entry) (bool, error) {
	id, err := r.topic(e.Dir)
	if err != nil || id != e.Topic || id == (topic.ID{}) {
		return false, err
	}
	file, err := r.segment(path.Join(e.Dir, segment.Name(e.Base, segment.Log, segment.Live)))
	if err != nil || file == nil {
		return false, err
	}
	// After the end of a mere process everything is there, and a full disk needs no room for it.
	if r.buf = append(r.buf[:0], e.Bytes...); len(r.buf) > 0 {
		n, err := file.ReadAt(r.buf, e.Pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if n == len(r.buf) && bytes.Equal(r.buf, e.Bytes) {
			return true, nil
		}
	}
	n, err := file.WriteAt(e.Bytes, e.Pos)
	r.bytes += int64(n)
	return err == nil, err
}

func (r *restorer) topic(dir string) (topic.ID, error) {
	if id, ok := r.topics[dir]; ok {
		return id, nil
	}
	var id topic.ID
	if _, _, ok := topic.ParseDir(dir); ok {
		var err error
		id, err = r.topicOf(dir)
		if _, io := errors.AsType[syscall.Errno](err); io && !errors.Is(err, fs.ErrNotExist) {
			return id, fmt.Errorf("whose directory is %s: %w", dir, err)
		}
		if err != nil {
			id = topic.ID{} // nothing tells whose it is
		}
	}
	r.topics[dir] = id
	return id, nil
}

func (r *restorer) segment(name string) (vfs.File, error) {
	if file, ok := r.open[name]; ok {
		return file, nil
	}
	if len(r.open) >= openMax {
		if err := r.finish(); err != nil {
			return nil, err
		}
	}
	file, err := r.files.OpenFile(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		r.open[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.open[name] = file
	return file, nil
}

// finish syncs and closes all open segments, also those where nothing was missing: what was found may be in memory only.
func (r *restorer) finish() error {
	work := make(chan vfs.File)
	errs := make([]error, syncers)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for file := range work {
				errs[i] = errors.Join(errs[i], file.Sync(), file.Close())
			}
		})
	}
	for _, file := range r.open {
		if file != nil {
			work <- file
		}
	}
	close(work)
	group.Wait()
	clear(r.open)
	return errors.Join(errs...)
}
