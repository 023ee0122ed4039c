package group

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// clients are consumers of one group that do what real ones do, and one machine. They are started, killed, stopped for a while, cut off, and
// come back; their coordinator dies, and appends fail.
type clients struct {
	t       *rapid.T
	random  *rand.Rand
	opts    Options
	machine *Machine
	now     time.Time
	log     []logged
	token   Token
	all     []*client
	waiting map[Token]*client
	started int
}

type client struct {
	name     string
	instance *string
	dead     bool // it has ended, or was fenced
	asleep   time.Time

	member     string
	generation int32
	does       string // what it does next, or waits for: join, sync, beat
	token      Token  // of what it waits for; 0: nothing
	metadata   string
	roster     []JoinedMember // if it leads
	skip       bool           // it leads, and is not to assign
	owns       string         // partitions of its generation, while it has them
	beat       time.Time
}

const clientPartitions = 6

// TestClassicClients: no partition is owned by two members of one generation, and when nothing happens any more the group settles soon,
// with all that live and all partitions. Hard cases 57 and 58.
func TestClassicClients(t *testing.T) {
	t.Parallel()
	saw := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		w := &clients{t: t, random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)), now: scriptEpoch, waiting: make(map[Token]*client)}
		w.opts = Options{OffsetMetadataMax: 10, OffsetsRetention: 1 << 62, RecordMax: 1 << 20, Classic: ClassicOptions{
			MinSession: 6 * time.Second, MaxSession: time.Minute, InitialDelay: 3 * time.Second, MaxSize: 100,
		}}
		w.restart()
		for range rapid.IntRange(60, 300).Draw(t, "steps") {
			what := w.events()[w.random.IntN(len(w.events()))]
			saw[what]++
			w.happen(what)
			w.live(time.Duration(w.random.IntN(4000)) * time.Millisecond)
		}
		w.settle()
		saw["settled with "+strconv.Itoa(min(len(w.living()), 2))]++
	})
	if testing.Short() { // there are too few histories to expect each in
		return
	}
	for _, what := range append((&clients{}).events(), "settled with 2") {
		if saw[what] == 0 {
			t.Errorf("no history had this: %s", what)
		}
	}
}

func (w *clients) events() []string {
	return strings.Fields("start start static static kill close sleep cut news crash lose nothing nothing nothing nothing nothing nothing nothing nothing")
}

// happen lets something happen to one of the clients, or to their coordinator.
func (w *clients) happen(what string) {
	living := w.living()
	switch what {
	case "start":
		if len(living) < 7 {
			w.start(nil)
		}
		return
	case "static": // now and then while another with its instance id lives
		w.start(new([]string{"i", "j"}[w.random.IntN(2)]))
		return
	case "crash":
		w.restart()
		return
	}
	if len(living) == 0 {
		return
	}
	c := living[w.random.IntN(len(living))]
	switch what {
	case "kill":
		w.forget(c)
		c.dead = true
	case "close":
		w.step(Leave{Caller: w.caller(c), Group: "g", Members: []LeavingMember{{Member: c.member, InstanceID: c.instance}}}, false)
		w.forget(c)
		c.dead = true
	case "sleep":
		c.asleep = w.now.Add(time.Duration(w.random.IntN(40)) * time.Second)
	case "cut": // it asks again on another connection
		w.forget(c)
	case "news":
		c.metadata += "+"
		c.does = "join"
		w.forget(c)
	case "lose":
		w.act(c, true)
	}
}

func (w *clients) start(instance *string) {
	w.started++
	c := &client{name: fmt.Sprint("c", w.started), instance: instance, does: "join", metadata: "m"}
	w.all = append(w.all, c)
}

func (w *clients) living() []*client {
	return slices.DeleteFunc(slices.Clone(w.all), func(c *client) bool { return c.dead })
}

func (w *clients) forget(c *client) {
	delete(w.waiting, c.token)
	c.token = 0
}

func (w *clients) caller(c *client) Caller {
	w.token++
	return Caller{Token: w.token, ClientID: c.name, Host: "h", FreshID: fmt.Sprint(w.token)}
}

