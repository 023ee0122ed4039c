package record

// Versions of GroupMetadataValue: from 1 on members have a rebalance timeout, from 2 on there is the time of the state's change, from 3
// on members have an instance id, and 4 is flexible. Kafka writes 3 still, so that what is before 3.5 can read it.
const (
	classicRebalanceTimeout = 1
	classicChanged          = 2
	classicInstanceID       = 3
	classicWritten          = 3
	classicFlexible         = 4
	classicNewest           = 4
)

// memberSize is the least that a member takes in any version, in bytes.
const memberSize = 3 + 4 + 2

// Record encodes it.
func (e Classic) Record() Record {
	w := keyOf(typeClassic, e.Group)
	if e.Value == nil {
		return Record{Key: w.b}
	}
	return Record{Key: w.b, Value: e.Value.encode(classicWritten)}
}

func (v *ClassicValue) encode(version int16) []byte {
	w := valueOf(version, version >= classicFlexible, 64+128*len(v.Members))
	w.text(v.ProtocolType)
	w.int32(v.Generation)
	w.nullableText(v.Protocol)
	w.nullableText(v.Leader)
	if version >= classicChanged {
		w.int64(v.Changed)
	}
	w.count(len(v.Members))
	for i := range v.Members {
		w.classicMember(version, &v.Members[i])
	}
	if w.flexible {
		w.noTags()
	}
	return w.b
}

func (w *writer) classicMember(version int16, m *ClassicMember) {
	w.text(m.ID)
	if version >= classicInstanceID {
		w.nullableText(m.InstanceID)
	}
	w.text(m.ClientID)
	w.text(m.ClientHost)
	if version >= classicRebalanceTimeout {
		w.int32(m.RebalanceTimeoutMs)
	}
	w.int32(m.SessionTimeout)
	w.blob(m.Subscription)
	w.blob(m.Assignment)
	if w.flexible {
		w.noTags()
	}
}

func (d *decoder) classic() Entry {
	return Classic{Group: d.key.text(), Value: valueIn(d, classicNewest, classicFlexible, (*reader).classicValue)}
}

func (r *reader) classicValue(version int16) *ClassicValue {
	v := &ClassicValue{ProtocolType: r.text(), Generation: r.Int32(), Protocol: r.nullableText(), Leader: r.nullableText(), Changed: -1}
	if version >= classicChanged {
		v.Changed = r.Int64()
	}
	v.Members = make([]ClassicMember, r.count(memberSize))
	for i := range v.Members {
		v.Members[i] = r.classicMember(version)
	}
	if r.flexible {
		r.tags(nil)
	}
	return v
}

// classicMember reads a member. One without a rebalance timeout has its session's, as in Kafka (GroupMetadataManager.replay).
func (r *reader) classicMember(version int16) ClassicMember {
	m := ClassicMember{ID: r.text(), RebalanceTimeoutMs: -1}
	if version >= classicInstanceID {
		m.InstanceID = r.nullableText()
	}
	m.ClientID, m.ClientHost = r.text(), r.text()
	if version >= classicRebalanceTimeout {
		m.RebalanceTimeoutMs = r.Int32()
	}
	m.SessionTimeout = r.Int32()
	if m.RebalanceTimeoutMs == -1 {
		m.RebalanceTimeoutMs = m.SessionTimeout
	}
	m.Subscription, m.Assignment = r.blob(), r.blob()
	if r.flexible {
		r.tags(nil)
	}
	return m
}
