package logfile

import (
	"encoding/json"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// jsonDump is a line of log dump -o json: the file, and one thing that is in it.
type jsonDump struct {
	File      string       `json:"file"`
	Batch     *jsonBatch   `json:"batch,omitempty"`
	Record    any          `json:"record,omitempty"`
	Offsets   *jsonOffsets `json:"consumer_offsets,omitempty"` // what the record is, of log dump --offsets
	Index     *jsonIndex   `json:"index,omitempty"`
	TimeIndex *jsonTime    `json:"time_index,omitempty"`
	Aborted   *jsonAborted `json:"aborted_transaction,omitempty"`
}

type jsonBatch struct {
	BaseOffset    batch.Offset `json:"base_offset"`
	LastOffset    batch.Offset `json:"last_offset"`
	Count         int          `json:"count"`
	BaseSequence  int32        `json:"base_sequence"`
	ProducerID    int64        `json:"producer_id"`
	ProducerEpoch int16        `json:"producer_epoch"`
	LeaderEpoch   batch.Epoch  `json:"leader_epoch"`
	Transactional bool         `json:"transactional"`
	Control       bool         `json:"control"`
	DeleteHorizon *int64       `json:"delete_horizon,omitempty"` // ms since 1970
	Position      int64        `json:"position"`
	TimestampType string       `json:"timestamp_type"`
	MaxTimestamp  int64        `json:"max_timestamp"` // ms since 1970
	Size          int          `json:"size"`
	Magic         int8         `json:"magic"`
	Compression   string       `json:"compression"`
	CRC           uint32       `json:"crc"`
	Valid         bool         `json:"valid"`
}

type jsonIndex struct {
	Offset   batch.Offset `json:"offset"`
	Position int64        `json:"position"`
}

type jsonTime struct {
	Timestamp int64        `json:"timestamp"` // ms since 1970
	Offset    batch.Offset `json:"offset"`
}

type jsonAborted struct {
	Version          uint16 `json:"version"`
	ProducerID       int64  `json:"producer_id"`
	FirstOffset      int64  `json:"first_offset"`
	LastOffset       int64  `json:"last_offset"`
	LastStableOffset int64  `json:"last_stable_offset"`
}

// line writes a line; an error stays in the writer until it is flushed.
func (d *dump) line(v jsonDump) {
	e := json.NewEncoder(d.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // d.out keeps the error
}

func (d *dump) jsonBatch(name string, pos int64, b batch.Batch) {
	j := jsonBatch{
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), Count: int(b.Count()), BaseSequence: b.BaseSequence(), ProducerID: b.ProducerID(),
		ProducerEpoch: b.ProducerEpoch(), LeaderEpoch: b.LeaderEpoch(), Transactional: b.IsTransactional(), Control: b.IsControl(),
		Position: pos, TimestampType: timestampType(b), MaxTimestamp: b.MaxTimestamp(), Size: b.Size(), Magic: b.Magic(), Compression: b.Codec().String(),
		CRC: b.CRC(), Valid: b.CheckCRC() == nil,
	}
	if ms, ok := b.DeleteHorizon(); ok {
		j.DeleteHorizon = &ms
	}
	d.line(jsonDump{File: name, Batch: &j})
}

func (d *dump) jsonRecord(name string, b batch.Batch, r batch.Record) {
	line := jsonDump{File: name, Record: d.opts.JSON(r)}
	if d.opts.Offsets && !b.IsControl() {
		line.Offsets = jsonOffsetsOf(r)
	}
	d.line(line)
}
