package meta

import "github.com/twmb/franz-go/pkg/kbin"

// frameVersion is the first byte of every record (Kafka's MetadataRecordSerde).
const frameVersion = 1

// AppendRecord adds r as the value of a log record: frame version, api key, version, fields.
func AppendRecord(dst []byte, r Record) []byte {
	dst = kbin.AppendUvarint(dst, frameVersion)
	dst = kbin.AppendUvarint(dst, uint32(uint16(r.key())))
	dst = kbin.AppendUvarint(dst, uint32(uint16(r.version())))
	return r.append(dst)
}

// tag is one tagged field (KIP-482).
type tag struct {
	number uint32
	value  []byte
}

// appendTags adds the tagged fields, which must be in order of their numbers.
func appendTags(dst []byte, tags ...tag) []byte {
	dst = kbin.AppendUvarint(dst, uint32(len(tags)))
	for _, t := range tags {
		dst = kbin.AppendUvarint(dst, t.number)
		dst = kbin.AppendUvarint(dst, uint32(len(t.value)))
		dst = append(dst, t.value...)
	}
	return dst
}

func appendInt32s(dst []byte, list []int32) []byte {
	dst = kbin.AppendCompactArrayLen(dst, len(list))
	for _, v := range list {
		dst = kbin.AppendInt32(dst, v)
	}
	return dst
}

func appendUUIDs(dst []byte, list [][16]byte) []byte {
	dst = kbin.AppendCompactArrayLen(dst, len(list))
	for _, v := range list {
		dst = kbin.AppendUuid(dst, v)
	}
	return dst
}

func (r RegisterBrokerRecord) append(dst []byte) []byte {
	b := r.Broker
	dst = kbin.AppendInt32(dst, b.ID)
	dst = kbin.AppendBool(dst, false) // is migrating from ZooKeeper
	dst = kbin.AppendUuid(dst, b.Incarnation)
	dst = kbin.AppendInt64(dst, b.Epoch)
	dst = kbin.AppendCompactArrayLen(dst, len(b.Endpoints))
	for _, e := range b.Endpoints {
		dst = kbin.AppendCompactString(dst, e.Listener)
		dst = kbin.AppendCompactString(dst, e.Host)
		dst = kbin.AppendUint16(dst, e.Port)
		dst = kbin.AppendInt16(dst, e.Security)
		dst = appendTags(dst)
	}
	dst = kbin.AppendCompactArrayLen(dst, len(r.Features))
	for _, f := range r.Features {
		dst = kbin.AppendCompactString(dst, f.Name)
		dst = kbin.AppendInt16(dst, f.Min)
		dst = kbin.AppendInt16(dst, f.Max)
		dst = appendTags(dst)
	}
	dst = kbin.AppendCompactNullableString(dst, b.Rack)
	dst = kbin.AppendBool(dst, b.Fenced)
	dst = kbin.AppendBool(dst, b.ShuttingDown)
	if len(b.Directories) == 0 {
		return appendTags(dst)
	}
	return appendTags(dst, tag{0, appendUUIDs(nil, b.Directories)})
}

func (r UnregisterBrokerRecord) append(dst []byte) []byte {
	dst = kbin.AppendInt32(dst, r.ID)
	dst = kbin.AppendInt64(dst, r.Epoch)
	return appendTags(dst)
}

func (r TopicRecord) append(dst []byte) []byte {
	dst = kbin.AppendCompactString(dst, r.Name)
	dst = kbin.AppendUuid(dst, r.ID)
	return appendTags(dst)
}

