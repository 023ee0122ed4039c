package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Places in a record batch.
const (
	lengthAt, magicAt, crcAt, attributesAt, lastDeltaAt, countAt, recordsAt = 8, 16, 17, 21, 23, 57, 61
)

// sealed sets a batch's length and CRC.
func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[attributesAt:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// changed is a good batch with something wrong, its CRC right.
func changed(change func(b []byte) []byte) []byte { return sealed(change(simpleBatch("v"))) }

func put32(at int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte {
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}
}

// badRecords are record sets that no topic takes, and the code for each.
func badRecords() map[string]struct {
	records []byte
	codes   []int16
} {
	type bad = struct {
		records []byte
		codes   []int16
	}
	corrupt := []int16{kerr.CorruptMessage.Code, kerr.InvalidRecord.Code}
	good := simpleBatch("v")
	flipped := simpleBatch("v")
	flipped[len(flipped)-2] ^= 1
	tooLong, short := simpleBatch("v"), simpleBatch("v")
	binary.BigEndian.PutUint32(tooLong[lengthAt:], 1<<30)
	binary.BigEndian.PutUint32(short[lengthAt:], 0xffffffff)
	old := make([]byte, 40)
	binary.BigEndian.PutUint32(old[8:], 28)
	old[magicAt] = 1
	return map[string]bad{
		"wrong CRC":          {flipped, corrupt},
		"truncated":          {good[:len(good)-3], corrupt},
		"header only":        {good[:recordsAt], corrupt},
		"half a header":      {good[:30], corrupt},
		"one byte":           {good[:1], corrupt},
		"nothing":            {[]byte{}, corrupt},
		"zeros":              {make([]byte, 200), append(corrupt, kerr.UnsupportedForMessageFormat.Code)},
		"length 2^30":        {tooLong, corrupt},
		"length -1":          {short, corrupt},
		"two batches":        {append(append([]byte{}, good...), good...), corrupt},
		"a batch and a half": {append(append([]byte{}, good...), good[:40]...), corrupt},
		"magic 1":            {old, append(corrupt, kerr.UnsupportedForMessageFormat.Code)},
		"magic 3":            {changed(func(b []byte) []byte { b[magicAt] = 3; return b }), corrupt},
		"count 0":            {changed(put32(countAt, 0)), corrupt},
		"count 2":            {changed(put32(countAt, 2)), corrupt},
		"count 2^31-1":       {changed(put32(countAt, 1<<31-1)), corrupt},
		"count -1":           {changed(put32(countAt, 0xffffffff)), corrupt},
		"last delta 5":       {changed(put32(lastDeltaAt, 5)), corrupt},
		"last delta -1":      {changed(put32(lastDeltaAt, 0xffffffff)), corrupt},
		"last delta 2^31-1":  {changed(put32(lastDeltaAt, 1<<31-1)), corrupt},
		"control batch":      {changed(func(b []byte) []byte { b[attributesAt+1] |= 1 << 5; return b }), corrupt},
		"codec 7":            {changed(func(b []byte) []byte { b[attributesAt+1] |= 7; return b }), append(corrupt, kerr.UnsupportedCompressionType.Code)},
		"record of 2^30":     {batchOf(1, []byte{0x80, 0x80, 0x80, 0x80, 0x08, 0, 0, 0, 1, 1, 0}), corrupt},
		"record of -5":       {batchOf(1, []byte{9, 0, 0, 0, 1, 1, 0}), corrupt},
		"endless varint":     {batchOf(1, bytes.Repeat([]byte{0xff}, 40)), corrupt},
	}
}

// TestBadRecords: each bad record set is refused with its code, on a connection that goes on, and takes no offset.
func TestBadRecords(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.create(t, "records", 1)
	b.create(t, "compacted", 1, "cleanup.policy", "compact")
	b.produce(t, "records", 0, "first")
	c := b.dial(t)
	for name, bad := range badRecords() {
		for _, topic := range []string{"records", "compacted"} {
			resp := c.ask(produceOf(topic, 0, bad.records)).(*kmsg.ProduceResponse)
			got := resp.Topics[0].Partitions[0]
			if !bytes.Contains(codes(bad.codes), codes([]int16{got.ErrorCode})) {
				t.Errorf("%s to %s: error %d at offset %d, want one of %d", name, topic, got.ErrorCode, got.BaseOffset, bad.codes)
			}
		}
	}
	b.produce(t, "records", 0, "last")
	b.wantValues(t, "records", 0, []string{"first", "last"})
}

func codes(list []int16) (b []byte) {
	for _, c := range list {
		b = append(binary.BigEndian.AppendUint16(b, uint16(c)), ',')
	}
	return b
}

// compressed makes the records of a batch of codec.
func compressed(t *testing.T, codec byte, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	zeros := make([]byte, 1<<20)
	switch codec {
	case 1:
		w := gzip.NewWriter(&out)
		for range size >> 20 {
			_, _ = w.Write(zeros)
		}
		_ = w.Close()
	case 2:
		out.Write(snappy.Encode(nil, make([]byte, size)))
	case 3:
		w := lz4.NewWriter(&out)
		for range size >> 20 {
			_, _ = w.Write(zeros)
		}
		_ = w.Close()
	case 4:
		w, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		for range size >> 20 {
			_, _ = w.Write(zeros)
		}
		_ = w.Close()
	}
	return out.Bytes()
}

// bombs are small batches that are large inside: zeros, and headers that claim 4 GiB (snappy) or are noise.
func bombs(t *testing.T) (list [][]byte) {
	for codec, size := range []int64{1: 128 << 20, 2: 16 << 20, 3: 128 << 20, 4: 256 << 20} {
		if size == 0 {
			continue
		}
		for _, records := range [][]byte{compressed(t, byte(codec), size), {0xff, 0xff, 0xff, 0xff, 0x0f, 0}} {
			b := batchOf(1, records)
			b[attributesAt+1] = byte(codec)
			list = append(list, sealed(b))
		}
	}
	return list
}

// TestBombs sends bombs to topics that make the broker look inside, on many connections at a time. They are refused, and the broker
// stays small: its own garbage is most of what it grows by.
func TestBombs(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.create(t, "keyed", 1, "cleanup.policy", "compact")
	b.create(t, "recompressed", 1, "compression.type", "uncompressed")
	all := bombs(t)
	before := b.rss(t)
	var wg sync.WaitGroup
	for range 12 {
		c := b.dial(t)
		wg.Go(func() {
			for _, topic := range []string{"keyed", "recompressed"} {
				for _, bomb := range all {
					c.send(frame(produceOf(topic, 0, bomb), 5))
				}
			}
			for range 2 * len(all) {
				_, body, err := c.reply()
				if err != nil {
					t.Error(err)
					return
				}
				resp := produceOf("", 0, nil).ResponseKind().(*kmsg.ProduceResponse)
				resp.SetVersion(9)
				if err := resp.ReadFrom(body[1:]); err != nil || resp.Topics[0].Partitions[0].ErrorCode == 0 {
					t.Errorf("a bomb to %s was accepted, %v", resp.Topics[0].Topic, err)
				}
			}
		})
	}
	wg.Wait()
	grown := b.rss(t) - before
	t.Logf("the broker has grown by %d MiB", grown>>20)
	if grown > 512<<20 {
		t.Errorf("the broker has grown by %d MiB", grown>>20)
	}
	b.serves(t)
}

// wide is a batch of 32 records of 1 MiB with keys, in some KiB of zstd with a window of 128 MiB: nothing about it is wrong.
func wide(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(128<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	const n = 32
	for i := range int32(n) {
		r := kmsg.Record{OffsetDelta: i, Key: []byte("key"), Value: make([]byte, 1<<20)}
		body := r.AppendTo(nil)[1:]
		_, _ = w.Write(append(kbin.AppendVarint(nil, int32(len(body))), body...))
	}
	_ = w.Close()
	b := batchOf(n, out.Bytes())
	binary.BigEndian.PutUint32(b[lastDeltaAt:], n-1)
	b[attributesAt+1] = 4
	return sealed(b)
}

// TestWellPacked sends batches that take as much memory to read as their codec allows, on many connections at a time, and searches
// them by time. They are taken, or refused for their size where they would be stored uncompressed; the broker stays small.
func TestWellPacked(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.create(t, "keyed", 1, "cleanup.policy", "compact")
	b.create(t, "recompressed", 1, "compression.type", "uncompressed")
	batch := wide(t)
	if len(batch) > 256<<10 {
		t.Fatalf("%d bytes", len(batch))
	}
	before := b.rss(t)
	most := before
	var wg sync.WaitGroup
	for range 6 {
		c := b.dial(t)
		wg.Go(func() {
			for topic, want := range map[string]int16{"keyed": 0, "recompressed": kerr.MessageTooLarge.Code} {
				resp := c.ask(produceOf(topic, 0, batch)).(*kmsg.ProduceResponse)
				if got := resp.Topics[0].Partitions[0].ErrorCode; got != want {
					t.Errorf("%s: error %d, want %d", topic, got, want)
				}
			}
			find := kmsg.NewPtrListOffsetsRequest()
			find.Version, find.ReplicaID = 7, -1
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.CurrentLeaderEpoch, part.Timestamp = -1, -3
			topic := kmsg.NewListOffsetsRequestTopic()
			topic.Topic, topic.Partitions = "keyed", append(topic.Partitions, part)
			find.Topics = append(find.Topics, topic)
			if got := c.ask(find).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]; got.ErrorCode != 0 || got.Offset < 0 {
				t.Errorf("the largest timestamp: error %d, offset %d", got.ErrorCode, got.Offset)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	watch := b.dial(t)
	for running := true; running; most = max(most, b.rss(t)) {
		watch.ask(kmsg.NewPtrApiVersionsRequest()) // time passes while it is answered
		select {
		case <-done:
			running = false
		default:
		}
	}
	t.Logf("a batch of %d bytes holds 32 MiB in a window of 128 MiB; the broker has grown by %d MiB at most", len(batch), (most-before)>>20)
	if most-before > 400<<20 {
		t.Errorf("the broker has grown by %d MiB", (most-before)>>20)
	}
	b.serves(t)
}

// TestTooLarge: records over max.message.bytes are refused by name, and the limit may be raised.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.create(t, "small", 1, "max.message.bytes", "1000")
	c := b.dial(t)
	resp := c.ask(produceOf("small", 0, batchOf(1, recordOf(make([]byte, 2000))))).(*kmsg.ProduceResponse)
	if got := resp.Topics[0].Partitions[0].ErrorCode; got != kerr.MessageTooLarge.Code {
		t.Errorf("2,000 bytes: error %d, want MESSAGE_TOO_LARGE", got)
	}
	b.create(t, "large", 1, "max.message.bytes", "5000")
	resp = c.ask(produceOf("large", 0, batchOf(1, recordOf(make([]byte, 2000))))).(*kmsg.ProduceResponse)
	if got := resp.Topics[0].Partitions[0].ErrorCode; got != 0 {
		t.Errorf("2,000 bytes of 5,000: error %d", got)
	}
}

// recordOf is one record.
func recordOf(value []byte) []byte {
	r := kmsg.Record{Value: value}
	body := r.AppendTo(nil)[1:]
	return append(kbin.AppendVarint(nil, int32(len(body))), body...)
}
