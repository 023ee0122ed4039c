package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// keptElements is the most topics, and partitions of a topic, whose memory a reused request keeps: one large request must not
	// stay for ever.
	keptElements = 64
	// plainElements is the most topics and partitions together of a plain request. So few cost less than freeCost and
	// their answers less than answerFree, so that neither is counted.
	plainElements = 256
)

// DecodeProduce is Decode for the hot path: it decodes into req, which may have been used before and is of no use after
// an error. Once req has grown, a plain request allocates nothing. Everything in req, names too, aliases the body: it is gone when
// the frame is given back.
func DecodeProduce(req *kmsg.ProduceRequest, h Header, body []byte) error {
	p := plain{src: body, version: h.Version, flexible: h.Flexible}
	if p.request(req); !p.strange {
		return nil
	}
	*req = kmsg.ProduceRequest{Version: h.Version}
	if _, err := Cost(h, body); err != nil {
		return err
	}
	if err := req.UnsafeReadFrom(body); err != nil {
		return fmt.Errorf("%w: %s v%d: %w", ErrMalformed, Name(h.Key), h.Version, err)
	}
	return nil
}

// plain decodes produce requests as nearly all are: without transactional id, without tagged fields, of few partitions. At the
// first thing that is not so, or is wrong, strange is set, src is empty and every read gives zero: the request is for Cost and kmsg.
type plain struct {
	src      []byte
	version  int16
	elements int
	flexible bool
	strange  bool
}

// fail makes the request strange.
func (p *plain) fail() {
	p.src, p.strange = nil, true
}

func (p *plain) request(req *kmsg.ProduceRequest) {
	req.Version, req.TransactionID, req.UnknownTags = p.version, nil, kmsg.Tags{}
	if p.length(true) != -1 {
		p.fail()
	}
	req.Acks, req.TimeoutMillis = int16(p.uint16()), int32(p.uint32())
	req.Topics = fit(req.Topics, p.count())
	for i := range req.Topics {
		p.topic(&req.Topics[i])
	}
	p.noTags()
}

func (p *plain) topic(t *kmsg.ProduceRequestTopic) {
	t.Topic, t.TopicID, t.UnknownTags = "", [16]byte{}, kmsg.Tags{}
	if p.version >= 13 {
		copy(t.TopicID[:], p.take(len(t.TopicID)))
	} else {
		name := p.take(p.length(true))
		t.Topic = unsafe.String(unsafe.SliceData(name), len(name))
	}
	t.Partitions = fit(t.Partitions, p.count())
	for i := range t.Partitions {
		part := &t.Partitions[i]
		part.Partition, part.Records, part.UnknownTags = int32(p.uint32()), nil, kmsg.Tags{}
		if n := p.length(false); n != -1 {
			part.Records = p.take(n)
		}
		p.noTags()
	}
	p.noTags()
}

// fit is s with n elements: in its memory, unless that is too small or too large to keep. What is left of earlier elements holds nothing of their
// frame, if those beyond len(s) did not.
func fit[T any](s []T, n int) []T {
	if n > cap(s) || cap(s) > keptElements {
		return make([]T, n)
	}
	if n < len(s) {
		clear(s[n:])
	}
	return s[:n]
}

// take takes the next n bytes.
func (p *plain) take(n int) []byte {
	if uint(n) > uint(len(p.src)) {
		p.fail()
		return nil
	}
	b := p.src[:n:n]
	p.src = p.src[n:]
	return b
}

func (p *plain) uint16() uint16 {
	if b := p.take(2); len(b) == 2 {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (p *plain) uint32() uint32 {
	if b := p.take(4); len(b) == 4 {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// length reads a length as skimmer.length does.
func (p *plain) length(short bool) int {
	switch {
	case p.flexible:
		return p.uvarint() - 1
	case short:
		return int(int16(p.uint16()))
	default:
		return int(int32(p.uint32()))
	}
}

// uvarint reads an unsigned varint of at most 5 bytes and 31 bits.
func (p *plain) uvarint() int {
	if len(p.src) > 0 && p.src[0] < 0x80 {
		v := p.src[0]
		p.src = p.src[1:]
		return int(v)
	}
	v, n := binary.Uvarint(p.src)
	if n <= 0 || n > 5 || v > math.MaxInt32 {
		p.fail()
		return 0
	}
	p.src = p.src[n:]
	return int(v)
}

// count reads the count of an array. An element takes at least a byte.
func (p *plain) count() int {
	n := p.length(false)
	if n < 0 || n > len(p.src) || n > plainElements-p.elements {
		p.fail()
		return 0
	}
	p.elements += n
	return n
}

// noTags takes the count of a struct's tagged fields, which is zero, where there is one.
func (p *plain) noTags() {
	if p.flexible && p.uvarint() != 0 {
		p.fail()
	}
}
