package group

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// classicTwin puts requests in any order to a machine, and judges its answers by what it has seen of them, as a client would that sees all:
// it knows no state of groups, only generations, who was told what, and what the leaders gave.
type classicTwin struct {
	t       *rapid.T
	random  *rand.Rand // rapid's own numbers are mostly small ones, of which no long history comes
	opts    Options
	machine *Machine
	replica *Machine // is fed with the records only
	now     time.Time
	log     []logged
	token   Token
	waiting map[Token]Input
	// seen is by group; members are the ids that were given out, with their instance ids.
	seen    map[string]*seenGroup
	members map[string]*seenMember
	saw     map[string]int // what happened, to know that the histories are worth something
}

// seenGroup is what the members of a group were told.
type seenGroup struct {
	durable     int32 // the generation of the newest record
	newest      int32 // that anybody was told of
	generations map[int32]*seenGeneration
	statics     map[string]string // member ids by instance id
}

type seenGeneration struct {
	leader, protocol string
	roster           map[string]bool   // nil until the leader was told
	given            map[string]string // nil until the leader gave it
}

type seenMember struct {
	group    string
	instance *string
	gone     bool // it was told that it is no member
	left     bool
	known    int32 // the newest generation that it was told of
}

var (
	twinSessions   = []time.Duration{6 * time.Second, 20 * time.Second, 45 * time.Second}
	twinRebalances = []time.Duration{0, 5 * time.Second, 20 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second}
	twinProtocols  = [][]string{{"range"}, {"range", "sticky"}, {"sticky", "range"}, {"sticky"}, {"rack", "sticky", "range"}}
)

// TestClassicTwin runs random histories; its name in the hard cases is 58 (no group is stuck: whatever was asked, time answers it) and 60 (a
// stale generation commits nothing).
func TestClassicTwin(t *testing.T) {
	t.Parallel()
	saw := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		w := &classicTwin{t: t, saw: saw, random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), now: scriptEpoch, waiting: make(map[Token]Input), seen: make(map[string]*seenGroup), members: make(map[string]*seenMember)}
		w.opts = Options{OffsetMetadataMax: 10, OffsetsRetention: 1 << 62, RecordMax: pick(w, []int{350, 1 << 20}), Classic: ClassicOptions{
			MinSession: 6 * time.Second, MaxSession: time.Minute,
			InitialDelay: pick(w, []time.Duration{0, 3 * time.Second}), MaxSize: pick(w, []int{2, 4, 100}),
		}}
		w.restart()
		for range rapid.IntRange(400, 800).Draw(t, "steps") {
			w.act(pick(w, twinActions))
			w.check()
		}
		w.end()
	})
	t.Log(saw)
	if testing.Short() { // there are too few histories to expect each in
		return
	}
	for _, what := range []string{"assigned", "replaced", "too large", "full", "committed", "amid a rebalance", "overflow", "lost"} {
		if saw[what] == 0 {
			t.Errorf("no history had this: %s; they had %v", what, saw)
		}
	}
}

func pick[T any](w *classicTwin, of []T) T { return of[w.random.IntN(len(of))] }

// between is a number from low to high.
func (w *classicTwin) between(low, high int) int { return low + w.random.IntN(high-low+1) }

// twinActions are what may happen, as often as it shall.
var twinActions = strings.Fields(strings.Repeat("join rejoin rejoin joinall joinall joinall sync syncall syncall syncall heartbeat beatall beatall beatall commit wait wait ", 6) +
	"leave leave leave commit commit back back back long smaller restart")

func (w *classicTwin) act(action string) {
	switch action {
	case "join":
		w.join()
	case "rejoin":
		w.rejoin()
	case "joinall":
		w.joinAll()
	case "sync":
		w.sync()
	case "syncall":
		w.syncAll()
	case "heartbeat":
		w.heartbeat()
	case "beatall":
		w.beatAll()
	case "leave":
		w.leave()
	case "back":
		w.back()
	case "commit":
		w.commit()
	case "wait":
		w.advance(time.Duration(w.between(0, 6_000)) * time.Millisecond)
	case "long":
		w.advance(time.Duration(w.between(0, 60)) * time.Second)
	case "smaller":
		w.opts.Classic.MaxSize = w.between(1, 4)
		w.restart()
	case "restart":
		w.restart()
	}
}

func (w *classicTwin) caller() Caller {
	w.token++
	return Caller{Token: w.token, ClientID: "c", Host: "h", FreshID: fmt.Sprint(w.token)}
}

