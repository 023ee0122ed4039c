package group

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// update emits what ch.next says of itself, if that is new, and the group's next epoch if something in it or in the metadata asks for an
// assignment. base is the member as it was. It reports whether the member subscribes to other topics than before.
func (ch *consumerChange) update(base *consumerMember) (resubscribe bool, err error) {
	next := ch.next
	if ch.old == nil || !sameInfo(&base.info, &next.info) {
		if err := ch.emitMember(next); err != nil {
			return false, err
		}
	}
	if len(ch.gone) > 0 { // it takes the place of another, with what that had
		if t := ch.target[next.id]; t != nil {
			ch.m.emit(record.TargetAssignment{Group: ch.group, Member: next.id, Value: &record.TargetAssignmentValue{Topics: t}})
		}
		ch.m.emit(next.current(ch.group))
	}
	rematch := !equalText(base.info.Regex, next.info.Regex)
	if rematch && next.info.Regex != nil {
		if _, err := ch.m.follow.compile(*next.info.Regex); err != nil {
			return false, err
		}
	}
	resubscribe = rematch || !slices.Equal(base.info.Topics, next.info.Topics)
	switch {
	case ch.old == nil && len(ch.gone) == 0 && (resubscribe || ch.c.epoch == 0):
		ch.refresh(true, "join", fmt.Sprintf("member %q joins", next.id))
	case resubscribe:
		ch.refresh(true, "subscription", fmt.Sprintf("member %q changes its subscription", next.id))
	case !equalText(base.info.RackID, next.info.RackID):
		ch.refresh(true, "rack", fmt.Sprintf("member %q is in another rack", next.id))
	case preferred(ch.c.assignors, ch.m.opts.Consumer.Assignors) != ch.assignor():
		ch.refresh(true, "assignor", fmt.Sprintf("member %q asks for another assignor", next.id))
	default:
		ch.refresh(false, "", "")
	}
	return resubscribe, nil
}

// emitMember emits what a member says of itself; it is refused if that is more than a record can hold.
func (ch *consumerChange) emitMember(m *consumerMember) error {
	info := m.info
	ch.m.emit(record.ConsumerMember{Group: ch.group, Member: m.id, Value: &info})
	last := ch.m.out.Records[len(ch.m.out.Records)-1]
	if size := len(last.Key) + len(last.Value); ch.m.opts.RecordMax > 0 && size > ch.m.opts.RecordMax {
		return fmt.Errorf("the member's metadata is a record of %d bytes, and %d are allowed: %w", size, ch.m.opts.RecordMax, kerr.InvalidRequest)
	}
	return nil
}

// remove emits the tombstones of a member; their order matters to Kafka.
func (ch *consumerChange) remove(m *consumerMember) {
	ch.gone = append(ch.gone, m)
	ch.m.emit(record.CurrentAssignment{Group: ch.group, Member: m.id})
	ch.m.emit(record.TargetAssignment{Group: ch.group, Member: m.id})
	ch.m.emit(record.ConsumerMember{Group: ch.group, Member: m.id})
}

// sameInfo reports whether two members say the same of themselves.
func sameInfo(a, b *record.ConsumerMemberValue) bool {
	return equalText(a.InstanceID, b.InstanceID) && equalText(a.RackID, b.RackID) && a.ClientID == b.ClientID && a.ClientHost == b.ClientHost &&
		slices.Equal(a.Topics, b.Topics) && equalText(a.Regex, b.Regex) && a.RebalanceTimeout == b.RebalanceTimeout &&
		equalText(a.Assignor, b.Assignor) && sameClassic(a.Classic, b.Classic)
}

func sameClassic(a, b *record.ClassicProtocols) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SessionTimeout == b.SessionTimeout && slices.EqualFunc(a.Protocols, b.Protocols, func(p, q record.Protocol) bool {
		return p.Name == q.Name && slices.Equal(p.Metadata, q.Metadata)
	})
}

func equalText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
