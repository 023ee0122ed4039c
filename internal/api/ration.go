package api

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// Limits of replies that can be much larger than their requests.
const (
	// repliesMax is the most bytes of them, all connections together, that are built and not yet taken by their clients. A reply that is larger
	// by itself is built when there is no other.
	repliesMax = 64 << 20
	// freeReply is the largest reply that does not count, in bytes. So what most clients ask for never waits for those that take nothing.
	freeReply = 64 << 10
	// buildersMax is how many are built at a time: a response takes some times its bytes until it is encoded.
	buildersMax = 4
)

// growing has the keys whose replies are not bounded by their requests: a few bytes ask for all topics, or all members of a group. All of them
// only read (Metadata may create topics, which a second time does nothing), so that they can be answered twice.
var growing = [handlerSlots]bool{
	kmsg.Metadata: true, kmsg.DescribeConfigs: true, kmsg.DescribeLogDirs: true, kmsg.ListConfigResources: true,
	kmsg.ListGroups: true, kmsg.DescribeGroups: true, kmsg.ConsumerGroupDescribe: true, kmsg.OffsetFetch: true,
}

// ration bounds the memory of large replies: a thousand connections that ask for all topics, and do not read, would have a copy each.
type ration struct {
	max      int
	builders chan struct{}
	mu       struct {
		sync.Mutex
		used    int
		waiting list.List // of *portion, the first to come first
	}
}

// portion is room that a reply waits for.
type portion struct {
	size  int
	given chan struct{} // closed when it has the room
}

func newRation(size int) *ration {
	return &ration{max: size, builders: make(chan struct{}, buildersMax)}
}

// answer answers a request of a growing key. A large reply that finds no room is thrown away, and built again when there is: what waits
// takes no memory but its request. It fails when ctx ends.
func (a *API) answer(ctx context.Context, h *Handler, req *Request) (Reply, error) {
	b, err := a.build(ctx, h, req)
	if err != nil || len(b) <= freeReply {
		return encoded{bytes: b}, err
	}
	r := a.ration
	size := len(b)
	if !r.take(size) {
		b = nil //nolint:wastedassign,ineffassign // free while it waits
		if err := r.wait(ctx, size); err != nil {
			return nil, err
		}
		if b, err = a.build(ctx, h, req); err != nil {
			r.give(size)
			return nil, err
		}
		r.grow(len(b) - size) // things have changed meanwhile
		size = len(b)
	}
	return encoded{bytes: b, free: sync.OnceFunc(func() { r.give(size) })}, nil
}

// answerOnce is answer for a request that changes something, so that it cannot be answered twice: room for size bytes is taken before.
func (a *API) answerOnce(ctx context.Context, h *Handler, req *Request, size int) (Reply, error) {
	r := a.ration
	if err := r.wait(ctx, size); err != nil {
		return nil, err
	}
	if len(req.Body) > largeBody {
		defer enter(a.large)()
	}
	m, err := wire.Decode(req.Header, req.Body)
	if err != nil {
		r.give(size)
		return nil, err
	}
	b := wire.AppendResponse(nil, req.Header, h.answer(ctx, a, req, m))
	r.grow(len(b) - size)
	return encoded{bytes: b, free: sync.OnceFunc(func() { r.give(len(b)) })}, nil
}

// createdReply is about how many bytes the reply to a CreateTopics has, from v5 on with the settings of each topic: of as many topics as its body
// has room for. It is 0 for a small one.
func createdReply(req *Request) int {
	const topic, settings = 8, 2 << 10
	if size := min(len(req.Body)/topic, createdConfigsMax) * settings; req.Key == kmsg.CreateTopics && req.Version >= 5 && size > freeReply {
		return size
	}
	return 0
}

// build makes the bytes of a reply.
func (a *API) build(ctx context.Context, h *Handler, req *Request) ([]byte, error) {
	waited := len(req.Body) > modestBody
	if waited { // a decoded body is some times as large
		defer enter(a.ration.builders)()
	}
	m, err := wire.Decode(req.Header, req.Body)
	if err != nil {
		return nil, err
	}
	if !waited && !a.modest(m) {
		defer enter(a.ration.builders)()
	}
	return wire.AppendResponse(nil, req.Header, h.answer(ctx, a, req, m)), nil
}

// Requests that ask for no more than this are answered without waiting for a place among the builders, where a thousand clients may stand
// that ask for all.
const (
	modestBody       = 4 << 10
	modestPartitions = 1000
	modestNames      = 10
)

// modest reports whether m asks for so little that its response is small while it is built.
func (a *API) modest(m kmsg.Request) bool {
	switch m := m.(type) {
	case *kmsg.MetadataRequest:
		return len(m.Topics) > 0 && a.partitionsOf(m) <= modestPartitions
	case *kmsg.DescribeConfigsRequest:
		return len(m.Resources) <= modestNames
	case *kmsg.DescribeLogDirsRequest:
		return m.Topics != nil && len(m.Topics) <= modestNames
	case *kmsg.DescribeGroupsRequest:
		return len(m.Groups) <= modestNames
	case *kmsg.ConsumerGroupDescribeRequest:
		return len(m.Groups) <= modestNames
	case *kmsg.OffsetFetchRequest:
		return len(m.Groups) <= modestNames
	}
	return false
}

// partitionsOf counts the partitions of the topics that m names.
func (a *API) partitionsOf(m *kmsg.MetadataRequest) (n int) {
	image := a.node.Image()
	for i := range m.Topics {
		t := image.TopicByID(m.Topics[i].TopicID)
		if name := m.Topics[i].Topic; name != nil {
			t = image.Topic(*name)
		}
		if n++; t != nil {
			n += len(t.Partitions)
		}
	}
	return n
}

// enter takes a place, and returns what gives it back.
func enter(places chan struct{}) (leave func()) {
	places <- struct{}{}
	return func() { <-places }
}

// take takes room for size bytes if there is some and nobody waits.
func (r *ration) take(size int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.waiting.Len() > 0 || !r.fitsLocked(size) {
		return false
	}
	r.mu.used += size
	return true
}

func (r *ration) fitsLocked(size int) bool { return r.mu.used == 0 || r.mu.used+size <= r.max }

// wait takes room for size bytes, in its turn, or fails when ctx ends.
func (r *ration) wait(ctx context.Context, size int) error {
	p := &portion{size: size, given: make(chan struct{})}
	r.mu.Lock()
	at := r.mu.waiting.PushBack(p)
	r.serveLocked()
	r.mu.Unlock()
	select {
	case <-p.given:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-p.given: // just now
		r.mu.used -= size
	default:
		r.mu.waiting.Remove(at)
	}
	r.serveLocked()
	return ctx.Err()
}

// give gives size bytes back.
func (r *ration) give(size int) { r.grow(-size) }

// grow counts n bytes more, room or not.
func (r *ration) grow(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.used += n
	r.serveLocked()
}

// serveLocked gives room to those that wait, as long as there is some for the first.
func (r *ration) serveLocked() {
	for e := r.mu.waiting.Front(); e != nil; e = r.mu.waiting.Front() {
		p := e.Value.(*portion) //nolint:errcheck,forcetypeassert // the list has no others
		if !r.fitsLocked(p.size) {
			return
		}
		r.mu.used += p.size
		r.mu.waiting.Remove(e)
		close(p.given)
	}
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
