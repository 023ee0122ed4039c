package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Report says what Replay did.
type Report struct {
	There    bool
	Frames   int
	Entries  int   // restored
	Skipped  int   // entries that are void, or whose topic or segment is gone
	Bytes    int64 // written, since they were not in the segments
	Damaged  []error
	Restored map[Key]batch.Offset // the ends of what is durable in the segments now
}

// Replay writes what the journal holds to the segments, syncs them and removes the journal, all before any partition's log is
// opened. TopicOf tells whose a partition's directory is; fs.ErrNotExist if nothing says so. It may be interrupted and run again.
func Replay(files vfs.FS, topicOf func(dir string) (topic.ID, error)) (Report, error) {
	file, err := files.OpenFile(File, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Report{}, nil
	}
	if err != nil {
		return Report{}, err
	}
	r := replay{file: file, report: Report{There: true, Restored: map[Key]batch.Offset{}}, voids: map[Key]uint64{}}
	r.restorer = restorer{files: files, topicOf: topicOf, topics: map[string]topic.ID{}, open: map[string]vfs.File{}}
	if err := errors.Join(r.run(), r.restorer.finish(), file.Close()); err != nil {
		return r.report, fmt.Errorf("replay %s: %w", File, err)
	}
	r.report.Bytes = r.restorer.bytes
	return r.report, remove(files)
}

type replay struct {
	file     vfs.File
	report   Report
	voids    map[Key]uint64 // the sequence of the newest void frame
	restorer restorer

	buf     []byte
	entries []Entry
}

// span is a half that has frames.
type span struct {
	header
	start int64 // position of the half
}

func (r *replay) run() error {
	spans, err := r.spans()
	if err != nil {
		return err
	}
	// What a void frame makes void stands before it, so all of them must be known first.
	if err := r.scan(spans, r.noteVoids); err != nil {
		return err
	}
	r.report.Frames, r.report.Damaged = 0, nil
	return r.scan(spans, r.restore)
}

// spans reads the headers; the older half comes first.
func (r *replay) spans() ([]span, error) {
	size, err := r.file.Size()
	if err != nil {
		return nil, err
	}
	var spans []span
	half := size / 2
	for i := range int64(2) {
		var head [headSize]byte
		if _, err := r.file.ReadAt(head[:], i*half); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		h, ok, err := parseHeader(head[:])
		if err != nil {
			return nil, err
		}
		if ok && h.half == half {
			spans = append(spans, span{h, i * half})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.generation, b.generation) })
	return spans, nil
}

// scan calls fn with the frames of both halves, in order.
func (r *replay) scan(spans []span, fn func(frame) error) error {
	for i, s := range spans {
		next, err := r.scanHalf(s, fn)
		if err != nil {
			return err
		}
		if i+1 < len(spans) && spans[i+1].generation == s.generation+1 && spans[i+1].sequence != next {
			r.damaged(s.start, next, spans[i+1].sequence)
		}
	}
	return nil
}

func (r *replay) damaged(pos int64, lost, next uint64) {
	r.report.Damaged = append(r.report.Damaged, fmt.Errorf("frames %d to %d, past position %d, were acknowledged and cannot be read: %w",
		lost, next-1, pos, batch.ErrCorrupt))
}

// scanHalf calls fn with a half's frames and returns the sequence after the last one. A frame that is not whole is the torn end, since the one
// after it was written after its sync; if there is one after it, it is damaged.
func (r *replay) scanHalf(s span, fn func(frame) error) (uint64, error) {
	want := s.sequence
	for pos := int64(block); pos+block <= s.half; {
		f, ok, err := r.read(s, pos)
		if err != nil {
			return 0, err
		}
		if !ok || f.sequence < want {
			pos += block
			continue
		}
		if f.sequence != want {
			r.damaged(s.start+pos, want, f.sequence)
		}
		r.report.Frames++
		if err := fn(f); err != nil {
			return 0, err
		}
		want = f.sequence + 1
		pos += frameSize(f.length)
	}
	return want, nil
}

// read reads the frame at pos of a half into r.entries; ok is false if none of its generation stands there.
func (r *replay) read(s span, pos int64) (f frame, ok bool, err error) {
	var head [frameHead]byte
	if err := r.readAt(head[:], s.start+pos); err != nil {
		return f, false, err
	}
	f, ok = parseHead(head[:])
	if !ok || f.secret != s.secret || f.generation != s.generation || pos+frameSize(f.length) > s.half {
		return f, false, nil
	}
	r.buf = slices.Grow(r.buf[:0], frameHead+f.length)[:frameHead+f.length]
	if err := r.readAt(r.buf, s.start+pos); err != nil {
		return f, false, err
	}
	f, r.entries, err = parseFrame(r.buf, r.entries[:0])
	return f, err == nil, nil
}

func (r *replay) readAt(dst []byte, pos int64) error {
	n, err := r.file.ReadAt(dst, pos)
	if n == len(dst) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (r *replay) noteVoids(f frame) error {
	for _, e := range r.entries {
		if e.void {
			r.voids[e.Key] = f.sequence
		}
	}
	return nil
}

func (r *replay) restore(f frame) error {
	for _, e := range r.entries {
		if e.void {
			continue
		}
		done := false
		if f.sequence > r.voids[e.Key] {
			var err error
			if done, err = r.restorer.restore(e); err != nil {
				return err
			}
		}
		if !done {
			r.report.Skipped++
			continue
		}
		r.report.Entries++
		r.report.Restored[e.Key] = max(r.report.Restored[e.Key], e.End)
	}
	return nil
}
