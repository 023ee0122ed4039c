package meta

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// testSchema takes retention.ms (a number of at least -1), cleanup.policy (a list) and nothing else for topics; everything for the rest.
type testSchema struct{}

func (testSchema) Validate(r Resource, configs map[string]string, changed []string) error {
	if r.Type != ResourceTopic {
		return nil
	}
	for _, key := range changed {
		value, set := configs[key]
		if !set {
			continue
		}
		switch key {
		case "retention.ms":
			if n, err := strconv.Atoi(value); err != nil || n < -1 {
				return fmt.Errorf("retention.ms is %q, at least -1 is needed", value)
			}
		case "cleanup.policy":
		default:
			return fmt.Errorf("unknown topic config %s", key)
		}
	}
	return nil
}

func (testSchema) List(_ Resource, key string) (string, bool) {
	return "delete", key == "cleanup.policy"
}

// script runs commands against one state; a command's records are applied before the next is decided.
type script struct {
	t     *testing.T
	state *State
	ids   byte
}

func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		sc := &script{t: t, state: New("cluster", 1)}
		datadriven.RunTest(t, path, sc.run)
	})
}

func (sc *script) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	switch d.Cmd {
	case "register":
		c := RegisterBroker{
			Offset: sc.state.Version() + 1, Alone: d.HasArg("alone"),
			Endpoints: []Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9092}},
		}
		d.ScanArgs(t, "id", &c.ID)
		execute(sc, &out, c, func(r Registered) { fmt.Fprintf(&out, "epoch %d\n", r.Epoch) })
	case "elect":
		c := ElectLeaders{Renew: d.HasArg("renew")}
		d.ScanArgs(t, "id", &c.Broker)
		execute(sc, &out, c, func(r Elected) { fmt.Fprintf(&out, "more %v\n", r.More) })
	case "create":
		c := CreateTopics{DefaultPartitions: 2, DefaultReplicationFactor: 1, Schema: testSchema{}, ValidateOnly: d.HasArg("validate")}
		for line := range strings.Lines(d.Input) {
			c.Topics = append(c.Topics, sc.newTopic(strings.Fields(line)))
		}
		execute(sc, &out, c, sc.topics(&out))
	case "delete":
		var c DeleteTopics
		for name := range strings.FieldsSeq(d.Input) {
			c.Topics = append(c.Topics, TopicRef{Name: name})
		}
		execute(sc, &out, c, sc.topics(&out))
	case "grow":
		c := CreatePartitions{ValidateOnly: d.HasArg("validate")}
		for line := range strings.Lines(d.Input) {
			c.Topics = append(c.Topics, sc.more(strings.Fields(line)))
		}
		execute(sc, &out, c, sc.topics(&out))
	case "alter":
		c := AlterConfigs{Schema: testSchema{}, ValidateOnly: d.HasArg("validate")}
		for line := range strings.Lines(d.Input) {
			c.Resources = append(c.Resources, sc.changes(strings.Fields(line)))
		}
		execute(sc, &out, c, sc.resources(&out))
	case "replace":
		c := ReplaceConfigs{Schema: testSchema{}}
		for line := range strings.Lines(d.Input) {
			c.Resources = append(c.Resources, ResourceConfigs{Resource: sc.resource(strings.Fields(line)[0]), Configs: newConfigs(strings.Fields(line)[1:])})
		}
		execute(sc, &out, c, sc.resources(&out))
	case "producer-ids":
		c := AllocateProducerIDs{Broker: 1}
		d.ScanArgs(t, "epoch", &c.Epoch)
		execute(sc, &out, c, func(r ProducerIDs) { fmt.Fprintf(&out, "[%d, %d)\n", r.First, r.First+int64(r.Count)) })
	case "apply":
		sc.applyRaw(&out, d.Input)
	case "image":
		sc.image(&out)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return out.String()
}

