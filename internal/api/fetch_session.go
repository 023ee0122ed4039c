package api

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// The epochs of a fetch session that are not ordinary (KIP-227; Kafka's FetchMetadata).
const (
	sessionInitial int32 = 0  // a full fetch that asks for a session
	sessionFinal   int32 = -1 // a full fetch that wants none, and ends the one it names
)

// cachedPartitionsMax bounds the partitions of all sessions together: about 200 bytes each. A client that wants more gets
// full fetches. A name counts as one partition more for each nameUnit bytes: names of topics that are not there may have 32 KiB.
const (
	cachedPartitionsMax = 500_000
	nameUnit            = 200
)

// cost is how many partitions c counts as.
func (c *cachedPart) cost() int { return 1 + len(c.key.name)/nameUnit }

// sessions is the bounded cache of fetch sessions (KIP-227; Kafka's FetchSessionCache). Its lock is never held while a
// session's is taken.
type sessions struct {
	slots int
	idle  time.Duration
	mu    struct {
		sync.Mutex
		byID       map[int32]*session
		partitions int // of all sessions
	}
}

// session is what one consumer fetches, kept so that its requests and responses need name only what changed.
type session struct {
	id      int32
	withIDs bool // names topics by id (Fetch v13+)
	created time.Time
	// Under the cache's lock:
	lastUsed time.Time
	size     int // what its partitions cost
	mu       struct {
		sync.Mutex
		epoch int32 // of the next request
		parts []*cachedPart
		byKey map[partKey]*cachedPart
		cost  int // of parts
	}
}

// partKey names a partition by what the client names its topic with; the other of name and id is zero.
type partKey struct {
	name  string
	id    topic.ID
	index int32
}

// fetchWish is what a client asks of one partition.
type fetchWish struct {
	offset      batch.Offset
	leaderEpoch batch.Epoch
	lastEpoch   batch.Epoch
	maxBytes    int
}

// cachedPart is a partition of a session: the client's last wish and the marks that the client was told.
type cachedPart struct {
	key                  partKey
	topic                string // of an id: the name that the topic has, or had
	wish                 fetchWish
	highWatermark, start batch.Offset
	forgotten            bool
}

func newSessions(slots int, idle time.Duration) *sessions {
	c := &sessions{slots: slots, idle: idle}
	c.mu.byID = make(map[int32]*session)
	return c
}

// use finds the session and marks it as used.
func (c *sessions) use(now time.Time, id int32) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.mu.byID[id]
	if s != nil {
		s.lastUsed = now
	}
	return s
}

// remove forgets the session; it may be gone already.
func (c *sessions) remove(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.mu.byID[id]; s != nil {
		c.removeLocked(s)
	}
}

func (c *sessions) removeLocked(s *session) {
	delete(c.mu.byID, s.id)
	c.mu.partitions -= s.size
}

// create makes a session of what a full fetch read and is about to say, and returns its id; 0 if there is no room and no session
// may be evicted for it.
func (c *sessions) create(now time.Time, withIDs bool, parts []fetchPart) int32 {
	s := &session{withIDs: withIDs, created: now, lastUsed: now}
	s.mu.epoch = nextSessionEpoch(sessionInitial)
	s.mu.byKey = make(map[partKey]*cachedPart, len(parts))
	for i := range parts {
		p := &parts[i]
		cached := &cachedPart{key: partKey{p.name, p.id, p.index}, wish: p.wish}
		if p.partition != nil {
			cached.topic = p.partition.ID().Topic
		}
		cached.told(p)
		if s.mu.byKey[cached.key] == nil {
			s.mu.parts = append(s.mu.parts, cached)
			s.mu.byKey[cached.key] = cached
			s.mu.cost += cached.cost()
		}
	}
	s.size = s.mu.cost
	return c.add(now, s)
}

// add gives the session an id and a place, and returns the id, or 0.
func (c *sessions) add(now time.Time, s *session) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slots < 1 || len(c.mu.byID) >= c.slots && !c.evictLocked(now, s.size) {
		return 0
	}
	if c.mu.partitions+s.size > cachedPartitionsMax {
		return 0
	}
	s.id = c.freeIDLocked()
	c.mu.byID[s.id] = s
	c.mu.partitions += s.size
	return s.id
}

// evictLocked makes room for a session of size partitions by Kafka's rules (FetchSessionCache.tryEvict): the least recently
// used one goes if it is stale; else the smallest, if it is smaller than the new one and not recently created.
func (c *sessions) evictLocked(now time.Time, size int) bool {
	var oldest, smallest *session
	for _, s := range c.mu.byID {
		if oldest == nil || s.lastUsed.Before(oldest.lastUsed) {
			oldest = s
		}
		if now.Sub(s.created) > c.idle && (smallest == nil || s.size < smallest.size) {
			smallest = s
		}
	}
	switch {
	case oldest != nil && now.Sub(oldest.lastUsed) > c.idle:
		c.removeLocked(oldest)
	case smallest != nil && smallest.size < size:
		c.removeLocked(smallest)
	default:
		return false
	}
	return true
}

