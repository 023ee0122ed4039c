package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// handlerSlots is above the largest key that is served.
const handlerSlots = 96

// handler is how one key is answered.
type handler struct {
	early bool
	// answer may block, until ctx ends at most.
	answer func(ctx context.Context, a *API, req *Request, m kmsg.Request) kmsg.Response
}

// late makes a handler of a method that answers at once. The response's version need not be set.
func late[M kmsg.Request](fn func(*API, context.Context, *Request, M) kmsg.Response) handler {
	return handler{answer: func(ctx context.Context, a *API, req *Request, m kmsg.Request) kmsg.Response {
		resp := fn(a, ctx, req, m.(M))
		if req.Key != kmsg.ApiVersions { // its fallback has a version of its own
			resp.SetVersion(req.Version)
		}
		return resp
	}}
}

// handlers is the table of keys. The version table in wire must have the same keys; a test compares them.
func handlers() (table [handlerSlots]handler) {
	table[kmsg.ApiVersions] = late((*API).apiVersions)
	return table
}
