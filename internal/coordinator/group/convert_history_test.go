package group

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// TestMixedHistories is TestConsumerHistories with members that speak the classic protocol among the others, so that the group is upgraded and
// downgraded, time and again.
func TestMixedHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		h.cooperative = rapid.Bool().Draw(t, "cooperative")
		h.opts.Classic.InitialDelay = time.Duration(rapid.SampledFrom([]int{0, 3}).Draw(t, "initial delay")) * time.Second
		h.restart()
		for range rapid.IntRange(0, 4).Draw(t, "topics") {
			h.changeTopic()
		}
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			h.actMixed()
			h.check()
		}
		h.settle()
	})
}

// TestUpgradeHistories lets members of a classic group come, go and rebalance. Then one member of the next generation joins, which brings no
// subscription that the group did not have, and nothing else happens: TestMixedHistories goes on, and a later event repairs the assignment
// that the upgrade left behind.
func TestUpgradeHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		h.cooperative = rapid.Bool().Draw(t, "cooperative")
		h.opts.Classic.InitialDelay = time.Duration(rapid.SampledFrom([]int{0, 3}).Draw(t, "initial delay")) * time.Second
		h.restart()
		for range rapid.IntRange(1, 4).Draw(t, "topics") {
			h.changeTopic()
		}
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			h.actClassic()
			h.check()
		}
		h.joinLate()
		h.check()
		h.settle()
	})
}

// actClassic lets a classic member, the time or a topic do one thing.
func (h *history) actClassic() {
	switch kind := rapid.IntRange(0, 9).Draw(h.t, "kind"); kind {
	case 8:
		h.advance()
	case 9:
		h.changeTopic()
	default:
		h.actMate(kind % 5)
	}
}

// joinLate lets a member of the next generation join that subscribes to no topic, or that takes the place of a static classic member, whose
// process has ended, with its subscription.
func (h *history) joinLate() {
	h.made++
	c := &nextClient{id: fmt.Sprintf("m%d", h.made), full: true, topics: []string{}, regex: new("")}
	if i := slices.IndexFunc(h.mates, func(m *mate) bool { return m.instance != nil && !m.crashed }); i >= 0 && rapid.Bool().Draw(h.t, "static") {
		c.instance, c.topics = h.mates[i].instance, h.mates[i].topics
	}
	for _, m := range h.mates {
		m.crashed = m.crashed || c.instance != nil && m.instance != nil && *m.instance == *c.instance
	}
	h.clients = append(h.clients, c)
	h.beat(c)
}

// mate is a member that speaks the classic protocol, as its process sees it: of an eager or a cooperative assignor.
type mate struct {
	id         string
	instance   *string
	topics     []string
	generation int32
	held       map[consumer.TopicPartition]bool
	crashed    bool
	waits      bool           // for the answer to a JoinGroup or SyncGroup
	next       string         // join, sync or beat
	roster     []JoinedMember // if it leads
	leads      bool
	seen       string // the metadata by which it assigned
}

func (h *history) actMixed() {
	if kind := rapid.IntRange(0, 5).Draw(h.t, "kind"); kind < 5 {
		h.actMate(kind)
		return
	}
	h.act()
}

// actMate lets a classic member join (0), do its next thing (1 to 3), or perhaps end (4).
func (h *history) actMate(kind int) {
	switch kind {
	case 0:
		if len(h.mates) < 5 {
			i := rapid.IntRange(0, 2).Draw(h.t, "topics")
			c := &mate{next: "join", topics: [][]string{{"a1"}, {"a1", "b1"}, {"a2", "c"}}[i]}
			if rapid.IntRange(0, 2).Draw(h.t, "statics") == 0 {
				c.instance = new(fmt.Sprint("i", i)) // of the same topics: a stable classic group does not look at a new subscription, in Kafka either
			}
			h.mates = append(h.mates, c)
		}
	case 1, 2, 3:
		if c := h.pickMate(); c != nil {
			h.move(c)
		}
	default:
		if c := h.pickMate(); c != nil && rapid.IntRange(0, 2).Draw(h.t, "ends") == 0 {
			h.end(c)
		}
	}
}

