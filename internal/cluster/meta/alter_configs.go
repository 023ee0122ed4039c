package meta

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ConfigOp is what an incremental change does to a key, by Kafka's AlterConfigOp.OpType.
type ConfigOp int8

// The operations.
const (
	OpSet      ConfigOp = 0
	OpDelete   ConfigOp = 1
	OpAppend   ConfigOp = 2
	OpSubtract ConfigOp = 3
)

// ConfigChange changes one key.
type ConfigChange struct {
	Name  string
	Op    ConfigOp
	Value *string
}

// ResourceChanges are the changes of one resource; they are made together or not at all.
type ResourceChanges struct {
	Resource Resource
	Changes  []ConfigChange
}

// AlterConfigs changes single configs (IncrementalAlterConfigs, KIP-339); each resource succeeds or fails by itself.
type AlterConfigs struct {
	Resources    []ResourceChanges
	ValidateOnly bool
	Schema       ConfigSchema
}

// ResourceConfigs are all configs that a resource shall have.
type ResourceConfigs struct {
	Resource Resource
	Configs  []NewConfig
}

// ReplaceConfigs gives resources new configs in place of all they had (the old AlterConfigs).
type ReplaceConfigs struct {
	Resources    []ResourceConfigs
	ValidateOnly bool
	Schema       ConfigSchema
}

func (c AlterConfigs) decide(s *State) ([]Record, []ResourceResult, error) {
	p := configPlan{state: s, schema: c.Schema, seen: map[Resource]bool{}}
	for _, r := range c.Resources {
		p.add(r.Resource, func(now map[string]string) (map[string]string, error) {
			return changed(now, r, c.Schema)
		})
	}
	return p.finish(c.ValidateOnly)
}

func (c ReplaceConfigs) decide(s *State) ([]Record, []ResourceResult, error) {
	p := configPlan{state: s, schema: c.Schema, seen: map[Resource]bool{}}
	for _, r := range c.Resources {
		p.add(r.Resource, func(map[string]string) (map[string]string, error) {
			next := make(map[string]string, len(r.Configs))
			for _, kv := range r.Configs {
				// Kafka takes a null value here for "not set".
				if kv.Value != nil {
					next[kv.Name] = *kv.Value
				}
			}
			return next, nil
		})
	}
	return p.finish(c.ValidateOnly)
}

// configPlan gathers what a request does to each resource.
type configPlan struct {
	state   *State
	schema  ConfigSchema
	seen    map[Resource]bool
	records []Record
	results []ResourceResult
}

// add plans one resource, whose configs next makes of the present ones.
func (p *configPlan) add(r Resource, next func(now map[string]string) (map[string]string, error)) {
	records, err := p.plan(r, next)
	p.records = append(p.records, records...)
	p.results = append(p.results, ResourceResult{Resource: r, Err: err})
}

func (p *configPlan) plan(r Resource, next func(now map[string]string) (map[string]string, error)) ([]Record, error) {
	if p.seen[r] {
		return nil, refuse(kerr.InvalidRequest, "Resource '%s' is named twice in one request.", r.Name)
	}
	p.seen[r] = true
	if err := p.state.checkResource(r); err != nil {
		return nil, err
	}
	now, _ := p.state.configs.Get(r)
	want, err := next(now)
	if err != nil {
		return nil, err
	}
	records := diff(r, now, want)
	changed := make([]string, len(records))
	for i, record := range records {
		changed[i] = record.Name
	}
	// Only what changes is judged: a directory of Kafka holds keys and values that are not allowed here, and they are kept.
	if err := validate(p.schema, r, want, changed); err != nil {
		return nil, err
	}
	all := make([]Record, len(records))
	for i, record := range records {
		all[i] = record
	}
	return all, nil
}

func (p *configPlan) finish(validateOnly bool) ([]Record, []ResourceResult, error) {
	if validateOnly {
		p.records = nil
	}
	return p.records, p.results, nil
}