// freeIDLocked is a positive id that no session has. It is random, so that a client cannot guess another's.
func (c *sessions) freeIDLocked() int32 {
	for {
		id := 1 + rand.Int32N(math.MaxInt32-1)
		if c.mu.byID[id] == nil {
			return id
		}
	}
}

// resize tells the cache that the session has size partitions now. It reports false, and the session is forgotten, if that is
// too many or the session was evicted.
func (c *sessions) resize(s *session, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.byID[s.id] != s {
		return false
	}
	c.mu.partitions += size - s.size
	s.size = size
	if c.mu.partitions > cachedPartitionsMax {
		c.removeLocked(s)
		return false
	}
	return true
}

// nextSessionEpoch is the epoch after epoch (Kafka's FetchMetadata.nextEpoch).
func nextSessionEpoch(epoch int32) int32 {
	switch {
	case epoch < 0:
		return sessionFinal
	case epoch == math.MaxInt32:
		return 1
	}
	return epoch + 1
}

// advance takes the epoch of a request and reports whether it is the one expected.
func (s *session) advance(epoch int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.epoch != epoch {
		return false
	}
	s.mu.epoch = nextSessionEpoch(epoch)
	return true
}

// update takes what a request changes: wishes of partitions, new or known, and partitions to forget. It returns what those that are left
// cost.
func (s *session) update(wishes []*cachedPart, forget []partKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range wishes {
		if have := s.mu.byKey[w.key]; have != nil {
			have.wish = w.wish
			continue
		}
		s.mu.byKey[w.key] = w
		s.mu.parts = append(s.mu.parts, w)
		s.mu.cost += w.cost()
	}
	s.forgetLocked(forget)
	return s.mu.cost
}

func (s *session) forgetLocked(forget []partKey) {
	if len(forget) == 0 {
		return
	}
	for _, key := range forget {
		if p := s.mu.byKey[key]; p != nil {
			p.forgotten = true
			s.mu.cost -= p.cost()
			delete(s.mu.byKey, key)
		}
	}
	kept := s.mu.parts[:0]
	for _, p := range s.mu.parts {
		if !p.forgotten {
			kept = append(kept, p)
		}
	}
	clear(s.mu.parts[len(kept):])
	s.mu.parts = kept
}

// each calls fn with every partition in the order in which they are to be read.
func (s *session) each(fn func(*cachedPart)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.mu.parts {
		fn(p)
	}
}

// told takes what a response says of the partitions that were read: changed reports, and records, what the client does not know
// yet. Partitions with records move to the end, so that those behind them come first next time.
func (s *session) told(parts []fetchPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	served := make(map[*cachedPart]bool)
	for i := range parts {
		p := &parts[i]
		p.omit = !p.cached.told(p)
		if p.data.Len() > 0 {
			served[p.cached] = true
		}
	}
	if len(served) == 0 {
		return
	}
	front, back := make([]*cachedPart, 0, len(s.mu.parts)), make([]*cachedPart, 0, len(served))
	for _, p := range s.mu.parts {
		if served[p] {
			back = append(back, p)
		} else {
			front = append(front, p)
		}
	}
	front = append(front, back...)
	s.mu.parts = front
}

// tell is told for one partition.
func (s *session) tell(p *fetchPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.omit = !p.cached.told(p)
}

// outlived judges topic ids of the session that the lookup of parts did not find. As in Kafka, whose sessions keep the name of each
// id, the client is told that there is no such topic, or that the name is another topic's by now (FetchSession.CachedPartition,
// KafkaApis.handleFetchRequest, ReplicaManager.readFromLog). An id that was never known stays UNKNOWN_TOPIC_ID.
func (s *session) outlived(image *meta.Image, parts []fetchPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range parts {
		p := &parts[i]
		c := p.cached
		switch {
		case p.partition != nil:
			c.topic = p.partition.ID().Topic
		case c.topic == "" || code(p.refused) != kerr.UnknownTopicID.Code:
		case image.Topic(c.topic) == nil:
			p.refused = refuse(kerr.UnknownTopicOrPartition, "topic %s was deleted", c.topic)
		default:
			p.refused = refuse(kerr.InconsistentTopicID, "topic %s was deleted, and created again with another id", c.topic)
		}
	}
}

// told records what a response is about to say of the partition and reports whether it must be in the response (Kafka's
// CachedPartition.maybeUpdateResponseData). After an error the partition is sent again when the error has gone.
func (c *cachedPart) told(p *fetchPart) bool {
	changed := p.data.Len() > 0 || p.diverges || p.marks.HighWatermark != c.highWatermark || p.marks.Start != c.start
	c.highWatermark, c.start = p.marks.HighWatermark, p.marks.Start
	if p.err != nil {
		c.highWatermark = -1
		return true
	}
	return changed
}
