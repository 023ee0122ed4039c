package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

const (
	// maxRelative is the largest distance of an offset from its segment's base; see Holds.
	maxRelative = math.MaxInt32
	sector      = 512     // bytes that a disk writes whole or not at all
	page        = 4 << 10 // bytes of file that the kernel writes at a time
	// tornZeros is how many zeros before a page's or the file's end are taken for what was not written.
	tornZeros = 16
	// resyncBudget bounds the bytes whose CRC is computed in one search, as a multiple of what is searched: records can hold anything, so
	// also many things that look like headers.
	resyncBudget = 16
)

// holes reports whether [pos, end) has what a power cut leaves of a write that was under way: sectors or pages of zeros where the new
// bytes did not reach the disk. Next is the offset of the batch that should begin at pos.
func (s *Segment) holes(pos, end int64, next batch.Offset) (bool, error) {
	file, err := s.File()
	if err != nil {
		return false, err
	}
	size, err := file.Size()
	if err != nil {
		return false, fmt.Errorf("size of %s: %w", s.Name(Log), err)
	}
	buf := make([]byte, min(recoverChunk, end-pos))
	run := int64(0) // zeros up to the byte looked at
	for at := pos; at < end; {
		chunk := buf[:min(int64(len(buf)), end-at)]
		if n, err := file.ReadAt(chunk, at); n < len(chunk) {
			return false, fmt.Errorf("read %s at position %d: %w", s.Name(Log), at, err)
		}
		for len(chunk) > 0 { // a sector, or a part of one, at a time
			n := min(sector-at%sector, int64(len(chunk)))
			part := chunk[:n]
			if zeros := n - int64(len(bytes.TrimRight(part, "\x00"))); zeros < n {
				run = zeros
			} else {
				run += n
			}
			chunk, at = chunk[n:], at+n
			if hole(run, at, pos, size, next) {
				return true, nil
			}
		}
	}
	return false, nil
}

// hole reports whether a run of zeros that ends at byte at of a file stands where something was not written, in a batch that
// begins at pos.
func hole(run, at, pos, size int64, next batch.Offset) bool {
	if run == 0 || at%sector != 0 && at != size {
		return false
	}
	if run >= sector || run >= tornZeros && (at%page == 0 || at == size) {
		return true
	}
	// All of a header's beginning is zero though not all of it should be: the base offset, or the magic.
	var head [batch.HeaderSize]byte
	binary.BigEndian.PutUint64(head[:], uint64(next))
	head[batch.PeekLen-1] = 2
	return run == at-pos && len(bytes.TrimLeft(head[:min(run, int64(len(head)))], "\x00")) > 0
}

// nextWhole is the first position in [pos, end) where a batch begins that is whole and has offsets in [next, limit); -1 if there is none.
func (s *Segment) nextWhole(pos, end int64, next, limit batch.Offset) (int64, error) {
	file, err := s.File()
	if err != nil {
		return -1, err
	}
	budget := resyncBudget * (end - pos)
	buf := make([]byte, min(recoverChunk, max(end-pos, 0)))
	for from := pos; end-from >= batch.HeaderSize; {
		chunk := buf[:min(int64(len(buf)), end-from)]
		if n, err := file.ReadAt(chunk, from); n < len(chunk) {
			return -1, fmt.Errorf("read %s at position %d: %w", s.Name(Log), from, err)
		}
		for i := 0; len(chunk)-i >= batch.HeaderSize; i++ {
			// The magic first: it is the rarest.
			skip := bytes.IndexByte(chunk[i+batch.PeekLen-1:], 2)
			if skip < 0 {
				break
			}
			if i += skip; len(chunk)-i < batch.HeaderSize {
				break
			}
			at := from + int64(i)
			header, size, err := parseHeader(chunk[i:], end-at)
			if err != nil || header.BaseOffset() < next || header.LastOffset() >= limit {
				continue
			}
			if budget -= int64(size); budget < 0 {
				return -1, &CorruptError{s.Name(Log), pos, "a whole record batch", "too much that looks like one to search through"}
			}
			whole, err := s.whole(header, at, int64(size))
			if err != nil || whole {
				return at, err
			}
		}
		from += int64(len(chunk)) - batch.HeaderSize + 1
	}
	return -1, nil
}

// whole reports whether the batch of size bytes at pos has the CRC that its header says.
func (s *Segment) whole(header batch.Batch, pos, size int64) (bool, error) {
	file, err := s.File()
	if err != nil {
		return false, err
	}
	want, crc := header.CRC(), crc32.Update(0, castagnoli, header[crcStart:])
	buf := make([]byte, min(aheadChunk, size))
	for at, end := pos+batch.HeaderSize, pos+size; at < end; {
		chunk := buf[:min(int64(len(buf)), end-at)]
		if n, err := file.ReadAt(chunk, at); n < len(chunk) {
			return false, fmt.Errorf("read %s at position %d: %w", s.Name(Log), at, err)
		}
		crc = crc32.Update(crc, castagnoli, chunk)
		at += int64(len(chunk))
	}
	return crc == want, nil
}
