package hostile

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is a connection of which every byte is chosen.
type conn struct {
	net.Conn
	t *testing.T
}

// patience is how long an answer may take, from when it was asked for, or a connection without a question last.
const patience = time.Minute

func (b *broker) dial(t *testing.T) conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", b.addr, 10*time.Second)
	if err != nil {
		t.Fatalf("dial: %v\n%s", err, b.log)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn{c, t}
}

// send writes bytes; a connection that was closed takes none, which is for the reader to find.
func (c conn) send(parts ...[]byte) {
	for _, p := range parts {
		_, _ = c.Write(p)
	}
}

// frame is a request's bytes, the length before it.
func frame(req kmsg.Request, correlation int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("hostile")).AppendRequest(nil, req, correlation)
}

// raw is a frame of a header (v1) and a body.
func raw(key, version int16, correlation int32, body ...byte) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 4), uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = append(b, 0, 7)
	b = append(b, "hostile"...)
	b = append(b, body...)
	return sized(b, len(b)-4)
}

// sized sets the length that a frame claims.
func sized(frame []byte, size int) []byte {
	binary.BigEndian.PutUint32(frame, uint32(int32(size)))
	return frame
}

// reply reads a reply: its correlation id and what follows.
func (c conn) reply() (correlation int32, body []byte, err error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, body); err != nil {
		return 0, nil, err
	}
	return int32(binary.BigEndian.Uint32(body)), body[4:], nil
}

// ask sends a request and decodes its reply.
func (c conn) ask(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	_ = c.SetDeadline(time.Now().Add(patience)) // of a closed connection the read tells
	c.send(frame(req, 5))
	correlation, body, err := c.reply()
	if err != nil || correlation != 5 {
		c.t.Fatalf("%s: reply %d, %v", kmsg.NameForKey(req.Key()), correlation, err)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		body = body[1:] // no tags
	}
	if err := resp.ReadFrom(body); err != nil {
		c.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp
}

// wantClosed wants the connection to be closed by the broker, after at most the replies to come.
func (c conn) wantClosed() {
	c.t.Helper()
	rest, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("the connection is open still, after %d bytes", len(rest))
	}
}
