package wire

import (
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// FetchResponse is a fetch response of any served version, without its records: AppendTo encodes everything else and
// says where they belong. Reset and fill it again: once it has grown, filling and encoding it allocate nothing.
// Pointers that AddTopic and AddPartition return are good until the next Add.
type FetchResponse struct {
	ThrottleMillis int32
	ErrorCode      int16 // from version 7 on
	SessionID      int32 // from version 7 on; 0 is no session
	Topics         []FetchTopic
	// Nodes are the addresses of the leaders that partitions hint at, from version 16 on.
	Nodes []Node

	cuts []Cut
}

// FetchTopic is one topic of a FetchResponse: by name up to version 12, then by id.
type FetchTopic struct {
	Name       string
	ID         topic.ID
	Partitions []FetchPartition
}

// FetchPartition is one partition of a FetchResponse. The tagged fields Diverging, Leader and Snapshot exist from
// version 12 on and are not sent while both of their numbers are -1.
type FetchPartition struct {
	Index            int32
	ErrorCode        int16
	HighWatermark    batch.Offset
	LastStable       batch.Offset
	LogStart         batch.Offset // from version 5 on
	ListsAborted     bool         // aborted transactions are a list, perhaps an empty one; else null
	Aborted          []AbortedTxn // by first offset, ascending: clients rely on it
	PreferredReplica int32        // from version 11 on; -1 is none (KIP-392)
	RecordsSize      int          // bytes of records, sent beside the encoded bytes
	Diverging        EpochEnd     // for followers: where their log leaves the leader's (KIP-595)
	Leader           Leader
	Snapshot         EpochEnd // for followers of the metadata log (KIP-630)
}

// AbortedTxn is a transaction that a read_committed consumer skips.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset batch.Offset
}

// EpochEnd is an epoch and the offset at which it ends.
type EpochEnd struct {
	Epoch batch.Epoch
	End   batch.Offset
}

// Cut says where records go: Size bytes of Topics[Topic].Partitions[Partition] stand before the byte at position At
// of the encoded slice. All sizes that the encoded bytes tell have them counted.
type Cut struct {
	At               int
	Size             int
	Topic, Partition int
}

var noEpochEnd = EpochEnd{Epoch: batch.NoEpoch, End: -1}

// Reset empties the response and keeps its memory. Cuts that AppendTo gave are gone.
func (r *FetchResponse) Reset() {
	*r = FetchResponse{Topics: r.Topics[:0], Nodes: r.Nodes[:0], cuts: r.cuts[:0]}
}

// AddTopic adds a topic without partitions.
func (r *FetchResponse) AddTopic(name string, id topic.ID) *FetchTopic {
	r.Topics = next(r.Topics)
	t := &r.Topics[len(r.Topics)-1]
	*t = FetchTopic{Name: name, ID: id, Partitions: t.Partitions[:0]}
	return t
}

// AddPartition adds a partition without error and records, whose offsets are -1 and which has no hints.
func (t *FetchTopic) AddPartition(index int32) *FetchPartition {
	t.Partitions = next(t.Partitions)
	p := &t.Partitions[len(t.Partitions)-1]
	*p = FetchPartition{
		Index:            index,
		HighWatermark:    -1,
		LastStable:       -1,
		LogStart:         -1,
		Aborted:          p.Aborted[:0],
		PreferredReplica: -1,
		Diverging:        noEpochEnd,
		Leader:           noLeader,
		Snapshot:         noEpochEnd,
	}
	return p
}

