package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cost is how many bytes decoding the body takes at most, beside the body itself, or why it will not be decoded.
// It allocates nothing unless it fails. A server reserves that much before it calls Decode.
func Cost(h Header, body []byte) (int, error) {
	row := lookup(h.Key)
	if row < 0 {
		return 0, fmt.Errorf("%w %d", ErrUnknownKey, h.Key)
	}
	s := skimmer{src: body, version: h.Version, flexible: h.Flexible}
	s.run(&layouts[row])
	if s.reason != "" {
		return 0, s.err(h, "body")
	}
	return s.cost, nil
}

// Decode checks the body and decodes it into a new request of kmsg. h comes from ParseHeader.
//
// Strings are copied. Byte slices (records, the values of unknown tagged fields) alias the body. Bytes after the
// body are ignored, as Kafka ignores them (RequestContext.parseRequest). Errors are ErrMalformed.
func Decode(h Header, body []byte) (kmsg.Request, error) {
	if _, err := Cost(h, body); err != nil {
		return nil, err
	}
	req := h.Key.Request()
	req.SetVersion(h.Version)
	if err := req.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%w: %s v%d: %w", ErrMalformed, Name(h.Key), h.Version, err)
	}
	return req, nil
}
