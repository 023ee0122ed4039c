package batch

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	xerial "github.com/klauspost/compress/snappy/xerial"
	"github.com/twmb/franz-go/pkg/kgo"
)

// samples are sources that compress well, badly and not at all, of sizes around the codecs' blocks.
func samples() [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	var all [][]byte
	for _, n := range []int{0, 1, 100, xerialBlock - 1, xerialBlock, xerialBlock + 1, 150_000} {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		all = append(all, noise, make([]byte, n), []byte(strings.Repeat("offset, epoch, batch; ", n/22+1)[:n]))
	}
	return all
}

func TestLevels(t *testing.T) {
	theirs := kgo.DefaultDecompressor()
	for codec, levels := range map[Codec][]int{
		CodecNone:   {0},
		CodecGzip:   {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		CodecSnappy: {0},
		CodecLZ4:    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17},
		CodecZstd:   {-131072, -1, 0, 1, 3, 6, 10, 19, 22},
	} {
		for _, level := range levels {
			for _, src := range samples() {
				packed, err := Compress([]byte("head"), codec, level, src)
				if err != nil || !bytes.HasPrefix(packed, []byte("head")) {
					t.Fatal(codec, level, err)
				}
				packed = packed[4:]
				if got, err := decompressed(new(stream), codec, packed, Limit{}); err != nil || !bytes.Equal(got, src) {
					t.Fatalf("%v level %d: %d of %d bytes, %v", codec, level, len(got), len(src), err)
				}
				if len(src) == 0 {
					continue
				}
				if got, err := theirs.Decompress(packed, kgo.CompressionCodecType(codec)); err != nil || !bytes.Equal(got, src) {
					t.Fatalf("%v level %d by kgo: %d of %d bytes, %v", codec, level, len(got), len(src), err)
				}
			}
		}
	}
}

func TestLevelsRefused(t *testing.T) {
	for codec, levels := range map[Codec][]int{CodecGzip: {-2, 10}, CodecLZ4: {-1, 18}, CodecZstd: {-131073, 23}} {
		for _, level := range levels {
			if _, err := Compress(nil, codec, level, nil); err == nil || !strings.Contains(err.Error(), "expected") {
				t.Errorf("%v level %d: %v", codec, level, err)
			}
		}
	}
	for _, codec := range []Codec{CodecProducer, 5, 7} {
		if _, err := Compress(nil, codec, 0, nil); err == nil {
			t.Errorf("compressed with %v", codec)
		}
		if _, err := decompressed(new(stream), codec, nil, Limit{}); err == nil {
			t.Errorf("decompressed with %v", codec)
		}
	}
}

func TestSnappyFramings(t *testing.T) {
	for _, src := range samples() {
		ours := appendXerial(nil, src)
		if got, err := xerial.Decode(ours); err != nil || !bytes.Equal(got, src) {
			t.Fatalf("xerial package reads %d of %d bytes, %v", len(got), len(src), err)
		}
		raw := snappy.Encode(nil, src)
		theirs := xerial.Encode(nil, src)
		twice := append(bytes.Clone(ours), theirs...)
		for name, c := range map[string]struct{ packed, want []byte }{
			"raw": {raw, src}, "xerial": {theirs, src}, "two streams": {twice, append(bytes.Clone(src), src...)},
		} {
			if got, err := decompressed(new(stream), CodecSnappy, c.packed, Limit{}); err != nil || !bytes.Equal(got, c.want) {
				t.Fatalf("%s: %d of %d bytes, %v", name, len(got), len(c.want), err)
			}
		}
	}
}

// TestXerialBytes: the framing is that of snappy-java's SnappyOutputStream: magic, version 1, compatible with 1, then
// blocks of at most 32 KiB before compression.
func TestXerialBytes(t *testing.T) {
	got := appendXerial(nil, make([]byte, xerialBlock+1))
	if !bytes.HasPrefix(got, []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}) {
		t.Fatalf("header % x", got[:16])
	}
	var sizes []int
	for at := 16; at < len(got); {
		n := int(binary.BigEndian.Uint32(got[at:]))
		size, err := snappy.DecodedLen(got[at+4 : at+4+n])
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size)
		at += 4 + n
	}
	if len(sizes) != 2 || sizes[0] != xerialBlock || sizes[1] != 1 {
		t.Fatalf("blocks of %v bytes", sizes)
	}
}

// TestLZ4Frame: Java's consumer refuses linked blocks, and takes blocks of at most the declared size.
func TestLZ4Frame(t *testing.T) {
	got, err := Compress(nil, CodecLZ4, DefaultLevel, make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	// Magic; version 1, independent blocks, no checksums, no content size; blocks of at most 64 KiB.
	if want := []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40}; !bytes.HasPrefix(got, want) {
		t.Fatalf("frame begins % x, want % x", got[:6], want)
	}
}