// execute decides c, prints what it says, and applies its records.
func execute[R any](sc *script, out *strings.Builder, c Command[R], show func(R)) {
	before := sc.state.Version()
	records, result, err := Decide(sc.state, c)
	if sc.state.Version() != before {
		sc.t.Errorf("Decide moved the state from %d to %d", before, sc.state.Version())
	}
	if err != nil {
		fmt.Fprintln(out, "error:", told(err))
		return
	}
	show(result)
	for _, r := range records {
		offset := sc.state.Version() + 1
		fmt.Fprintf(out, "  %d %s\n", offset, describe(r))
		if err := sc.state.Apply(offset, r); err != nil {
			fmt.Fprintln(out, "error:", err)
			return
		}
	}
}

func (sc *script) topics(out *strings.Builder) func([]TopicResult) {
	return func(results []TopicResult) {
		for _, r := range results {
			fmt.Fprintf(out, "%s: %s\n", r.Name, told(r.Err))
		}
	}
}

func (sc *script) resources(out *strings.Builder) func([]ResourceResult) {
	return func(results []ResourceResult) {
		for _, r := range results {
			fmt.Fprintf(out, "%s: %s\n", r.Resource, told(r.Err))
		}
	}
}

func told(err error) string {
	if err == nil {
		return "ok"
	}
	if code, ok := errors.AsType[*kerr.Error](err); ok {
		return code.Message + ": " + err.Error()
	}
	return err.Error()
}

// newTopic reads "name p=2 rf=1 assign=0:1,2;1:2,1 key=value".
func (sc *script) newTopic(words []string) NewTopic {
	sc.ids++
	nt := NewTopic{Name: strings.Trim(words[0], `"`), ID: topic.ID{15: sc.ids}, Partitions: -1, ReplicationFactor: -1}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "p":
			nt.Partitions = int32(sc.number(value))
		case "rf":
			nt.ReplicationFactor = int16(sc.number(value))
		case "assign":
			for part := range strings.SplitSeq(value, ";") {
				index, replicas, _ := strings.Cut(part, ":")
				nt.Assignments = append(nt.Assignments, Assignment{Partition: int32(sc.number(index)), Replicas: sc.numbers(replicas)})
			}
		default:
			nt.Configs = append(nt.Configs, newConfigs([]string{w})...)
		}
	}
	return nt
}

func (sc *script) more(words []string) MorePartitions {
	m := MorePartitions{Topic: words[0], Count: int32(sc.number(words[1]))}
	if len(words) > 2 {
		for replicas := range strings.SplitSeq(words[2], ";") {
			m.Assignments = append(m.Assignments, sc.numbers(replicas))
		}
	}
	return m
}

// changes reads "topic:name key=value -key key+=value key-=value key?" (the last is a null value).
func (sc *script) changes(words []string) ResourceChanges {
	rc := ResourceChanges{Resource: sc.resource(words[0])}
	for _, w := range words[1:] {
		c := ConfigChange{Op: OpSet}
		key, value, has := strings.Cut(w, "=")
		switch {
		case !has && strings.HasPrefix(w, "-"):
			c.Op, key = OpDelete, w[1:]
		case !has:
			key = strings.TrimSuffix(w, "?")
		case strings.HasSuffix(key, "+"):
			c.Op, key = OpAppend, strings.TrimSuffix(key, "+")
		case strings.HasSuffix(key, "-"):
			c.Op, key = OpSubtract, strings.TrimSuffix(key, "-")
		}
		if c.Name = key; has {
			c.Value = &value
		}
		rc.Changes = append(rc.Changes, c)
	}
	return rc
}

func newConfigs(words []string) []NewConfig {
	var configs []NewConfig
	for _, w := range words {
		key, value, has := strings.Cut(w, "=")
		c := NewConfig{Name: key}
		if has {
			c.Value = &value
		}
		configs = append(configs, c)
	}
	return configs
}

func (sc *script) resource(word string) Resource {
	kind, name, _ := strings.Cut(word, ":")
	types := map[string]int8{"topic": ResourceTopic, "broker": ResourceBroker, "group": ResourceGroup, "metrics": ResourceClientMetrics}
	return Resource{Type: types[kind], Name: name}
}

