package hostile

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// keys are what the broker speaks.
var keys = []int16{0, 1, 2, 3, 18, 19, 20, 21, 22, 23, 29, 30, 31, 32, 33, 35, 37, 44, 60, 74, 75}

// fatal are frames after which a connection is closed.
func fatal() map[string][]byte {
	bad := map[string][]byte{
		"size 2^31-1":       {0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 1},
		"size -1":           {0xff, 0xff, 0xff, 0xff, 0, 3, 0, 1},
		"size -2^31":        {0x80, 0, 0, 0, 0, 3, 0, 1},
		"size 100 MiB + 1":  {0x06, 0x40, 0, 1, 0, 3, 0, 1},
		"size 0":            {0, 0, 0, 0},
		"size 7":            {0, 0, 0, 7, 0, 3, 0, 1, 0, 0, 0},
		"HTTP":              []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"TLS":               append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 600)...),
		"SSH":               []byte("SSH-2.0-OpenSSH_9.6\r\n"),
		"unknown key":       raw(9999, 0, 1),
		"key -1":            raw(-1, 0, 1),
		"Metadata 99":       raw(3, 99, 1),
		"Metadata -1":       raw(3, -1, 1, 0xff, 0xff, 0xff, 0xff),
		"Produce 2":         raw(0, 2, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0),
		"client id of -2":   sized([]byte{0, 0, 0, 0, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xfe, 0, 0, 0, 0}, 14),
		"client id too big": sized([]byte{0, 0, 0, 0, 0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 0, 0, 0, 0}, 14),
		"array of 2^31-1":   raw(3, 1, 1, 0x7f, 0xff, 0xff, 0xff),
		"array of -2":       raw(19, 0, 1, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0),
		"nested arrays":     raw(0, 3, 1, 0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0x7f, 0xff, 0xff, 0xff),
		"records too big":   raw(0, 3, 1, 0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff),
	}
	for _, key := range keys {
		if key == int16(kmsg.ApiVersions) {
			continue // what cannot be read of it is answered
		}
		req := kmsg.RequestForKey(key)
		req.SetVersion(req.MaxVersion())
		full := frame(filled(req), 1)
		bad["half of "+kmsg.NameForKey(key)] = sized(append([]byte{}, full[:10+(len(full)-10)/2]...), 6+(len(full)-10)/2)
	}
	return bad
}

// filled gives a request something to be cut.
func filled(req kmsg.Request) kmsg.Request {
	name := "some-topic"
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		r.SetVersion(12)
		r.Topics = []kmsg.ProduceRequestTopic{{Topic: name, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, 100)}}}}
	case *kmsg.FetchRequest:
		r.SetVersion(12)
		r.Topics = []kmsg.FetchRequestTopic{{Topic: name, Partitions: make([]kmsg.FetchRequestTopicPartition, 3)}}
	case *kmsg.ListOffsetsRequest:
		r.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: make([]kmsg.ListOffsetsRequestTopicPartition, 3)}}
	case *kmsg.MetadataRequest:
		r.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}, {Topic: &name}}
	case *kmsg.CreateTopicsRequest:
		r.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name}, {Topic: name}}
	case *kmsg.DescribeACLsRequest:
		r.ResourceName = &name
	case *kmsg.CreateACLsRequest:
		r.Creations = []kmsg.CreateACLsRequestCreation{{ResourceName: name}, {ResourceName: name}}
	case *kmsg.DeleteACLsRequest:
		r.Filters = []kmsg.DeleteACLsRequestFilter{{ResourceName: &name}, {ResourceName: &name}}
	case *kmsg.DescribeConfigsRequest:
		r.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceName: name}, {ResourceName: name}}
	case *kmsg.DescribeTopicPartitionsRequest:
		r.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: name}}
	}
	return req
}

// TestFatalFrames sends each fatal frame at each state of a connection. The connection is closed, nobody else's is, and replies to what
// came before are not lost.
func TestFatalFrames(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.create(t, "frames", 1)
	produced := 0
	for name, bad := range fatal() {
		t.Run(name, func(t *testing.T) {
			fresh := b.dial(t)
			fresh.send(bad)
			closeWrite(t, fresh)
			fresh.wantClosed()

			used := b.dial(t)
			used.ask(kmsg.NewPtrMetadataRequest())
			used.send(bad, frame(kmsg.NewPtrMetadataRequest(), 9))
			if name != "size 2^31-1" && name != "TLS" { // a length within the limit waits for the rest
				closeWrite(t, used)
			}
			used.wantClosed()

			behind := b.dial(t) // a produce, then a fetch that is parked, then the frame
			behind.send(frame(produceOf("frames", 0, simpleBatch("v")), 1), frame(fetchOf("frames", 1<<30, 300), 2), bad)
			closeWrite(t, behind)
			if got, _, err := behind.reply(); err != nil || got != 1 {
				t.Errorf("the produce before the frame was answered by %d, %v", got, err)
			}
			produced++
			behind.wantClosed()
		})
	}
	got, err := b.consume(t, "frames", 0)
	if err != nil || len(got) != produced {
		t.Errorf("%d records of %d acknowledged, %v", len(got), produced, err)
	}
	b.serves(t)
}

func closeWrite(t *testing.T, c conn) {
	t.Helper()
	_ = c.Conn.(*net.TCPConn).CloseWrite() // the broker may have closed it
}

