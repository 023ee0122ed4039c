package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Whatever kmsg encodes is accepted and decodes to what kmsg alone decodes.
func TestDecodeEqualsKmsg(t *testing.T) {
	t.Parallel()
	everyVersion(func(h Header) {
		t.Run(fmt.Sprintf("%s v%d", h.Key.Name(), h.Version), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(h.Key), uint64(h.Version)))
			for range 60 {
				body := randomRequest(r, h).AppendTo(nil)
				body = append(body, make([]byte, r.IntN(3))...) // ignored
				got, err := Decode(h, body)
				if err != nil {
					t.Fatalf("refused: %v\n%x", err, body)
				}
				want := h.Key.Request()
				want.SetVersion(h.Version)
				if err := want.ReadFrom(body); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("got %+v\nwant %+v", got, want)
				}
			}
		})
	})
}

// A body of kmsg cut anywhere is refused: the layout reads to the very end, so it has every field of its version.
func TestDecodeRefusesEveryCut(t *testing.T) {
	t.Parallel()
	everyVersion(func(h Header) {
		r := rand.New(rand.NewPCG(uint64(h.Key), uint64(h.Version)))
		for range 10 {
			body := randomRequest(r, h).AppendTo(nil)
			for cut := range body {
				if _, err := Decode(h, body[:cut]); !errors.Is(err, ErrMalformed) {
					t.Fatalf("%s v%d: %d of %d bytes: %v", h.Key.Name(), h.Version, cut, len(body), err)
				}
			}
		}
	})
}

// No string is longer than Kafka lets it be, where a compact length could say so.
func TestDecodeRefusesLongStrings(t *testing.T) {
	t.Parallel()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.SetVersion(1)
	for _, field := range []*string{&req.Group, &req.MemberID} {
		for _, n := range []int{stringMax, stringMax + 1} {
			*field = strings.Repeat("x", n)
			_, err := Decode(Header{Key: kmsg.ConsumerGroupHeartbeat, Version: 1, Flexible: true}, req.AppendTo(nil))
			if refused := errors.Is(err, ErrMalformed); refused != (n > stringMax) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		*field = ""
	}
}

// What Cost accepts decodes, whatever the bytes are.
func TestDecodeMutated(t *testing.T) {
	t.Parallel()
	everyVersion(func(h Header) {
		r := rand.New(rand.NewPCG(uint64(h.Key), uint64(h.Version)))
		for range 200 {
			body := randomRequest(r, h).AppendTo(nil)
			for range 1 + r.IntN(4) {
				if len(body) > 0 {
					body[r.IntN(len(body))] = byte(r.IntN(256))
				}
			}
			checkDecode(t, h, body)
		}
	})
}

// checkDecode checks what holds for every body.
func checkDecode(t *testing.T, h Header, body []byte) {
	t.Helper()
	cost, err := Cost(h, body)
	if err != nil {
		if !errors.Is(err, ErrMalformed) {
			t.Fatalf("%s v%d: %v is not ErrMalformed", h.Key.Name(), h.Version, err)
		}
		return
	}
	if most := freeCost + maxCostRatio*len(body); cost > most {
		t.Fatalf("cost %d of %d bytes", cost, len(body))
	}
	if _, err := Decode(h, body); err != nil {
		t.Fatalf("%s v%d: accepted at cost %d, then %v\n%x", h.Key.Name(), h.Version, cost, err, body)
	}
}

func FuzzDecode(f *testing.F) {
	everyVersion(func(h Header) {
		r := rand.New(rand.NewPCG(uint64(h.Key), uint64(h.Version)))
		frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, randomRequest(r, h), 9)
		f.Add(frame[4:])
	})
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := ParseHeader(frame)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnknownKey) && !errors.Is(err, ErrUnsupportedVersion) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		checkDecode(t, h, body)
	})
}

// Bodies made to grow: the smallest elements, as many as go in.
func TestCostBoundsAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's builds allocate more")
	}
	for name, c := range amplifiers() {
		t.Run(name, func(t *testing.T) {
			cost, err := Cost(c.h, c.body)
			if err != nil {
				t.Fatal(err)
			}
			took := allocated(func() {
				if _, err := Decode(c.h, c.body); err != nil {
					t.Fatal(err)
				}
			})
			if took > cost {
				t.Errorf("decoding %d bytes took %d, the cost said %d", len(c.body), took, cost)
			}
		})
	}
}