// step steps the machine, applies what it writes to both, or loses it, and looks at the replies.
func (w *classicTwin) step(in Input, lose bool) {
	e := w.machine.Step(w.now, in)
	w.t.Logf("%s %s", w.now.Sub(scriptEpoch), show(in))
	if _, ok := in.(Tick); !ok && in.token() != 0 {
		w.waiting[in.token()] = in
	}
	if lose && len(e.Records) > 0 {
		if e.Retractable {
			delete(w.waiting, in.token())
			return
		}
		w.saw["lost"]++
		w.restart()
		return
	}
	for _, r := range e.Rebalances {
		if r.Reason == "size" {
			w.saw["overflow"]++
		}
		if r.Reason == "record" {
			w.saw["too large"]++
		}
	}
	w.given(e.Replies)
	for _, r := range e.Replies {
		asked, ok := w.waiting[r.Token]
		if !ok {
			w.t.Fatalf("%d is answered, and does not wait: %s", r.Token, show(r.Result))
		}
		delete(w.waiting, r.Token)
		if int(r.Wait) > len(w.log) {
			w.t.Fatalf("%s waits for %d, the log ends at %d", show(r.Result), r.Wait, len(w.log))
		}
		w.t.Logf("    #%d %s", r.Token, show(r.Result))
		w.judge(asked, r.Result)
	}
	for _, r := range e.Records {
		w.apply(r)
	}
}