// TestApiVersions: any version, and a body that makes no sense, is answered in version 0 with error 35, and the connection goes on.
func TestApiVersions(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	c := b.dial(t)
	for _, version := range []int16{99, 32767, 6, -1} {
		c.send(raw(18, version, int32(version)))
		correlation, body, err := c.reply()
		if err != nil || correlation != int32(version) {
			t.Fatalf("version %d: reply %d, %v", version, correlation, err)
		}
		var resp kmsg.ApiVersionsResponse
		if err := resp.ReadFrom(body); err != nil || resp.ErrorCode != 35 || len(resp.ApiKeys) == 0 {
			t.Fatalf("version %d: error %d, %d keys, %v; want 35 and what is spoken", version, resp.ErrorCode, len(resp.ApiKeys), err)
		}
	}
	c.ask(kmsg.NewPtrMetadataRequest())
}

// TestSlowFrames: a frame that comes a byte at a time is served; many that never end cost nobody anything.
func TestSlowFrames(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	for range 300 {
		b.dial(t).send([]byte{0, 0, 1, 0, 0, 3})
	}
	c := b.dial(t)
	for _, one := range frame(kmsg.NewPtrApiVersionsRequest(), 3) {
		c.send([]byte{one})
	}
	if got, _, err := c.reply(); err != nil || got != 3 {
		t.Errorf("a frame of single bytes: reply %d, %v", got, err)
	}
	b.serves(t)
}

// frames is how many frames the random attack sends.
func frames(t *testing.T) int64 {
	t.Helper()
	if text := os.Getenv("HOSTILE_FRAMES"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("HOSTILE_FRAMES=%s is not a number", text)
		}
		return n
	}
	return 20_000
}

// TestRandomFrames sends random frames and mutations of good ones on several connections, which are opened again when they are closed.
// The broker lives, its memory is bounded, and a topic that nobody else writes to is whole.
func TestRandomFrames(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), "--log-level", "error", "--set", "auto.create.topics.enable=false")
	b.create(t, "kept", 1)
	b.produce(t, "kept", 0, numbered(20)...)
	total, seed := frames(t), uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	before := b.rss(t)
	var sent, dialed atomic.Int64
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for sent.Load() < total {
				c, err := net.Dial("tcp", b.addr)
				if err != nil {
					t.Error(err)
					return
				}
				dialed.Add(1)
				go func() { _, _ = io.Copy(io.Discard, c) }() // ends with the connection
				for range 1 + rng.IntN(50) {
					sent.Add(1)
					_ = c.SetWriteDeadline(time.Now().Add(time.Second))
					if _, err := c.Write(randomFrame(rng)); err != nil {
						break
					}
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	b.alive(t)
	b.wantValues(t, "kept", 0, numbered(20))
	b.serves(t)
	grown := b.rss(t) - before
	t.Logf("%d frames on %d connections; the broker has grown by %d KiB", sent.Load(), dialed.Load(), grown>>10)
	if grown > 128<<20 {
		t.Errorf("the broker has grown by %d MiB", grown>>20)
	}
}

// randomFrame is a frame of noise, or a good one with a few bytes changed. Topics are not deleted: names are short-lived, or wrong.
func randomFrame(rng *rand.Rand) []byte {
	key := keys[rng.IntN(len(keys))]
	if rng.IntN(3) == 0 {
		body := make([]byte, rng.IntN(200))
		for i := range body {
			body[i] = byte(rng.Uint32())
		}
		return raw(key, int16(rng.IntN(14)), int32(rng.Uint32()), body...)
	}
	req := kmsg.RequestForKey(key)
	req.SetVersion(int16(rng.IntN(int(req.MaxVersion()) + 1)))
	if key > 1 || req.GetVersion() > 3 {
		filled(req)
	}
	f := frame(req, int32(rng.Uint32()))
	for range 1 + rng.IntN(4) {
		switch at := 4 + rng.IntN(len(f)-4); rng.IntN(4) {
		case 0:
			f[at] ^= 1 << rng.IntN(8)
		case 1:
			f[at] = byte(rng.Uint32())
		case 2:
			if at+4 <= len(f) {
				binary.BigEndian.PutUint32(f[at:], rng.Uint32())
			}
		case 3:
			f = sized(append(f[:at], f[min(at+rng.IntN(8), len(f)):]...), 0)
			if len(f) < 12 {
				return raw(key, 0, 1)
			}
		}
	}
	return sized(f, len(f)-4)
}

// simpleBatch is a batch of one record, in Kafka's format.
func simpleBatch(value string) []byte {
	return batchOf(1, recordOf([]byte(value)))
}

// batchOf is a batch of count records, whose bytes are given, with a right CRC.
func batchOf(count int, records []byte) []byte {
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(count - 1), FirstTimestamp: 1700000000000, MaxTimestamp: 1700000000000,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(count), Records: records,
	}
	return sealed(b.AppendTo(nil))
}

func produceOf(topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	req.Acks, req.TimeoutMillis = -1, 5000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: records}}}}
	return req
}

func fetchOf(topic string, minBytes, waitMillis int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(11)
	req.MinBytes, req.MaxBytes, req.MaxWaitMillis, req.ReplicaID = minBytes, 1<<20, waitMillis, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return req
}
