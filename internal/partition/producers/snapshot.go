package producers

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// The producer snapshot, Kafka's `.snapshot` file (ProducerSnapshot.json, version 1), all big endian:
//
//	version int16 | crc uint32 | count int32 | count entries of 46 bytes
//	entry: id int64 | epoch int16 | last sequence int32 | last offset int64 | offset delta int32 |
//	       timestamp int64 | coordinator epoch int32 | first offset of the open transaction int64
//
// The CRC is CRC32C of all that follows it. Kafka writes one entry for each producer, with its newest batch. We
// write one for each remembered batch, oldest first: Kafka keeps the last entry of an id that it reads
// (ProducerStateManager.loadProducerEntry), so it reads from our file just what it would have written itself.
const (
	snapshotVersion = 1
	snapshotHeader  = 10
	snapshotCRCEnd  = 6
	snapshotEntry   = 46
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Snapshot appends the state to dst.
func (t *Table) Snapshot(dst []byte) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, snapshotVersion)
	dst = append(dst, make([]byte, snapshotHeader-2)...)
	count := 0
	for i := range t.producers {
		p := &t.producers[i]
		if p.n == 0 {
			dst = p.appendEntry(dst, written{lastSequence: batch.NoSequence, lastOffset: noOffset, timestamp: p.lastTimestamp})
			count++
			continue
		}
		for j, w := range p.batches[:p.n] {
			// Kafka drops entries one by one when their timestamps are old; the newest must not go first.
			w.timestamp = min(w.timestamp, p.lastTimestamp)
			if j == int(p.n)-1 {
				w.timestamp = p.lastTimestamp
			}
			dst = p.appendEntry(dst, w)
			count++
		}
	}
	file := dst[start:]
	binary.BigEndian.PutUint32(file[snapshotCRCEnd:], uint32(count))
	seal(file)
	return dst
}

// seal sets the CRC of a whole snapshot.
func seal(snapshot []byte) {
	binary.BigEndian.PutUint32(snapshot[2:], crc32.Checksum(snapshot[snapshotCRCEnd:], castagnoli))
}

func (p *producer) appendEntry(dst []byte, w written) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.id))
	dst = binary.BigEndian.AppendUint16(dst, uint16(p.epoch))
	dst = binary.BigEndian.AppendUint32(dst, uint32(w.lastSequence))
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.lastOffset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(w.delta))
	dst = binary.BigEndian.AppendUint64(dst, uint64(w.timestamp))
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.coordinatorEpoch))
	return binary.BigEndian.AppendUint64(dst, uint64(p.txnFirst))
}

// Restore returns the table that snapshot, the content of a file of the state below offset end, holds. An error is
// marked batch.ErrCorrupt.
func Restore(now int64, snapshot []byte, end batch.Offset) (*Table, error) {
	if err := verify(snapshot); err != nil {
		return nil, err
	}
	t := New()
	for pos := snapshotHeader; pos < len(snapshot); pos += snapshotEntry {
		if err := t.restoreEntry(now, snapshot[pos:pos+snapshotEntry], end); err != nil {
			return nil, fmt.Errorf("producer snapshot at position %d: %w", pos, err)
		}
	}
	return t, nil
}

// verify checks all but the entries.
func verify(snapshot []byte) error {
	if len(snapshot) < snapshotHeader {
		return fmt.Errorf("producer snapshot has %d bytes, expected at least %d: %w",
			len(snapshot), snapshotHeader, batch.ErrCorrupt)
	}
	if v := binary.BigEndian.Uint16(snapshot); v != snapshotVersion {
		return fmt.Errorf("producer snapshot version is %d, expected %d: %w", v, snapshotVersion, batch.ErrCorrupt)
	}
	want, got := binary.BigEndian.Uint32(snapshot[2:]), crc32.Checksum(snapshot[snapshotCRCEnd:], castagnoli)
	if got != want {
		return fmt.Errorf("producer snapshot crc is %08x, expected %08x: %w", got, want, batch.ErrCorrupt)
	}
	count := binary.BigEndian.Uint32(snapshot[snapshotCRCEnd:])
	if int64(count)*snapshotEntry != int64(len(snapshot)-snapshotHeader) {
		return fmt.Errorf("producer snapshot has %d entries in %d bytes: %w",
			count, len(snapshot)-snapshotHeader, batch.ErrCorrupt)
	}
	return nil
}

func (t *Table) restoreEntry(now int64, e []byte, end batch.Offset) error {
	id := int64(binary.BigEndian.Uint64(e))
	epoch := int16(binary.BigEndian.Uint16(e[8:]))
	w := written{
		lastSequence: int32(binary.BigEndian.Uint32(e[10:])),
		lastOffset:   batch.Offset(binary.BigEndian.Uint64(e[14:])),
		delta:        int32(binary.BigEndian.Uint32(e[22:])),
		timestamp:    int64(binary.BigEndian.Uint64(e[26:])),
	}
	if id < 0 || epoch < batch.NoProducerEpoch || w.lastSequence < batch.NoSequence || w.delta < 0 || w.lastOffset >= end {
		return fmt.Errorf("producer %d epoch %d has sequence %d at offset %d, %d more, in a log that ends at %d: %w",
			id, epoch, w.lastSequence, w.lastOffset, w.delta, end, batch.ErrCorrupt)
	}
	p := t.entry(id)
	p.setEpoch(epoch)
	if p.n > 0 && !p.continues(w) {
		p.n = 0 // the last entry counts, as it does for Kafka
	}
	p.lastTimestamp = w.timestamp
	if w.lastOffset >= 0 {
		p.remember(w)
	}
	p.coordinatorEpoch = int32(binary.BigEndian.Uint32(e[34:]))
	p.txnFirst = max(noOffset, batch.Offset(binary.BigEndian.Uint64(e[38:])))
	p.touched = min(now, p.lastTimestamp)
	return nil
}

// continues reports whether w may be the batch after the newest.
func (p *producer) continues(w written) bool {
	return w.lastOffset >= 0 && w.firstSequence() == p.nextSequence() && w.firstOffset() > p.batches[p.n-1].lastOffset
}
