package api

import (
	"context"
	"time"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/ration"
)

// repliesMax is the most bytes of large replies, all connections together, that are built and not yet taken by their clients.
const repliesMax = 64 << 20

// rationed answers a request whose reply may be large: at once, or when there is room for it. size is a guess of the reply of one that cannot be
// answered twice, or 0.
func (a *API) rationed(ctx context.Context, h *Handler, req *Request, size int) (Reply, error) {
	build := func() ([]byte, error) { return a.encode(ctx, h, req, size > 0) }
	var r encoded
	var err error
	if size > 0 {
		r.bytes, r.free, err = a.ration.ReplyOnce(ctx, size, build)
	} else {
		r.bytes, r.free, err = a.ration.Reply(ctx, build)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// encode makes the bytes of a reply; placed: it has a place among the builders, or needs none.
func (a *API) encode(ctx context.Context, h *Handler, req *Request, placed bool) ([]byte, error) {
	if !placed && len(req.Body) > ration.ModestBody {
		leave, err := a.ration.Builder(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		placed = true
	}
	if len(req.Body) > largeBody {
		leave, err := ration.Enter(ctx, a.large)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	m, err := wire.Decode(req.Header, req.Body)
	if err != nil {
		return nil, err
	}
	if !placed && !ration.Modest(m, a.node.Image().PartitionsOf) {
		leave, err := a.ration.Builder(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return wire.AppendResponse(nil, req.Header, h.answer(ctx, a, req, m)), nil
}

// encoded is a reply in its bytes, and what gives back its room; nil: it has none.
type encoded struct {
	bytes []byte
	free  func()
}

// Poll implements Reply.
func (e encoded) Poll(_ time.Time, _ *partition.Waiter, out *Out) (bool, time.Time) {
	if len(out.Bytes) == 0 && len(e.bytes) > cap(out.Bytes) {
		out.Bytes = e.bytes // it need not be copied
	} else {
		out.Bytes = append(out.Bytes, e.bytes...)
	}
	if e.free != nil {
		out.freed = append(out.freed, e.free)
	}
	return true, time.Time{}
}

// Held implements Reply: it is ready, so it does not wait.
func (e encoded) Held() int { return 0 }

// Drop implements Reply.
func (e encoded) Drop() {
	if e.free != nil {
		e.free()
	}
}