// AppendTo appends the whole frame that answers h, records left out: size, header and body. The caller writes
// the bytes up to the first cut, its records, the bytes up to the next cut, and so on. Partitions without records have
// no cut. The cuts are in order and good until the next AppendTo or Reset. Sizes over 2 GiB in all cannot be sent.
func (r *FetchResponse) AppendTo(dst []byte, h Header) ([]byte, []Cut) {
	start := len(dst)
	r.cuts = r.cuts[:0]
	dst = appendResponseHeader(dst, h)
	dst = kbin.AppendInt32(dst, r.ThrottleMillis)
	if h.Version >= 7 {
		dst = kbin.AppendInt16(dst, r.ErrorCode)
		dst = kbin.AppendInt32(dst, r.SessionID)
	}
	dst = appendCount(dst, len(r.Topics), h.Flexible)
	for i := range r.Topics {
		dst = r.appendTopic(dst, h, i)
	}
	switch {
	case h.Version >= 16:
		dst = appendNodes(dst, r.Nodes)
	default:
		dst = appendNoTags(dst, h.Flexible)
	}
	records := 0
	for _, c := range r.cuts {
		records += c.Size
	}
	return sizeFrame(dst, start, records), r.cuts
}

func (r *FetchResponse) appendTopic(dst []byte, h Header, i int) []byte {
	t := &r.Topics[i]
	if h.Version >= 13 {
		dst = append(dst, t.ID[:]...)
	} else {
		dst = appendText(dst, t.Name, h.Flexible)
	}
	dst = appendCount(dst, len(t.Partitions), h.Flexible)
	for j := range t.Partitions {
		p := &t.Partitions[j]
		dst = p.append(dst, h)
		if p.RecordsSize > 0 {
			r.cuts = append(r.cuts, Cut{At: len(dst), Size: p.RecordsSize, Topic: i, Partition: j})
		}
		if h.Flexible {
			dst = p.appendTags(dst)
		}
	}
	return appendNoTags(dst, h.Flexible)
}

// append appends the fields of a partition up to where its records belong.
func (p *FetchPartition) append(dst []byte, h Header) []byte {
	dst = kbin.AppendInt32(dst, p.Index)
	dst = kbin.AppendInt16(dst, p.ErrorCode)
	dst = kbin.AppendInt64(dst, int64(p.HighWatermark))
	dst = kbin.AppendInt64(dst, int64(p.LastStable))
	if h.Version >= 5 {
		dst = kbin.AppendInt64(dst, int64(p.LogStart))
	}
	dst = p.appendAborted(dst, h)
	if h.Version >= 11 {
		dst = kbin.AppendInt32(dst, p.PreferredReplica)
	}
	if h.Flexible {
		return kbin.AppendUvarint(dst, uint32(p.RecordsSize)+1)
	}
	return kbin.AppendInt32(dst, int32(p.RecordsSize))
}

func (p *FetchPartition) appendAborted(dst []byte, h Header) []byte {
	switch {
	case p.ListsAborted:
		dst = appendCount(dst, len(p.Aborted), h.Flexible)
	case h.Flexible:
		return append(dst, 0)
	default:
		return kbin.AppendInt32(dst, -1)
	}
	for _, a := range p.Aborted {
		dst = kbin.AppendInt64(dst, a.ProducerID)
		dst = kbin.AppendInt64(dst, int64(a.FirstOffset))
		dst = appendNoTags(dst, h.Flexible)
	}
	return dst
}

// appendTags appends the partition's tagged fields, ascending by tag. The two of an epoch and its end have their
// numbers in opposite orders.
func (p *FetchPartition) appendTags(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, 0)
	if p.Diverging != noEpochEnd {
		dst[at]++
		dst = append(dst, 0, sizeEpochEnd)
		dst = kbin.AppendInt32(dst, int32(p.Diverging.Epoch))
		dst = append(kbin.AppendInt64(dst, int64(p.Diverging.End)), 0)
	}
	if p.Leader != noLeader {
		dst[at]++
		dst = appendLeader(dst, 1, p.Leader)
	}
	if p.Snapshot != noEpochEnd {
		dst[at]++
		dst = append(dst, 2, sizeEpochEnd)
		dst = kbin.AppendInt64(dst, int64(p.Snapshot.End))
		dst = append(kbin.AppendInt32(dst, int32(p.Snapshot.Epoch)), 0)
	}
	return dst
}