// apply takes in one record, after which a classic group is what the records say.
func (w *classicTwin) apply(r record.Record) {
	at := batch.Offset(len(w.log))
	w.log = append(w.log, logged{r, w.now.UnixMilli()})
	entry, err := record.Decode(r.Key, r.Value)
	if err != nil || len(r.Key)+len(r.Value) > w.opts.RecordMax {
		w.t.Fatalf("a record of %d bytes: %v", len(r.Key)+len(r.Value), err)
	}
	for _, m := range []*Machine{w.machine, w.replica} {
		if err := m.Apply(at, w.now.UnixMilli(), r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	e, ok := entry.(record.Classic)
	if !ok {
		return
	}
	if e.Value == nil {
		w.t.Fatalf("group %q is removed", e.Group)
	}
	s := w.group(e.Group)
	if e.Value.Generation < s.durable {
		w.t.Fatalf("generation %d after %d", e.Value.Generation, s.durable)
	}
	s.durable = e.Value.Generation
	if g := w.machine.find(e.Group); g.classic.phase == classicEmpty || g.classic.phase == classicStable {
		if err := g.classic.differsFrom(w.replica.find(e.Group).classic); err != nil {
			w.t.Fatal(err)
		}
	}
}

// restart makes a machine of the log; who waited is answered by nobody, and what was told of generations that are not in the log is void.
func (w *classicTwin) restart() {
	w.machine, w.replica = w.replay(), w.replay()
	w.waiting = make(map[Token]Input)
	for id, s := range w.seen {
		s.statics = make(map[string]string)
		if c := w.classicOf(id); c != nil {
			for instance, mem := range c.statics {
				s.statics[instance] = mem.id
			}
		}
		s.newest = s.durable
		maps.DeleteFunc(s.generations, func(n int32, _ *seenGeneration) bool { return n > s.durable })
	}
	for _, mem := range w.members {
		mem.gone, mem.left = false, false
	}
	w.step(Loaded{}, false)
}

func (w *classicTwin) replay() *Machine {
	m := New(w.opts)
	for i, r := range w.log {
		if err := m.Apply(batch.Offset(i), r.timestamp, r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	return m
}

func (w *classicTwin) advance(by time.Duration) {
	end := w.now.Add(by)
	for n := 0; ; n++ {
		next := w.machine.Next()
		if next.IsZero() || next.After(end) {
			break
		}
		if n > 10_000 {
			w.t.Fatal("one tick after another")
		}
		w.now = slices.MaxFunc([]time.Time{w.now, next}, time.Time.Compare)
		w.step(Tick{}, false)
		w.check()
	}
	w.now = end
}

func (w *classicTwin) check() {
	if err := checkClassic(w.machine, w.waiting); err != nil {
		w.t.Fatal(err)
	}
}

// end lets time pass until nothing is left to happen: all is answered, and no group has members.
func (w *classicTwin) end() {
	w.advance(24 * time.Hour)
	if len(w.waiting) > 0 || !w.machine.Next().IsZero() {
		w.t.Fatalf("waiting are %v, next is %v", w.waiting, w.machine.Next())
	}
	for _, g := range w.machine.sorted() {
		if g.state() != "Empty" || g.members() > 0 {
			w.t.Fatalf("group %q is %s with %d members", g.id, g.state(), g.members())
		}
	}
}

func (w *classicTwin) group(id string) *seenGroup {
	s := w.seen[id]
	if s == nil {
		s = &seenGroup{generations: make(map[int32]*seenGeneration), statics: make(map[string]string)}
		w.seen[id] = s
	}
	return s
}

func (s *seenGroup) generation(n int32) *seenGeneration {
	g := s.generations[n]
	if g == nil {
		g = &seenGeneration{}
		s.generations[n] = g
	}
	return g
}

// join is a JoinGroup of somebody new, or of a static member that comes back.
func (w *classicTwin) join() {
	in := w.newJoin()
	in.Caller = w.caller()
	in.Group = pick(w, []string{"g", "h"})
	in.NeedsKnownID = (w.between(0, 1) == 0)
	if w.between(0, 1) == 0 {
		instance := pick(w, []string{"i", "j"})
		in.InstanceID = &instance
	}
	w.step(in, false)
}

func (w *classicTwin) newJoin() Join {
	in := Join{
		ProtocolType: pick(w, []string{"consumer", "consumer", "consumer", "consumer", "consumer", "consumer", "consumer", "connect", ""}),
		Session:      pick(w, twinSessions), Rebalance: pick(w, twinRebalances),
		KnowsSkipAssignment: (w.between(0, 1) == 0),
	}
	for _, name := range pick(w, twinProtocols) {
		in.Protocols = append(in.Protocols, record.Protocol{Name: name, Metadata: []byte(pick(w, []string{"m", "n"}))})
	}
	return in
}

// some draws a member id that was given out, and the member; now and then its id is not one.
func (w *classicTwin) some() (string, *seenMember) {
	ids := slices.Sorted(maps.Keys(w.members))
	// Those who came last are the most likely to be there.
	ids = ids[max(len(ids)-6, 0):]
	if len(ids) == 0 || w.between(0, 19) == 0 {
		return "stranger", &seenMember{group: "g"}
	}
	id := pick(w, ids)
	return id, w.members[id]
}

func (w *classicTwin) rejoin() {
	id, mem := w.some()
	w.rejoinAs(id, mem, w.between(0, 3) > 0)
}

// rejoinAs is a JoinGroup of a member, with what it brought before if same.
func (w *classicTwin) rejoinAs(id string, mem *seenMember, same bool) {
	in := w.newJoin()
	in.Caller, in.Group, in.Member, in.InstanceID = w.caller(), mem.group, id, mem.instance
	if c := w.classicOf(mem.group); same && c != nil && c.members[id] != nil {
		in.Protocols, in.ProtocolType = c.members[id].protocols, c.kind
	}
	w.step(in, false)
}

// classicOf looks into the machine, to ask what is worth asking.
func (w *classicTwin) classicOf(id string) *classic {
	if g := w.machine.find(id); g != nil {
		return g.classic
	}
	return nil
}

// epoch draws a generation: mostly the one that the member was told of, as a real one would say.
func (w *classicTwin) epoch(mem *seenMember) int32 {
	return mem.known + pick(w, []int32{0, 0, 0, 0, 0, 0, -1, 1})
}

func (w *classicTwin) sync() {
	id, mem := w.some()
	w.syncAs(id, mem, w.epoch(mem))
}

// syncAll is SyncGroup of all members of a group that were told of its generation.
func (w *classicTwin) syncAll() {
	c := w.classicOf(pick(w, []string{"g", "h"}))
	if c == nil || c.phase != classicCompleting {
		return
	}
	for _, mem := range slices.Clone(c.order) {
		if seen := w.members[mem.id]; seen != nil && w.between(0, 9) > 0 {
			w.syncAs(mem.id, seen, seen.known)
		}
	}
}

// syncAs is a SyncGroup of a member; if it was told that it leads, it gives to each of the roster what names it.
func (w *classicTwin) syncAs(id string, mem *seenMember, epoch int32) {
	in := Sync{Caller: w.caller(), Group: mem.group, Member: id, InstanceID: mem.instance, Generation: epoch}
	if s := w.group(mem.group).generations[epoch]; s != nil && s.leader == id {
		for _, m := range slices.Sorted(maps.Keys(s.roster)) {
			if w.between(0, 9) > 0 {
				in.Assignments = append(in.Assignments, Assigned{m, fmt.Appendf(nil, "%s@%d-%s", m, epoch, pick(w, []string{"", strings.Repeat("long", 40)}))})
			}
		}
	}
	w.step(in, w.between(0, 9) == 0)
}

// joinAll is JoinGroup of most who should join a rebalance.
func (w *classicTwin) joinAll() {
	for _, id := range []string{"g", "h"} {
		c := w.classicOf(id)
		if c == nil || c.phase != classicPreparing {
			continue
		}
		ids := c.pending.all()
		for _, mem := range c.order {
			if !mem.join.held {
				ids = append(ids, mem.id)
			}
		}
		for _, member := range ids {
			if w.between(0, 9) > 0 {
				w.rejoinAs(member, w.members[member], true)
			}
		}
	}
}

// back is a JoinGroup of a static member that has lost its member id.
func (w *classicTwin) back() {
	for _, id := range []string{"g", "h"} {
		if c := w.classicOf(id); c != nil && len(c.statics) > 0 {
			mem := c.statics[pick(w, slices.Sorted(maps.Keys(c.statics)))]
			in := w.newJoin()
			in.Caller, in.Group, in.InstanceID, in.Protocols, in.ProtocolType = w.caller(), id, mem.instance, mem.protocols, c.kind
			w.step(in, w.between(0, 9) == 0)
		}
	}
}

// beatAll is a Heartbeat of all members.
func (w *classicTwin) beatAll() {
	for _, id := range []string{"g", "h"} {
		if c := w.classicOf(id); c != nil {
			for _, mem := range slices.Clone(c.order) {
				if seen := w.members[mem.id]; seen != nil {
					w.step(Heartbeat{Caller: w.caller(), Group: id, Member: mem.id, InstanceID: mem.instance, Generation: seen.known}, false)
				}
			}
		}
	}
}

func (w *classicTwin) heartbeat() {
	id, mem := w.some()
	w.step(Heartbeat{Caller: w.caller(), Group: mem.group, Member: id, InstanceID: mem.instance, Generation: w.epoch(mem)}, false)
}

func (w *classicTwin) leave() {
	in := Leave{Caller: w.caller(), Group: "g"}
	for range w.between(1, 3) {
		id, mem := w.some()
		in.Group = mem.group
		in.Members = append(in.Members, LeavingMember{Member: id, InstanceID: mem.instance})
	}
	w.step(in, w.between(0, 9) == 0)
}

func (w *classicTwin) commit() {
	id, mem := w.some()
	if c := w.classicOf(mem.group); c != nil && len(c.order) > 0 && w.between(0, 1) == 0 {
		if seen := w.members[c.order[0].id]; seen != nil {
			id, mem = c.order[0].id, seen
		}
	}
	in := Commit{Caller: w.caller(), Group: mem.group, Member: id, InstanceID: mem.instance, Epoch: w.epoch(mem), Version: 8, Retention: -1}
	if w.between(0, 5) == 0 {
		in.Member, in.InstanceID, in.Epoch = "", nil, -1
	}
	in.Topics = []CommitTopic{{Topic: "t", Partitions: []CommitPartition{{Offset: 1}}}}
	w.step(in, w.between(0, 9) == 0)
}

// judge says whether an answer may be given.
func (w *classicTwin) judge(asked Input, result any) {
	switch in := asked.(type) {
	case Join:
		w.judgeJoin(in, result.(JoinResult))
	case Sync:
		w.judgeSync(in, result.(SyncResult))
	case Heartbeat:
		err := result.(HeartbeatResult).Err
		w.judgeMember(in.Group, in.Member, in.Generation, err)
	case Leave:
		for i, l := range result.(LeaveResult).Members {
			if l.Err == nil {
				w.leftNow(in.Members[i].Member)
			}
		}
	case Commit:
		err := result.(CommitResult).Topics[0].Partitions[0].Err
		if in.Epoch >= 0 {
			w.judgeMember(in.Group, in.Member, in.Epoch, err)
			if err == nil {
				w.saw["committed"]++
			}
		} else if g := w.machine.find(in.Group); err == nil && g != nil && g.members() > 0 {
			w.t.Fatalf("a commit without generation is taken by a group of %d members", g.members())
		}
	}
}

func (w *classicTwin) leftNow(id string) {
	if mem := w.members[id]; mem != nil {
		if mem.left {
			w.t.Fatalf("%s leaves twice", id)
		}
		mem.gone, mem.left = true, true
	}
}

// judgeMember checks an answer that says, if it is no error, that id is a member of that generation, and this the group's newest.
func (w *classicTwin) judgeMember(group, id string, epoch int32, err error) {
	s, mem := w.group(group), w.members[id]
	if err != nil && !errors.Is(err, kerr.RebalanceInProgress) {
		if mem != nil && mem.known > 0 && (errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.FencedInstanceID)) {
			mem.gone = true
		}
		return
	}
	switch {
	case mem == nil || mem.gone:
		w.t.Fatalf("%s is no member of %s: %v", id, group, err)
	case epoch != max(s.newest, s.durable):
		w.t.Fatalf("%s of generation %d is heard, the group's is %d: %v", id, epoch, max(s.newest, s.durable), err)
	}
	if err != nil {
		w.saw["amid a rebalance"]++
	}
}

func (w *classicTwin) judgeJoin(in Join, r JoinResult) {
	mem := w.members[in.Member]
	switch {
	case errors.Is(r.Err, kerr.MemberIDRequired):
		w.members[r.Member] = &seenMember{group: in.Group}
		return
	case errors.Is(r.Err, kerr.FencedInstanceID) && mem != nil:
		mem.gone = true
		return
	case errors.Is(r.Err, kerr.GroupMaxSizeReached):
		w.saw["full"]++
		return
	case r.Err != nil:
		return
	case in.Member != "" && (mem == nil || mem.gone):
		w.t.Fatalf("%s is no member, and joins", in.Member)
	}
	s := w.group(in.Group)
	if r.Generation < max(s.newest, s.durable) {
		w.t.Fatalf("generation %d after %d and %d", r.Generation, s.newest, s.durable)
	}
	s.newest = r.Generation
	if mem == nil {
		mem = &seenMember{group: in.Group, instance: in.InstanceID}
		w.members[r.Member] = mem
	}
	mem.known = r.Generation
	w.judgeGeneration(in, r, s.generation(r.Generation))
	if in.InstanceID != nil {
		w.replaced(s, *in.InstanceID, r)
	}
}

// replaced notes that a static member has another member id now, and the assignment of its former one.
func (w *classicTwin) replaced(s *seenGroup, instance string, r JoinResult) {
	old := s.statics[instance]
	s.statics[instance] = r.Member
	if old == "" || old == r.Member {
		return
	}
	w.members[old].gone = true
	if g := s.generation(r.Generation); g.given != nil {
		w.saw["replaced"]++
		g.given[r.Member] = g.given[old]
	}
}

// judgeGeneration checks that all members of a generation are told the same.
func (w *classicTwin) judgeGeneration(in Join, r JoinResult, s *seenGeneration) {
	if !slices.ContainsFunc(in.Protocols, func(p record.Protocol) bool { return p.Name == *r.Protocol }) && in.Member == "" {
		w.t.Fatalf("%s does not have protocol %s", r.Member, *r.Protocol)
	}
	if s.protocol != "" && s.protocol != *r.Protocol {
		w.t.Fatalf("generation %d has protocols %s and %s", r.Generation, s.protocol, *r.Protocol)
	}
	s.protocol = *r.Protocol
	if r.Leader == r.Member {
		if s.given != nil && !r.SkipAssignment && s.leader != r.Leader {
			w.t.Fatalf("%s is to assign generation %d, which %s has assigned", r.Member, r.Generation, s.leader)
		}
		s.leader, s.roster = r.Member, make(map[string]bool)
		for _, m := range r.Members {
			if s.roster[m.Member] {
				w.t.Fatalf("%s is in the roster twice", m.Member)
			}
			s.roster[m.Member] = true
		}
		if !s.roster[r.Member] {
			w.t.Fatalf("leader %s is not in its roster", r.Member)
		}
	} else if len(r.Members) > 0 {
		w.t.Fatalf("%s does not lead, and has the roster", r.Member)
	}
}

// judgeSync checks that a member has what the leader of its generation gave it.
func (w *classicTwin) judgeSync(in Sync, r SyncResult) {
	w.judgeMember(in.Group, in.Member, in.Generation, r.Err)
	if r.Err != nil {
		return
	}
	s := w.group(in.Group).generation(in.Generation)
	if s.given == nil {
		w.t.Fatalf("%s has %q in generation %d, which nobody has assigned", in.Member, r.Assignment, in.Generation)
	}
	if want := s.given[in.Member]; string(r.Assignment) != want {
		w.t.Fatalf("%s has %q in generation %d, its leader gave %q", in.Member, r.Assignment, in.Generation, want)
	}
	w.saw["assigned"]++
}

// given notes what a leader gave, if its SyncGroup is among the replies.
func (w *classicTwin) given(replies []Reply) {
	for _, r := range replies {
		in, ok := w.waiting[r.Token].(Sync)
		if !ok || r.Result.(SyncResult).Err != nil {
			continue
		}
		s := w.group(in.Group).generation(in.Generation)
		if s.leader != in.Member || s.given != nil {
			continue
		}
		s.given = make(map[string]string)
		for _, a := range in.Assignments {
			s.given[a.Member] = string(a.Assignment)
		}
	}
}
