package wire

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendResponse appends the whole frame that answers h: size, response header and body. The body is encoded at
// resp's own version, which is h.Version save for the answer to an ApiVersions request of an unknown version.
func AppendResponse(dst []byte, h Header, resp kmsg.Response) []byte {
	start := len(dst)
	dst = appendResponseHeader(dst, h)
	dst = resp.AppendTo(dst)
	return sizeFrame(dst, start, 0)
}

// appendResponseHeader appends room for the size and the response header: version 1, which has tagged fields, for
// flexible versions, else 0. ApiVersions always has 0, for its client may not know what the server speaks (KIP-511).
func appendResponseHeader(dst []byte, h Header) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = kbin.AppendInt32(dst, h.CorrelationID)
	if h.Flexible && h.Key != keyAPIVersions {
		dst = append(dst, 0)
	}
	return dst
}

// sizeFrame writes the size of the frame that begins at start, which lacks cut bytes that are sent beside it.
func sizeFrame(dst []byte, start, cut int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4+cut))
	return dst
}
