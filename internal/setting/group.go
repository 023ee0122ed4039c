package setting

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupSetting is a config of a group: the broker setting that it falls back to, and Kafka's default if the broker has no such setting
// (Kafka's GroupConfig).
type groupSetting struct {
	name, broker string
	typ          kmsg.ConfigType
	def, doc     string
}

// groupSettings are the configs of groups, by name. They are kept and shown before there are groups.
var groupSettings = [...]groupSetting{
	{"consumer.assignment.interval.ms", "group.consumer.assignment.interval.ms", kmsg.ConfigTypeInt, "1000", "The least time between two assignments of a consumer group, in ms."},
	{"consumer.assignor.offload.enable", "group.consumer.assignor.offload.enable", kmsg.ConfigTypeBoolean, "true", "Whether assignors run in threads of their own: no effect here, the coordinator has none."},
	{"consumer.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms", kmsg.ConfigTypeInt, "5000", "How often a consumer group's members are heard, in ms."},
	{"consumer.session.timeout.ms", "group.consumer.session.timeout.ms", kmsg.ConfigTypeInt, "45000", "How long a consumer group's member may be silent, in ms."},
	{"errors.deadletterqueue.copy.record.enable", "errors.deadletterqueue.copy.record.enable", kmsg.ConfigTypeBoolean, "false", "Whether a share group's dead letters hold the record."},
	{"errors.deadletterqueue.topic.name", "errors.deadletterqueue.topic.name", kmsg.ConfigTypeString, "", "The topic of a share group's dead letters; empty: none."},
	{"share.assignment.interval.ms", "group.share.assignment.interval.ms", kmsg.ConfigTypeInt, "1000", "The least time between two assignments of a share group, in ms."},
	{"share.auto.offset.reset", "share.auto.offset.reset", kmsg.ConfigTypeString, "latest", "Where a share group begins."},
	{"share.delivery.count.limit", "group.share.delivery.count.limit", kmsg.ConfigTypeInt, "5", "How often a record is offered to a share group."},
	{"share.heartbeat.interval.ms", "group.share.heartbeat.interval.ms", kmsg.ConfigTypeInt, "5000", "How often a share group's members are heard, in ms."},
	{"share.isolation.level", "share.isolation.level", kmsg.ConfigTypeString, "read_uncommitted", "Whether a share group reads open transactions."},
	{"share.partition.max.record.locks", "group.share.partition.max.record.locks", kmsg.ConfigTypeInt, "2000", "The most records of a partition that a share group holds."},
	{"share.record.lock.duration.ms", "group.share.record.lock.duration.ms", kmsg.ConfigTypeInt, "30000", "How long a share group's member may hold a record, in ms."},
	{"share.renew.acknowledge.enable", "share.renew.acknowledge.enable", kmsg.ConfigTypeBoolean, "true", "Whether a hold may be renewed."},
	{"share.session.timeout.ms", "group.share.session.timeout.ms", kmsg.ConfigTypeInt, "45000", "How long a share group's member may be silent, in ms."},
	{"streams.assignment.interval.ms", "group.streams.assignment.interval.ms", kmsg.ConfigTypeInt, "1000", "The least time between two assignments of a streams group, in ms."},
	{"streams.assignor.name", "group.streams.assignors", kmsg.ConfigTypeString, "sticky", "The assignor of a streams group."},
	{"streams.heartbeat.interval.ms", "group.streams.heartbeat.interval.ms", kmsg.ConfigTypeInt, "5000", "How often a streams group's members are heard, in ms."},
	{"streams.initial.rebalance.delay.ms", "group.streams.initial.rebalance.delay.ms", kmsg.ConfigTypeInt, "3000", "How long an empty streams group waits for more members, in ms."},
	{"streams.num.standby.replicas", "group.streams.num.standby.replicas", kmsg.ConfigTypeInt, "0", "Standby replicas of a streams group's tasks."},
	{"streams.rack.aware.assignment.tags", "group.streams.rack.aware.assignment.tags", kmsg.ConfigTypeList, "", "The tags that spread a streams group's standbys."},
	{"streams.session.timeout.ms", "group.streams.session.timeout.ms", kmsg.ConfigTypeInt, "45000", "How long a streams group's member may be silent, in ms."},
}

// Group lists the settings of a group with these overrides over the broker's settings.
func Group(brokers []Entry, overrides map[string]string) []Entry {
	entries := make([]Entry, 0, len(groupSettings))
	for i := range groupSettings {
		s := &groupSettings[i]
		e := Entry{Name: s.name, Type: s.typ, Doc: s.doc, Value: &s.def, Source: kmsg.ConfigSourceDefaultConfig}
		if b := Find(brokers, s.broker); b != nil && b.Value != nil {
			e.Value, e.Source, e.Synonyms = b.Value, b.Source, b.Synonyms
		} else {
			e.Synonyms = []Synonym{{s.broker, e.Value, e.Source}}
		}
		if text, set := overrides[s.name]; set {
			e.Value, e.Source = &text, kmsg.ConfigSourceGroupConfig
			e.Synonyms = append([]Synonym{{s.name, e.Value, e.Source}}, e.Synonyms...)
		}
		entries = append(entries, e)
	}
	return Plain(entries)
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
	kind, rest, ok := strings.Cut(strings.TrimPrefix(s.broker, "group."), ".")
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
// heartbeats, where one of both is set (Kafka's GroupConfig.validateSessionExceedsHeartbeat).
func CheckGroupTogether(brokers []Entry, configs map[string]string) error {
	for _, kind := range []string{"consumer", "share", "streams"} {
		session, heartbeat := kind+".session.timeout.ms", kind+".heartbeat.interval.ms"
		_, one := configs[session]
		_, other := configs[heartbeat]
		if !one && !other {
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

// allowed says what the setting takes if text is none of it, else nothing.
func (s *groupSetting) allowed(text string) string {
	switch s.typ {
	case kmsg.ConfigTypeInt:
		if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < 0 {
			return "a whole number"
		}
	case kmsg.ConfigTypeBoolean:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return "true or false"
		}
	default: // the others are texts, and have checks of their own
	}
	return ""
}
