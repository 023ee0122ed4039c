package admin

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// GroupsFigures are about the consumer groups that this node coordinates.
type GroupsFigures struct {
	Groups                         []GroupFigures
	Loading, Failed                int // shards whose groups are not known yet
	Offsets, Unlisted              int // committed offsets, and those of them that no Partitions show
	CommitsRefused, OffsetsRemoved int64
}

// GroupFigures are a group's.
type GroupFigures struct {
	Name, State, Type, ProtocolType string
	Members                         int
	Commits                         int64
	Rebalances                      []RebalanceFigures
	Lag                             int64
	Seconds                         float64 // of lag; negative: not known
	Topics                          []GroupTopicFigures
}

// RebalanceFigures is how many rebalances began for one reason.
type RebalanceFigures struct {
	Reason string
	Count  int64
}

// GroupTopicFigures are a group's in a topic.
type GroupTopicFigures struct {
	Name        string
	Offset, Lag int64
	Partitions  []GroupPartitionFigures
}

// GroupPartitionFigures are a group's in a partition.
type GroupPartitionFigures struct {
	Partition   int32
	Offset, Lag int64
	Seconds     float64 // of lag; negative: not known
}

func groupDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// What groups have series of: ours, then those that kafka_exporter's dashboards know, with its labels.
var (
	groupsByState   = groupDesc("ottla_groups", "Consumer groups, by state and type.", "state", "type")
	groupInfo       = groupDesc("ottla_group_info", "A consumer group, its state and type as labels.", "group", "state", "type", "protocol_type")
	groupMembers    = groupDesc("ottla_group_members", "Members of a group.", "group")
	groupLag        = groupDesc("ottla_group_lag_records", "Records that a group has not committed yet, of all of its partitions.", "group")
	groupSeconds    = groupDesc("ottla_group_lag_seconds", "Age of the oldest record that a group has not committed yet.", "group")
	groupCommits    = groupDesc("ottla_group_commits_total", "Requests that committed offsets of a group.", "group")
	groupRebalances = groupDesc("ottla_group_rebalances_total", "Rebalances of a group that began, by reason.", "group", "reason")

	groupPartitionOffset  = groupDesc("ottla_group_partition_offset", "Offset that a group has committed.", "group", "topic", "partition")
	groupPartitionLag     = groupDesc("ottla_group_partition_lag_records", "Records of a partition that a group has not committed yet.", "group", "topic", "partition")
	groupPartitionSeconds = groupDesc("ottla_group_partition_lag_seconds", "Age of the first record of a partition that a group has not committed yet.",
		"group", "topic", "partition")

	exporterMembers   = groupDesc("kafka_consumergroup_members", "Members of a group.", "consumergroup")
	exporterOffset    = groupDesc("kafka_consumergroup_current_offset", "Offset that a group has committed.", "consumergroup", "topic", "partition")
	exporterLag       = groupDesc("kafka_consumergroup_lag", "Records of a partition that a group has not committed yet.", "consumergroup", "topic", "partition")
	exporterOffsetSum = groupDesc("kafka_consumergroup_current_offset_sum", "Sum of the offsets that a group has committed in a topic.", "consumergroup", "topic")
	exporterLagSum    = groupDesc("kafka_consumergroup_lag_sum", "Records of a topic that a group has not committed yet.", "consumergroup", "topic")
)

// collectGroups sends what there is by group, of at most limit groups.
func collectGroups(ch chan<- prometheus.Metric, f *GroupsFigures, limit int) {
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	type kind struct{ state, class string }
	kinds := make(map[kind]int)
	names := make(map[string]bool)
	unlisted := f.Unlisted
	for i := range f.Groups {
		g := &f.Groups[i]
		kinds[kind{g.State, g.Type}]++
		name := label(g.Name)
		if len(names) < limit && !names[name] {
			names[name] = true
			collectGroup(ch, g, name)
			continue
		}
		for _, t := range g.Topics {
			unlisted += len(t.Partitions)
		}
	}
	for k, n := range kinds {
		send(groupsByState, float64(n), k.state, k.class)
	}
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      int64
	}{
		{"ottla_groups_unlisted", "Groups without series of their own, since there are too many.", prometheus.GaugeValue, int64(len(f.Groups) - len(names))},
		{"ottla_group_shards_loading", "Shards of groups that are being loaded; their groups are not shown.", prometheus.GaugeValue, int64(f.Loading)},
		{"ottla_group_shards_failed", "Shards of groups that could not be loaded; their groups are not shown.", prometheus.GaugeValue, int64(f.Failed)},
		{"ottla_group_offsets", "Offsets that groups have committed.", prometheus.GaugeValue, int64(f.Offsets)},
		{"ottla_group_offsets_unlisted", "Of these, those without series of their own, since there are too many; sums have them.", prometheus.GaugeValue, int64(unlisted)},
		{"ottla_group_offsets_removed_total", "Committed offsets that expired or were deleted, alone, with their group or with their topic.", prometheus.CounterValue, f.OffsetsRemoved},
		{"ottla_group_commits_refused_total", "Requests of which the coordinator refused to commit some offset.", prometheus.CounterValue, f.CommitsRefused},
	} {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.name, m.help, nil, nil), m.kind, float64(m.value))
	}
}

// label is text as a label may have it: group ids and protocol types are whatever a client says.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func collectGroup(ch chan<- prometheus.Metric, g *GroupFigures, name string) {
	send := func(kind prometheus.ValueType, desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
	}
	send(prometheus.GaugeValue, groupInfo, 1, name, g.State, g.Type, label(g.ProtocolType))
	send(prometheus.GaugeValue, groupMembers, float64(g.Members), name)
	send(prometheus.GaugeValue, exporterMembers, float64(g.Members), name)
	send(prometheus.GaugeValue, groupLag, float64(g.Lag), name)
	if g.Seconds >= 0 {
		send(prometheus.GaugeValue, groupSeconds, g.Seconds, name)
	}
	send(prometheus.CounterValue, groupCommits, float64(g.Commits), name)
	for _, r := range g.Rebalances {
		send(prometheus.CounterValue, groupRebalances, float64(r.Count), name, r.Reason)
	}
	for _, t := range g.Topics {
		send(prometheus.GaugeValue, exporterOffsetSum, float64(t.Offset), name, t.Name)
		send(prometheus.GaugeValue, exporterLagSum, float64(t.Lag), name, t.Name)
		for _, p := range t.Partitions {
			index := strconv.Itoa(int(p.Partition))
			send(prometheus.GaugeValue, groupPartitionOffset, float64(p.Offset), name, t.Name, index)
			send(prometheus.GaugeValue, exporterOffset, float64(p.Offset), name, t.Name, index)
			send(prometheus.GaugeValue, groupPartitionLag, float64(p.Lag), name, t.Name, index)
			send(prometheus.GaugeValue, exporterLag, float64(p.Lag), name, t.Name, index)
			if p.Seconds >= 0 {
				send(prometheus.GaugeValue, groupPartitionSeconds, p.Seconds, name, t.Name, index)
			}
		}
	}
}
