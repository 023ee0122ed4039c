package journal

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

type bytesOf []byte

func (b bytesOf) Read(dst []byte) error {
	copy(dst, b)
	return nil
}

// sample is a frame of two entries, and the entries.
func sample(tb testing.TB) ([]byte, []Entry) {
	tb.Helper()
	want := []Entry{
		{Key: Key{"orders-0", topic.ID{15: 7}}, Base: 100, Pos: 4096, End: 142, Bytes: []byte("some batches")},
		{Key: Key{"b-12", topic.ID{0: 1}}, Base: 0, Pos: 0, End: 1, Bytes: []byte("x")},
	}
	var g Group
	g.Reset()
	for _, e := range want {
		if err := g.Add(e, int64(len(e.Bytes)), bytesOf(e.Bytes), nil); err != nil {
			tb.Fatal(err)
		}
	}
	stamp(g.buf, 3, 9, 0x0123456789abcdef, g.count)
	return g.buf, want
}

func TestFrameRoundTrip(t *testing.T) {
	t.Parallel()
	raw, want := sample(t)
	f, got, err := parseFrame(append(raw, 0, 0, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.generation != 3 || f.sequence != 9 || f.secret != 0x0123456789abcdef || f.count != 2 {
		t.Errorf("head %+v", f)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Entry{})); diff != "" {
		t.Error(diff)
	}
}

// TestFrameBytes holds the layout of docs/format/journal.md.
func TestFrameBytes(t *testing.T) {
	t.Parallel()
	raw, _ := sample(t)
	want := `4f544c46 ` + // OTLF
		hex.EncodeToString(raw[4:8]) + ` 0123456789abcdef 0000000000000003 0000000000000009 00000079 00000002
		01 00 0008 0000000c 00000000000000000000000000000007 0000000000000064 0000000000001000 000000000000008e
		6f72646572732d30 736f6d652062617463686573
		01 00 0004 00000001 01000000000000000000000000000000 0000000000000000 0000000000000000 0000000000000001
		622d3132 78`
	if got := hex.EncodeToString(raw); got != strings.Join(strings.Fields(want), "") {
		t.Errorf("frame:\n%s\nwant:\n%s", got, strings.Join(strings.Fields(want), ""))
	}
	var head [headSize]byte
	header{generation: 3, sequence: 9, half: 32 << 20, secret: 5}.put(head[:])
	wantHead := `6f74746c616a6e6c ` + hex.EncodeToString(head[8:12]) + ` 00000001 0000000000000003 0000000000000009 0000000002000000 0000000000000005`
	if got := hex.EncodeToString(head[:]); got != strings.Join(strings.Fields(wantHead), "") {
		t.Errorf("header %s", got)
	}
}

// TestEveryBitOfAFrameCounts: no frame or header with a bit changed is taken for one.
func TestEveryBitOfAFrameCounts(t *testing.T) {
	t.Parallel()
	raw, _ := sample(t)
	for bit := range 8 * len(raw) {
		bad := bytes.Clone(raw)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := parseFrame(bad, nil); err == nil {
			t.Fatalf("bit %d may be changed", bit)
		}
	}
	var head [headSize]byte
	header{generation: 3, sequence: 9, half: 32 << 20, secret: 5}.put(head[:])
	for bit := range 8 * len(head) {
		bad := head
		bad[bit/8] ^= 1 << (bit % 8)
		if _, ok, _ := parseHeader(bad[:]); ok {
			t.Fatalf("bit %d of the header may be changed", bit)
		}
	}
}

// FuzzFrame gives parseFrame anything; with fix the CRC is made right, so that the entries are reached.
func FuzzFrame(f *testing.F) {
	raw, _ := sample(f)
	f.Add(raw, true)
	f.Add(raw[:50], true)
	f.Add([]byte{}, false)
	var g Group
	g.Reset()
	g.buf = appendEntry(g.buf, Entry{Key: Key{Dir: "a-0"}, void: true}, 0)
	stamp(g.buf, 1, 1, 1, 1)
	f.Add(g.buf, true)
	f.Fuzz(func(t *testing.T, raw []byte, fix bool) {
		if h, ok := parseHead(raw); fix && ok && len(raw) >= frameHead+h.length {
			raw = bytes.Clone(raw[:frameHead+h.length])
			stamp(raw, h.generation, h.sequence, h.secret, h.count)
		}
		h, entries, err := parseFrame(raw, nil)
		if err != nil {
			return
		}
		again := make([]byte, frameHead)
		for _, e := range entries {
			if e.Pos < 0 || e.Base < 0 || e.End < e.Base || e.void && len(e.Bytes) > 0 {
				t.Fatalf("entry %+v", e)
			}
			again = append(appendEntry(again, e, int64(len(e.Bytes))), e.Bytes...)
		}
		for _, at := range entryStarts(entries) {
			again[at+1] = raw[at+1] // unused
		}
		stamp(again, h.generation, h.sequence, h.secret, h.count)
		if !bytes.Equal(again[8:], raw[8:frameHead+h.length]) {
			t.Fatalf("encoded again: %x, want %x", again, raw)
		}
	})
}

func entryStarts(entries []Entry) []int {
	starts, at := make([]int, len(entries)), frameHead
	for i, e := range entries {
		starts[i] = at
		at += entryHead + len(e.Dir) + len(e.Bytes)
	}
	return starts
}
