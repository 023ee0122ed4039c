package api

import (
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/storage/log"
)

// Fetch: v4 to v18 (v0 to v3 want message formats that are not served).
//
// **Behaviour**
//
// Answers as soon as the partitions have min bytes of committed records between them (or max bytes, if that is less), one of them has an
// error or diverges, or the wait is over. Partitions that are not there do not end the wait for the others: a consumer of a topic that was
// deleted would not wait at all. The first batch of the first partition with records is sent whole however large it is (KIP-74); all else
// keeps to the request's max bytes (and fetch.max.bytes) and to each partition's. A batch that holds the offset asked for is sent
// from its beginning. A record that was acknowledged before the fetch came is seen: a response that would end before it waits
// for the sync under way, as long as the fetch waits for records, and 500 ms at least. In a session (KIP-227) only what changed is sent, and partitions that were served go behind those that were not.
//
// Per partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v13+), OFFSET_OUT_OF_RANGE with the marks, FENCED_LEADER_EPOCH and
// UNKNOWN_LEADER_EPOCH (KIP-320), NOT_LEADER_OR_FOLLOWER with the leader (v16+), KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE. zstd is sent
// to every version: v10 (KIP-110) only says that the client knows it, and Kafka 4 does not ask.
// Where a topic was deleted: UNKNOWN_TOPIC_OR_PARTITION to a fetch that waits, and in a session that knew it,
// where INCONSISTENT_TOPIC_ID says that another topic has its name now; UNKNOWN_TOPIC_ID to a full fetch by its id. A fetch by name
// reads the new topic, whose leader epochs begin at 0 again. For the whole: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
//
// **Differences from Apache Kafka**
//
// A fetch of a follower (replica id 0 and above) is refused with CLUSTER_AUTHORIZATION_FAILED until replication exists. The rack is
// ignored. The partitions of all sessions are bounded as well as their number. A response that waits for the network holds no records: high
// watermark and records are taken when it is first in its connection's queue.
//
// **Versions**
//
//	v4  isolation level (KIP-98), v5 log start offset (KIP-107)
//	v7  sessions (KIP-227), v9 leader epoch (KIP-320), v11 rack (KIP-392)
//	v12 flexible, last fetched epoch and divergence (KIP-595)
//	v13 topic ids (KIP-516)
//	v15 replica state (KIP-903), v16 leader endpoints (KIP-951), v17 directory ids (KIP-853), v18 high watermark of followers (KIP-1166)

// fetchReply waits for enough records and sends them.
type fetchReply struct {
	api      *API
	header   wire.Header
	conn     *Conn
	deadline time.Time
	// settleBy is until when the reply waits for records that were acknowledged before it was first looked at.
	settleBy  time.Time
	promised  bool // the parts know what was promised
	minBytes  int
	maxBytes  int
	isolation partition.Isolation
	// err fails the request as a whole.
	err error

	// session is set for an incremental fetch; create asks for a session to be made with the response.
	session *session
	create  bool
	parts   []fetchPart

	waiter  *partition.Waiter // watches the partitions
	resp    wire.FetchResponse
	scratch []byte // the encoded response without records
}

// fetchPart is one partition of a fetch.
type fetchPart struct {
	name      string // below v13
	id        topic.ID
	index     int32
	wish      fetchWish
	cached    *cachedPart // of an incremental fetch
	partition *partition.Partition
	refused   error        // found in stage one
	promised  batch.Offset // what was acknowledged when the reply was first looked at

	// The outcome, from when the reply is ready until it is encoded.
	err      error
	data     log.Range
	marks    partition.Offsets
	diverges bool
	// unsettled: what was promised is not all committed, and there was room for more.
	unsettled bool
	omit      bool         // an incremental response has nothing new to say
	sent      batch.Offset // the offset after the last whole batch that leaves
	diverged  wire.EpochEnd
}

// fetch is stage one: it takes the offsets that are asked for and finds the partitions.
func (a *API) fetch(_ *stage, req *Request, m *kmsg.FetchRequest) (Reply, error) {
	r := a.fetchReplies.Get().(*fetchReply)
	r.header, r.conn = req.Header, req.Conn
	r.header.ClientID = nil
	r.deadline = req.Received.Add(time.Duration(max(m.MaxWaitMillis, 0)) * time.Millisecond)
	r.settleBy = req.Received.Add(max(time.Duration(m.MaxWaitMillis)*time.Millisecond, fetchSettleMin))
	r.maxBytes = min(int(max(m.MaxBytes, 0)), a.opts.FetchMaxBytes)
	r.minBytes = min(int(max(m.MinBytes, 0)), r.maxBytes) // more would never be there
	r.isolation = partition.Isolation(m.IsolationLevel)
	refused := refuseFetch(m)
	r.join(req.Received, m)
	byID := req.Version >= 13
	for i := range r.parts {
		p := &r.parts[i]
		if p.refused = refused; refused == nil {
			p.partition, p.refused = a.find(byID, p.name, p.id, p.index)
		}
	}
	if r.session != nil && byID && refused == nil {
		r.session.outlived(a.node.Image(), r.parts)
	}
	return r, nil
}

// refuseFetch says what is wrong with all partitions of a request.
func refuseFetch(m *kmsg.FetchRequest) error {
	replica := m.ReplicaID
	if m.Version >= 15 {
		replica = m.ReplicaState.ID
	}
	if replica >= 0 {
		return refuse(kerr.ClusterAuthorizationFailed, "broker %d may not replicate from here", replica)
	}
	if m.IsolationLevel != 0 && m.IsolationLevel != 1 {
		return refuse(kerr.InvalidRequest, "isolation level is %d, expected 0 or 1", m.IsolationLevel)
	}
	return nil
}

