package group

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// TestConsumerHistories lets clients come, go, crash, lose answers and give up partitions late, and topics come, grow and go (hard-cases 61).
// After every step: no two clients could commit one partition; nobody that the coordinator knows holds what another holds; epochs do not go
// back; a machine that only applied the records, and one that replays a compacted log, is as the live one. In the end, when all is quiet,
// every partition that somebody subscribes to is held by exactly one subscriber, and no other is held.
func TestConsumerHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(10, 120).Draw(t, "steps") {
			h.act()
			h.check()
		}
		h.settle()
	})
}

const historyGroup = "g"

// history is one machine, its log, a twin that only applies, and clients.
type history struct {
	t       *rapid.T
	opts    Options
	machine *Machine
	twin    *Machine
	log     []record.Record
	now     time.Time
	state   *meta.State
	topics  map[string]topic.ID
	clients []*nextClient
	made    int
	epoch   int32
	checks  int
	quiet   bool // nothing fails any more
	token   Token
	parked  map[Token]func(result any)
	// mates are members that speak the classic protocol (convert_history_test.go).
	mates       []*mate
	cooperative bool
}

// nextClient is a member as its own process sees it.
type nextClient struct {
	id       string
	instance *string
	topics   []string
	regex    *string
	rack     *string
	assignor *string
	epoch    int32
	held     map[consumer.TopicPartition]bool // it works on these
	assigned map[consumer.TopicPartition]bool // it was told to hold these
	full     bool                             // its next heartbeat has all fields
	crashed  bool
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, now: scriptEpoch, state: meta.New("cluster", 1), topics: make(map[string]topic.ID), parked: make(map[Token]func(any))}
	h.opts = newScript(nil).opts
	h.opts.Consumer.AssignmentInterval = time.Duration(rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "interval")) * time.Second
	h.machine, h.twin = New(h.opts), New(h.opts)
	for _, rack := range []string{"r1", "r2"} {
		id := int32(len(rack)) + int32(rack[1]) - '0'
		h.meta(meta.RegisterBrokerRecord{Broker: meta.Broker{ID: id, Rack: &rack}})
	}
	h.machine.Step(h.now, Loaded{})
	return h
}

// meta changes the metadata, and shows it to the machines.
func (h *history) meta(records ...meta.Record) {
	for _, r := range records {
		if err := h.state.Apply(h.state.Version()+1, r); err != nil {
			h.t.Fatal(err)
		}
	}
	image := h.state.Image()
	h.run(NewImage{Image: image})
	h.twin.Step(h.now, NewImage{Image: image})
}

