package api

import (
	"net/netip"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// Request is one frame that was read.
type Request struct {
	wire.Header
	// Body is what follows the header. It aliases the connection's frame, so it is valid in stage one only, and
	// appends change offsets in it.
	Body []byte
	// Conn is where the request came from.
	Conn *Conn
	// Received is when the frame was complete.
	Received time.Time
}

// Conn is what a handler may know of a connection. It is not changed while a request is begun, except by that request.
type Conn struct {
	// Listener names the listener that accepted it.
	Listener string
	// Local is the address that the client reached, Remote the client's; either may be invalid.
	Local, Remote netip.AddrPort
	// Software is the client's name and version, once ApiVersions gave them (KIP-511).
	Software, SoftwareVersion string
}
