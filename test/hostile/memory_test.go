package hostile

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// settled waits until the broker has at most limit bytes more than before, and returns what it has more at last.
func (b *broker) settled(t *testing.T, before, limit int64) (grown int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		grown = b.rss(t) - before
		if grown <= limit || time.Now().After(deadline) {
			return grown
		}
		c := b.dial(t) // time passes while it is answered
		c.ask(kmsg.NewPtrApiVersionsRequest())
		c.Close()
	}
}

// hasRead waits until the broker has read all that its connections were sent: until none of its sockets has bytes waiting.
func (b *broker) hasRead(t *testing.T) {
	t.Helper()
	_, port, _ := strings.Cut(b.addr, ":")
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	served := fmt.Sprintf(":%04X", n)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			t.Fatal(err)
		}
		waiting := false
		for line := range strings.Lines(string(table)) {
			// sl, local address, remote address, state, bytes to send:bytes to read
			f := strings.Fields(line)
			from, to, _ := strings.Cut(f[4], ":")
			waiting = waiting || strings.HasSuffix(f[1], served) && strings.Trim(to, "0") != "" ||
				strings.HasSuffix(f[2], served) && strings.Trim(from, "0") != ""
		}
		if !waiting {
			return
		}
	}
	t.Fatal("the broker does not read what it is sent")
}

// TestClaims: a thousand connections that claim large frames, and send what may be sent before the first valid request, cost little.
func TestClaims(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.serves(t)
	before := b.rss(t)
	some := make([]byte, 8<<10)
	for i := range 1000 {
		c := b.dial(t)
		claim := []byte{0x06, 0x40, 0, 0, 0, 3, 0, 1, 0, 0, 0, 1} // 100 MiB
		switch i % 3 {
		case 1: // of a connection that has asked something
			c.send(frame(kmsg.NewPtrApiVersionsRequest(), 1))
			if _, _, err := c.reply(); err != nil {
				t.Fatal(err)
			}
		case 2:
			binary.BigEndian.PutUint32(claim, 500<<10) // what a fresh connection may claim
		}
		c.send(claim, some)
	}
	grown := b.rss(t) - before
	t.Logf("1,000 connections: %d KiB each", grown>>10/1000)
	if grown > 64<<20 {
		t.Errorf("1,000 connections with claims of up to 100 MiB cost %d MiB", grown>>20)
	}
	b.serves(t)
}

// TestBeforeFirstRequest: what one connection may make the broker hold before its first valid request. The two frames are the largest that
// are let in: of any request, and of a produce.
func TestBeforeFirstRequest(t *testing.T) {
	t.Parallel()
	const conns = 60
	for name, head := range map[string][]byte{
		"511 KiB":            sized(raw(3, 1, 1), 511<<10),
		"895 KiB of produce": sized(raw(0, 3, 1), 895<<10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lean.Store(t.Name(), "GOMEMLIMIT=66MiB") // what an idle broker has, and a little less than may be held
			b := start(t, t.TempDir())
			b.serves(t)
			before := b.rss(t)
			most := make([]byte, int(binary.BigEndian.Uint32(head))-(1<<10)-len(head))
			for range conns {
				b.dial(t).send(head, most)
			}
			b.hasRead(t)
			grown := b.settled(t, before, conns<<20)
			t.Logf("%d connections with most of a frame: %d KiB each", conns, grown>>10/conns)
			if grown > conns<<20 {
				t.Errorf("%d connections cost %d MiB, want less than 1 MiB each", conns, grown>>20)
			}
			b.serves(t)
		})
	}
}

