package group

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// A script steps one machine and shows what comes of it. Every directive of a file is one of:
//
//	options key=value ...        settings by their Go names, before all else: retentioninterval=10m classic.maxsize=2 consumer.session=45s
//	image                        the metadata, whole: lines "topic NAME PARTITIONS [id=N] [racks=a,b]", "broker ID [rack=R]",
//	                             "config group NAME KEY=VALUE". What is not named is gone. Topics get ids 1, 2, ... when first named.
//	advance 5s                   time passes; every Tick that was due is shown with its time.
//	restart                      a new machine replays the log, sees the image, and is Loaded: as after a crash.
//	log                          the records that a compacted log would still hold.
//	<input> field=value ...      steps that input: its Go name in lower case (join, sync, consumerheartbeat, commit, ...). Fields are its
//	                             fields in lower case: numbers, true, durations, text; pointers are nil unless given; lists are a,b,c.
//	                             fail=append lets the append fail. Fields that are lists of structs are given in the lines, as scriptLines
//	                             has it for the input: see offset_script_test.go for an example.
//
// Tokens count from 1: a parked request shows its reply where it comes. Records that a step wants are applied at once. Every Step is
// followed by what it did: "N Record{...}" are records at their offsets, "#T Result{...}" are replies with the offset they wait for, then
// rebalances. Fields that are zero or nil are not shown, but numbers are. To show some type in another way, add to scriptShow.
type script struct {
	t       *testing.T
	opts    Options
	machine *Machine
	now     time.Time
	image   *meta.Image
	log     []logged
	ids     map[string]byte // of topics
	token   Token
}

type logged struct {
	record.Record
	timestamp int64
}

// scriptLines reads the lines of an input; in has its plain fields already.
var scriptLines = map[string]func(t *testing.T, in any, lines []string) any{
	"commit": commitLines, "fetch": fetchLines, "deleteoffsets": deleteOffsetsLines,
	"consumerheartbeat": ownedLines,
	"join":              joinLines, "sync": syncLines, "leave": leaveLines,
}

// scriptInputs are the inputs by name.
var scriptInputs = map[string]Input{
	"commit": Commit{Epoch: -1, Version: 9, Retention: -1}, "fetch": Fetch{Epoch: -1}, "deleteoffsets": DeleteOffsets{},
	"delete": Delete{}, "list": List{},
	"join": Join{ProtocolType: "consumer", Session: 10 * time.Second, Rebalance: time.Minute, NeedsKnownID: true}, "sync": Sync{},
	"heartbeat": Heartbeat{}, "leave": Leave{}, "describe": Describe{},
	"consumerheartbeat": ConsumerHeartbeat{RebalanceTimeout: -1}, "consumerdescribe": ConsumerDescribe{},
}

// scriptEpoch is when every script begins: 1,000,000 ms after the Unix epoch.
var scriptEpoch = time.UnixMilli(1_000_000).UTC()

func newScript(t *testing.T) *script {
	sc := &script{t: t, now: scriptEpoch, ids: make(map[string]byte), image: meta.New("cluster", 1).Image()}
	sc.opts = Options{
		OffsetMetadataMax: 4096, OffsetsRetention: 7 * 24 * time.Hour, RetentionInterval: 10 * time.Minute, RecordMax: 1 << 20,
		Classic: ClassicOptions{MinSession: 6 * time.Second, MaxSession: 30 * time.Minute, InitialDelay: 3 * time.Second, MaxSize: 1000},
		Consumer: ConsumerOptions{
			Session: 45 * time.Second, MinSession: 45 * time.Second, MaxSession: time.Minute,
			Heartbeat: 5 * time.Second, MinHeartbeat: 5 * time.Second, MaxHeartbeat: 15 * time.Second,
			MaxSize: 1000, Assignors: []string{"uniform", "range"}, Upgrade: true, Downgrade: true,
		},
	}
	return sc
}

// TestScripts runs the scripts of testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		sc := newScript(t)
		datadriven.RunTest(t, path, sc.run)
	})
}

func (sc *script) run(t *testing.T, d *datadriven.TestData) string {
	sc.t = t
	var out strings.Builder
	if d.Cmd == "options" {
		setFields(t, &sc.opts, d.CmdArgs)
		return ""
	}
	if sc.machine == nil {
		sc.restart(&out)
		out.Reset()
	}
	switch d.Cmd {
	case "image":
		sc.image = sc.newImage(d.Input)
		sc.step(&out, NewImage{Image: sc.image}, false)
	case "advance":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		sc.advance(&out, sc.now.Add(by))
	case "restart":
		sc.restart(&out)
	case "log":
		sc.showLog(&out)
	default:
		sc.ask(&out, d)
	}
	return out.String()
}

// ask steps the machine with the input that d names.
func (sc *script) ask(out *strings.Builder, d *datadriven.TestData) {
	in, ok := scriptInputs[d.Cmd]
	if !ok {
		d.Fatalf(sc.t, "unknown command %q", d.Cmd)
	}
	var args []datadriven.CmdArg
	fail := false
	for _, arg := range d.CmdArgs {
		if arg.Key == "fail" {
			fail = true
			continue
		}
		args = append(args, arg)
	}
	sc.token++
	caller := Caller{Token: sc.token, ClientID: "client", Host: "/127.0.0.1", FreshID: fmt.Sprintf("fresh-%d", sc.token)}
	filled := fillInput(sc.t, in, caller, args)
	if d.Input != "" {
		read := scriptLines[d.Cmd]
		if read == nil {
			d.Fatalf(sc.t, "%s takes no lines: add it to scriptLines", d.Cmd)
		}
		filled = read(sc.t, filled, strings.Split(strings.TrimRight(d.Input, "\n"), "\n")).(Input)
	}
	sc.step(out, filled, fail)
}

