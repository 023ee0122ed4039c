package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// What this file has is for the packages that answer a family of keys (Options.Handlers): they have handlers like those here, and turn errors
// into codes through these only.

// Early makes a handler of a stage one (see the package's comment). It gets its request decoded; byte slices in it alias the frame.
func Early[M kmsg.Request](fn func(*API, *Request, M) Reply) Handler {
	return early(func(a *API, _ *stage, req *Request, m M) (Reply, error) { return fn(a, req, m), nil })
}

// Late makes a handler that is begun when all earlier replies have left. It may block, until ctx ends at most. The response's version need
// not be set.
func Late[M kmsg.Request](fn func(context.Context, *API, *Request, M) kmsg.Response) Handler {
	return late(func(a *API, ctx context.Context, req *Request, m M) kmsg.Response { return fn(ctx, a, req, m) })
}

// Asked is what is left of a request when its frame has gone.
type Asked struct {
	api    *API
	header wire.Header
	conn   *Conn
}

// Asked is req without its frame.
func (a *API) Asked(req *Request) Asked {
	q := Asked{a, req.Header, req.Conn}
	q.header.ClientID = nil // it is the frame's
	return q
}

// Version is the request's.
func (q *Asked) Version() int16 { return q.header.Version }

// Code is the code for an error in the response; what has no code of its own is logged.
func (q *Asked) Code(err error) int16 { return q.api.faultOf(q.header, q.conn, err) }

// Refuse makes an error with a code and a reason that names the value and the limit.
func Refuse(code *kerr.Error, format string, args ...any) error { return refuse(code, format, args...) }

// Explain is the text for a response's error message field, nil for nil.
func Explain(err error) *string { return explain(err) }

// Is reports whether err is answered with the code of the kerr value.
func Is(err, value error) bool { return code(err) == code(value) }

// Image is the newest metadata.
func (a *API) Image() *meta.Image { return a.node.Image() }

// Here is where the client reaches this node.
func (a *API) Here(conn *Conn) (id int32, host string, port int32) {
	id = a.node.NodeID()
	b, _ := a.node.Image().Broker(id)
	host, port = address(&b, conn)
	return id, host, port
}

// Draining reports whether the server is about to close, so that nothing should wait any more for other clients.
func (a *API) Draining() bool { return a.draining.Load() }

// GroupOperations are what may be done to a group, if the response shall say so.
func GroupOperations(asked bool) int32 {
	if asked {
		return groupOperations
	}
	return noOperations
}

// Append appends the whole frame of the response.
func (q *Asked) Append(out *Out, resp kmsg.Response) {
	resp.SetVersion(q.header.Version)
	out.Bytes = wire.AppendResponse(out.Bytes, q.header, resp)
}

// Ready is a reply that waits for nothing.
func (q *Asked) Ready(resp kmsg.Response) Reply {
	resp.SetVersion(q.header.Version)
	return message{q.header, resp}
}

// Parked is a reply that waits for one thing of another client, or of the disk.
type Parked struct {
	Asked
	// Look returns the response if it is there; otherwise w, if not nil, is woken when it may be.
	Look func(w *partition.Waiter) kmsg.Response
	// Size is about how many bytes of memory it takes while it waits.
	Size int
	// Abandon gives up what it waits for.
	Abandon func()
}

// Poll implements Reply.
func (p *Parked) Poll(_ time.Time, w *partition.Waiter, out *Out) (bool, time.Time) {
	resp := p.Look(w)
	if resp != nil {
		p.Append(out, resp)
	}
	return resp != nil, time.Time{}
}

// Held implements Reply.
func (p *Parked) Held() int { return p.Size }

// Drop implements Reply.
func (p *Parked) Drop() { p.Abandon() }
