package logfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Options say what Dump prints.
type Options struct {
	Records bool
	// Offsets decodes records as those of __consumer_offsets; it implies Records.
	Offsets bool
	// JSON is how a record looks where each batch, record and entry is a line of JSON; nil: text is printed.
	JSON func(r batch.Record) any
}

// dumpers print a file by its extension.
var dumpers = map[string]func(d *dump, name string) error{
	".log": dumpLog, ".index": dumpIndex, ".timeindex": dumpIndex, ".txnindex": dumpTxnIndex,
}

// dump is where dumpers print to, and what.
type dump struct {
	out  *bufio.Writer
	json bool
	opts Options
}

// Dump prints files that Find found to w. An error names the file.
func Dump(w io.Writer, files []string, opts Options) error {
	d := &dump{out: bufio.NewWriter(w), json: opts.JSON != nil, opts: opts}
	for _, name := range files {
		if !d.json {
			fmt.Fprintf(d.out, "Dumping %s\n", name)
		}
		err := dumpers[filepath.Ext(name)](d, name)
		if err := d.out.Flush(); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func dumpLog(d *dump, name string) error {
	if base, err := baseOffset(name); err == nil && !d.json {
		fmt.Fprintf(d.out, "Log starting offset: %d\n", base)
	}
	return scanLog(name, func(pos int64, b batch.Batch) error {
		if d.json {
			d.jsonBatch(name, pos, b)
		} else {
			dumpBatch(d.out, pos, b)
		}
		if !d.opts.Records && !d.opts.Offsets {
			return nil
		}
		for r, err := range b.All(batch.Limit{}) {
			if err != nil {
				return &placeError{pos, err}
			}
			if d.json {
				d.jsonRecord(name, b, r)
			} else {
				d.record(b, r)
			}
		}
		return nil
	})
}

func dumpBatch(w io.Writer, pos int64, b batch.Batch) {
	horizon := "OptionalLong.empty"
	if ms, ok := b.DeleteHorizon(); ok {
		horizon = fmt.Sprintf("OptionalLong[%d]", ms)
	}
	fmt.Fprintf(w, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d partitionLeaderEpoch: %d "+
		"isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		b.BaseOffset(), b.LastOffset(), b.Count(), b.BaseSequence(), b.LastSequence(), b.ProducerID(), b.ProducerEpoch(), b.LeaderEpoch(),
		b.IsTransactional(), b.IsControl(), horizon, pos, timestampType(b), b.MaxTimestamp(), b.Size(), b.Magic(), b.Codec(), b.CRC(), b.CheckCRC() == nil)
}

func timestampType(b batch.Batch) string {
	if b.IsLogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

func (d *dump) record(b batch.Batch, r batch.Record) {
	w := d.out
	fmt.Fprintf(w, "| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [", r.Offset, timestampType(b), r.Timestamp,
		length(r.Key), length(r.Value), r.Sequence)
	separator := ""
	for key := range r.Headers.All() {
		fmt.Fprintf(w, "%s%s", separator, key)
		separator = ","
	}
	fmt.Fprint(w, "]")
	switch {
	case b.IsControl():
		dumpControl(w, r)
	case d.opts.Offsets:
		dumpOffsets(w, r)
	default:
		dumpContent(w, r)
	}
	fmt.Fprintln(w)
}

func dumpContent(w io.Writer, r batch.Record) {
	if r.Key != nil {
		fmt.Fprintf(w, " key: %s", oneRow(r.Key))
	}
	if r.Value != nil {
		fmt.Fprintf(w, " payload: %s", oneRow(r.Value))
	}
}

// dumpControl prints a transaction marker (Kafka's EndTransactionMarker): the key is a version and a type.
func dumpControl(w io.Writer, r batch.Record) {
	if len(r.Key) < 4 {
		return
	}
	switch kind := binary.BigEndian.Uint16(r.Key[2:]); kind {
	case 0, 1:
		name, epoch := [...]string{"ABORT", "COMMIT"}[kind], int32(-1)
		if len(r.Value) >= 6 {
			epoch = int32(binary.BigEndian.Uint32(r.Value[2:]))
		}
		fmt.Fprintf(w, " endTxnMarker: %s coordinatorEpoch: %d", name, epoch)
	default:
		fmt.Fprintf(w, " controlType: %d", kind)
	}
}

func length(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// oneRow is text without what would break the row it stands in, or a terminal.
func oneRow(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '.'
		}
		return r
	}, string(b))
}

func dumpIndex(d *dump, name string) error {
	entries, err := readIndex(name)
	if err != nil {
		return err
	}
	times := strings.HasSuffix(name, ".timeindex")
	for _, e := range entries {
		switch {
		case d.json && times:
			d.line(jsonDump{File: name, TimeIndex: &jsonTime{e.ms, e.offset}})
		case d.json:
			d.line(jsonDump{File: name, Index: &jsonIndex{e.offset, e.pos}})
		case times:
			fmt.Fprintf(d.out, "timestamp: %d offset: %d\n", e.ms, e.offset)
		default:
			fmt.Fprintf(d.out, "offset: %d position: %d\n", e.offset, e.pos)
		}
	}
	return nil
}

func dumpTxnIndex(d *dump, name string) error {
	all, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if len(all)%txnEntry != 0 {
		return fmt.Errorf("has %d bytes: must be a multiple of %d", len(all), txnEntry)
	}
	for ; len(all) > 0; all = all[txnEntry:] {
		long := func(at int) int64 { return int64(binary.BigEndian.Uint64(all[at:])) }
		version := binary.BigEndian.Uint16(all)
		if d.json {
			d.line(jsonDump{File: name, Aborted: &jsonAborted{version, long(2), long(10), long(18), long(26)}})
			continue
		}
		fmt.Fprintf(d.out, "version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n", version, long(2), long(10), long(18), long(26))
	}
	return nil
}
