package group

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// floodMachine is a machine with Kafka's defaults, and a time.
func floodMachine(maxSize int) (*Machine, time.Time) {
	return New(Options{RecordMax: 1 << 20, Classic: ClassicOptions{
		MinSession: 6 * time.Second, MaxSession: 30 * time.Minute, InitialDelay: 3 * time.Second, MaxSize: maxSize,
	}}), scriptEpoch
}

var (
	floodReason   = strings.Repeat("é", 1<<14)
	floodMetadata = make([]byte, 5<<20)
)

func floodJoin(token Token, clientID string) Join {
	return Join{
		Caller: Caller{Token: token, ClientID: clientID, Host: "/127.0.0.1", FreshID: fmt.Sprintf("%036d", token)}, Group: "g",
		ProtocolType: "consumer", Protocols: []record.Protocol{{Name: "range", Metadata: []byte("m")}},
		Session: 10 * time.Second, Rebalance: time.Minute, NeedsKnownID: true, Reason: floodReason,
	}
}

// joined is the JoinResult in e; ok is false if there is none.
func joined(e Effects) (JoinResult, bool) {
	for _, r := range e.Replies {
		if j, ok := r.Result.(JoinResult); ok {
			return j, true
		}
	}
	return JoinResult{}, false
}

// TestFloodOfPending is hard case 59 (KIP-394, KAFKA-7824): 100,000 clients ask for a member id and never come back, with as long a name as
// can be. Who does come back joins all the same, and when the flood is over nothing is left of it.
func TestFloodOfPending(t *testing.T) {
	t.Parallel()
	m, now := floodMachine(1 << 30)
	name, honest := strings.Repeat("é", 1<<14), ""
	for i := range 100_000 {
		e := m.Step(now, floodJoin(Token(i+1), name))
		r, _ := joined(e)
		if !errors.Is(r.Err, kerr.MemberIDRequired) || len(r.Member) > memberPrefixMax+1+36 || !utf8.ValidString(r.Member) {
			t.Fatalf("%+v", r)
		}
		if i == 99_000 {
			honest = r.Member
		}
	}
	c := m.find("g").classic
	if c.pending.len() > pendingMax || len(c.pending.queue) > 2*pendingMax+16 || len(m.timers.at) > pendingMax {
		t.Errorf("%d pending members, %d places, %d timers", c.pending.len(), len(c.pending.queue), len(m.timers.at))
	}
	in := floodJoin(200_000, "real")
	in.Member = honest
	if e := m.Step(now, in); len(e.Replies) > 0 || len(e.Rebalances) != 1 || utf8.RuneCountInString(e.Rebalances[0].Detail) > 1000 {
		t.Errorf("a client amid the flood: %d replies, %+v", len(e.Replies), e.Rebalances)
	}
	floodEnds(t, m)
}

// floodEnds lets all time pass.
func floodEnds(t *testing.T, m *Machine) {
	t.Helper()
	answered := 0
	for at := batch.Offset(0); !m.Next().IsZero(); {
		now := m.Next()
		e := m.Step(now, Tick{})
		answered += len(e.Replies)
		for _, r := range e.Records {
			if err := m.Apply(at, now.UnixMilli(), r.Key, r.Value); err != nil {
				t.Fatal(err)
			}
			at++
		}
	}
	if g := m.find("g"); answered != 1 || g == nil || g.state() != "Empty" || g.classic.pending.queue != nil || len(m.timers.at) != 0 {
		t.Errorf("%d answered, left is %+v with %d timers", answered, g, len(m.timers.at))
	}
}

// TestFloodOfMembers is hard case 59 for clients from before KIP-394, each of which is a member at once (KIP-389, KAFKA-7641).
func TestFloodOfMembers(t *testing.T) {
	t.Parallel()
	m, now := floodMachine(50)
	refused := 0
	for i := range 10_000 {
		in := floodJoin(Token(i+1), "c")
		in.NeedsKnownID = false
		if r, ok := joined(m.Step(now, in)); ok && errors.Is(r.Err, kerr.GroupMaxSizeReached) {
			refused++
		}
	}
	if n := m.find("g").members(); n != 50 || refused != 10_000-50 || len(m.timers.at) != 51 {
		t.Errorf("%d members, %d refused, %d timers", n, refused, len(m.timers.at))
	}
}

