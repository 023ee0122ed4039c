package api

import (
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// Produce: v3 to v13 (v0 to v2 are advertised and refused, as in Kafka 4: librdkafka compresses only if v0 is there).
//
// **Behaviour**
//
// Appends one batch to each partition named. All batches that a run of requests has for one partition go into one
// append, in the order of the requests. acks=1 is answered when the batch is in the leader's page cache, and on disk where
// flush.messages=1; acks=-1 when everything below its end is committed (partition.Await); acks=0 never: if one fails, the
// connection is closed, so that the client looks for new metadata. An acks=-1 that takes longer than its timeout is answered
// REQUEST_TIMED_OUT; the batch stays. With an error that the batch earned, the log start offset is told too (v5+); not where the
// records are not one batch (ProduceRequest.validateRecords). A duplicate has the offset of the first batch, and as its append time
// that batch's largest timestamp. A partition whose topic is deleted while its answer waits is UNKNOWN_TOPIC_OR_PARTITION.
//
// Per partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v13+), NOT_LEADER_OR_FOLLOWER with the leader (v10+),
// INVALID_REQUIRED_ACKS, NOT_ENOUGH_REPLICAS (acks=-1), UNSUPPORTED_COMPRESSION_TYPE (zstd below v7), INVALID_TOPIC_EXCEPTION
// (internal topics), and what the batch itself deserves: CORRUPT_MESSAGE, INVALID_RECORD with the records (v8+), MESSAGE_TOO_LARGE,
// INVALID_TIMESTAMP, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, KAFKA_STORAGE_ERROR.
//
// **Differences from Apache Kafka**
//
// Transactions do not exist yet: a transactional id or a transactional batch is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED, as
// Kafka refuses those that a producer may not use. A partition that is named twice in one request gets both batches; Kafka keeps the last. Topics are created by Metadata only, never here (as in Kafka).
//
// No records at all get INVALID_RECORD; Kafka never answers. So do bytes behind the batch, which Kafka ignores, and a delete horizon;
// the flag of LogAppendTime gets INVALID_TIMESTAMP: Kafka drops both flags. Compressed records are decompressed only where a check
// needs it, so those that cannot be are taken; Kafka answers UNKNOWN_SERVER_ERROR, also to an unknown codec, which gets INVALID_RECORD. Where
// acks=-1 means an fsync, a timeout of 0 is over before it. Every error has a message (v8+).
//
// **Versions**
//
//	v3  record batches of magic 2, transactional id (KIP-98)
//	v5  log start offset (KIP-107)
//	v7  zstd (KIP-110)
//	v8  record errors and an error message (KIP-467)
//	v9  flexible
//	v10 current leader and its endpoint (KIP-951)
//	v11 TRANSACTION_ABORTABLE (KIP-890), v12 transactions v2
//	v13 topic ids (KIP-516)

// produceReply waits for a produce request's batches to be committed and says what became of them.
type produceReply struct {
	api      *API
	header   wire.Header
	conn     *Conn
	acks     int16
	deadline time.Time // of acks=-1 only
	topics   []produceTopic
	parts    []producePart
	// settled is the number of leading parts whose outcome is known.
	settled int
	watch   watch
	resp    wire.ProduceResponse
}

// produceTopic is a topic of the request; its parts are parts[from:to].
type produceTopic struct {
	name     string // below v13
	id       topic.ID
	from, to int
}

// producePart is one partition of the request. If err was set before the append there is no partition to wait for.
type producePart struct {
	index     int32
	partition *partition.Partition
	batch     partition.Produce
	waits     bool // the answer waits for the batch to be committed
	judged    bool // an error shows the log start: it is of one whole batch for a topic that clients may write to
}

// produce is stage one: it finds the partitions and hands their batches to the stage, which appends them.
func (a *API) produce(s *stage, req *Request) (Reply, error) {
	m := a.produceRequests.Get().(*kmsg.ProduceRequest)
	defer a.produceRequests.Put(m)
	if err := wire.DecodeProduce(m, req.Header, req.Body); err != nil {
		return nil, err
	}
	r := a.newProduceReply(req, m)
	refused := refuseProduce(m)
	if refused == nil {
		refused = a.node.Writable()
	}
	for i := range m.Topics {
		r.begin(s, &m.Topics[i], refused)
	}
	return r, nil
}

// newProduceReply takes a reply with room for all parts, since the stage points at their batches.
func (a *API) newProduceReply(req *Request, m *kmsg.ProduceRequest) *produceReply {
	total := 0
	for i := range m.Topics {
		total += len(m.Topics[i].Partitions)
	}
	r := a.produceReplies.Get().(*produceReply)
	r.header, r.conn = req.Header, req.Conn
	r.header.ClientID = nil
	r.acks = m.Acks
	r.deadline = req.Received.Add(time.Duration(m.TimeoutMillis) * time.Millisecond)
	if cap(r.parts) < total {
		r.parts = make([]producePart, 0, total)
	}
	return r
}

// refuseProduce says what is wrong with the request as a whole.
func refuseProduce(m *kmsg.ProduceRequest) error {
	if m.Acks < -1 || m.Acks > 1 {
		return refuse(kerr.InvalidRequiredAcks, "acks is %d, expected 0, 1 or -1", m.Acks)
	}
	if m.TransactionID != nil && *m.TransactionID != "" {
		return errTransactions
	}
	return nil
}

// begin finds one topic's partitions.
func (r *produceReply) begin(s *stage, t *kmsg.ProduceRequestTopic, refused error) {
	rt := produceTopic{id: t.TopicID, from: len(r.parts)}
	for i := range t.Partitions {
		tp := &t.Partitions[i]
		r.parts = append(r.parts, producePart{index: tp.Partition})
		part := &r.parts[len(r.parts)-1]
		part.batch = partition.Produce{Records: tp.Records, Base: -1, AppendTime: -1, Err: refused}
		r.place(s, t, part)
		if rt.name == "" && part.partition != nil {
			rt.name = part.partition.ID().Topic
		}
	}
	if rt.name == "" { // the request's string is the frame's
		rt.name = strings.Clone(t.Topic)
	}
	rt.to = len(r.parts)
	r.topics = append(r.topics, rt)
}

// place finds the partition of a part and gives its batch to the stage, or refuses it.
func (r *produceReply) place(s *stage, t *kmsg.ProduceRequestTopic, part *producePart) {
	b, whole := &part.batch, false
	if b.Err == nil {
		whole, b.Err = r.admit(b.Records)
	}
	if b.Err == nil {
		part.partition, b.Err = r.api.find(r.header.Version >= 13, t.Topic, t.TopicID, part.index)
	}
	if b.Err == nil && topic.IsInternal(part.partition.ID().Topic) {
		b.Err = refuse(kerr.InvalidTopicException, "clients may not write to internal topic %s", part.partition.ID().Topic)
	}
	part.judged = whole && b.Err == nil
	if b.Err == nil && r.acks == -1 {
		b.Err = r.api.enoughReplicas(part.partition.ID())
	}
	if b.Err != nil {
		b.Records = nil
		return
	}
	part.waits = r.acks == -1 || r.acks == 1 && part.partition.SyncsAppends()
	s.add(part.partition, b)
}

// admit refuses batches by what the request's version or this broker does not know; all else is the partition's to judge.
// whole reports whether the records are as long as one batch says it is.
func (r *produceReply) admit(records []byte) (whole bool, err error) {
	header, err := batch.HeaderOf(records)
	switch {
	case err != nil:
		return false, nil //nolint:nilerr // the partition says it better
	case header.Codec() == batch.CodecZstd && r.header.Version < 7:
		return false, refuse(kerr.UnsupportedCompressionType, "zstd needs Produce v7, this is v%d", r.header.Version)
	case header.IsTransactional():
		return false, errTransactions
	}
	return header.Size() == len(records), nil
}

// enoughReplicas refuses an acks=-1 write while fewer replicas are in sync than min.insync.replicas, which never asks for more than there
// are (Kafka's Partition.effectiveMinIsr).
func (a *API) enoughReplicas(id partition.ID) error {
	t := a.node.Image().Topic(id.Topic)
	if t == nil || int(id.Index) >= len(t.Partitions) {
		return nil // deleted since; the append says so
	}
	p := &t.Partitions[id.Index]
	if len(p.ISR) >= len(p.Replicas) {
		return nil
	}
	if needed := min(a.node.TopicOptions(id.Topic).MinISR, len(p.Replicas)); len(p.ISR) < needed {
		return refuse(kerr.NotEnoughReplicas, "%d replicas of %s-%d are in sync, min.insync.replicas asks for %d", len(p.ISR), id.Topic, id.Index, needed)
	}
	return nil
}

// firstError is the first part's error.
func (r *produceReply) firstError() error {
	for i := range r.parts {
		if err := r.parts[i].batch.Err; err != nil {
			return fmt.Errorf("produce with acks=0 to %d: %w", r.parts[i].index, err)
		}
	}
	return nil
}

// Poll implements Reply.
func (r *produceReply) Poll(now time.Time, w *partition.Waiter, out *Out) (bool, time.Time) {
	if !r.settle(now, w) {
		return false, r.until()
	}
	r.encode(out)
	r.Drop()
	return true, time.Time{}
}

// until is how long the reply is willing to wait: acks=1 has no timeout, as the sync that it may wait for is a part of the append in Kafka.
func (r *produceReply) until() time.Time {
	if r.acks == 1 {
		return time.Time{}
	}
	return r.deadline
}

// settle looks at the parts that are not known to be committed, in order, and reports whether all are settled: committed,
// failed or out of time.
func (r *produceReply) settle(now time.Time, w *partition.Waiter) bool {
	for ; r.settled < len(r.parts); r.settled++ {
		part := &r.parts[r.settled]
		if part.batch.Err != nil || !part.waits {
			continue
		}
		done, err := r.watch.committed(part.partition, part.batch.End, w)
		switch {
		case err != nil:
			part.batch.Err = r.api.closed(part.partition, false, err)
		case !done && (r.acks == 1 || now.Before(r.deadline)):
			return false
		case !done:
			part.batch.Err = kerr.RequestTimedOut
		}
	}
	return true
}

// encode appends the response.
func (r *produceReply) encode(out *Out) {
	r.resp.Reset()
	for i := range r.topics {
		t := &r.topics[i]
		rt := r.resp.AddTopic(t.name, t.id)
		for j := t.from; j < t.to; j++ {
			part := &r.parts[j]
			rp := rt.AddPartition(part.index)
			if part.batch.Err != nil {
				r.encodeError(rp, t, part)
				continue
			}
			rp.BaseOffset, rp.AppendTime = part.batch.Base, part.batch.AppendTime
			rp.LogStart = part.partition.Offsets().Start
		}
	}
	out.Bytes = r.resp.AppendTo(out.Bytes, r.header)
}

// encodeError fills in what a client may know of a failed part. One that timed out has its offset: it was appended.
func (r *produceReply) encodeError(rp *wire.ProducePartition, t *produceTopic, part *producePart) {
	err := part.batch.Err
	rp.ErrorCode = r.api.faultOf(r.header, r.conn, err)
	rp.ErrorMessage = sentence(err)
	for _, e := range part.batch.RecordErrors {
		rp.RecordErrors = append(rp.RecordErrors, wire.RecordError{Index: e.Index, Message: e.Message})
	}
	switch rp.ErrorCode {
	case kerr.RequestTimedOut.Code:
		rp.BaseOffset, rp.AppendTime = part.batch.Base, part.batch.AppendTime
	case kerr.NotLeaderForPartition.Code:
		if leader, node, ok := r.api.leader(r.conn, t.name, t.id, part.index); ok {
			rp.Leader = leader
			r.resp.Nodes = addNode(r.resp.Nodes, node)
		}
	case kerr.MessageTooLarge.Code, kerr.RecordListTooLarge.Code, kerr.CorruptMessage.Code, kerr.KafkaStorageError.Code:
	default: // what Kafka's ReplicaManager.appendRecordsToLeader counts as a failed record
		if part.judged {
			rp.LogStart = part.partition.Offsets().Start
		}
	}
}

// Held implements Reply.
func (r *produceReply) Held() int {
	return cap(r.parts)*int(unsafe.Sizeof(producePart{})) + cap(r.topics)*int(unsafe.Sizeof(produceTopic{}))
}

// Drop implements Reply.
func (r *produceReply) Drop() {
	r.watch.stop()
	clear(r.parts)
	clear(r.topics)
	if cap(r.parts) > keptParts {
		return
	}
	*r = produceReply{api: r.api, topics: r.topics[:0], parts: r.parts[:0], resp: r.resp}
	r.api.produceReplies.Put(r)
}

// keptParts bounds the partitions of a reply whose memory is used again.
const keptParts = 256
