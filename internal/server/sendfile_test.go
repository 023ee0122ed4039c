package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// ranger answers every request with all of a log, twice, between other bytes.
type ranger struct {
	log *log.Log
	dir string
}

// newRanger has a log of n batches of about 100 KB.
func newRanger(t *testing.T, n int) *ranger {
	t.Helper()
	dir := t.TempDir()
	files, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := log.Open(files, "t-0", time.Now(), log.OpenOptions{Options: log.Options{
		SegmentBytes: 1 << 30, SegmentAge: math.MaxInt64, IndexInterval: 4096, IndexBytesMax: 1 << 20, RetentionBytes: -1, RetentionAge: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(false) })
	for i := range n {
		var w batch.Builder
		f := batch.NewFields(batch.Offset(i))
		f.LeaderEpoch = 1
		w.Reset(f)
		w.Append(batch.Record{Offset: batch.Offset(i), Value: bytes.Repeat([]byte{byte(i)}, 100_000)})
		b, err := w.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append(time.Now(), []batch.Batch{b}); err != nil {
			t.Fatal(err)
		}
	}
	return &ranger{log: l, dir: filepath.Join(dir, "t-0")}
}

func (r *ranger) Early(kmsg.Key) bool { return true }

func (r *ranger) Begin(_ context.Context, _ time.Time, run []*api.Request, replies []api.Reply) (int, error) {
	for i, req := range run {
		replies[i] = &rangeReply{r, req.CorrelationID}
	}
	return len(run), nil
}

type rangeReply struct {
	*ranger
	id int32
}

func (r *rangeReply) Poll(_ time.Time, _ *partition.Waiter, out *api.Out) (bool, time.Time) {
	at := len(out.Bytes)
	out.Bytes = binary.BigEndian.AppendUint32(append(out.Bytes, 0, 0, 0, 0), uint32(r.id))
	size := 4
	for range 2 {
		rng, err := r.log.Read(0, r.log.End(), 1<<30, true)
		if err != nil {
			panic(err)
		}
		size += rng.Len() + 1
		out.Range(rng)
		out.Bytes = append(out.Bytes, 0xAB)
	}
	binary.BigEndian.PutUint32(out.Bytes[at:], uint32(size))
	return true, time.Time{}
}

func (*rangeReply) Held() int { return 0 }
func (*rangeReply) Drop()     {}

// TestRanges: file ranges leave in their places, by sendfile and by copy, to a client that takes them slowly.
func TestRanges(t *testing.T) {
	t.Parallel()
	for name, dial := range wires {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRanger(t, 100)
			content, err := os.ReadFile(filepath.Join(r.dir, "00000000000000000000.log"))
			if err != nil {
				t.Fatal(err)
			}
			want := append(append(append(bytes.Clone(content), 0xAB), content...), 0xAB)
			c := dial(t, New(Options{Handler: r, Log: quiet()}))
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetReadBuffer(16 << 10) // so that the server meets a full socket
			}
			send(c, fetchFrame(1), fetchFrame(2))
			for id := int32(1); id <= 2; id++ {
				got, payload := readReply(t, c)
				if got != id || !bytes.Equal(payload, want) {
					t.Fatalf("reply %d of %d bytes, expected %d of %d", got, len(payload), id, len(want))
				}
			}
		})
	}
}

// TestRangeShrinks: when a file is shorter than what was promised, the connection is closed; nothing else could be true.
func TestRangeShrinks(t *testing.T) {
	t.Parallel()
	for name, dial := range wires {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRanger(t, 10)
			if err := os.Truncate(filepath.Join(r.dir, "00000000000000000000.log"), 500_000); err != nil {
				t.Fatal(err)
			}
			c := dial(t, New(Options{Handler: r, Log: quiet()}))
			send(c, fetchFrame(1))
			var size [4]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				t.Fatal(err)
			}
			if rest := expectEnd(t, c); len(rest) > 500_004 || len(rest) >= int(binary.BigEndian.Uint32(size[:])) {
				t.Errorf("%d bytes came of a file of 500000", len(rest))
			}
		})
	}
}
