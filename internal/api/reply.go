package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// Reply is stage two of a request. It is polled only while it is the first of its connection.
type Reply interface {
	// Poll appends the whole response to out and reports true if it is ready; the reply is then spent. Otherwise it
	// leaves out as it was and says until when it is willing to wait (zero: for ever). It never blocks. If w is not nil, w is woken
	// when another Poll may find more.
	Poll(now time.Time, w *partition.Waiter, out *Out) (ready bool, deadline time.Time)
	// Held is about how many bytes of memory the reply takes while it waits.
	Held() int
	// Drop gives up a reply that will not be polled again: it unwatches and releases what it holds.
	Drop()
}

// message is a reply that was ready when it was begun.
type message struct {
	header wire.Header
	body   kmsg.Response
}

// ready makes a reply of a response.
func ready(req *Request, resp kmsg.Response) Reply {
	m := message{req.Header, resp}
	m.header.ClientID = nil // it is the frame's
	return m
}

func (m message) Poll(_ time.Time, _ *partition.Waiter, out *Out) (bool, time.Time) {
	out.Bytes = wire.AppendResponse(out.Bytes, m.header, m.body)
	return true, time.Time{}
}

func (m message) Held() int { return 0 } // it is ready, so it does not wait

func (m message) Drop() {}

// Out collects responses that leave together: bytes, and ranges of files that stand between them. The zero Out is empty.
type Out struct {
	// Bytes are the responses without the ranges.
	Bytes []byte
	// Ranges are the file ranges in order; whoever empties the Out releases them.
	Ranges []Cut
	size   int64    // of the ranges
	freed  []func() // what gives back the room of large replies, when they have left
}

// Cut is a file range that leaves before Bytes[At].
type Cut struct {
	At    int
	Range log.Range
}

// Range adds a range at the end of what is collected. The Out owns it from then on.
func (o *Out) Range(r log.Range) {
	o.Ranges = append(o.Ranges, Cut{At: len(o.Bytes), Range: r})
	o.size += int64(r.Len())
}

// Len is the number of bytes that will leave.
func (o *Out) Len() int64 { return int64(len(o.Bytes)) + o.size }

// Reset empties the Out, keeping its memory, and releases the ranges.
func (o *Out) Reset() {
	for i := range o.Ranges {
		o.Ranges[i].Range.Release()
	}
	for _, free := range o.freed {
		free()
	}
	clear(o.freed)
	clear(o.Ranges)
	o.freed = o.freed[:0]
	o.Bytes, o.Ranges, o.size = o.Bytes[:0], o.Ranges[:0], 0
}

// mark is how much an Out holds, for back.
type mark struct {
	bytes, ranges int
	size          int64
}

func (o *Out) mark() mark { return mark{len(o.Bytes), len(o.Ranges), o.size} }

// back cuts the Out to what it held at m, without releasing the ranges.
func (o *Out) back(m mark) {
	clear(o.Ranges[m.ranges:])
	o.Bytes, o.Ranges, o.size = o.Bytes[:m.bytes], o.Ranges[:m.ranges], m.size
}
