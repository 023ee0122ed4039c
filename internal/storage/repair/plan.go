package repair

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// Lost is a stretch of a log that cannot be read.
type Lost struct {
	File     string       `json:"file"`
	Position int64        `json:"position"`
	Bytes    int64        `json:"bytes"`
	First    batch.Offset `json:"first"` // the offsets, and Last too
	Last     batch.Offset `json:"last"`
	Why      string       `json:"why"`
}

// Plan is what a repair of one partition would do.
type Plan struct {
	Partition string         `json:"partition"`
	Lost      []Lost         `json:"lost"`
	Mended    []batch.Offset `json:"mended,omitempty"` // batches whose header is put right without loss, by their first offset
	Torn      int64          `json:"torn,omitempty"`   // bytes at the log's end that the next start cuts off
	segments  []fix
}

// Needed reports whether there is anything to repair.
func (p *Plan) Needed() bool { return len(p.segments) > 0 }

// Offsets is the number of offsets that are lost: as many records at most.
func (p *Plan) Offsets() (n int64) {
	for _, l := range p.Lost {
		n += int64(l.Last - l.First + 1)
	}
	return n
}

// Files are the names of the segments that would be replaced.
func (p *Plan) Files() (names []string) {
	for _, f := range p.segments {
		names = append(names, f.name)
	}
	return names
}

// fix is a segment that is to be written anew.
type fix struct {
	name   string
	base   batch.Offset
	pieces []segment.Piece
}

// Directory is a data directory that no broker has open.
type Directory struct {
	files vfs.FS
	marks marks
}

// Open reads what the directory says of its partitions. With write it first puts the journal's records into the segments, as the next
// start would; else waits says that there are some, and that a plan may show as damaged what they would make good.
func Open(files vfs.FS, write bool) (d *Directory, waits bool, err error) {
	if waits, err = journalWaits(files); err != nil {
		return nil, false, err
	}
	d = &Directory{files: files}
	if d.marks, err = readMarks(files); err != nil {
		return nil, false, err
	}
	if !waits || !write {
		return d, waits, nil
	}
	restored, err := replayJournal(files)
	for key, end := range restored {
		d.marks.durable[key.Dir] = max(d.marks.durable[key.Dir], end)
	}
	return d, false, err
}

// Partitions lists the partitions of the directory, by name, but for the metadata log.
func (d *Directory) Partitions() ([]string, error) {
	entries, err := d.files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name, _, ok := topic.ParseDir(e.Name())
		if ok && e.IsDir() && name != topic.ClusterMetadata && !topic.IsDeleteDir(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Plan reads all of a partition's log.
func (d *Directory) Plan(partition string) (*Plan, error) {
	if name, _, ok := topic.ParseDir(partition); !ok || name == topic.ClusterMetadata {
		if ok {
			return nil, fmt.Errorf("%s: the metadata log is not repaired, since topics would be forgotten; put back a copy of the directory", partition)
		}
		return nil, fmt.Errorf("%s: must be a partition's directory, such as orders-0", partition)
	}
	segs, err := d.segments(partition)
	if err != nil {
		return nil, err
	}
	p := &Plan{Partition: partition, Lost: []Lost{}}
	for i, s := range segs {
		l := segment.Limits{Limit: math.MaxInt64, Durable: d.marks.durable[partition], Gaps: d.marks.cleaned[partition] > 0}
		for _, after := range segs[i+1:] {
			if after.Size() > 0 {
				l.Limit, l.Followed = after.Base(), true
				break
			}
		}
		if s.Size() == 0 && i+1 < len(segs) {
			continue // a failed roll has left it
		}
		pieces, err := s.Examine(l)
		if err := errors.Join(err, s.Release()); err != nil {
			return nil, fmt.Errorf("examine %s: %w", partition, err)
		}
		if n := len(pieces); !l.Followed && n > 0 && !pieces[n-1].Whole && !pieces[n-1].Torn {
			// Offsets that consumers have seen are not given again.
			pieces[n-1].Next = max(pieces[n-1].Next, min(d.marks.seen[partition], s.Base()+math.MaxInt32))
		}
		p.note(s, pieces)
	}
	return p, nil
}

// segments opens the segments that hold something at or above the log's start.
func (d *Directory) segments(partition string) ([]*segment.Segment, error) {
	entries, err := d.files.ReadDir(partition)
	if err != nil {
		return nil, err
	}
	var segs []*segment.Segment
	for _, e := range entries {
		base, kind, state, ok := segment.ParseName(e.Name())
		switch {
		case !ok || kind != segment.Log || state == segment.Deleted:
			continue
		case state != segment.Live:
			return nil, fmt.Errorf("%s/%s was left by a compaction that was interrupted; start the broker once, which ends it, stop it, and try again",
				partition, e.Name())
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		segs = append(segs, segment.Open(d.files, partition, base, 0, info.Size(), false))
	}
	slices.SortFunc(segs, func(a, b *segment.Segment) int { return int(min(max(a.Base()-b.Base(), -1), 1)) })
	start := d.marks.start[partition]
	for len(segs) > 1 && segs[1].Base() <= start {
		segs = segs[1:]
	}
	return segs, nil
}

// note adds what is wrong in a segment.
func (p *Plan) note(s *segment.Segment, pieces []segment.Piece) {
	needed := false
	for _, piece := range pieces {
		switch {
		case piece.Torn:
			p.Torn += piece.Size
		case !piece.Whole:
			p.Lost = append(p.Lost, Lost{path.Base(s.Name(segment.Log)), piece.Pos, piece.Size, piece.Base, piece.Next - 1, piece.Why})
			needed = true
		case piece.Mended:
			p.Mended = append(p.Mended, piece.Base)
			needed = true
		}
	}
	if needed {
		p.segments = append(p.segments, fix{s.Name(segment.Log), s.Base(), pieces})
	}
}
