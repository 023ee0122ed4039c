package server

import (
	"bytes"
	"errors"
	"fmt"
)

// fault is why a connection is closed by the server's own doing.
type fault struct {
	reason string // for metrics
	err    error
	// farewell is sent before closing, to who does not speak Kafka.
	farewell string
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// badFrame is a fault of what came.
func badFrame(err error) error { return &fault{reason: "frame", err: err} }

// httpFarewell answers a browser, curl or a health check.
const httpFarewell = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"This port speaks the Kafka protocol, not HTTP. Health and metrics are on the address of admin.listener (127.0.0.1:9644 by default).\n"

// notAFrame says why a size cannot be a frame's: first what it really is, where that can be told (text and TLS records give sizes far above any limit).
func notAFrame(head []byte, size, limit int) error {
	switch {
	case isHTTP(head):
		return &fault{
			reason: "frame", farewell: httpFarewell,
			err: errors.New("an HTTP request came to a Kafka port: use the admin address for HTTP"),
		}
	case len(head) >= 3 && head[0] == 0x16 && head[1] == 0x03 && head[2] <= 0x04:
		return badFrame(errors.New("a TLS handshake came to a listener without TLS: set security.protocol=PLAINTEXT in the client"))
	case size < 0:
		return badFrame(fmt.Errorf("frame of %d bytes: a size is never negative", size))
	}
	return badFrame(fmt.Errorf("frame of %d bytes, socket.request.max.bytes is %d", size, limit))
}

// isHTTP reports whether head begins as a request of HTTP.
func isHTTP(head []byte) bool {
	for _, verb := range []string{"GET ", "POST", "HEAD", "PUT ", "DELE", "OPTI", "PATC", "CONN", "PRI "} {
		if bytes.HasPrefix(head, []byte(verb)) {
			return true
		}
	}
	return false
}
