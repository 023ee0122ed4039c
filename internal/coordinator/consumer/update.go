package consumer

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// update emits what ch.next says of itself, if that is new, and the group's next epoch if something in it or in the metadata asks for an
// assignment. base is the member as it was. It reports whether the member subscribes to other topics than before.
func (ch *Change) update(base *Member) (resubscribe bool, err error) {
	next := ch.next
	if ch.old == nil || !sameInfo(&base.Info, &next.Info) {
		if err := ch.emitMember(next); err != nil {
			return false, err
		}
	}
	if len(ch.gone) > 0 { // it takes the place of another, with what that had
		if t := ch.target[next.ID]; t != nil {
			ch.emit(record.TargetAssignment{Group: ch.g.ID, Member: next.ID, Value: &record.TargetAssignmentValue{Topics: t}})
		}
		ch.emit(next.current(ch.g.ID))
	}
	rematch := !equalText(base.Info.Regex, next.Info.Regex)
	if rematch && next.Info.Regex != nil {
		names, err := ch.x.match(*next.Info.Regex)
		if err == nil {
			err = ch.tooMany(*next.Info.Regex, names)
		}
		if err != nil {
			return false, err
		}
	}
	resubscribe = rematch || !slices.Equal(base.Info.Topics, next.Info.Topics)
	switch {
	case ch.g.Epoch == 0 || ch.old == nil && len(ch.gone) == 0 && (resubscribe || ch.g.Len() == 0): // 0 is nobody's epoch
		ch.refresh(true, "join", fmt.Sprintf("member %q joins", next.ID))
	case resubscribe:
		ch.refresh(true, "subscription", fmt.Sprintf("member %q changes its subscription", next.ID))
	case !equalText(base.Info.RackID, next.Info.RackID):
		ch.refresh(true, "rack", fmt.Sprintf("member %q is in another rack", next.ID))
	case !equalText(base.Info.Assignor, next.Info.Assignor) && ch.g.Assignor() != ch.assignor():
		ch.refresh(true, "assignor", fmt.Sprintf("member %q asks for another assignor", next.ID))
	case ch.g.unsettled:
		ch.refresh(true, "upgrade", "the classic group had not assigned all partitions, or was about to assign them anew")
	default:
		ch.refresh(false, "", "")
	}
	return resubscribe, nil
}

// emitMember emits what a member says of itself; it is refused if that is more than a record can hold.
func (ch *Change) emitMember(m *Member) error {
	info := m.Info
	ch.emit(record.ConsumerMember{Group: ch.g.ID, Member: m.ID, Value: &info})
	last := ch.Records[len(ch.Records)-1]
	if size := len(last.Key) + len(last.Value); ch.x.recordMax > 0 && size > ch.x.recordMax {
		return fmt.Errorf("the member's metadata is a record of %d bytes, and %d are allowed: %w", size, ch.x.recordMax, kerr.InvalidRequest)
	}
	return nil
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