// join finds out what the request fetches: what it names, or what its session holds after the request's changes (Kafka's
// FetchManager.newContext).
func (r *fetchReply) join(now time.Time, m *kmsg.FetchRequest) {
	if m.SessionEpoch == sessionInitial || m.SessionEpoch == sessionFinal {
		if m.SessionID != 0 {
			r.api.sessions.remove(m.SessionID)
		}
		r.create = m.SessionEpoch == sessionInitial
		named(m, func(key partKey, wish fetchWish) {
			r.parts = append(r.parts, fetchPart{name: key.name, id: key.id, index: key.index, wish: wish})
		})
		return
	}
	s := r.api.sessions.use(now, m.SessionID)
	switch {
	case s == nil:
		r.err = kerr.FetchSessionIDNotFound
	case s.withIDs != (m.Version >= 13):
		r.err = kerr.FetchSessionTopicIDError
	case !s.advance(m.SessionEpoch):
		r.err = kerr.InvalidFetchSessionEpoch
	default:
		r.resume(s, m)
	}
}

// resume changes the session as the request says and takes its partitions. A session that is left without any ends (the response
// has no session id then), as in Kafka.
func (r *fetchReply) resume(s *session, m *kmsg.FetchRequest) {
	var wishes []*cachedPart
	named(m, func(key partKey, wish fetchWish) {
		wishes = append(wishes, &cachedPart{key: key, wish: wish, highWatermark: -1, start: -1})
	})
	left := s.update(wishes, forgotten(m))
	if left == 0 {
		r.api.sessions.remove(s.id)
		return
	}
	if !r.api.sessions.resize(s, left) {
		r.err = kerr.FetchSessionIDNotFound
		return
	}
	r.session = s
	s.each(func(c *cachedPart) {
		r.parts = append(r.parts, fetchPart{name: c.key.name, id: c.key.id, index: c.key.index, wish: c.wish, cached: c})
	})
}

// named calls fn with each partition that the request names.
func named(m *kmsg.FetchRequest, fn func(partKey, fetchWish)) {
	for i := range m.Topics {
		t := &m.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			fn(partKey{name: t.Topic, id: t.TopicID, index: p.Partition}, fetchWish{
				offset:      batch.Offset(p.FetchOffset),
				leaderEpoch: batch.Epoch(max(p.CurrentLeaderEpoch, int32(batch.NoEpoch))),
				lastEpoch:   batch.Epoch(p.LastFetchedEpoch),
				maxBytes:    int(max(p.PartitionMaxBytes, 0)),
			})
		}
	}
}

// forgotten are the partitions that the request takes out of its session.
func forgotten(m *kmsg.FetchRequest) (keys []partKey) {
	for i := range m.ForgottenTopics {
		t := &m.ForgottenTopics[i]
		for _, index := range t.Partitions {
			keys = append(keys, partKey{name: t.Topic, id: t.TopicID, index: index})
		}
	}
	return keys
}

// Poll implements Reply.
func (r *fetchReply) Poll(now time.Time, w *partition.Waiter, out *Out) (bool, time.Time) {
	if w != nil {
		r.watch(w)
	}
	if until := r.look(now); now.Before(until) && !r.api.draining.Load() {
		r.release()
		return false, until
	}
	r.encode(now, out)
	r.Drop()
	return true, time.Time{}
}

// look reads what there is and returns until when the reply waits; the zero time if it is ready.
func (r *fetchReply) look(now time.Time) time.Time {
	if r.err != nil {
		return time.Time{}
	}
	if !r.promised {
		r.promise()
	}
	enough, settled := r.read()
	switch {
	case !enough && now.Before(r.deadline):
		return r.deadline
	case !settled:
		return r.settleBy
	}
	return time.Time{}
}

// fetchSettleMin is how long a fetch waits at least for the sync of a record that was acknowledged before it came, also
// if it asks not to wait at all: without that, a client misses its own record for the length of a sync.
const fetchSettleMin = 500 * time.Millisecond

// promise finds out what was acknowledged. All that stands before the fetch in its connection was begun and has left.
func (r *fetchReply) promise() {
	r.promised = true
	for i := range r.parts {
		if p := &r.parts[i]; p.partition != nil {
			p.promised = p.partition.Promised()
		}
	}
}

// watch arranges that w is woken by every partition. A watch fires once, so it is renewed at each look.
func (r *fetchReply) watch(w *partition.Waiter) {
	r.waiter = w
	for i := range r.parts {
		if p := r.parts[i].partition; p != nil {
			p.Watch(w)
		}
	}
}

// release gives up what was read.
func (r *fetchReply) release() {
	for i := range r.parts {
		r.parts[i].drop()
	}
}

// Held implements Reply.
func (r *fetchReply) Held() int { return cap(r.parts) * int(unsafe.Sizeof(fetchPart{})) }

// Drop implements Reply.
func (r *fetchReply) Drop() {
	r.release()
	if r.waiter != nil {
		for i := range r.parts {
			if p := r.parts[i].partition; p != nil {
				p.Unwatch(r.waiter)
			}
		}
	}
	clear(r.parts)
	if cap(r.parts) > keptParts {
		return
	}
	*r = fetchReply{api: r.api, parts: r.parts[:0], resp: r.resp, scratch: r.scratch[:0]}
	r.api.fetchReplies.Put(r)
}