func (h *history) pickMate() *mate {
	if len(h.mates) == 0 {
		return nil
	}
	return rapid.SampledFrom(h.mates).Draw(h.t, "mate")
}

// end is a crash, or a member that leaves.
func (h *history) end(c *mate) {
	if rapid.Bool().Draw(h.t, "crashes") {
		c.crashed = true
		return
	}
	h.mates = slices.DeleteFunc(h.mates, func(o *mate) bool { return o == c })
	c.crashed = true // no answer reaches it
	h.token++
	h.run(Leave{Caller: Caller{Token: h.token}, Group: historyGroup, Members: []LeavingMember{{Member: c.id, InstanceID: c.instance}}})
}

// move lets a member do its next thing.
func (h *history) move(c *mate) {
	if c.crashed || c.waits {
		return
	}
	h.token++
	caller := Caller{Token: h.token, ClientID: "c", Host: "/h", FreshID: fmt.Sprint(h.token)}
	switch c.next {
	case "join":
		h.ask(c, h.joinOf(c, caller), h.joined)
	case "sync":
		h.ask(c, Sync{Caller: caller, Group: historyGroup, Member: c.id, InstanceID: c.instance, Generation: c.generation, Assignments: h.assignAll(c)}, h.synced)
	default:
		if c.leads && c.seen != h.metadata() {
			c.next = "join"
			return
		}
		h.ask(c, Heartbeat{Caller: caller, Group: historyGroup, Member: c.id, InstanceID: c.instance, Generation: c.generation}, h.beaten)
	}
}

// ask steps with in; then, perhaps not at once, is done with the answer.
func (h *history) ask(c *mate, in Input, then func(*mate, any)) {
	answered := func(result any) {
		c.waits = false
		if !c.crashed && result != nil { // nil: the coordinator is gone, and it is asked again
			then(c, result)
		}
	}
	c.waits = true
	h.parked[in.token()] = answered
	if result := h.run(in); result != nil {
		delete(h.parked, in.token())
		answered(result)
	}
}

func (h *history) joinOf(c *mate, caller Caller) Join {
	sub := kmsg.NewConsumerMemberMetadata()
	sub.Version, sub.Topics = 1, c.topics
	name := "range"
	if h.cooperative {
		name = "cooperative"
		for _, p := range sortedPartitions(c.held) {
			if t := h.state.Image().TopicByID(p.Topic); t != nil {
				sub.OwnedPartitions = append(sub.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{
					Topic: t.Name, Partitions: []int32{p.Partition},
				})
			}
		}
	} else {
		c.held = nil
	}
	return Join{
		Caller: caller, Group: historyGroup, Member: c.id, InstanceID: c.instance, ProtocolType: "consumer", Session: 10 * time.Second, Rebalance: 30 * time.Second,
		NeedsKnownID: true, Protocols: []record.Protocol{{Name: name, Metadata: sub.AppendTo(nil)}},
	}
}

// lost is what a member does that the coordinator does not know, or not in its generation.
func (c *mate) lost(err error) {
	c.held, c.next, c.leads = nil, "join", false
	if errors.Is(err, kerr.UnknownMemberID) {
		c.id, c.generation = "", 0
	}
}

// fenced is the end of a member whose instance id is another's.
func (h *history) fenced(c *mate) {
	c.crashed = true
	h.mates = slices.DeleteFunc(h.mates, func(o *mate) bool { return o == c })
}

func (h *history) joined(c *mate, result any) {
	r := result.(JoinResult)
	switch {
	case r.Err == nil:
		c.id, c.generation, c.roster, c.leads, c.next = r.Member, r.Generation, r.Members, r.Leader == r.Member, "sync"
	case errors.Is(r.Err, kerr.MemberIDRequired):
		c.id = r.Member
	case errors.Is(r.Err, kerr.RebalanceInProgress):
	case errors.Is(r.Err, kerr.UnknownMemberID):
		c.lost(r.Err)
	case errors.Is(r.Err, kerr.FencedInstanceID):
		h.fenced(c)
	default:
		h.t.Fatalf("join of %q: %v", c.id, r.Err)
	}
}

