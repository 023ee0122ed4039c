package config

import (
	"slices"
	"strings"
	"testing"
)

func TestGroupSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, err string }{
		{"group.consumer.heartbeat.interval.ms=4000", "group.consumer.min.heartbeat.interval.ms=5000 (default): must be at most group.consumer.heartbeat.interval.ms, which is 4000 (f:1)"},
		{"group.consumer.heartbeat.interval.ms=16000", "must be at most group.consumer.max.heartbeat.interval.ms, which is 15000"},
		{"group.consumer.min.heartbeat.interval.ms=1\ngroup.consumer.heartbeat.interval.ms=1", ""},
		{"group.consumer.session.timeout.ms=30000", "group.consumer.min.session.timeout.ms=45000 (default): must be at most group.consumer.session.timeout.ms"},
		{"group.consumer.session.timeout.ms=60001", "must be at most group.consumer.max.session.timeout.ms"},
		{"group.consumer.min.session.timeout.ms=50000", "must be at most group.consumer.session.timeout.ms, which is 45000"},
		{
			"group.consumer.min.session.timeout.ms=1\ngroup.consumer.session.timeout.ms=5000",
			"group.consumer.heartbeat.interval.ms=5000 (default): must be less than group.consumer.session.timeout.ms, which is 5000 (f:2)",
		},
		{"group.consumer.assignment.interval.ms=15001", "must be at most group.consumer.max.assignment.interval.ms"},
		{"group.max.session.timeout.ms=5999", "must be at most group.max.session.timeout.ms"},
		{"group.coordinator.rebalance.protocols=consumer", "with classic in it"},
		{"group.coordinator.rebalance.protocols=classic,other", "must be a list of classic, consumer, share, streams"},
		{"group.consumer.assignors=sticky", "must be a list of uniform, range"},
		{"group.consumer.migration.policy=never", "must be one of bidirectional"},
		{"group.consumer.regex.refresh.interval.ms=9999", "must be at least 10000"},
		{"offsets.topic.num.partitions=0", "must be at least 1"},
	} {
		_, err := Load(Input{File: "f", Text: tt.text})
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.err)
		}
	}
}

// TestGroupValues: Kafka takes these words in any case, and once took class names.
func TestGroupValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text                         string
		assignors                    []string
		consumer, upgrade, downgrade bool
	}{
		{"", []string{"uniform", "range"}, true, true, true},
		{"group.coordinator.rebalance.protocols=Classic\ngroup.consumer.migration.policy=UPGRADE", []string{"uniform", "range"}, false, true, false},
		{"group.consumer.assignors=" + rangeClass + "," + uniformClass + "\ngroup.consumer.migration.policy=downgrade", []string{"range", "uniform"}, true, false, true},
		{"group.consumer.assignors=range\ngroup.consumer.migration.policy=Disabled", []string{"range"}, true, false, false},
	} {
		c := load(t, Input{File: "f", Text: tt.text})
		upgrade, downgrade := c.Migration()
		if !slices.Equal(c.ConsumerAssignors(), tt.assignors) || c.RebalanceProtocol("consumer") != tt.consumer || upgrade != tt.upgrade || downgrade != tt.downgrade {
			t.Errorf("%q: %v, consumer %v, up %v, down %v", tt.text, c.ConsumerAssignors(), c.RebalanceProtocol("consumer"), upgrade, downgrade)
		}
		if !c.RebalanceProtocol("classic") {
			t.Errorf("%q: no classic protocol", tt.text)
		}
	}
}