// TestFloodOfGroups: a join that is refused leaves no group, and groups of which only ids were given out are gone when these are.
func TestFloodOfGroups(t *testing.T) {
	t.Parallel()
	m, now := floodMachine(1 << 30)
	for i := range 1_000 {
		in := floodJoin(Token(i+1), "c")
		in.Group = fmt.Sprint("g", i)
		switch i % 4 {
		case 0:
			in.Protocols = nil
		case 1:
			in.Member = "stranger"
		case 2:
			in.Protocols[0].Metadata = floodMetadata
		}
		m.Step(now, in)
		m.Step(now, Sync{Caller: Caller{Token: 1 << 20}, Group: in.Group, Member: "stranger"})
		m.Step(now, Heartbeat{Caller: Caller{Token: 1 << 21}, Group: in.Group, Member: "stranger"})
		m.Step(now, Leave{Caller: Caller{Token: 1 << 22}, Group: in.Group, Members: []LeavingMember{{Member: "stranger"}}})
	}
	if n := len(m.groups); n != 250 {
		t.Errorf("%d groups", n)
	}
	for now = m.Next(); !m.Next().IsZero(); {
		m.Step(now, Tick{})
	}
	if n := len(m.groups); n != 0 {
		t.Errorf("%d groups are left", n)
	}
}

// TestTickFitsABatch: groups with ids as long as can be that lose their last members at one time do not fill more than a batch in a step.
func TestTickFitsABatch(t *testing.T) {
	t.Parallel()
	m, now := floodMachine(1 << 30)
	id := strings.Repeat("g", 1<<15-100)
	for i := range 100 {
		in := floodJoin(Token(i+1), "c")
		in.Group, in.NeedsKnownID, in.ProtocolType = fmt.Sprint(id, i), false, id
		m.Step(now, in)
	}
	ended := 0
	for at := batch.Offset(0); !m.Next().IsZero(); {
		now = m.Next()
		size := 0
		for _, r := range m.Step(now, Tick{}).Records {
			size += len(r.Key) + len(r.Value) + recordCost
			if err := m.Apply(at, now.UnixMilli(), r.Key, r.Value); err != nil {
				t.Fatal(err)
			}
			at++
			ended++
		}
		if size > m.opts.RecordMax {
			t.Fatalf("%d bytes in one batch, which has room for %d", size, m.opts.RecordMax)
		}
	}
	if ended != 100 {
		t.Errorf("%d groups ended", ended)
	}
}

// TestThousandJoin: 1,000 members that join at once are one rebalance, and wait no longer than the delay.
func TestThousandJoin(t *testing.T) {
	t.Parallel()
	m, now := floodMachine(1 << 30)
	var begun []Rebalance
	step := func(in Input) Effects {
		e := m.Step(now, in)
		begun = append(begun, e.Rebalances...)
		return e
	}
	for i := range 1_000 {
		r, _ := joined(step(floodJoin(Token(i+1), "c")))
		in := floodJoin(Token(i+10_001), "c")
		in.Member = r.Member
		step(in)
		now = now.Add(time.Millisecond)
	}
	var replies []Reply
	for now.Sub(scriptEpoch) < 7*time.Second && len(replies) == 0 {
		now = m.Next()
		replies = append(replies, step(Tick{}).Replies...)
	}
	if len(replies) != 1_000 || len(begun) != 1 || now.Sub(scriptEpoch) > 6*time.Second {
		t.Fatalf("%d replies after %s, %d rebalances", len(replies), now.Sub(scriptEpoch), len(begun))
	}
	leader, answered := Sync{}, 0
	for _, r := range replies {
		j := r.Result.(JoinResult)
		in := Sync{Caller: Caller{Token: r.Token + 100_000}, Group: "g", Member: j.Member, Generation: 1}
		if j.Leader == j.Member {
			for i, mem := range j.Members {
				in.Assignments = append(in.Assignments, Assigned{mem.Member, fmt.Append(nil, i)})
			}
			leader = in
			continue
		}
		answered += len(step(in).Replies)
	}
	e := step(leader)
	given := make(map[string]bool)
	for _, r := range e.Replies {
		given[string(r.Result.(SyncResult).Assignment)] = true
	}
	if answered != 0 || len(e.Replies) != 1_000 || len(given) != 1_000 || len(e.Records) != 1 || len(begun) != 1 {
		t.Errorf("%d early, %d replies, %d assignments, %d records, %d rebalances", answered, len(e.Replies), len(given), len(e.Records), len(begun))
	}
}

// TestFloodOfProtocols: a member with the most protocols that are taken is elected with, one with more is refused.
func TestFloodOfProtocols(t *testing.T) {
	t.Parallel()
	m, now := floodMachine(1 << 30)
	for _, n := range []int{protocolsMax, protocolsMax + 1} {
		in := floodJoin(Token(n), "c")
		in.NeedsKnownID = false
		for i := len(in.Protocols); i < n; i++ {
			in.Protocols = append(in.Protocols, record.Protocol{Name: strconv.Itoa(i)})
		}
		if r, ok := joined(m.Step(now, in)); ok != (n > protocolsMax) || ok && !errors.Is(r.Err, kerr.InvalidRequest) {
			t.Errorf("%d protocols: %t %+v", n, ok, r)
		}
	}
}
