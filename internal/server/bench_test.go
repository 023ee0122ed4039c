package server_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// batchFrame is a whole produce request with one batch of n records of size bytes.
func batchFrame(b *testing.B, n, size int) []byte {
	var w batch.Builder
	w.Reset(batch.NewFields(0))
	for i := range n {
		w.Append(batch.Record{Offset: batch.Offset(i), Timestamp: 1_700_000_000_000, Value: make([]byte, size)})
	}
	built, err := w.Build()
	if err != nil {
		b.Fatal(err)
	}
	m := kmsg.NewPtrProduceRequest()
	m.Version, m.Acks, m.TimeoutMillis = 9, 1, 1000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = built
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = "bench", append(t.Partitions, p)
	m.Topics = append(m.Topics, t)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, m, 1)
}

// BenchmarkProduce sends produce requests over loopback to a broker in this process, depth of them in flight, and reads the answers. The
// client's work is in the figures.
func BenchmarkProduce(b *testing.B) {
	for _, c := range []struct{ records, size, depth int }{{10, 100, 1}, {10, 100, 20}, {16, 1024, 20}, {1000, 1024, 5}} {
		b.Run(fmt.Sprintf("%dx%d/depth=%d", c.records, c.size, c.depth), func(b *testing.B) {
			files, err := vfs.OS(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			addr := serve(b, files, partition.DurabilityMemory)
			if _, err := kadm.NewClient(client(b, addr)).CreateTopic(b.Context(), 1, 1, nil, "bench"); err != nil {
				b.Fatal(err)
			}
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			frame := batchFrame(b, c.records, c.size)
			small := batchFrame(b, 1, 1)
			exchange(b, conn, r, small, 1) // large frames are taken after the first request
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			b.ResetTimer()
			group := make([]byte, 0, c.depth*len(frame))
			for range c.depth {
				group = append(group, frame...)
			}
			for n := b.N; n > 0; n -= c.depth {
				depth := min(n, c.depth)
				exchange(b, conn, r, group[:depth*len(frame)], depth)
			}
		})
	}
}

// exchange writes requests and reads n answers, of which it looks at the first error code.
func exchange(b *testing.B, conn net.Conn, r *bufio.Reader, requests []byte, n int) {
	if _, err := conn.Write(requests); err != nil {
		b.Fatal(err)
	}
	var answer [256]byte
	for range n {
		if _, err := io.ReadFull(r, answer[:4]); err != nil {
			b.Fatal(err)
		}
		body := answer[:binary.BigEndian.Uint32(answer[:])]
		if _, err := io.ReadFull(r, body); err != nil {
			b.Fatal(err)
		}
		if code := binary.BigEndian.Uint16(body[4+1+1+1+5+1+4:]); code != 0 {
			b.Fatalf("error code %d", code)
		}
	}
}
