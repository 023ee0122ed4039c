package logfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// scanLog calls fn with each batch of a .log file and its position, in bytes. It stops at the first bytes that are no batch and
// returns what they are wrong in; zeros to the end, as a preallocated file has, are no error.
func scanLog(name string, fn func(pos int64, b batch.Batch) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 1<<20)
	var buf []byte
	for pos := int64(0); pos < info.Size(); {
		head, err := r.Peek(int(min(batch.HeaderSize, info.Size()-pos)))
		if err != nil {
			return fmt.Errorf("position %d: %w", pos, err)
		}
		n, err := batch.PeekSize(head)
		if err == nil && int64(n) > info.Size()-pos {
			err = fmt.Errorf("the batch is cut: it has %d of %d bytes", info.Size()-pos, n)
		}
		if err != nil {
			if onlyZeros(r) {
				return nil
			}
			return &placeError{pos, err}
		}
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		if _, err := io.ReadFull(r, buf[:n]); err != nil {
			return fmt.Errorf("position %d: %w", pos, err)
		}
		b, _, err := batch.Next(buf[:n])
		if err != nil {
			return &placeError{pos, err}
		}
		if err := fn(pos, b); err != nil {
			return err
		}
		pos += int64(n)
	}
	return nil
}

// placeError says that the bytes at a position are wrong.
type placeError struct {
	pos int64
	err error
}

func (e *placeError) Error() string { return fmt.Sprintf("position %d: %v", e.pos, e.err) }
func (e *placeError) Unwrap() error { return e.err }

func onlyZeros(r io.ByteReader) bool {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if b != 0 {
			return false
		}
	}
}

// indexEntry is an entry of an .index file (offset, position) or of a .timeindex file (offset, timestamp).
type indexEntry struct {
	offset batch.Offset
	pos    int64
	ms     int64
}

// Sizes of index entries, in bytes (Kafka's OffsetIndex, TimeIndex, TransactionIndex).
const (
	offsetEntry = 8
	timeEntry   = 12
	txnEntry    = 34
)

// readIndex reads an .index or a .timeindex file. Zeros after the last entry, which Kafka leaves in a file it did not close, are left out.
func readIndex(name string) ([]indexEntry, error) {
	width := offsetEntry
	if filepath.Ext(name) == ".timeindex" {
		width = timeEntry
	}
	base, err := baseOffset(name)
	if err != nil {
		return nil, err
	}
	all, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(all)%width != 0 {
		return nil, fmt.Errorf("has %d bytes: must be a multiple of %d", len(all), width)
	}
	var entries []indexEntry
	for ; len(all) > 0; all = all[width:] {
		e := indexEntry{}
		if width == offsetEntry {
			e.offset = base + batch.Offset(binary.BigEndian.Uint32(all))
			e.pos = int64(binary.BigEndian.Uint32(all[4:]))
		} else {
			e.ms = int64(binary.BigEndian.Uint64(all))
			e.offset = base + batch.Offset(binary.BigEndian.Uint32(all[8:]))
		}
		if e == (indexEntry{offset: base}) && strings.Trim(string(all), "\x00") == "" {
			break
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// baseOffset is the offset that a segment's files are named for.
func baseOffset(name string) (batch.Offset, error) {
	number, _, _ := strings.Cut(filepath.Base(name), ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || len(number) != 20 {
		return 0, errors.New("must be named for its base offset, 20 digits")
	}
	return batch.Offset(n), nil
}
