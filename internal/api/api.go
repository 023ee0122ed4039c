package api

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// Options say what the handlers stand on, and the settings that are theirs.
type Options struct {
	Broker *broker.Broker
	Log    *slog.Logger

	AutoCreateTopics bool          // auto.create.topics.enable
	FetchMaxBytes    int           // fetch.max.bytes: what one fetch response holds at most, beside its first batch
	FetchSessions    int           // max.incremental.fetch.session.cache.slots
	SessionIdle      time.Duration // a fetch session unused this long may be evicted; Kafka's is 2 min
}

// API answers requests. It is shared by all connections.
type API struct {
	opts     Options
	broker   *broker.Broker
	log      *slog.Logger
	handlers [handlerSlots]handler
}

// New returns the handlers.
func New(opts Options) *API {
	return &API{
		opts:     opts,
		broker:   opts.Broker,
		log:      opts.Log,
		handlers: handlers(),
	}
}

// Early reports whether requests of key are begun while earlier replies are still waiting.
func (a *API) Early(key kmsg.Key) bool {
	h := a.handler(key)
	return h != nil && h.early
}

// handler finds the row of key; nil if there is none.
func (a *API) handler(key kmsg.Key) *handler {
	if key < 0 || int(key) >= len(a.handlers) {
		return nil
	}
	if h := &a.handlers[key]; h.answer != nil {
		return h
	}
	return nil
}

// Begin runs stage one of a run of requests of one connection, in order, and fills in their replies; a reply stays nil
// for a produce that wants no answer (acks=0). Either all of the run are early, or it is one request and all earlier replies have left.
//
// It returns how many were begun. If that is not all, err says why the connection must be closed after the replies
// of those begun; the other replies are nil. Bodies are no longer used when it returns.
func (a *API) Begin(ctx context.Context, now time.Time, run []*Request, replies []Reply) (n int, err error) {
	for n < len(run) && err == nil {
		if replies[n], err = a.beginOne(ctx, run[n]); err == nil {
			n++
		}
	}
	return n, err
}

// beginOne decodes and begins one request.
func (a *API) beginOne(ctx context.Context, req *Request) (Reply, error) {
	h := a.handler(req.Key)
	if h == nil {
		return nil, fmt.Errorf("%w %d", wire.ErrUnknownKey, req.Key)
	}
	if row, _ := wire.Lookup(req.Key); req.Key == kmsg.ApiVersions && !row.Serves(req.Version) {
		return ready(req, wire.ApiVersionsResponse(req.Version, a.features(), wire.NoFeatureEpoch)), nil
	}
	m, err := wire.Decode(req.Header, req.Body)
	if err != nil {
		return nil, err
	}
	return ready(req, h.answer(ctx, a, req, m)), nil
}