// restart is a crash of the coordinator: who waits asks the next one.
func (w *clients) restart() {
	w.machine = New(w.opts)
	for i, r := range w.log {
		if err := w.machine.Apply(batch.Offset(i), r.timestamp, r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, c := range w.waiting {
		c.token = 0
	}
	w.waiting = make(map[Token]*client)
	w.step(Loaded{}, false)
}

// live lets clients and time go on.
func (w *clients) live(by time.Duration) {
	for end := w.now.Add(by); w.now.Before(end); w.now = w.now.Add(500 * time.Millisecond) {
		for next := w.machine.Next(); !next.IsZero() && !next.After(w.now); next = w.machine.Next() {
			w.step(Tick{}, false)
		}
		for _, c := range w.living() {
			w.act(c, false)
		}
		w.disjoint()
	}
}

// act lets c do what it does next.
func (w *clients) act(c *client, lose bool) {
	if c.dead || c.token != 0 || w.now.Before(c.asleep) {
		return
	}
	caller := w.caller(c)
	switch {
	case c.does == "join":
		c.owns = ""
		c.token = caller.Token
		w.waiting[c.token] = c
		w.step(Join{
			Caller: caller, Group: "g", Member: c.member, InstanceID: c.instance, ProtocolType: "consumer", Session: 10 * time.Second,
			Rebalance: 20 * time.Second, NeedsKnownID: true, KnowsSkipAssignment: len(c.name)%2 == 0,
			Protocols: []record.Protocol{{Name: "range", Metadata: []byte(c.metadata)}},
		}, lose)
	case c.does == "sync":
		c.token = caller.Token
		w.waiting[c.token] = c
		w.step(Sync{Caller: caller, Group: "g", Member: c.member, InstanceID: c.instance, Generation: c.generation, Assignments: c.assign()}, lose)
	case w.now.Sub(c.beat) >= 2*time.Second:
		c.beat, c.token = w.now, caller.Token
		w.waiting[c.token] = c
		w.step(Heartbeat{Caller: caller, Group: "g", Member: c.member, InstanceID: c.instance, Generation: c.generation}, lose)
	}
}

// assign gives the partitions to the members in turn, if c leads.
func (c *client) assign() []Assigned {
	if len(c.roster) == 0 || c.skip {
		return nil
	}
	given := make([]Assigned, len(c.roster))
	for i, mem := range c.roster {
		given[i].Member = mem.Member
	}
	for p := range clientPartitions {
		given[p%len(given)].Assignment = append(given[p%len(given)].Assignment, byte('0'+p))
	}
	return given
}

// step steps the machine. If its records are lost, it dies.
func (w *clients) step(in Input, lose bool) {
	e := w.machine.Step(w.now, in)
	if lose && len(e.Records) > 0 {
		w.restart()
		return
	}
	for _, r := range e.Records {
		at := batch.Offset(len(w.log))
		w.log = append(w.log, logged{r, w.now.UnixMilli()})
		if err := w.machine.Apply(at, w.now.UnixMilli(), r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, r := range e.Replies {
		c := w.waiting[r.Token]
		if c == nil {
			continue // it was cut off
		}
		w.forget(c)
		w.learn(c, r.Result)
	}
}

// learn takes an answer as Kafka's consumer does (AbstractCoordinator).
func (w *clients) learn(c *client, result any) {
	var err error
	switch r := result.(type) {
	case JoinResult:
		err = r.Err
		switch {
		case errors.Is(err, kerr.MemberIDRequired):
			c.member = r.Member
			return
		case err == nil:
			c.member, c.generation, c.roster, c.skip, c.does = r.Member, r.Generation, r.Members, r.SkipAssignment, "sync"
		}
	case SyncResult:
		err = r.Err
		if err == nil {
			c.owns, c.does, c.beat = string(r.Assignment), "beat", w.now
		}
	case HeartbeatResult:
		err = r.Err
	}
	switch {
	case err == nil:
		return
	case errors.Is(err, kerr.FencedInstanceID):
		c.dead = true
	case errors.Is(err, kerr.UnknownMemberID):
		c.member = ""
	case !errors.Is(err, kerr.RebalanceInProgress) && !errors.Is(err, kerr.IllegalGeneration):
		w.t.Fatalf("%s is told %v", c.name, err)
	}
	c.does = "join"
}

// disjoint checks that no two members own a partition in one generation. Two processes of one instance id do, until the older one asks again.
func (w *clients) disjoint() {
	owners := make(map[string]string)
	for _, c := range w.living() {
		who := c.name
		if c.instance != nil {
			who = *c.instance
		}
		for _, p := range c.owns {
			key := fmt.Sprint(c.generation, string(p))
			if other := owners[key]; other != "" && other != who {
				w.t.Fatalf("%s and %s own partition %c in generation %d", other, who, p, c.generation)
			}
			owners[key] = who
		}
	}
}

// settle checks that the group is stable soon when nothing happens.
func (w *clients) settle() {
	for _, c := range w.all {
		c.asleep = time.Time{}
	}
	w.live(2 * time.Minute)
	living := w.living()
	owned := 0
	for _, c := range living {
		if c.does != "beat" || c.generation != living[0].generation {
			w.t.Fatalf("%s is to %s in generation %d, %s in generation %d", c.name, c.does, c.generation, living[0].name, living[0].generation)
		}
		owned += len(c.owns)
	}
	g := w.machine.find("g")
	switch {
	case g == nil && len(living) == 0:
	case g == nil || g.members() != len(living):
		w.t.Fatalf("%d live, and the group is %+v", len(living), g)
	case len(living) > 0 && (g.state() != "Stable" || owned != clientPartitions):
		w.t.Fatalf("the group is %s, owned are %d partitions", g.state(), owned)
	case len(living) == 0 && g.state() != "Empty":
		w.t.Fatalf("nobody lives, and the group is %s", g.state())
	}
	w.disjoint()
	if err := checkClassic(w.machine, nil); err != nil {
		w.t.Fatal(err)
	}
}
