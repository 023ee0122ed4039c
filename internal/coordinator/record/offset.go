package record

import (
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Versions of OffsetCommitValue: 1 alone has the time of expiry; from 3 on there is the leader epoch; from 4 on it is flexible.
const (
	offsetExpires  = 1
	offsetEpoch    = 3
	offsetFlexible = 4
	offsetNewest   = 4
)

// Record encodes it: version 1 if it expires at a time of its own, which has no place for the leader epoch and the topic's id, as in
// Kafka (GroupCoordinatorRecordHelpers.newOffsetCommitRecord).
func (e Offset) Record() Record {
	w := keyOf(typeOffset, e.Group, e.Topic)
	w.int32(e.Partition)
	if e.Value == nil {
		return Record{Key: w.b}
	}
	version := int16(offsetFlexible)
	if e.Value.Expires != -1 {
		version = offsetExpires
	}
	return Record{Key: w.b, Value: e.Value.encode(version)}
}

func (v *OffsetValue) encode(version int16) []byte {
	w := valueOf(version, version >= offsetFlexible, 24+len(v.Metadata)+19)
	w.int64(int64(v.Offset))
	if version >= offsetEpoch {
		w.int32(int32(v.LeaderEpoch))
	}
	w.text(v.Metadata)
	w.int64(v.Committed)
	if version == offsetExpires {
		w.int64(v.Expires)
	}
	switch {
	case version < offsetFlexible:
	case v.TopicID == topic.ID{}:
		w.noTags()
	default:
		w.oneTag(func(field *writer) { field.id(v.TopicID) })
	}
	return w.b
}

func (d *decoder) offset() Entry {
	return Offset{
		Group: d.key.text(), Topic: d.key.text(), Partition: d.key.Int32(),
		Value: valueIn(d, offsetNewest, offsetFlexible, (*reader).offsetValue),
	}
}

func (r *reader) offsetValue(version int16) *OffsetValue {
	v := &OffsetValue{Offset: batch.Offset(r.Int64()), LeaderEpoch: batch.NoEpoch, Expires: -1}
	if version >= offsetEpoch {
		v.LeaderEpoch = batch.Epoch(r.Int32())
	}
	v.Metadata = r.text()
	v.Committed = r.Int64()
	if version == offsetExpires {
		v.Expires = r.Int64()
	}
	if version >= offsetFlexible {
		r.tags(func(field *reader) { v.TopicID = field.Uuid() })
	}
	return v
}