func (r PartitionRecord) append(dst []byte) []byte {
	p := r.Partition
	dst = kbin.AppendInt32(dst, r.Index)
	dst = kbin.AppendUuid(dst, r.TopicID)
	dst = appendInt32s(dst, p.Replicas)
	dst = appendInt32s(dst, p.ISR)
	dst = appendInt32s(dst, p.Removing)
	dst = appendInt32s(dst, p.Adding)
	dst = kbin.AppendInt32(dst, p.Leader)
	dst = kbin.AppendInt32(dst, int32(p.LeaderEpoch))
	dst = kbin.AppendInt32(dst, p.PartitionEpoch)
	dst = appendUUIDs(dst, p.Directories)
	var tags []tag
	if p.Recovering {
		tags = append(tags, tag{0, []byte{1}})
	}
	if p.ELR != nil {
		tags = append(tags, tag{1, appendInt32s(nil, p.ELR)})
	}
	if p.LastKnownELR != nil {
		tags = append(tags, tag{2, appendInt32s(nil, p.LastKnownELR)})
	}
	return appendTags(dst, tags...)
}

func (r ConfigRecord) append(dst []byte) []byte {
	dst = kbin.AppendInt8(dst, r.Resource.Type)
	dst = kbin.AppendCompactString(dst, r.Resource.Name)
	dst = kbin.AppendCompactString(dst, r.Name)
	dst = kbin.AppendCompactNullableString(dst, r.Value)
	return appendTags(dst)
}

func (r PartitionChangeRecord) append(dst []byte) []byte {
	dst = kbin.AppendInt32(dst, r.Index)
	dst = kbin.AppendUuid(dst, r.TopicID)
	var tags []tag
	list := func(number uint32, v []int32) {
		if v != nil {
			tags = append(tags, tag{number, appendInt32s(nil, v)})
		}
	}
	list(0, r.ISR)
	if r.Leader != KeepLeader {
		tags = append(tags, tag{1, kbin.AppendInt32(nil, r.Leader)})
	}
	list(2, r.Replicas)
	list(3, r.Removing)
	list(4, r.Adding)
	if r.Recovery != KeepRecovery {
		tags = append(tags, tag{5, kbin.AppendInt8(nil, r.Recovery)})
	}
	list(6, r.ELR)
	list(7, r.LastKnownELR)
	if r.Directories != nil {
		tags = append(tags, tag{8, appendUUIDs(nil, r.Directories)})
	}
	return appendTags(dst, tags...)
}

func (r RemoveTopicRecord) append(dst []byte) []byte {
	return appendTags(kbin.AppendUuid(dst, r.ID))
}

func (r FeatureLevelRecord) append(dst []byte) []byte {
	dst = kbin.AppendCompactString(dst, r.Feature.Name)
	dst = kbin.AppendInt16(dst, r.Feature.Level)
	return appendTags(dst)
}

func (r ProducerIDsRecord) append(dst []byte) []byte {
	dst = kbin.AppendInt32(dst, r.Broker)
	dst = kbin.AppendInt64(dst, r.Epoch)
	dst = kbin.AppendInt64(dst, r.Next)
	return appendTags(dst)
}

func (r RegistrationChangeRecord) append(dst []byte) []byte {
	dst = kbin.AppendInt32(dst, r.ID)
	dst = kbin.AppendInt64(dst, r.Epoch)
	var tags []tag
	if r.Fenced != 0 {
		tags = append(tags, tag{0, kbin.AppendInt8(nil, r.Fenced)})
	}
	if r.ShuttingDown {
		tags = append(tags, tag{1, []byte{1}})
	}
	if r.Directories != nil {
		tags = append(tags, tag{2, appendUUIDs(nil, r.Directories)})
	}
	return appendTags(dst, tags...)
}

func (NoOpRecord) append(dst []byte) []byte { return appendTags(dst) }

func (r BeginTransactionRecord) append(dst []byte) []byte {
	return appendNote(dst, r.Name)
}

func (EndTransactionRecord) append(dst []byte) []byte { return appendTags(dst) }

func (r AbortTransactionRecord) append(dst []byte) []byte {
	return appendNote(dst, r.Reason)
}

func (r UnknownRecord) append(dst []byte) []byte { return append(dst, r.Fields...) }

// appendNote adds the nullable text that is tag 0 of a transaction's marks.
func appendNote(dst []byte, text *string) []byte {
	if text == nil {
		return appendTags(dst)
	}
	return appendTags(dst, tag{0, kbin.AppendCompactNullableString(nil, text)})
}
