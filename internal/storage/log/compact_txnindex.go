package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// txnEntry is the size of an entry of a transaction index: an int16 version, then int64s: producer id, first offset, last
// offset (the marker's), last stable offset (Kafka's AbortedTxn).
const (
	txnEntry   = 34
	txnLastPos = 18
	txnMax     = 256 << 20 // bytes of an index that are believed
)

// writeTxnIndex gives the result the sources' entries whose markers stay, as Kafka's CleanedTransactionMetadata does. It is
// done after the log and before any name changes.
func (g *grouped) writeTxnIndex() error {
	var kept []byte
	for _, s := range g.segs {
		entries, err := g.readTxnIndex(s)
		if err != nil {
			return err
		}
		for ; len(entries) >= txnEntry; entries = entries[txnEntry:] {
			last := batch.Offset(binary.BigEndian.Uint64(entries[txnLastPos:]))
			if _, stays := g.markers[last]; stays {
				kept = append(kept, entries[:txnEntry]...)
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	l := g.pass.log
	l.replacing.Lock()
	defer l.replacing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := vfs.WriteFile(l.fs, g.out.seg.Name(segment.TxnIndex), kept, true); err != nil {
		return g.pass.refused(fmt.Errorf("compact: write transaction index: %w", err))
	}
	return nil
}

func (g *grouped) readTxnIndex(s held) (entries []byte, err error) {
	name := s.Name(segment.TxnIndex)
	file, err := g.pass.log.fs.OpenFile(name, syscall.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size%txnEntry != 0 || size > txnMax {
		return nil, &segment.CorruptError{File: name, Position: size, Expected: "entries of 34 bytes", Found: fmt.Sprintf("%d bytes", size)}
	}
	entries = make([]byte, size)
	if n, err := file.ReadAt(entries, 0); n < len(entries) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return entries, nil
}