func (sc *script) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		sc.t.Fatal(err)
	}
	return n
}

func (sc *script) numbers(s string) []int32 {
	var list []int32
	for word := range strings.SplitSeq(s, ",") {
		if word != "" {
			list = append(list, int32(sc.number(word)))
		}
	}
	return list
}

// applyRaw applies records given in words: begin, end, abort, topic NAME, config RESOURCE KEY=VALUE, partition N, remove.
func (sc *script) applyRaw(out *strings.Builder, input string) {
	raw := map[string]Record{
		"begin": BeginTransactionRecord{}, "end": EndTransactionRecord{}, "abort": AbortTransactionRecord{}, "no-op": NoOpRecord{},
		"unknown": UnknownRecord{Key: 99}, "remove": RemoveTopicRecord{ID: topic.ID{0: 0xff}},
		"unfence-2": RegistrationChangeRecord{ID: 2, Epoch: 99, Fenced: -1},
	}
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		r := raw[words[0]]
		switch words[0] {
		case "topic":
			r = TopicRecord{Name: words[1], ID: topic.ID{0: 0xff}}
		case "config":
			key, value, _ := strings.Cut(words[2], "=")
			r = ConfigRecord{Resource: sc.resource(words[1]), Name: key, Value: &value}
		case "partition":
			r = PartitionRecord{Index: int32(sc.number(words[1])), TopicID: topic.ID{0: 0xff}, Partition: Partition{Leader: 1, Replicas: []int32{1}}}
		}
		if err := sc.state.Apply(sc.state.Version()+1, r); err != nil {
			fmt.Fprintln(out, err)
		}
	}
}

func (sc *script) image(out *strings.Builder) {
	image := sc.state.Image()
	fmt.Fprintf(out, "version %d\n", image.Version)
	for _, b := range image.Brokers {
		fmt.Fprintf(out, "broker %d epoch %d fenced %v\n", b.ID, b.Epoch, b.Fenced)
	}
	for _, t := range image.Topics {
		fmt.Fprintf(out, "topic %s %d %v\n", t.Name, t.ID[15], sorted(image.Config(TopicResource(t.Name))))
		for i, p := range t.Partitions {
			fmt.Fprintf(out, "  %d replicas %v isr %v leader %d epoch %d/%d\n", i, p.Replicas, p.ISR, p.Leader, p.LeaderEpoch, p.PartitionEpoch)
		}
		if image.Topic(t.Name) != t || image.TopicByID(t.ID) != t {
			fmt.Fprintln(out, "the indexes find another topic")
		}
	}
}

func sorted(configs map[string]string) []string {
	list := []string{}
	for key, value := range configs {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return list
}

func describe(r Record) string {
	switch r := r.(type) {
	case TopicRecord:
		return "topic " + r.Name
	case PartitionRecord:
		return fmt.Sprintf("partition %d replicas %v isr %v leader %d", r.Index, r.Partition.Replicas, r.Partition.ISR, r.Partition.Leader)
	case ConfigRecord:
		if r.Value == nil {
			return fmt.Sprintf("config %s %s deleted", r.Resource, r.Name)
		}
		return fmt.Sprintf("config %s %s=%s", r.Resource, r.Name, *r.Value)
	case PartitionChangeRecord:
		return fmt.Sprintf("change %d leader %d isr %v", r.Index, r.Leader, r.ISR)
	case RegistrationChangeRecord:
		return fmt.Sprintf("broker %d fenced %d", r.ID, r.Fenced)
	case RegisterBrokerRecord:
		return fmt.Sprintf("broker %d epoch %d", r.Broker.ID, r.Broker.Epoch)
	case RemoveTopicRecord:
		return fmt.Sprintf("remove %d", r.ID[15])
	case ProducerIDsRecord:
		return fmt.Sprintf("next producer id %d", r.Next)
	}
	return fmt.Sprintf("%T", r)
}
