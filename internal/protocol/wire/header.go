package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What can be wrong with a frame. All three are kinds: errors.Is tells them apart, the message has the details.
// Kafka closes the connection on each, save that ApiVersions of any version is answered (KIP-511).
var (
	// ErrUnknownKey marks a request of an API that is not in the version table.
	ErrUnknownKey = errors.New("unknown api key")
	// ErrUnsupportedVersion marks a request of a known API at a version that is not served.
	// It also matches kerr.UnsupportedVersion.
	ErrUnsupportedVersion = fmt.Errorf("version not served: %w", kerr.UnsupportedVersion)
	// ErrMalformed marks bytes that are not what the key and version say.
	ErrMalformed = errors.New("malformed request")
)

// codeUnsupportedVersion is UNSUPPORTED_VERSION.
const codeUnsupportedVersion = 35

// Header is what stands before a request's body (Kafka's RequestHeader, versions 1 and 2).
type Header struct {
	Key           kmsg.Key
	Version       int16
	CorrelationID int32
	// ClientID is nil if the client sent null. It aliases the frame: copy it (string(h.ClientID)) to keep it
	// longer than the frame.
	ClientID []byte
	// Flexible says that the body has compact lengths and tagged fields.
	Flexible bool
}

// ParseHeader splits a frame, without its size prefix, into header and body. The body aliases the frame.
//
// The error is of one of the kinds ErrUnknownKey, ErrUnsupportedVersion, ErrMalformed. With the first two the
// returned header has key, version and correlation id, so that an ApiVersions request of a future version can be
// answered; nothing after them was looked at.
func ParseHeader(frame []byte) (Header, []byte, error) {
	if len(frame) < 8 {
		return Header{}, nil, fmt.Errorf("%w: a request header is at least 8 bytes, the frame is %d", ErrMalformed, len(frame))
	}
	h := Header{
		Key:           kmsg.Key(int16(binary.BigEndian.Uint16(frame))),
		Version:       int16(binary.BigEndian.Uint16(frame[2:])),
		CorrelationID: int32(binary.BigEndian.Uint32(frame[4:])),
	}
	row := lookup(h.Key)
	if row < 0 {
		return h, nil, fmt.Errorf("%w %d", ErrUnknownKey, h.Key)
	}
	api := &apis[row]
	if !api.Serves(h.Version) {
		return h, nil, fmt.Errorf("%s v%d is not served, only v%d to v%d: %w",
			Name(h.Key), h.Version, api.Served, api.Max, ErrUnsupportedVersion)
	}
	h.Flexible = api.IsFlexible(h.Version)

	s := skimmer{src: frame[8:], flexible: h.Flexible}
	h.ClientID = s.clientID()
	if h.Flexible {
		s.headerTags()
	}
	if s.reason != "" {
		return h, nil, s.err(h, "header")
	}
	return h, s.src, nil
}

// clientID reads the client id, whose length has two bytes in flexible versions too: a server must be able to read
// it before it knows the version. The result aliases the frame.
func (s *skimmer) clientID() []byte {
	l := s.int16()
	if l < 0 {
		return nil
	}
	return s.span(int64(l), "client id")
}

// headerTags skips the header's tagged fields; none is defined yet.
func (s *skimmer) headerTags() {
	for n := s.uvarint(); n > 0 && s.reason == ""; n-- {
		s.uvarint()
		s.span(int64(s.uvarint()), "tagged field")
	}
}
