package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// code turns an error into the code that a client sees: 0 for nil, the code of a *kerr.Error anywhere in the chain, and
// UNKNOWN_SERVER_ERROR for what nobody gave one. It is the only place where an error becomes a code.
func code(err error) int16 {
	if err == nil {
		return 0
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return ke.Code
	}
	switch {
	case errors.Is(err, batch.ErrCorrupt):
		return kerr.CorruptMessage.Code
	case errors.Is(err, context.DeadlineExceeded):
		return kerr.RequestTimedOut.Code
	}
	return kerr.UnknownServerError.Code
}

// explain is the text for a response's error message field: nil for nil, and nothing of the inside of an error that nobody gave a code.
func explain(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	if code(err) == kerr.UnknownServerError.Code {
		text = kerr.UnknownServerError.Description
	}
	return &text
}

// fault is code for an error that a client may cause the broker to meet but that says something about the broker:
// what has no code of its own is logged, since the client's UNKNOWN_SERVER_ERROR says nothing.
func (a *API) fault(req *Request, err error) int16 {
	c := code(err)
	if c == kerr.UnknownServerError.Code {
		a.log.Error("request failed", "key", req.Key, "version", req.Version, "client", req.ClientID, "remote", req.Conn.Remote, "err", err)
	}
	return c
}
