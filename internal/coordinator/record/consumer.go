package record

import (
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// The values of next-generation groups have one version, 0, and are flexible: what was added since is tagged. Where Kafka's JSON says that a
// tagged field is null by default, its code takes one that is not there for empty, not for null; so null is written.

// Record encodes it.
func (e ConsumerGroup) Record() Record {
	r := Record{Key: keyOf(typeConsumerGroup, e.Group).b}
	if e.Value == nil {
		return r
	}
	w := valueOf(0, true, 16)
	w.int32(e.Value.Epoch)
	w.int64Tag(e.Value.MetadataHash)
	r.Value = w.b
	return r
}

// int64Tag ends a struct whose one tagged field is v, which is not written if zero.
func (w *writer) int64Tag(v int64) {
	if v == 0 {
		w.noTags()
		return
	}
	w.oneTag(func(field *writer) { field.int64(v) })
}

func (d *decoder) consumerGroup() Entry {
	return ConsumerGroup{Group: d.key.text(), Value: valueIn(d, 0, 0, func(r *reader, _ int16) *ConsumerGroupValue {
		v := &ConsumerGroupValue{Epoch: r.Int32()}
		r.tags(func(field *reader) { v.MetadataHash = field.Int64() })
		return v
	})}
}

// Record encodes it: of one that is not removed, the topics are none.
func (e ConsumerTopics) Record() Record {
	r := Record{Key: keyOf(typeConsumerTopics, e.Group).b}
	if e.Removed {
		return r
	}
	w := valueOf(0, true, 2)
	w.count(0)
	w.noTags()
	r.Value = w.b
	return r
}

func (d *decoder) consumerTopics() Entry {
	return ConsumerTopics{Group: d.key.text(), Removed: valueIn(d, 0, 0, func(r *reader, _ int16) *struct{} {
		r.Src = nil // no one needs it
		return &struct{}{}
	}) == nil}
}

// Record encodes it.
func (e ConsumerMember) Record() Record {
	r := Record{Key: keyOf(typeConsumerMember, e.Group, e.Member).b}
	if v := e.Value; v != nil {
		w := valueOf(0, true, 96)
		w.nullableText(v.InstanceID)
		w.nullableText(v.RackID)
		w.text(v.ClientID)
		w.text(v.ClientHost)
		w.texts(v.Topics)
		w.nullableText(v.Regex)
		w.int32(v.RebalanceTimeout)
		w.nullableText(v.Assignor)
		w.oneTag(func(field *writer) { field.classicProtocols(v.Classic) })
		r.Value = w.b
	}
	return r
}

func (w *writer) classicProtocols(c *ClassicProtocols) {
	if c == nil {
		w.uvarint(0)
		return
	}
	w.uvarint(1)
	w.int32(c.SessionTimeout)
	w.count(len(c.Protocols))
	for _, p := range c.Protocols {
		w.text(p.Name)
		w.blob(p.Metadata)
		w.noTags()
	}
	w.noTags()
}

func (d *decoder) consumerMember() Entry {
	return ConsumerMember{Group: d.key.text(), Member: d.key.text(), Value: valueIn(d, 0, 0, (*reader).consumerMember)}
}

func (r *reader) consumerMember(int16) *ConsumerMemberValue {
	v := &ConsumerMemberValue{
		InstanceID: r.nullableText(), RackID: r.nullableText(), ClientID: r.text(), ClientHost: r.text(),
		Topics: r.texts(), Regex: r.nullableText(), RebalanceTimeout: r.Int32(), Assignor: r.nullableText(),
	}
	r.tags(func(field *reader) { v.Classic = field.classicProtocols() })
	return v
}

func (r *reader) classicProtocols() *ClassicProtocols {
	if r.Uvarint() == 0 {
		return nil
	}
	c := &ClassicProtocols{SessionTimeout: r.Int32(), Protocols: make([]Protocol, r.count(3))}
	for i := range c.Protocols {
		c.Protocols[i] = Protocol{Name: r.text(), Metadata: r.blob()}
		r.tags(nil)
	}
	r.tags(nil)
	return c
}

// Record encodes it.
func (e Regex) Record() Record {
	r := Record{Key: keyOf(typeRegex, e.Group, e.Pattern).b}
	if v := e.Value; v != nil {
		w := valueOf(0, true, 32)
		w.texts(v.Topics)
		w.int64(v.Version)
		w.int64(v.Timestamp)
		w.noTags()
		r.Value = w.b
	}
	return r
}

func (d *decoder) regex() Entry {
	return Regex{Group: d.key.text(), Pattern: d.key.text(), Value: valueIn(d, 0, 0, func(r *reader, _ int16) *RegexValue {
		v := &RegexValue{Topics: r.texts(), Version: r.Int64(), Timestamp: r.Int64()}
		r.tags(nil)
		return v
	})}
}

// topicID is the id of a topic.
func (r *reader) topicID() topic.ID { return topic.ID(r.Uuid()) }
