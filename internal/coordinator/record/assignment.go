package record

// Record encodes it.
func (e TargetEpoch) Record() Record {
	r := Record{Key: keyOf(typeTargetEpoch, e.Group).b}
	if e.Value != nil {
		w := valueOf(0, true, 16)
		w.int32(e.Value.Epoch)
		w.int64Tag(e.Value.Timestamp)
		r.Value = w.b
	}
	return r
}

func (d *decoder) targetEpoch() Entry {
	return TargetEpoch{Group: d.key.text(), Value: valueIn(d, 0, 0, func(r *reader, _ int16) *TargetEpochValue {
		v := &TargetEpochValue{Epoch: r.Int32()}
		r.tags(func(field *reader) { v.Timestamp = field.Int64() })
		return v
	})}
}

// Record encodes it. A target has no assignment epochs.
func (e TargetAssignment) Record() Record {
	r := Record{Key: keyOf(typeTargetAssignment, e.Group, e.Member).b}
	if e.Value != nil {
		w := valueOf(0, true, partitionsSize(e.Value.Topics))
		w.count(len(e.Value.Topics))
		for i := range e.Value.Topics {
			w.id(e.Value.Topics[i].Topic)
			w.int32s(e.Value.Topics[i].Partitions)
			w.noTags()
		}
		w.noTags()
		r.Value = w.b
	}
	return r
}

func (d *decoder) targetAssignment() Entry {
	return TargetAssignment{Group: d.key.text(), Member: d.key.text(), Value: valueIn(d, 0, 0, func(r *reader, _ int16) *TargetAssignmentValue {
		v := &TargetAssignmentValue{Topics: r.topicPartitions(nil)}
		r.tags(nil)
		return v
	})}
}

// Record encodes it.
func (e CurrentAssignment) Record() Record {
	r := Record{Key: keyOf(typeCurrentAssignment, e.Group, e.Member).b}
	if v := e.Value; v != nil {
		w := valueOf(0, true, 16+2*partitionsSize(v.Assigned)+2*partitionsSize(v.Revoking))
		w.int32(v.Epoch)
		w.int32(v.PreviousEpoch)
		w.int8(v.State)
		w.ownedPartitions(v.Assigned)
		w.ownedPartitions(v.Revoking)
		w.noTags()
		r.Value = w.b
	}
	return r
}

// ownedPartitions writes partitions with the epochs at which they were assigned, null if there is not one for each.
func (w *writer) ownedPartitions(all []TopicPartitions) {
	w.count(len(all))
	for i := range all {
		t := &all[i]
		w.id(t.Topic)
		w.int32s(t.Partitions)
		w.oneTag(func(field *writer) {
			if t.Epochs == nil || len(t.Epochs) != len(t.Partitions) {
				field.uvarint(0)
				return
			}
			field.int32s(t.Epochs)
		})
	}
}

func (d *decoder) currentAssignment() Entry {
	return CurrentAssignment{Group: d.key.text(), Member: d.key.text(), Value: valueIn(d, 0, 0, func(r *reader, _ int16) *CurrentAssignmentValue {
		v := &CurrentAssignmentValue{Epoch: r.Int32(), PreviousEpoch: r.Int32(), State: r.Int8()}
		v.Assigned, v.Revoking = r.topicPartitions((*reader).nullableInt32s), r.topicPartitions((*reader).nullableInt32s)
		r.tags(nil)
		return v
	})}
}

// partitionSize is the least that a topic with its partitions takes, in bytes.
const partitionSize = 16 + 1 + 1

// topicPartitions reads partitions, whose epochs are read by epochs if not nil; not one for each is as good as none, as in Kafka
// (Utils.assignmentFromTopicPartitions).
func (r *reader) topicPartitions(epochs func(*reader) []int32) []TopicPartitions {
	all := make([]TopicPartitions, r.count(partitionSize))
	for i := range all {
		t := &all[i]
		t.Topic = r.topicID()
		t.Partitions = r.int32s()
		if epochs == nil {
			r.tags(nil)
			continue
		}
		r.tags(func(field *reader) { t.Epochs = epochs(field) })
		if len(t.Epochs) != len(t.Partitions) {
			t.Epochs = nil
		}
	}
	return all
}

// partitionsSize is about what they take, in bytes.
func partitionsSize(all []TopicPartitions) int {
	n := 2
	for i := range all {
		n += partitionSize + 4*len(all[i].Partitions)
	}
	return n
}
