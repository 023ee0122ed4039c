package groupapi

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
)

// result is what a call came to, which is an R: the one that belongs to its input.
func result[R any](r any) R {
	return r.(R) //nolint:errcheck // another type is a bug in the machine, which every such request would show
}

// park makes a reply of a call: it waits until the result may leave. A reply of size bytes may wait for the disk only.
func park[R any](a *api.API, req *api.Request, call Call, size int, respond func(*api.Asked, R) kmsg.Response) api.Reply {
	p := &api.Parked{Asked: a.Asked(req), Size: size, Abandon: call.Drop}
	p.Look = func(w *partition.Waiter) kmsg.Response {
		r, ok := call.Poll(w)
		if !ok {
			return nil
		}
		return respond(&p.Asked, result[R](r))
	}
	return p
}

// parkForOthers is park for what waits for other clients too. When the server is about to close, it ends: the client is to look for
// another coordinator.
func parkForOthers[R any](a *api.API, req *api.Request, call Call, in group.Input, size int, respond func(*api.Asked, R) kmsg.Response) api.Reply {
	p := &api.Parked{Asked: a.Asked(req), Size: size, Abandon: call.Drop}
	p.Look = func(w *partition.Waiter) kmsg.Response {
		r, ok := call.Poll(w)
		switch {
		case ok:
		case a.Draining():
			call.Drop()
			r = group.Failed(in, kerr.NotCoordinator)
		default:
			return nil
		}
		return respond(&p.Asked, result[R](r))
	}
	return p
}

// askEach puts an input for each of ids to its machine, all before the first is waited for, and returns the results in order.
func askEach[R any](ctx context.Context, f *family, req *api.Request, ids []string, input func(group.Caller, string) group.Input) []R {
	calls := make([]Call, len(ids))
	for i, id := range ids {
		calls[i] = f.groups.Ask(id, input(f.caller(req), id))
	}
	results := make([]R, len(ids))
	for i := range calls {
		results[i] = result[R](calls[i].Wait(ctx))
	}
	return results
}