// checkResource refuses a resource that does not exist or that has no configs.
func (s *State) checkResource(r Resource) error {
	switch r.Type {
	case ResourceTopic:
		if s.topicNamed(r.Name) == nil {
			return &RefusalError{Code: kerr.UnknownTopicOrPartition, Reason: "The topic '" + r.Name + "' does not exist."}
		}
	case ResourceBroker, ResourceClientMetrics:
	case ResourceGroup:
		if r.Name == "" {
			return refuse(kerr.InvalidRequest, "The group name must not be empty.")
		}
	default:
		return refuse(kerr.InvalidRequest, "Unexpected resource type %d.", r.Type)
	}
	return nil
}

// diff is the records that lead from now to want, by key.
func diff(r Resource, now, want map[string]string) []ConfigRecord {
	keys := slices.Collect(maps.Keys(want))
	for key := range now {
		if _, kept := want[key]; !kept {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var records []ConfigRecord
	for _, key := range keys {
		value, set := want[key]
		switch before, was := now[key]; {
		case !set:
			records = append(records, ConfigRecord{Resource: r, Name: key})
		case !was || before != value:
			records = append(records, ConfigRecord{Resource: r, Name: key, Value: &value})
		}
	}
	return records
}

// changed applies r's changes to now, which stays as it is.
func changed(now map[string]string, r ResourceChanges, schema ConfigSchema) (map[string]string, error) {
	next := make(map[string]string, len(now)+len(r.Changes))
	maps.Copy(next, now)
	seen := map[string]bool{}
	for _, c := range r.Changes {
		if seen[c.Name] {
			return nil, refuse(kerr.InvalidRequest, "The config key '%s' is named twice for resource '%s'.", c.Name, r.Resource.Name)
		}
		seen[c.Name] = true
		if c.Value == nil && c.Op != OpDelete {
			return nil, refuse(kerr.InvalidRequest, "Null value not supported for config key '%s'.", c.Name)
		}
		if err := apply(next, r.Resource, c, schema); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func apply(configs map[string]string, r Resource, c ConfigChange, schema ConfigSchema) error {
	switch c.Op {
	case OpSet:
		configs[c.Name] = *c.Value
	case OpDelete:
		delete(configs, c.Name)
	case OpAppend, OpSubtract:
		def, isList := "", false
		if schema != nil {
			def, isList = schema.List(r, c.Name)
		}
		if !isList {
			return refuse(kerr.InvalidConfig, "Can't append to or subtract from key %s because its type is not LIST.", c.Name)
		}
		now, set := configs[c.Name]
		if !set {
			now = def
		}
		next := edited(now, c.Op, *c.Value)
		if len(next) > configValueMax {
			return refuse(kerr.InvalidConfig, "The list %s would have %d bytes, and a config value has at most %d.", c.Name, len(next), configValueMax)
		}
		configs[c.Name] = next
	default:
		return refuse(kerr.InvalidRequest, "Unknown operation %d on config key '%s'.", c.Op, c.Name)
	}
	return nil
}

// configValueMax is the longest value of a config, in bytes: what a request can set at once. Without it, a list that is appended to would grow
// without end, and could not be described to clients whose versions have lengths of 16 bits.
const configValueMax = 1<<15 - 1

// edited adds the elements of value to the list now, or takes them away. It takes time linear in both: a value has up to 16,000 elements.
func edited(now string, op ConfigOp, value string) string {
	var list []string
	have := make(map[string]int)
	for element := range strings.SplitSeq(now, ",") {
		if element != "" {
			list = append(list, element)
			have[element]++
		}
	}
	gone := make(map[string]int) // how many of an element go, the first ones
	for element := range strings.SplitSeq(value, ",") {
		switch {
		case op == OpAppend && have[element] == 0:
			list = append(list, element)
			have[element]++
		case op == OpSubtract && have[element] > gone[element]:
			gone[element]++
		}
	}
	list = slices.DeleteFunc(list, func(element string) bool {
		gone[element]--
		return gone[element] >= 0
	})
	return strings.Join(list, ",")
}
