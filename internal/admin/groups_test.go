package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// serveGroups serves metrics of groups and returns the page.
func serveGroups(t *testing.T, m *Metrics, groups GroupsFigures) string {
	t.Helper()
	get := serve(t, Options{Metrics: m, Healthy: fine, Ready: fine, Figures: func() Figures { return Figures{Groups: groups} }})
	status, body := get("/metrics")
	if status != 200 {
		t.Fatalf("got %d %.500s", status, body)
	}
	return body
}

func TestGroups(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", bounds)
	body := serveGroups(t, m, GroupsFigures{
		Loading: 2, Failed: 1, Offsets: 3, Unlisted: 0, CommitsRefused: 4, OffsetsRemoved: 5,
		Groups: []GroupFigures{
			{
				Name: "billing", State: "Stable", Type: "classic", ProtocolType: "consumer", Members: 3, Commits: 17,
				Rebalances: []RebalanceFigures{{"join", 2}, {"session", 1}}, Lag: 12, Seconds: 1.5,
				Topics: []GroupTopicFigures{
					{Name: "orders", Offset: 30, Lag: 12, Partitions: []GroupPartitionFigures{{0, 10, 12, 1.5}, {7, 20, 0, 0}}},
					{Name: "paid", Offset: 4, Lag: 0, Partitions: []GroupPartitionFigures{{0, 4, 0, 0}}},
				},
			},
			{Name: "closed", State: "Empty", Type: "classic", Lag: 5, Seconds: -1, Topics: []GroupTopicFigures{
				{Name: "orders", Offset: 1, Lag: 5, Partitions: []GroupPartitionFigures{{0, 1, 5, -1}}},
			}},
		},
	})
	for _, want := range []string{
		`ottla_groups{state="Stable",type="classic"} 1`, `ottla_groups{state="Empty",type="classic"} 1`,
		`ottla_group_info{group="billing",protocol_type="consumer",state="Stable",type="classic"} 1`,
		`ottla_group_members{group="billing"} 3`, `ottla_group_commits_total{group="billing"} 17`, `ottla_group_commits_refused_total 4`,
		`ottla_group_rebalances_total{group="billing",reason="join"} 2`, `ottla_group_rebalances_total{group="billing",reason="session"} 1`,
		`ottla_group_lag_records{group="billing"} 12`, `ottla_group_lag_seconds{group="billing"} 1.5`, `ottla_group_lag_records{group="closed"} 5`,
		`ottla_group_partition_offset{group="billing",partition="7",topic="orders"} 20`,
		`ottla_group_partition_lag_records{group="billing",partition="0",topic="orders"} 12`,
		`ottla_group_partition_lag_seconds{group="billing",partition="0",topic="orders"} 1.5`,
		`ottla_group_partition_lag_seconds{group="billing",partition="7",topic="orders"} 0`,
		`ottla_group_shards_loading 2`, `ottla_group_shards_failed 1`, `ottla_group_offsets 3`, `ottla_group_offsets_removed_total 5`,
		`ottla_group_offsets_unlisted 0`, `ottla_groups_unlisted 0`,
		`kafka_consumergroup_members{consumergroup="billing"} 3`,
		`kafka_consumergroup_current_offset{consumergroup="billing",partition="0",topic="orders"} 10`,
		`kafka_consumergroup_current_offset_sum{consumergroup="billing",topic="orders"} 30`,
		`kafka_consumergroup_lag{consumergroup="billing",partition="0",topic="orders"} 12`,
		`kafka_consumergroup_lag_sum{consumergroup="billing",topic="orders"} 12`, `kafka_consumergroup_lag_sum{consumergroup="billing",topic="paid"} 0`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for _, unknown := range []string{`ottla_group_lag_seconds{group="closed"}`, `ottla_group_partition_lag_seconds{group="closed"`} {
		if strings.Contains(body, unknown) {
			t.Errorf("%s, which is not known", unknown)
		}
	}
	lint(t, m)
}

// lint checks the names of ottla_*; those of kafka_* are what dashboards know.
func lint(t *testing.T, m *Metrics) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p.Metric, "kafka_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestHostileGroups: an id is whatever a client said, and must not take the page down.
func TestHostileGroups(t *testing.T) {
	t.Parallel()
	body := serveGroups(t, NewMetrics("", bounds), GroupsFigures{Groups: []GroupFigures{
		{Name: "a\xff", State: "Empty", ProtocolType: "\xfe"},
		{Name: "a\xfe", State: "Empty"},
		{Name: "", State: "Empty"},
		{Name: "quote\"\\\nline}", State: "Empty"},
		{Name: "(other)", State: "Empty"},
	}})
	for _, want := range []string{`{group="a` + "\uFFFD" + `"}`, `{group=""}`, `{group="quote\"\\\nline}"}`, `{group="(other)"}`} {
		if strings.Count(body, "ottla_group_members"+want) != 1 {
			t.Errorf("not one %s", want)
		}
	}
	if !strings.Contains(body, "\nottla_groups_unlisted 1\n") {
		t.Error("the group whose label another has is not counted")
	}
}

// TestGroupsAreBounded: groups past the bound have no series, and are counted.
func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	var f GroupsFigures
	for i := range bounds.Groups + 5 {
		f.Groups = append(f.Groups, GroupFigures{
			Name: fmt.Sprint("g", i), State: "Stable", Type: "consumer",
			Topics: []GroupTopicFigures{{Name: "t", Partitions: []GroupPartitionFigures{{}, {Partition: 1}}}},
		})
	}
	body := serveGroups(t, NewMetrics("", bounds), f)
	if n := strings.Count(body, "\nottla_group_members{"); n != bounds.Groups {
		t.Errorf("%d groups have members, want %d", n, bounds.Groups)
	}
	if !strings.Contains(body, "\nottla_groups_unlisted 5\n") || !strings.Contains(body, fmt.Sprintf("\nottla_groups{state=\"Stable\",type=\"consumer\"} %d\n", bounds.Groups+5)) {
		t.Error("the rest is not counted")
	}
	if !strings.Contains(body, "\nottla_group_offsets_unlisted 10\n") {
		t.Error("the offsets of groups without series are not counted")
	}
}

// BenchmarkGroups gathers as many partitions of groups as have series.
func BenchmarkGroups(b *testing.B) {
	var f GroupsFigures
	for i := range 200 {
		t := GroupTopicFigures{Name: "orders"}
		for p := range int32(20_000 / 200) {
			t.Partitions = append(t.Partitions, GroupPartitionFigures{Partition: p, Lag: 1, Seconds: 1})
		}
		f.Groups = append(f.Groups, GroupFigures{Name: fmt.Sprint("group-", i), State: "Stable", Type: "classic", Topics: []GroupTopicFigures{t}})
	}
	m := NewMetrics("", bounds)
	m.look(func() Figures { return Figures{Groups: f} })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