// step steps the machine, applies the records, and shows all.
func (sc *script) step(out *strings.Builder, in Input, fail bool) {
	effects := sc.machine.Step(sc.now, in)
	if fail && len(effects.Records) > 0 {
		if effects.Retractable {
			fmt.Fprintf(out, "append failed: %d records are retracted\n", len(effects.Records))
			return
		}
		fmt.Fprintf(out, "append failed: %d records are lost, all is replayed\n", len(effects.Records))
		sc.restart(out)
		return
	}
	sc.apply(out, effects.Records)
	for _, r := range effects.Replies {
		wait := ""
		if r.Wait > 0 {
			wait = fmt.Sprintf(" after %d", r.Wait)
		}
		fmt.Fprintf(out, "#%d%s %s\n", r.Token, wait, show(r.Result))
	}
	for _, r := range effects.Rebalances {
		fmt.Fprintf(out, "rebalance %s: %s, %s\n", r.Group, r.Reason, r.Detail)
	}
}

func (sc *script) apply(out *strings.Builder, records []record.Record) {
	for _, r := range records {
		offset, now := batch.Offset(len(sc.log)), sc.now.UnixMilli()
		sc.log = append(sc.log, logged{Record: r, timestamp: now})
		entry, err := record.Decode(r.Key, r.Value)
		if err != nil {
			sc.t.Fatalf("a record that cannot be decoded was emitted: %v", err)
		}
		fmt.Fprintf(out, "%d %s\n", offset, show(entry))
		if err := sc.machine.Apply(offset, now, r.Key, r.Value); err != nil {
			sc.t.Fatalf("apply %s: %v", show(entry), err)
		}
	}
}

// advance moves time to end, with every tick on the way.
func (sc *script) advance(out *strings.Builder, end time.Time) {
	for range 100_000 {
		next := sc.machine.Next()
		if next.IsZero() || next.After(end) {
			sc.now = end
			return
		}
		if next.After(sc.now) {
			sc.now = next
		}
		var did strings.Builder
		sc.step(&did, Tick{}, false)
		if did.Len() > 0 {
			fmt.Fprintf(out, "at %s:\n%s", sc.now.Sub(scriptEpoch), did.String())
		}
	}
	sc.t.Fatal("the machine wants one tick after another")
}

// restart makes a machine of the log.
func (sc *script) restart(out *strings.Builder) {
	sc.machine = New(sc.opts)
	sc.step(out, NewImage{Image: sc.image}, false)
	for offset, r := range sc.log {
		if err := sc.machine.Apply(batch.Offset(offset), r.timestamp, r.Key, r.Value); err != nil {
			sc.t.Fatalf("replay offset %d: %v", offset, err)
		}
	}
	sc.step(out, Loaded{}, false)
}

// showLog shows the newest record of each key, without tombstones.
func (sc *script) showLog(out *strings.Builder) {
	newest := make(map[string]int)
	for i, r := range sc.log {
		newest[string(r.Key)] = i
	}
	for i, r := range sc.log {
		if newest[string(r.Key)] != i || r.Value == nil {
			continue
		}
		entry, err := record.Decode(r.Key, r.Value)
		if err != nil {
			sc.t.Fatal(err)
		}
		fmt.Fprintf(out, "%d %s\n", i, show(entry))
	}
}

// newImage reads the lines of an image directive.
func (sc *script) newImage(lines string) *meta.Image {
	state := meta.New("cluster", 1)
	at := sc.image.Version
	apply := func(r meta.Record) {
		at++
		if err := state.Apply(at, r); err != nil {
			sc.t.Fatal(err)
		}
	}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		args := make(map[string]string)
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			args[key] = value
		}
		switch words[0] {
		case "topic":
			sc.imageTopic(words, args, apply)
		case "broker":
			b := meta.Broker{ID: int32(number(sc.t, words[1])), Epoch: int64(at)}
			if rack, ok := args["rack"]; ok {
				b.Rack = &rack
			}
			apply(meta.RegisterBrokerRecord{Broker: b})
		case "config":
			key, value, _ := strings.Cut(words[3], "=")
			apply(meta.ConfigRecord{Resource: meta.Resource{Type: meta.ResourceGroup, Name: words[2]}, Name: key, Value: &value})
		default:
			sc.t.Fatalf("image: %q", line)
		}
	}
	apply(meta.NoOpRecord{})
	return state.Image()
}

// imageTopic makes a topic; with replicas=1,2;2,3 its partitions have these replicas in turn, else broker 1 has all.
func (sc *script) imageTopic(words []string, args map[string]string, apply func(meta.Record)) {
	name := words[1]
	if id, ok := args["id"]; ok {
		sc.ids[name] = byte(number(sc.t, id))
	}
	if sc.ids[name] == 0 {
		sc.ids[name] = byte(len(sc.ids) + 1)
	}
	id := topic.ID{15: sc.ids[name]}
	apply(meta.TopicRecord{Name: name, ID: id})
	replicas := strings.Split(args["replicas"], ";")
	for i := range number(sc.t, words[2]) {
		p := meta.Partition{Replicas: []int32{1}, Leader: 1}
		if list := replicas[i%len(replicas)]; list != "" {
			p.Replicas = nil
			for r := range strings.SplitSeq(list, ",") {
				p.Replicas = append(p.Replicas, int32(number(sc.t, r)))
			}
			p.Leader = p.Replicas[0]
		}
		p.ISR = p.Replicas
		apply(meta.PartitionRecord{Index: int32(i), TopicID: id, Partition: p})
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
