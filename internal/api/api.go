package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/ration"
)

// Options say what the handlers stand on, and the settings that are theirs.
type Options struct {
	Broker *broker.Broker
	Faults *slog.Logger // for lines that clients can cause again and again, whose rate should be bounded; nil: Log
	Log    *slog.Logger

	Observer Observer // nil: nobody

	// Handlers answer the keys of the families in packages of their own (aclapi, configapi, groupapi).
	Handlers []map[kmsg.Key]Handler

	AutoCreateTopics bool          // auto.create.topics.enable
	FetchMaxBytes    int           // fetch.max.bytes: what one fetch response holds at most, beside its first batch
	FetchSessions    int           // max.incremental.fetch.session.cache.slots
	SessionIdle      time.Duration // a fetch session unused this long may be evicted; Kafka's is 2 min

	Configs                Configs // the settings that CreateTopics answers with; nil: none
	KeepTopics             bool    // delete.topic.enable is false
	DescribedPartitionsMax int     // max.request.partition.size.limit; 0: 2000
}

// API answers requests. It is shared by all connections.
type API struct {
	opts     Options
	broker   *broker.Broker
	node     node
	topics   topicAdmin
	nodes    nodeAdmin
	log      *slog.Logger
	sessions *sessions
	handlers [handlerSlots]Handler
	large    chan struct{}  // a place for each large body that is answered
	ration   *ration.Ration // the memory of large replies
	faults   *slog.Logger   // for what clients repeat as fast as they can
	draining atomic.Bool
	often    auditRate

	// What the hot path uses again.
	stages          sync.Pool // *stage
	produceRequests sync.Pool // *kmsg.ProduceRequest
	produceReplies  sync.Pool // *produceReply
	fetchReplies    sync.Pool // *fetchReply
}

// node is what these handlers need of the broker: *broker.Broker.
type node interface {
	Image() *meta.Image
	NodeID() int32
	Partition(topic string, index int32) (*partition.Partition, error)
	PartitionByID(id topic.ID, index int32) (*partition.Partition, error)
	Offline(topic string, index int32) bool
	TopicOptions(name string) partition.Options
	Writable() error
	CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error)
	AllocateProducerID(ctx context.Context) (int64, error)
}

// New returns the handlers.
func New(opts Options) *API {
	if opts.Observer == nil {
		opts.Observer = nobody{}
	}
	a := &API{
		opts:     opts,
		broker:   opts.Broker,
		node:     opts.Broker,
		topics:   opts.Broker,
		nodes:    opts.Broker,
		log:      opts.Log,
		faults:   cmp.Or(opts.Faults, opts.Log),
		sessions: newSessions(opts.FetchSessions, opts.SessionIdle),
		handlers: handlers(),
		large:    make(chan struct{}, largeMax),
		ration:   ration.New(repliesMax),
	}
	for _, family := range opts.Handlers {
		for key, h := range family {
			a.handlers[key] = h
		}
	}
	a.stages.New = func() any { return &stage{places: make(map[*partition.Partition]int)} }
	a.produceRequests.New = func() any { return kmsg.NewPtrProduceRequest() }
	a.produceReplies.New = func() any { return &produceReply{api: a} }
	a.fetchReplies.New = func() any { return &fetchReply{api: a} }
	return a
}

// find finds a partition by topic id or by name, whichever the request's version names topics with.
func (a *API) find(byID bool, name string, id topic.ID, index int32) (*partition.Partition, error) {
	if byID {
		return a.node.PartitionByID(id, index)
	}
	return a.node.Partition(name, index)
}

// Drain ends the waits that clients asked for: a fetch is answered with what there is when it is next polled. It is called before the
// server closes, which polls once more.
func (a *API) Drain() { a.draining.Store(true) }

// Early reports whether requests of key are begun while earlier replies are still waiting.
func (a *API) Early(key kmsg.Key) bool {
	h := a.handler(key)
	return h != nil && h.begin != nil && !h.ordered
}

// handler finds the row of key; nil if there is none.
func (a *API) handler(key kmsg.Key) *Handler {
	if key < 0 || int(key) >= len(a.handlers) {
		return nil
	}
	if h := &a.handlers[key]; h.begin != nil || h.answer != nil {
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
	s := a.stages.Get().(*stage)
	defer a.stages.Put(s)
	s.now = now
	for n < len(run) && err == nil {
		if replies[n], err = a.beginOne(ctx, s, run[n]); err == nil {
			n++
		}
	}
	s.append(a.opts.Observer)
	s.reset()
	for i := range n {
		if p, ok := replies[i].(*produceReply); ok && p.acks == 0 {
			failed := p.firstError()
			p.Drop()
			replies[i] = nil
			if failed != nil {
				return i, dropFrom(replies[i:n], failed)
			}
		}
	}
	return n, err
}

// dropFrom gives up replies that will not be sent because of err.
func dropFrom(replies []Reply, err error) error {
	for i, r := range replies {
		if r != nil {
			r.Drop()
		}
		replies[i] = nil
	}
	return err
}

// beginOne begins one request.
func (a *API) beginOne(ctx context.Context, s *stage, req *Request) (Reply, error) {
	h := a.handler(req.Key)
	if h == nil {
		return nil, fmt.Errorf("%w %d", wire.ErrUnknownKey, req.Key)
	}
	if h.begin != nil && !h.ordered {
		return h.begin(a, s, req)
	}
	if row, _ := wire.Lookup(req.Key); req.Key == kmsg.ApiVersions && !row.Serves(req.Version) {
		return ready(req, a.versions(req.Version)), nil
	}
	if size := ration.CreatedReply(req.Key, req.Version, len(req.Body), createdConfigsMax); size > 0 || ration.Grows(req.Key) {
		return a.rationed(ctx, h, req, size)
	}
	if len(req.Body) > largeBody {
		leave, err := ration.Enter(ctx, a.large)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	if h.ordered {
		return h.begin(a, s, req)
	}
	m, err := wire.Decode(req.Header, req.Body)
	if err != nil {
		return nil, err
	}
	return ready(req, h.answer(ctx, a, req, m)), nil
}

// largeBody is the size in bytes from which on the bodies of requests that are not early are taken a few at a time: their responses may be
// some times as large, and many connections could send such ones at once. No honest client is near it but when it names thousands of topics.
const (
	largeBody = 64 << 10
	largeMax  = 4
)
