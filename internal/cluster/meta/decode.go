package meta

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// ErrMalformed marks bytes that are no metadata record.
var ErrMalformed = errors.New("malformed metadata record")

// DecodeRecord reads the value of a log record. A record of an unknown kind or of a newer version than is known here becomes an
// UnknownRecord. The record keeps no reference to value.
func DecodeRecord(value []byte) (Record, error) {
	d := decoder{Reader: kbin.Reader{Src: value}}
	if frame := d.Uvarint(); d.Ok() && frame != frameVersion {
		return nil, fmt.Errorf("%w: frame version %d, known is %d", ErrMalformed, frame, frameVersion)
	}
	key, version := d.number(), d.number()
	if !d.Ok() {
		return nil, fmt.Errorf("%w: %d bytes hold no header", ErrMalformed, len(value))
	}
	r := d.record(key, version)
	if _, unknown := r.(UnknownRecord); unknown {
		return r, nil
	}
	if !d.Ok() || d.bad {
		return nil, fmt.Errorf("%w: api key %d version %d: fields end early", ErrMalformed, key, version)
	}
	if len(d.Src) > 0 {
		return nil, fmt.Errorf("%w: api key %d version %d: %d bytes too many", ErrMalformed, key, version, len(d.Src))
	}
	return r, nil
}

// newest is the newest version known of each record; newer ones may mean anything.
var newest = map[int16]int16{
	keyRegisterBroker: 4, keyUnregisterBroker: 0, keyTopic: 0, keyPartition: 2, keyConfig: 0, keyPartitionChange: 2,
	keyRemoveTopic: 0, keyFeatureLevel: 0, keyProducerIDs: 0, keyRegistrationChange: 3, keyNoOp: 0,
	keyBeginTransaction: 0, keyEndTransaction: 0, keyAbortTransaction: 0,
}

func (d *decoder) record(key, version int16) Record {
	if limit, known := newest[key]; !known || version > limit {
		return UnknownRecord{Key: key, Version: version, Fields: append([]byte(nil), d.Src...)}
	}
	switch key {
	case keyRegisterBroker:
		return d.registerBroker(version)
	case keyUnregisterBroker:
		return d.unregisterBroker()
	case keyTopic:
		return d.topic()
	case keyPartition:
		return d.partition(version)
	case keyConfig:
		return d.config()
	case keyPartitionChange:
		return d.partitionChange()
	case keyRemoveTopic:
		r := RemoveTopicRecord{ID: topic.ID(d.Uuid())}
		d.skipTags()
		return r
	case keyFeatureLevel:
		r := FeatureLevelRecord{Feature: Feature{Name: d.text(), Level: d.Int16()}}
		d.skipTags()
		return r
	case keyProducerIDs:
		r := ProducerIDsRecord{Broker: d.Int32(), Epoch: d.Int64(), Next: d.Int64()}
		d.skipTags()
		return r
	case keyRegistrationChange:
		return d.registrationChange()
	}
	return d.mark(key)
}

// mark reads the records that have no fields but tags.
func (d *decoder) mark(key int16) Record {
	var note *string
	d.tags(func(number uint32, f *decoder) {
		if number == 0 {
			note = f.nullableText()
		}
	})
	switch key {
	case keyBeginTransaction:
		return BeginTransactionRecord{Name: note}
	case keyEndTransaction:
		return EndTransactionRecord{}
	case keyAbortTransaction:
		return AbortTransactionRecord{Reason: note}
	}
	return NoOpRecord{}
}

func (d *decoder) registerBroker(version int16) Record {
	var r RegisterBrokerRecord
	b := &r.Broker
	b.ID = d.Int32()
	if version >= 2 {
		d.Bool() // is migrating from ZooKeeper
	}
	b.Incarnation = d.Uuid()
	b.Epoch = d.Int64()
	for range d.length(7) {
		b.Endpoints = append(b.Endpoints, Endpoint{Listener: d.text(), Host: d.text(), Port: d.Uint16(), Security: d.Int16()})
		d.skipTags()
	}
	for range d.length(6) {
		r.Features = append(r.Features, FeatureRange{Name: d.text(), Min: d.Int16(), Max: d.Int16()})
		d.skipTags()
	}
	b.Rack = d.nullableText()
	b.Fenced = d.Bool()
	if version >= 1 {
		b.ShuttingDown = d.Bool()
	}
	d.tags(func(number uint32, f *decoder) {
		if number == 0 {
			b.Directories = f.uuids()
		}
	})
	return r
}

func (d *decoder) unregisterBroker() Record {
	r := UnregisterBrokerRecord{ID: d.Int32(), Epoch: d.Int64()}
	d.skipTags()
	return r
}

func (d *decoder) topic() Record {
	r := TopicRecord{Name: d.text(), ID: topic.ID(d.Uuid())}
	d.skipTags()
	return r
}

