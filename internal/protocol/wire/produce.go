package wire

import (
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// ProduceResponse is a produce response of any served version. Reset and fill it again: once it has grown, filling
// and encoding it allocate nothing. Pointers that AddTopic and AddPartition return are good until the next Add.
type ProduceResponse struct {
	Topics         []ProduceTopic
	ThrottleMillis int32
	// Nodes are the addresses of the leaders that partitions hint at, from version 10 on.
	Nodes []Node
}

// ProduceTopic is one topic of a ProduceResponse: by name up to version 12, then by id.
type ProduceTopic struct {
	Name       string
	ID         topic.ID
	Partitions []ProducePartition
}

// ProducePartition is one partition of a ProduceResponse.
type ProducePartition struct {
	Index        int32
	ErrorCode    int16
	BaseOffset   batch.Offset // -1 if nothing was appended
	AppendTime   int64        // ms, or -1 unless the topic has message.timestamp.type=LogAppendTime
	LogStart     batch.Offset // -1 if not known; from version 5 on
	RecordErrors []RecordError
	ErrorMessage string // "" is sent as null; from version 8 on
	Leader       Leader // from version 10 on; -1, -1 is not sent
}

// RecordError says which record made a batch fail (KIP-467), from version 8 on.
type RecordError struct {
	Index   int32  // in its batch
	Message string // "" is sent as null
}

// Reset empties the response and keeps its memory.
func (r *ProduceResponse) Reset() {
	*r = ProduceResponse{Topics: r.Topics[:0], Nodes: r.Nodes[:0]}
}

// AddTopic adds a topic without partitions.
func (r *ProduceResponse) AddTopic(name string, id topic.ID) *ProduceTopic {
	r.Topics = next(r.Topics)
	t := &r.Topics[len(r.Topics)-1]
	*t = ProduceTopic{Name: name, ID: id, Partitions: t.Partitions[:0]}
	return t
}

// AddPartition adds a partition without error, whose offsets and append time are -1 and which has no leader hint.
func (t *ProduceTopic) AddPartition(index int32) *ProducePartition {
	t.Partitions = next(t.Partitions)
	p := &t.Partitions[len(t.Partitions)-1]
	*p = ProducePartition{
		Index:        index,
		BaseOffset:   -1,
		AppendTime:   -1,
		LogStart:     -1,
		RecordErrors: p.RecordErrors[:0],
		Leader:       noLeader,
	}
	return p
}

// AppendTo appends the whole frame that answers h: size, header and body.
func (r *ProduceResponse) AppendTo(dst []byte, h Header) []byte {
	start := len(dst)
	dst = appendResponseHeader(dst, h)
	dst = appendCount(dst, len(r.Topics), h.Flexible)
	for i := range r.Topics {
		dst = r.Topics[i].appendTo(dst, h)
	}
	dst = kbin.AppendInt32(dst, r.ThrottleMillis)
	switch {
	case h.Version >= 10:
		dst = appendNodes(dst, r.Nodes)
	default:
		dst = appendNoTags(dst, h.Flexible)
	}
	return sizeFrame(dst, start, 0)
}

func (t *ProduceTopic) appendTo(dst []byte, h Header) []byte {
	if h.Version >= 13 {
		dst = append(dst, t.ID[:]...)
	} else {
		dst = appendText(dst, t.Name, h.Flexible)
	}
	dst = appendCount(dst, len(t.Partitions), h.Flexible)
	for i := range t.Partitions {
		dst = t.Partitions[i].appendTo(dst, h)
	}
	return appendNoTags(dst, h.Flexible)
}

func (p *ProducePartition) appendTo(dst []byte, h Header) []byte {
	dst = kbin.AppendInt32(dst, p.Index)
	dst = kbin.AppendInt16(dst, p.ErrorCode)
	dst = kbin.AppendInt64(dst, int64(p.BaseOffset))
	dst = kbin.AppendInt64(dst, p.AppendTime)
	if h.Version >= 5 {
		dst = kbin.AppendInt64(dst, int64(p.LogStart))
	}
	if h.Version >= 8 {
		dst = appendCount(dst, len(p.RecordErrors), h.Flexible)
		for i := range p.RecordErrors {
			e := &p.RecordErrors[i]
			dst = kbin.AppendInt32(dst, e.Index)
			dst = appendNullText(dst, e.Message, h.Flexible)
			dst = appendNoTags(dst, h.Flexible)
		}
		dst = appendNullText(dst, p.ErrorMessage, h.Flexible)
	}
	if h.Version >= 10 && p.Leader != noLeader {
		return appendLeader(append(dst, 1), 0, p.Leader)
	}
	return appendNoTags(dst, h.Flexible)
}