func TestDecodeRefusesAmplification(t *testing.T) {
	t.Parallel()
	topics := func(n int) []byte { return append(kbin.AppendInt32(nil, int32(n)), make([]byte, 2*n)...) }
	cases := map[string]struct {
		h    Header
		body []byte
	}{
		"too dear":          {Header{Key: kmsg.Metadata}, topics(100_000)},
		"too many elements": {Header{Key: kmsg.Metadata}, topics(MaxElements + 1)},
		"length beyond":     {Header{Key: kmsg.Metadata}, kbin.AppendInt32(nil, 1<<30)},
		"null not allowed":  {Header{Key: kmsg.Metadata}, kbin.AppendInt32(nil, -1)},
		"tags":              {Header{Key: kmsg.ApiVersions, Version: 3, Flexible: true}, []byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0xf}},
		"broken varint":     {Header{Key: kmsg.ApiVersions, Version: 3, Flexible: true}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 1}},
	}
	for name, c := range cases {
		if _, err := Decode(c.h, c.body); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type amplifier struct {
	h    Header
	body []byte
}

// amplifiers are bodies just small enough to be accepted.
func amplifiers() map[string]amplifier {
	const n = 3000
	flexible := Header{Key: kmsg.Metadata, Version: 9, Flexible: true}
	tagged := kbin.AppendUvarint(nil, 201)
	for range 200 {
		tagged = append(tagged, 1+1, 'x', 1, 100, 0) // a topic with one unknown tagged field
	}
	many := append(kbin.AppendUvarint(nil, 1), 0, 0, 0) // no topics, no flags
	many = kbin.AppendUvarint(many, n)
	for i := range n {
		many = append(kbin.AppendUvarint(many, uint32(i+100)), 0)
	}
	names := kbin.AppendInt32(nil, n)
	for range n {
		names = append(names, 0, 1, 'x')
	}
	produce := append([]byte{0xff, 0xff, 0, 1, 0, 0, 0, 0}, kbin.AppendInt32(nil, n)...)
	for range n {
		produce = append(produce, 0, 0, 0, 0, 0, 0)
	}
	ints := append(kbin.AppendInt32(nil, 1), 0, 1, 'x')
	ints = append(append(ints, kbin.AppendInt32(nil, 100_000)...), make([]byte, 400_000)...)
	return map[string]amplifier{
		"names":          {Header{Key: kmsg.Metadata}, names},
		"names to drop":  {Header{Key: kmsg.DeleteTopics}, append(slices.Clone(names), 0, 0, 0, 0)},
		"produce topics": {Header{Key: kmsg.Produce, Version: 3}, produce},
		"numbers":        {Header{Key: kmsg.DescribeLogDirs}, ints},
		"tagged structs": {flexible, append(tagged, 0, 0, 0, 0)},
		"many tags":      {flexible, many},
	}
}

// allocated is the bytes that f takes from the heap, the least of some runs, since others may allocate meanwhile.
func allocated(f func()) int {
	least := uint64(1 << 62)
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return int(least)
}

func TestParseHeader(t *testing.T) {
	t.Parallel()
	request := func(key, version int16, rest ...byte) []byte {
		b := binary.BigEndian.AppendUint16(nil, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		return append(append(b, 0, 0, 0, 9), rest...)
	}
	cases := []struct {
		name   string
		frame  []byte
		client string
		body   string
		err    error
	}{
		{"plain", request(3, 1, 0, 1, 'c', 'b'), "c", "b", nil},
		{"null client", request(3, 1, 0xff, 0xff, 'b'), "<nil>", "b", nil},
		{"flexible", request(3, 9, 0, 1, 'c', 0, 'b'), "c", "b", nil},
		{"header tag", request(3, 9, 0, 1, 'c', 1, 5, 2, 'x', 'y', 'b'), "c", "b", nil},
		{"apiversions flexible", request(18, 3, 0, 1, 'c', 0, 'b'), "c", "b", nil},
		{"empty", nil, "", "", ErrMalformed},
		{"no client", request(3, 1), "", "", ErrMalformed},
		{"client beyond", request(3, 1, 0x7f, 0xff, 'c'), "", "", ErrMalformed},
		{"tags cut", request(3, 9, 0, 0, 2, 1), "", "", ErrMalformed},
		{"unknown key", request(999, 0), "", "", ErrUnknownKey},
		{"negative key", request(-1, 0), "", "", ErrUnknownKey},
		{"old produce", request(0, 2), "", "", ErrUnsupportedVersion},
		{"future version", request(18, 99), "", "", kerr.UnsupportedVersion},
		{"negative version", request(18, -1), "", "", ErrUnsupportedVersion},
	}
	for _, c := range cases {
		h, body, err := ParseHeader(c.frame)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
			continue
		}
		if len(c.frame) >= 8 && h.CorrelationID != 9 {
			t.Errorf("%s: correlation id %d", c.name, h.CorrelationID)
		}
		if err != nil {
			continue
		}
		client := "<nil>"
		if h.ClientID != nil {
			client = string(h.ClientID)
		}
		if client != c.client || string(body) != c.body {
			t.Errorf("%s: client %q body %q, want %q %q", c.name, client, body, c.client, c.body)
		}
	}
}