// amplifiers are the bytes of frames of up to size bytes whose arrays have as many elements, as small, as a decoder can be made to hold.
func amplifiers(size int) map[string][]byte {
	build := func(key, version int16, prefix []byte, width int, element, suffix []byte) []byte {
		n := (size - 40 - len(prefix) - len(suffix)) / len(element)
		body := append([]byte{}, prefix...)
		if width == 4 {
			body = binary.BigEndian.AppendUint32(body, uint32(n))
		} else {
			body = binary.AppendUvarint(body, uint64(n)+1)
		}
		for range n {
			body = append(body, element...)
		}
		return raw(key, version, 1, append(body, suffix...)...)
	}
	noTags := []byte{0}
	return map[string][]byte{
		"Metadata of empty names":        build(3, 1, nil, 4, []byte{0, 0}, nil),
		"Metadata of one-byte names":     build(3, 1, nil, 4, []byte{0, 1, 'a'}, nil),
		"Metadata, flexible":             build(3, 9, noTags, 1, []byte{1, 0}, []byte{0, 0, 0, 0}),
		"CreateTopics":                   build(19, 0, nil, 4, []byte{0, 1, 'a', 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 1}),
		"CreateTopics, many assignments": build(19, 0, []byte{0, 0, 0, 1, 0, 1, 'a', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 4, []byte{0, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0, 0, 1}),
		"DeleteTopics":                   build(20, 0, nil, 4, []byte{0, 0}, []byte{0, 0, 0, 1}),
		"Produce of topics":              build(0, 3, []byte{0xff, 0xff, 0, 1, 0, 0, 0, 1}, 4, []byte{0, 0, 0, 0, 0, 0}, nil),
		"Produce of partitions":          build(0, 3, []byte{0xff, 0xff, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 'a'}, 4, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, nil),
		"Fetch of topics":                build(1, 4, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0}, 4, []byte{0, 0, 0, 0, 0, 0}, nil),
		"ListOffsets of topics":          build(2, 1, []byte{0xff, 0xff, 0xff, 0xff}, 4, []byte{0, 0, 0, 0, 0, 0}, nil),
		"OffsetForLeaderEpoch":           build(23, 0, nil, 4, []byte{0, 0, 0, 0, 0, 0}, nil),
		"DescribeConfigs":                build(32, 0, nil, 4, []byte{2, 0, 1, 'a', 0xff, 0xff, 0xff, 0xff}, nil),
		"DescribeConfigs of the broker":  build(32, 0, nil, 4, []byte{4, 0, 1, '1', 0xff, 0xff, 0xff, 0xff}, nil),
		"AlterConfigs":                   build(33, 0, nil, 4, []byte{2, 0, 1, 'a', 0, 0, 0, 0}, noTags),
		"IncrementalAlterConfigs":        build(44, 0, nil, 4, []byte{2, 0, 1, 'a', 0, 0, 0, 0}, noTags),
		"CreatePartitions":               build(37, 0, nil, 4, []byte{0, 1, 'a', 0, 0, 0, 1, 0, 0, 0, 0}, []byte{0, 0, 0, 1, 0}),
		"DescribeLogDirs":                build(35, 0, nil, 4, []byte{0, 0, 0, 0, 0, 0}, nil),
		"DeleteRecords":                  build(21, 0, nil, 4, []byte{0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 1}),
		"DescribeTopicPartitions":        build(75, 0, noTags, 1, []byte{1, 0}, []byte{0, 0, 0, 1, 0xff, 0}),
		"tags of ApiVersions":            build(18, 3, []byte{0, 2, 'a', 2, 'a'}, 1, []byte{9, 0}, nil),
	}
}

// TestAmplification sends frames of the smallest array elements; the broker refuses them, or holds no more than a small multiple of each.
func TestAmplification(t *testing.T) {
	t.Parallel()
	lean.Store(t.Name(), "GOGC=10")
	b := start(t, t.TempDir(), "--log-level", "error", "--set", "auto.create.topics.enable=false")
	b.serves(t)
	size := 2 << 20
	if os.Getenv("HOSTILE_FRAMES") != "" {
		size = 64 << 20
	}
	for name, f := range amplifiers(size) {
		before, most := b.rss(t), int64(0)
		done := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-done:
					return
				case <-tick.C:
					most = max(most, b.rss(t)-before)
				}
			}
		})
		c := b.dial(t)
		c.ask(kmsg.NewPtrMetadataRequest())
		c.send(f)
		_, body, err := c.reply()
		close(done)
		watch.Wait()
		t.Logf("%-34s %d bytes: reply %d bytes, %v; grown by %.1f times", name, len(f), len(body), err, float64(most)/float64(len(f)))
		if most > int64(24*len(f)+(16<<20)) {
			t.Errorf("%s: a frame of %d MiB had the broker grow by %d MiB", name, len(f)>>20, most>>20)
		}
		c.Close()
		b.alive(t)
	}
	b.serves(t)
}
