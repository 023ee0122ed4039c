package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

const (
	damagedSuffix = ".damaged" // of the segment that is kept
	newSuffix     = ".repair"  // of the one that is being written
	copyBytes     = 1 << 20    // of one read
)

// Apply repairs the partition, and returns the names of the files that were kept of the damaged segments. It may be interrupted at any
// moment and run again, after another Plan.
func (d *Directory) Apply(p *Plan) (kept []string, err error) {
	for _, f := range p.segments {
		name, err := d.replace(p.Partition, f)
		if err != nil {
			return kept, fmt.Errorf("repair %s: %w", f.name, err)
		}
		kept = append(kept, name)
	}
	return kept, nil
}

// replace writes a segment anew, keeping what it was.
func (d *Directory) replace(dir string, f fix) (kept string, err error) {
	if kept, err = d.freeName(f.name + damagedSuffix); err != nil {
		return "", err
	}
	if err := d.write(f.name, kept, func(from, to vfs.File) error {
		size, err := from.Size()
		if err != nil {
			return err
		}
		_, err = copyRange(from, to, 0, size, 0)
		return err
	}); err != nil {
		return "", err
	}
	if err := d.files.SyncDir(dir); err != nil {
		return "", err
	}
	if err := d.write(f.name, f.name+newSuffix, f.compose); err != nil {
		return "", err
	}
	for _, kind := range []segment.Kind{segment.Index, segment.TimeIndex} { // they name positions; the next reader builds them
		if err := ignoreMissing(d.files.Remove(path.Join(dir, segment.Name(f.base, kind, segment.Live)))); err != nil {
			return "", err
		}
	}
	if err := d.files.SyncDir(dir); err != nil {
		return "", err
	}
	if err := d.files.Rename(f.name+newSuffix, f.name); err != nil {
		return "", err
	}
	return kept, d.files.SyncDir(dir)
}

// freeName is name, or name with the first number behind it that no file has.
func (d *Directory) freeName(name string) (string, error) {
	for n, free := 2, name; ; n++ {
		_, err := d.files.Stat(free)
		if errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
		if err != nil {
			return "", err
		}
		free = name + "." + strconv.Itoa(n)
	}
}

// write makes file to from file from, durably but for its name.
func (d *Directory) write(from, to string, fill func(from, to vfs.File) error) error {
	in, err := d.files.OpenFile(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	out, err := d.files.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	err = fill(in, out)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close(), in.Close())
}

// compose writes the pieces: what is whole as it is, and empty batches in the place of what is not.
func (f fix) compose(from, to vfs.File) error {
	at := int64(0)
	for i, p := range f.pieces {
		switch {
		case p.Torn: // as it is, for the broker to cut
			fallthrough
		case p.Whole:
			n, err := copyRange(from, to, p.Pos, p.Size, at)
			if err != nil {
				return err
			}
			if p.Mended {
				var head [batch.HeaderSize]byte
				if _, err := to.ReadAt(head[:], at); err != nil {
					return err
				}
				p.PutHead(head[:])
				if _, err := to.WriteAt(head[:], at); err != nil {
					return err
				}
			}
			at += n
		default:
			epoch := p.Epoch
			if epoch < 0 && i+1 < len(f.pieces) {
				epoch = f.pieces[i+1].Epoch
			}
			empty := segment.Empty(p.Base, p.Next, max(epoch, 0))
			if _, err := to.WriteAt(empty, at); err != nil {
				return err
			}
			at += int64(len(empty))
		}
	}
	return nil
}

// copyRange copies size bytes at pos of from to at of to.
func copyRange(from, to vfs.File, pos, size, at int64) (int64, error) {
	buf := make([]byte, min(copyBytes, size))
	for done := int64(0); done < size; {
		chunk := buf[:min(int64(len(buf)), size-done)]
		if n, err := from.ReadAt(chunk, pos+done); n < len(chunk) {
			return done, fmt.Errorf("read position %d: %w", pos+done, err)
		}
		if _, err := to.WriteAt(chunk, at+done); err != nil {
			return done, err
		}
		done += int64(len(chunk))
	}
	return size, nil
}