func (d *decoder) partition(version int16) Record {
	r := PartitionRecord{Index: d.Int32(), TopicID: topic.ID(d.Uuid())}
	p := &r.Partition
	p.Replicas, p.ISR, p.Removing, p.Adding = d.int32s(), d.int32s(), d.int32s(), d.int32s()
	p.Leader, p.LeaderEpoch, p.PartitionEpoch = d.Int32(), batch.Epoch(d.Int32()), d.Int32()
	if version >= 1 {
		p.Directories = d.uuids()
	}
	d.tags(func(number uint32, f *decoder) {
		switch number {
		case 0:
			p.Recovering = f.Int8() == 1
		case 1:
			p.ELR = f.int32s()
		case 2:
			p.LastKnownELR = f.int32s()
		}
	})
	return r
}

func (d *decoder) config() Record {
	r := ConfigRecord{Resource: Resource{Type: d.Int8(), Name: d.text()}, Name: d.text(), Value: d.nullableText()}
	d.skipTags()
	return r
}

func (d *decoder) partitionChange() Record {
	r := PartitionChangeRecord{Index: d.Int32(), TopicID: topic.ID(d.Uuid()), Leader: KeepLeader, Recovery: KeepRecovery}
	d.tags(func(number uint32, f *decoder) {
		switch number {
		case 0:
			r.ISR = f.present()
		case 1:
			r.Leader = f.Int32()
		case 2:
			r.Replicas = f.present()
		case 3:
			r.Removing = f.present()
		case 4:
			r.Adding = f.present()
		case 5:
			r.Recovery = f.Int8()
		case 6:
			r.ELR = f.present()
		case 7:
			r.LastKnownELR = f.present()
		case 8:
			r.Directories = f.uuids()
		}
	})
	return r
}

func (d *decoder) registrationChange() Record {
	r := RegistrationChangeRecord{ID: d.Int32(), Epoch: d.Int64()}
	d.tags(func(number uint32, f *decoder) {
		switch number {
		case 0:
			r.Fenced = f.Int8()
		case 1:
			r.ShuttingDown = f.Int8() == 1
		case 2:
			r.Directories = f.uuids()
		}
	})
	return r
}

// decoder reads fields; what it returns shares nothing with the bytes it reads. Lengths are checked against what is left.
type decoder struct {
	kbin.Reader
	bad bool
}

// number reads an api key or version.
func (d *decoder) number() int16 {
	n := d.Uvarint()
	if n > 1<<15-1 {
		d.bad = true
		return -1
	}
	return int16(n)
}

func (d *decoder) text() string { return d.CompactString() }

func (d *decoder) nullableText() *string { return d.CompactNullableString() }

// length reads an array's length, where an element takes size bytes or more. A null array has no elements.
func (d *decoder) length(size int) int {
	n := int(d.CompactArrayLen())
	if n < 0 {
		return 0
	}
	if n > len(d.Src)/size {
		d.bad, d.Src = true, nil
		return 0
	}
	return n
}

func (d *decoder) int32s() []int32 {
	n := d.length(4)
	if n == 0 {
		return nil
	}
	list := make([]int32, 0, n)
	for range n {
		list = append(list, d.Int32())
	}
	return list
}

// present reads a list that stands in a tagged field: even an empty one is not nil there.
func (d *decoder) present() []int32 {
	if list := d.int32s(); list != nil {
		return list
	}
	return []int32{}
}

func (d *decoder) uuids() [][16]byte {
	n := d.length(16)
	if n == 0 {
		return nil
	}
	list := make([][16]byte, 0, n)
	for range n {
		list = append(list, d.Uuid())
	}
	return list
}

func (d *decoder) skipTags() { d.tags(func(uint32, *decoder) {}) }

// tags gives fn each tagged field.
func (d *decoder) tags(fn func(number uint32, field *decoder)) {
	for range d.Uvarint() {
		number := d.Uvarint()
		size := d.Uvarint()
		if !d.Ok() || uint64(size) > uint64(len(d.Src)) {
			d.bad, d.Src = true, nil
			return
		}
		field := decoder{Reader: kbin.Reader{Src: d.Span(int(size))}}
		fn(number, &field)
		if !field.Ok() || field.bad {
			d.bad, d.Src = true, nil
			return
		}
	}
}

// String names the resource for messages.
func (r Resource) String() string {
	kind := map[int8]string{
		ResourceTopic: "topic", ResourceBroker: "broker", ResourceBrokerLogger: "broker logger",
		ResourceClientMetrics: "client metrics", ResourceGroup: "group",
	}[r.Type]
	if kind == "" {
		kind = fmt.Sprintf("resource of type %d", r.Type)
	}
	return strings.TrimSpace(kind + " " + r.Name)
}
