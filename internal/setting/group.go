package setting

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupSetting is a config of a group (Kafka's GroupConfig).
type groupSetting struct {
	name   string
	broker string // the broker setting that it falls back to; empty: there is none
	typ    kmsg.ConfigType
	def    string // Kafka's default, where the broker has no such setting
	low    int64  // the lowest number
	one    string // what a text has to be one of, separated by |; empty: anything
	idle   string // why it has no effect; empty: it has one
	hidden bool   // listed only where it was set, as Kafka's internal ones are
	doc    string
}

const (
	noShare   = "this version has no share groups"
	noStreams = "this version has no streams groups"
	noThreads = "the coordinator has no threads of its own"
)

// groupSettings are the configs of groups, by name. Those of share groups and streams groups are kept and shown before there are such groups.
var groupSettings = slices.Concat(consumerSettings, shareSettings, streamsSettings)

var consumerSettings = []groupSetting{
	{name: "consumer.assignment.interval.ms", typ: kmsg.ConfigTypeInt, def: "1000", doc: "The least time between two assignments of a consumer group, in ms."},
	{name: "consumer.assignor.offload.enable", typ: kmsg.ConfigTypeBoolean, def: "true", idle: noThreads, hidden: true, doc: "Whether assignors run in threads of their own."},
	{name: "consumer.heartbeat.interval.ms", typ: kmsg.ConfigTypeInt, def: "5000", low: 1, doc: "How often a consumer group's members are heard, in ms."},
	{name: "consumer.session.timeout.ms", typ: kmsg.ConfigTypeInt, def: "45000", low: 1, doc: "How long a consumer group's member may be silent, in ms."},
}

var shareSettings = []groupSetting{
	{name: "errors.deadletterqueue.copy.record.enable", typ: kmsg.ConfigTypeBoolean, def: "false", idle: noShare, doc: "Whether a share group's dead letters hold the record."},
	{name: "errors.deadletterqueue.topic.name", typ: kmsg.ConfigTypeString, idle: noShare, doc: "The topic of a share group's dead letters; empty: none."},
	{name: "share.assignment.interval.ms", typ: kmsg.ConfigTypeInt, def: "1000", idle: noShare, doc: "The least time between two assignments of a share group, in ms."},
	{name: "share.assignor.offload.enable", typ: kmsg.ConfigTypeBoolean, def: "true", idle: noShare, hidden: true, doc: "Whether assignors run in threads of their own."},
	{name: "share.auto.offset.reset", typ: kmsg.ConfigTypeString, def: "latest", one: "latest|earliest|" + byDuration, idle: noShare, doc: "Where a share group begins."},
	{name: "share.delivery.count.limit", typ: kmsg.ConfigTypeInt, def: "5", low: 2, idle: noShare, doc: "How often a record is offered to a share group."},
	{name: "share.heartbeat.interval.ms", typ: kmsg.ConfigTypeInt, def: "5000", low: 1, idle: noShare, doc: "How often a share group's members are heard, in ms."},
	{name: "share.isolation.level", typ: kmsg.ConfigTypeString, def: "read_uncommitted", one: "read_committed|read_uncommitted", idle: noShare, doc: "Whether a share group reads open transactions."},
	{name: "share.partition.max.record.locks", typ: kmsg.ConfigTypeInt, def: "2000", low: 100, idle: noShare, doc: "The most records of a partition that a share group holds."},
	{name: "share.record.lock.duration.ms", typ: kmsg.ConfigTypeInt, def: "30000", low: 1000, idle: noShare, doc: "How long a share group's member may hold a record, in ms."},
	{name: "share.renew.acknowledge.enable", typ: kmsg.ConfigTypeBoolean, def: "true", idle: noShare, doc: "Whether a hold may be renewed."},
	{name: "share.session.timeout.ms", typ: kmsg.ConfigTypeInt, def: "45000", low: 1, idle: noShare, doc: "How long a share group's member may be silent, in ms."},
}

var streamsSettings = []groupSetting{
	{name: "streams.acceptable.recovery.lag", typ: kmsg.ConfigTypeLong, def: "10000", idle: noStreams, hidden: true, doc: "How far behind a standby counts as warm."},
	{name: "streams.assignment.interval.ms", typ: kmsg.ConfigTypeInt, def: "1000", idle: noStreams, doc: "The least time between two assignments of a streams group, in ms."},
	{name: "streams.assignor.name", broker: "group.streams.assignors", typ: kmsg.ConfigTypeString, def: "sticky", idle: noStreams, doc: "The assignor of a streams group."},
	{name: "streams.assignor.offload.enable", typ: kmsg.ConfigTypeBoolean, def: "true", idle: noStreams, hidden: true, doc: "Whether assignors run in threads of their own."},
	{name: "streams.heartbeat.interval.ms", typ: kmsg.ConfigTypeInt, def: "5000", low: 1, idle: noStreams, doc: "How often a streams group's members are heard, in ms."},
	{name: "streams.initial.rebalance.delay.ms", typ: kmsg.ConfigTypeInt, def: "3000", idle: noStreams, doc: "How long an empty streams group waits for more members, in ms."},
	{name: "streams.num.standby.replicas", typ: kmsg.ConfigTypeInt, def: "0", idle: noStreams, doc: "Standby replicas of a streams group's tasks."},
	{name: "streams.num.warmup.replicas", typ: kmsg.ConfigTypeInt, def: "2", idle: noStreams, hidden: true, doc: "Tasks of a streams group that warm up at a time."},
	{name: "streams.rack.aware.assignment.tags", typ: kmsg.ConfigTypeList, idle: noStreams, doc: "The tags that spread a streams group's standbys."},
	{name: "streams.session.timeout.ms", typ: kmsg.ConfigTypeInt, def: "45000", low: 1, idle: noStreams, doc: "How long a streams group's member may be silent, in ms."},
	{name: "streams.task.offset.interval.ms", typ: kmsg.ConfigTypeInt, def: "60000", low: 1, idle: noStreams, hidden: true, doc: "How often members tell the offsets of their tasks, in ms."},
}

// own are the settings that no broker setting stands behind.
var own = []string{
	"errors.deadletterqueue.copy.record.enable", "errors.deadletterqueue.topic.name", "share.auto.offset.reset", "share.isolation.level", "share.renew.acknowledge.enable",
}

// fallback is the broker setting that stands behind s; ok is false if none does.
func (s *groupSetting) fallback() (name string, ok bool) {
	if s.broker != "" {
		return s.broker, true
	}
	return "group." + s.name, !slices.Contains(own, s.name)
}

// Group lists the settings of a group with these overrides over the broker's settings. Hidden ones, and keys that are unknown here, are there
// only where the group has them.
func Group(brokers []Entry, overrides map[string]string) []Entry {
	entries := make([]Entry, 0, len(groupSettings))
	for i := range groupSettings {
		s := &groupSettings[i]
		text, set := overrides[s.name]
		if s.hidden && !set {
			continue
		}
		e := Entry{Name: s.name, Type: s.typ, Doc: s.doc, Value: &s.def, Source: kmsg.ConfigSourceDefaultConfig}
		broker, falls := s.fallback()
		if b := Find(brokers, broker); falls && b != nil && b.Value != nil {
			e.Value, e.Source, e.Synonyms = b.Value, b.Source, b.Synonyms
		} else {
			if !falls {
				broker = s.name
			}
			e.Synonyms = []Synonym{{broker, e.Value, e.Source}}
		}
		if set {
			e.Value, e.Source = &text, kmsg.ConfigSourceGroupConfig
			e.Synonyms = append([]Synonym{{s.name, e.Value, e.Source}}, e.Synonyms...)
		}
		entries = append(entries, e)
	}
	return Plain(withUnknown(entries, overrides, kmsg.ConfigSourceGroupConfig, func(name string) bool { return groupSettingNamed(name) != nil }))
}

// CheckGroup is a check of a group's configs beside the settings of this broker: why a group may not have this value, INVALID_CONFIG.
func CheckGroup(brokers []Entry) func(name, value string) error {
	return func(name, value string) error {
		s := groupSettingNamed(name)
		if s == nil {
			return fmt.Errorf("unknown group config %q: %w", name, kerr.InvalidConfig)
		}
		value = strings.TrimSpace(value)
		allowed := s.allowed(value)
		if allowed == "" {
			allowed = s.outside(brokers, value)
		}
		if allowed != "" {
			return fmt.Errorf("%s is %q, expected %s: %w", name, value, allowed, kerr.InvalidConfig)
		}
		return nil
	}
}

// outside says what the broker allows if value is not within it, else nothing. The bounds of group.consumer.session.timeout.ms are
// group.consumer.min.session.timeout.ms and group.consumer.max.session.timeout.ms, and so on (Kafka's GroupConfig.validateValues).
func (s *groupSetting) outside(brokers []Entry, value string) string {
	n, err := strconv.ParseInt(value, 10, 32)
	kind, rest, ok := strings.Cut(s.name, ".")
	if err != nil || !ok || s.typ != kmsg.ConfigTypeInt {
		return ""
	}
	bound := func(which string) (name string, at int64, ok bool) {
		name = "group." + kind + "." + which + "." + rest
		e := Find(brokers, name)
		if e == nil || e.Value == nil {
			return name, 0, false
		}
		at, err := strconv.ParseInt(*e.Value, 10, 32)
		return name, at, err == nil
	}
	if name, low, ok := bound("min"); ok && n < low {
		return fmt.Sprintf("at least %d (%s)", low, name)
	}
	if name, high, ok := bound("max"); ok && n > high {
		return fmt.Sprintf("at most %d (%s)", high, name)
	}
	return ""
}

// CheckGroupTogether says why a group may not have all of these configs, INVALID_CONFIG: a session has to outlast the interval between two
// heartbeats, where one of both is set and one was changed (Kafka's GroupConfig.validateSessionExceedsHeartbeat).
func CheckGroupTogether(brokers []Entry, configs map[string]string, changed []string) error {
	for _, kind := range []string{"consumer", "share", "streams"} {
		session, heartbeat := kind+".session.timeout.ms", kind+".heartbeat.interval.ms"
		_, one := configs[session]
		_, other := configs[heartbeat]
		if !one && !other || !slices.Contains(changed, session) && !slices.Contains(changed, heartbeat) {
			continue
		}
		all := Group(brokers, configs)
		s, h := Find(all, session), Find(all, heartbeat)
		if s == nil || h == nil {
			continue
		}
		long, err := strconv.ParseInt(strings.TrimSpace(*s.Value), 10, 32)
		short, err2 := strconv.ParseInt(strings.TrimSpace(*h.Value), 10, 32)
		if err == nil && err2 == nil && long <= short {
			return fmt.Errorf("%s is %d, expected more than the %d of %s: %w", session, long, short, heartbeat, kerr.InvalidConfig)
		}
	}
	return nil
}

func groupSettingNamed(name string) *groupSetting {
	for i := range groupSettings {
		if groupSettings[i].name == name {
			return &groupSettings[i]
		}
	}
	return nil
}

// byDuration stands for a text such as by_duration:PT1H among the values of a setting.
const byDuration = "by_duration:PnDTnHnMn.nS"

// isByDuration matches such a text.
var isByDuration = regexp.MustCompile(`^by_duration:P(\d{1,9}D)?(T(\d{1,9}H)?(\d{1,9}M)?(\d{1,9}(\.\d{1,9})?S)?)?$`).MatchString

// allowed says what the setting takes if text is none of it, else nothing.
func (s *groupSetting) allowed(text string) string {
	switch s.typ {
	case kmsg.ConfigTypeInt, kmsg.ConfigTypeLong:
		bits := 32
		if s.typ == kmsg.ConfigTypeLong {
			bits = 64
		}
		if n, err := strconv.ParseInt(text, 10, bits); err != nil || n < s.low {
			return fmt.Sprintf("a whole number of at least %d and at most %d bits", s.low, bits)
		}
	case kmsg.ConfigTypeBoolean:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return "true or false"
		}
	default:
		values := strings.Split(s.one, "|")
		if s.one != "" && !slices.Contains(values, text) && (!slices.Contains(values, byDuration) || !isByDuration(text)) {
			return "one of " + strings.Join(values, ", ")
		}
	}
	return ""
}