func (h *history) synced(c *mate, result any) {
	r := result.(SyncResult)
	switch {
	case r.Err == nil:
		h.assigned(c, r.Assignment)
	case errors.Is(r.Err, kerr.RebalanceInProgress):
		c.next = "join"
	case errors.Is(r.Err, kerr.UnknownMemberID), errors.Is(r.Err, kerr.IllegalGeneration):
		c.lost(r.Err)
	case errors.Is(r.Err, kerr.FencedInstanceID):
		h.fenced(c)
	default:
		h.t.Fatalf("sync of %q: %v", c.id, r.Err)
	}
}

// assigned lets a member hold what it was assigned; a cooperative one that gave up something joins again.
func (h *history) assigned(c *mate, assignment []byte) {
	held := make(map[consumer.TopicPartition]bool)
	var a kmsg.ConsumerMemberAssignment
	if len(assignment) > 0 {
		if err := a.ReadFrom(assignment); err != nil {
			h.t.Fatal(err)
		}
	}
	for _, t := range a.Topics {
		id, there := h.topics[t.Topic]
		for _, p := range t.Partitions {
			if there {
				held[consumer.TopicPartition{Topic: id, Partition: p}] = true
			}
		}
	}
	c.next = "beat"
	for p := range c.held {
		if !held[p] {
			c.next = "join"
		}
	}
	c.held = held
}

func (h *history) beaten(c *mate, result any) {
	switch err := result.(HeartbeatResult).Err; {
	case err == nil:
	case errors.Is(err, kerr.RebalanceInProgress):
		c.next = "join"
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration):
		c.lost(err)
	case errors.Is(err, kerr.FencedInstanceID):
		h.fenced(c)
	default:
		h.t.Fatalf("heartbeat of %q: %v", c.id, err)
	}
}

// metadata is what a leader assigns by.
func (h *history) metadata() string {
	var all []string
	for _, t := range h.state.Image().Topics {
		all = append(all, fmt.Sprint(t.Name, t.ID, len(t.Partitions)))
	}
	return fmt.Sprint(all)
}

// assignAll is what a leader gives its group: each partition to the subscribers in turn, but if they are cooperative, none that another still has.
func (h *history) assignAll(c *mate) []Assigned {
	if !c.leads {
		return nil
	}
	c.seen = h.metadata()
	var subs []kmsg.ConsumerMemberMetadata
	owners := make(map[string]string)
	for _, m := range c.roster {
		sub := kmsg.NewConsumerMemberMetadata()
		if err := sub.ReadFrom(m.Metadata); err != nil {
			h.t.Fatal(err)
		}
		subs = append(subs, sub)
		for _, o := range sub.OwnedPartitions {
			owners[fmt.Sprint(o.Topic, o.Partitions[0])] = m.Member
		}
	}
	given := make([]kmsg.ConsumerMemberAssignment, len(subs))
	for _, t := range h.state.Image().Topics {
		var who []int
		for i := range subs {
			if slices.Contains(subs[i].Topics, t.Name) {
				who = append(who, i)
			}
		}
		for p := range t.Partitions {
			if len(who) == 0 {
				continue
			}
			to := who[p%len(who)]
			if owner := owners[fmt.Sprint(t.Name, int32(p))]; owner == "" || owner == c.roster[to].Member {
				given[to].Topics = append(given[to].Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: t.Name, Partitions: []int32{int32(p)}})
			}
		}
	}
	var all []Assigned
	for i, m := range c.roster {
		all = append(all, Assigned{Member: m.Member, Assignment: given[i].AppendTo(nil)})
	}
	return all
}

func sortedPartitions(set map[consumer.TopicPartition]bool) []consumer.TopicPartition {
	return slices.SortedFunc(maps.Keys(set), func(a, b consumer.TopicPartition) int { return slices.Compare(partitionKey(a), partitionKey(b)) })
}

func partitionKey(p consumer.TopicPartition) []byte { return append(p.Topic[:], byte(p.Partition)) }