// run steps the machine, applies its records, and returns the reply.
func (h *history) run(in Input) any {
	effects := h.machine.Step(h.now, in)
	if _, heartbeat := in.(ConsumerHeartbeat); heartbeat && effects.Retractable && !h.quiet && rapid.IntRange(0, 15).Draw(h.t, "append") == 0 {
		return nil // the records could not be appended
	}
	for _, r := range effects.Records {
		offset := batch.Offset(len(h.log))
		h.log = append(h.log, r)
		for _, m := range []*Machine{h.machine, h.twin} {
			if err := m.Apply(offset, h.now.UnixMilli(), r.Key, r.Value); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	if h.machine.groups[historyGroup] == nil {
		h.epoch = 0
	}
	var result any
	for _, r := range effects.Replies {
		if r.Token == in.token() && r.Token != 0 {
			result = r.Result
		} else if answered := h.parked[r.Token]; answered != nil {
			delete(h.parked, r.Token)
			answered(r.Result)
		}
	}
	return result
}

// act does one thing that may happen.
func (h *history) act() {
	acts := map[string]func(){
		"join": h.join, "heartbeat": h.heartbeat, "heartbeat2": h.heartbeat, "heartbeat3": h.heartbeat, "give up": h.giveUp, "leave": h.leave,
		"crash": h.crash, "time": h.advance, "topic": h.changeTopic, "subscribe": h.subscribe, "restart": h.restart,
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(acts))).Draw(h.t, "act")
	acts[name]()
}

func (h *history) pick() *nextClient {
	live := slices.DeleteFunc(slices.Clone(h.clients), func(c *nextClient) bool { return c.crashed })
	if len(live) == 0 {
		return nil
	}
	return rapid.SampledFrom(live).Draw(h.t, "client")
}

func (h *history) join() {
	if len(h.clients) >= 8 {
		return
	}
	h.made++
	c := &nextClient{id: fmt.Sprintf("m%d", h.made), full: true}
	if rapid.Bool().Draw(h.t, "static") {
		c.instance = new(rapid.SampledFrom([]string{"i0", "i1", "i2"}).Draw(h.t, "instance"))
	}
	if rapid.Bool().Draw(h.t, "racks") {
		c.rack = new(rapid.SampledFrom([]string{"r1", "r2"}).Draw(h.t, "rack"))
	}
	if rapid.IntRange(0, 3).Draw(h.t, "assignors") == 0 {
		c.assignor = new(rapid.SampledFrom(h.opts.Consumer.Assignors).Draw(h.t, "assignor"))
	}
	h.drawTopics(c)
	h.clients = append(h.clients, c)
	h.beat(c)
}

func (h *history) drawTopics(c *nextClient) {
	c.topics, c.regex, c.full = []string{}, new(""), true
	for _, name := range []string{"a1", "a2", "b1"} {
		if rapid.Bool().Draw(h.t, "subscribes") {
			c.topics = append(c.topics, name)
		}
	}
	if rapid.IntRange(0, 2).Draw(h.t, "regexes") == 0 {
		c.regex = new(rapid.SampledFrom([]string{"a.*", "b.*", ".*2", "c"}).Draw(h.t, "regex"))
	}
}

func (h *history) subscribe() {
	if c := h.pick(); c != nil {
		h.drawTopics(c)
		h.beat(c)
	}
}

func (h *history) heartbeat() {
	if c := h.pick(); c != nil {
		h.beat(c)
	}
}

// giveUp lets a client stop working on what it was told to give up.
func (h *history) giveUp() {
	if c := h.pick(); c != nil {
		c.settle()
	}
}

func (c *nextClient) settle() { c.held = maps.Clone(c.assigned) }

func (h *history) crash() {
	if c := h.pick(); c != nil {
		c.crashed = true
	}
}

// leave lets a client leave: a static one perhaps only for a while, and its next process has another id.
func (h *history) leave() {
	c := h.pick()
	if c == nil {
		return
	}
	in := h.request(c)
	in.Epoch = consumer.LeaveEpoch
	if c.instance != nil && rapid.Bool().Draw(h.t, "for a while") {
		in.Epoch = consumer.AwayEpoch
	}
	h.run(in)
	h.clients = slices.DeleteFunc(h.clients, func(o *nextClient) bool { return o == c })
	if in.Epoch == consumer.AwayEpoch && rapid.Bool().Draw(h.t, "comes back") {
		back := *c
		if rapid.Bool().Draw(h.t, "new id") {
			h.made++
			back.id = fmt.Sprintf("m%d", h.made)
		}
		back.rejoin()
		h.clients = append(h.clients, &back)
	}
}

func (c *nextClient) rejoin() { c.epoch, c.held, c.assigned, c.full = 0, nil, nil, true }

// advance lets time pass, with its ticks.
func (h *history) advance() {
	end := h.now.Add(time.Duration(rapid.SampledFrom([]int{1, 5, 20, 50}).Draw(h.t, "seconds")) * time.Second)
	h.until(end)
}

func (h *history) until(end time.Time) {
	for {
		next := h.machine.Next()
		if next.IsZero() || next.After(end) {
			h.now = end
			return
		}
		h.now = next
		h.run(Tick{})
	}
}

func (h *history) changeTopic() {
	name := rapid.SampledFrom([]string{"a1", "a2", "b1", "b2", "c"}).Draw(h.t, "topic")
	id, there := h.topics[name]
	switch {
	case !there:
		id = topic.ID{14: byte(len(h.log) >> 8), 15: byte(len(h.log)), 13: byte(h.state.Version())}
		h.topics[name] = id
		h.meta(meta.TopicRecord{Name: name, ID: id}, h.partition(id, 0), h.partition(id, 1))
	case rapid.Bool().Draw(h.t, "grow"):
		h.meta(h.partition(id, int32(len(h.state.Image().Topic(name).Partitions))))
	default:
		delete(h.topics, name)
		h.meta(meta.RemoveTopicRecord{ID: id})
	}
}

func (h *history) partition(id topic.ID, index int32) meta.Record {
	r := rapid.Int32Range(3, 4).Draw(h.t, "replica")
	return meta.PartitionRecord{Index: index, TopicID: id, Partition: meta.Partition{Replicas: []int32{r}, ISR: []int32{r}, Leader: r}}
}

// restart replays the log in a new machine.
func (h *history) restart() {
	h.machine = h.replay(h.log)
	h.machine.Step(h.now, Loaded{})
	for _, token := range slices.Sorted(maps.Keys(h.parked)) {
		answered := h.parked[token]
		delete(h.parked, token)
		answered(nil)
	}
}

func (h *history) replay(log []record.Record) *Machine {
	m := New(h.opts)
	m.Step(h.now, NewImage{Image: h.state.Image()})
	for i, r := range log {
		if err := m.Apply(batch.Offset(i), h.now.UnixMilli(), r.Key, r.Value); err != nil {
			h.t.Fatal(err)
		}
	}
	return m
}

func (h *history) request(c *nextClient) ConsumerHeartbeat {
	h.token++
	in := ConsumerHeartbeat{
		Caller: Caller{Token: h.token, ClientID: "c", Host: "/h"}, Group: historyGroup, Member: c.id, Epoch: c.epoch, InstanceID: c.instance,
		RebalanceTimeout: -1, Version: 1, RackID: c.rack, Assignor: c.assignor,
	}
	if c.full || c.epoch == 0 {
		in.RebalanceTimeout, in.Topics, in.Regex = 30*time.Second, c.topics, c.regex
	}
	return in
}

// beat is one heartbeat; its answer may be lost.
func (h *history) beat(c *nextClient) {
	in := h.request(c)
	if c.full || c.epoch == 0 || h.quiet || rapid.Bool().Draw(h.t, "owned") {
		in.Owned = c.owned()
	}
	result, ok := h.run(in).(ConsumerHeartbeatResult)
	if !ok || !h.quiet && rapid.IntRange(0, 9).Draw(h.t, "answer") == 0 {
		c.full = true // no answer came: all is said again
		return
	}
	h.answered(c, result)
}

func (c *nextClient) owned() []record.TopicPartitions {
	all := []record.TopicPartitions{}
	for p := range c.held {
		all = append(all, record.TopicPartitions{Topic: p.Topic, Partitions: []int32{p.Partition}})
	}
	return all
}

// answered does with a client what its answer asks for.
func (h *history) answered(c *nextClient, result ConsumerHeartbeatResult) {
	switch {
	case result.Err == nil:
	case errors.Is(result.Err, kerr.UnknownMemberID), errors.Is(result.Err, kerr.FencedMemberEpoch), errors.Is(result.Err, kerr.GroupIDNotFound):
		c.rejoin()
		return
	case errors.Is(result.Err, kerr.UnreleasedInstanceID), errors.Is(result.Err, kerr.FencedInstanceID):
		h.clients = slices.DeleteFunc(h.clients, func(o *nextClient) bool { return o == c })
		return
	default:
		h.t.Fatalf("client %s: %v", c.id, result.Err)
	}
	if result.Epoch < c.epoch || result.Epoch <= 0 {
		h.t.Fatalf("client %s goes from epoch %d to %d", c.id, c.epoch, result.Epoch)
	}
	c.epoch, c.full = result.Epoch, false
	if result.Assignment == nil {
		return
	}
	c.assigned = make(map[consumer.TopicPartition]bool)
	if c.held == nil {
		c.held = make(map[consumer.TopicPartition]bool)
	}
	for p := range consumer.Partitions(*result.Assignment).All() {
		c.assigned[p], c.held[p] = true, true
	}
}

// check is what must hold at all times.
func (h *history) check() {
	g := h.machine.groups[historyGroup]
	if g == nil {
		h.epoch = 0
		return
	}
	h.checkOwners(g)
	machines := map[string]*Machine{"only applied": h.twin}
	if h.checks++; h.checks%16 == 0 { // it is slow
		machines["replayed"], machines["replayed after compaction"] = h.replay(h.log), h.replay(h.compact())
	}
	for name, m := range machines {
		if diff := cmp.Diff(durable(h.machine), durable(m), sameState); diff != "" {
			h.t.Fatalf("the machine that %s differs:\n%s", name, diff)
		}
	}
	c := g.consumer
	if c == nil {
		return
	}
	if c.Epoch < h.epoch || c.TargetEpoch > c.Epoch {
		h.t.Fatalf("epoch %d after %d, target %d", c.Epoch, h.epoch, c.TargetEpoch)
	}
	h.epoch = c.Epoch
}

func (h *history) checkOwners(g *group) {
	if g.consumer != nil {
		h.checkAssigned(g)
	}
	members, committers := make(map[consumer.TopicPartition]string), make(map[consumer.TopicPartition]string)
	check := func(id string, epoch int32, held map[consumer.TopicPartition]bool) {
		for p := range held {
			if g.consumer != nil && g.consumer.Member(id) != nil || g.classic != nil && g.classic.members[id] != nil {
				h.claim(members, p, id, "holds")
			}
			if h.mayCommit(g, id, epoch, p) {
				h.claim(committers, p, id, "commits")
			}
		}
	}
	for _, c := range h.clients {
		check(c.id, c.epoch, c.held)
	}
	for _, c := range h.mates {
		check(c.id, c.generation, c.held)
	}
}

func (h *history) mayCommit(g *group, id string, epoch int32, p consumer.TopicPartition) bool {
	commit := Commit{Group: g.id, Member: id, Epoch: epoch, Version: 9, Topics: []CommitTopic{{
		ID: p.Topic, Partitions: []CommitPartition{{Partition: p.Partition}},
	}}}
	if g.consumer != nil {
		return h.machine.consumerCheckCommit(h.now, g, &commit) == nil
	}
	return g.classic != nil && g.classic.check(id, nil) == nil && epoch == g.classic.generation
}

// checkAssigned checks that nobody but its owner has a partition, as the coordinator sees it.
func (h *history) checkAssigned(g *group) {
	for _, id := range g.consumer.IDs() {
		m := g.consumer.Member(id)
		for _, set := range []consumer.Partitions{m.Assigned, m.Revoking} {
			for p := range set.All() {
				if owner := g.consumer.Owner(p); owner != id {
					h.t.Fatalf("%v is %s's, and %q is its owner", p, id, owner)
				}
			}
		}
	}
}

func (h *history) claim(who map[consumer.TopicPartition]string, p consumer.TopicPartition, id, does string) {
	if other, taken := who[p]; taken {
		h.t.Fatalf("%s %s %v, and so does %s", id, does, p, other)
	}
	who[p] = id
}

// compact is the log as the cleaner would leave it.
func (h *history) compact() []record.Record {
	newest := make(map[string]int)
	for i, r := range h.log {
		newest[string(r.Key)] = i
	}
	var log []record.Record
	for i, r := range h.log {
		if newest[string(r.Key)] == i && r.Value != nil {
			log = append(log, r)
		}
	}
	return log
}

// endRivals ends all but one of the processes with one instance id: of two protocols, they could drive each other out for ever.
func (h *history) endRivals() {
	seen := make(map[string]bool)
	rival := func(instance *string) bool {
		if instance == nil || !seen[*instance] {
			if instance != nil {
				seen[*instance] = true
			}
			return false
		}
		return true
	}
	for _, c := range h.mates {
		c.crashed = c.crashed || rival(c.instance)
	}
	for _, c := range h.clients {
		c.crashed = c.crashed || rival(c.instance)
	}
}

// settle lets all be quiet, and checks what comes of it.
func (h *history) settle() {
	h.quiet = true
	h.endRivals()
	for range 100 {
		h.until(h.now.Add(3 * time.Second))
		for _, c := range slices.Clone(h.clients) {
			if !c.crashed {
				c.settle()
				h.beat(c)
			}
		}
		for _, c := range slices.Clone(h.mates) {
			h.move(c)
		}
		h.check()
	}
	h.clients = slices.DeleteFunc(h.clients, func(c *nextClient) bool { return c.crashed })
	h.mates = slices.DeleteFunc(h.mates, func(c *mate) bool { return c.crashed })
	g := h.machine.groups[historyGroup]
	if g == nil || len(h.clients)+len(h.mates) == 0 {
		return
	}
	if state := g.state(); state != "Stable" {
		h.t.Fatalf("at rest the group is %s", state)
	}
	holders := make(map[consumer.TopicPartition]string)
	for _, c := range h.clients {
		if !maps.Equal(c.held, c.assigned) {
			h.t.Fatalf("%s holds %v and was assigned %v", c.id, c.held, c.assigned)
		}
		h.checkHeld(holders, c.id, c.held, func(topic string) bool { return h.subscribes(c, topic) })
	}
	for _, c := range h.mates {
		h.checkHeld(holders, c.id, c.held, func(topic string) bool { return slices.Contains(c.topics, topic) })
	}
	h.checkAllHeld(holders)
}

// checkHeld checks that a member holds what there is and what it subscribes to, and nobody else that.
func (h *history) checkHeld(holders map[consumer.TopicPartition]string, id string, held map[consumer.TopicPartition]bool, wants func(string) bool) {
	for p := range held {
		t := h.state.Image().TopicByID(p.Topic)
		if t == nil || int(p.Partition) >= len(t.Partitions) || !wants(t.Name) {
			h.t.Fatalf("%s holds %v, which it should not", id, p)
		}
		h.claim(holders, p, id, "holds")
	}
}

func (h *history) checkAllHeld(holders map[consumer.TopicPartition]string) {
	g := h.machine.groups[historyGroup]
	for _, t := range h.state.Image().Topics {
		wanted := slices.ContainsFunc(h.clients, func(c *nextClient) bool { return h.subscribes(c, t.Name) }) ||
			slices.ContainsFunc(h.mates, func(c *mate) bool { return slices.Contains(c.topics, t.Name) })
		if g.subscribes(t.Name) != wanted {
			h.t.Fatalf("the group says that it subscribes to %s: %v", t.Name, !wanted)
		}
		for i := range t.Partitions {
			if p := (consumer.TopicPartition{Topic: t.ID, Partition: int32(i)}); wanted && holders[p] == "" {
				h.t.Fatalf("nobody holds %s-%d", t.Name, i)
			}
		}
	}
}

func (h *history) subscribes(c *nextClient, name string) bool {
	re, err := regexp.Compile(`^(?:` + *c.regex + `)$`)
	return slices.Contains(c.topics, name) || *c.regex != "" && err == nil && re.MatchString(name)
}

// durable is what a machine has from records.
func durable(m *Machine) map[string]*consumer.Group {
	all := make(map[string]*consumer.Group)
	for id, g := range m.groups {
		if g.consumer != nil {
			all[id] = g.consumer
		}
	}
	return all
}

// sameState compares all of groups but what is soft.
var sameState = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(consumer.Group{}, "index", "stale", "staleRegexes"),
}
