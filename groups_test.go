package ottla_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/ottlatest"
)

// metrics gets a broker's metrics and returns a function that looks a series up.
func metrics(t *testing.T, s *ottla.Server) func(series string) (float64, bool) {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get("http://" + s.AdminAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %v", resp.Status, err)
	}
	return func(series string) (float64, bool) {
		_, after, ok := strings.Cut(string(body), "\n"+series+" ")
		text, _, _ := strings.Cut(after, "\n")
		value, err := strconv.ParseFloat(text, 64)
		return value, ok && err == nil
	}
}

// TestGroupMetrics: what a group has committed, and how far it is behind, stands at /metrics without an exporter.
func TestGroupMetrics(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t)
	ctx := deadline(t)
	client := newClient(t, s, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 2, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	for i := range int32(2) {
		for range 5 {
			r := &kgo.Record{Topic: "orders", Partition: i, Timestamp: time.Now().Add(-time.Duration(i+1) * time.Hour), Value: []byte("v")}
			if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var offsets kadm.Offsets
	offsets.AddOffset("orders", 0, 5, -1)
	offsets.AddOffset("orders", 1, 2, -1)
	if err := admin.CommitAllOffsets(ctx, "billing", offsets); err != nil {
		t.Fatal(err)
	}
	look := metrics(t, s)
	for series, want := range map[string]float64{
		`ottla_group_lag_records{group="billing"}`:                                                 3,
		`ottla_group_partition_lag_records{group="billing",partition="0",topic="orders"}`:          0,
		`ottla_group_partition_lag_seconds{group="billing",partition="0",topic="orders"}`:          0,
		`ottla_group_partition_offset{group="billing",partition="1",topic="orders"}`:               2,
		`ottla_group_members{group="billing"}`:                                                     0,
		`ottla_groups{state="Empty",type="classic"}`:                                               1,
		`ottla_group_commits_total{group="billing"}`:                                               1,
		`kafka_consumergroup_current_offset{consumergroup="billing",partition="1",topic="orders"}`: 2,
		`kafka_consumergroup_current_offset_sum{consumergroup="billing",topic="orders"}`:           7,
		`kafka_consumergroup_lag{consumergroup="billing",partition="1",topic="orders"}`:            3,
		`kafka_consumergroup_lag_sum{consumergroup="billing",topic="orders"}`:                      3,
		`kafka_consumergroup_members{consumergroup="billing"}`:                                     0,
		`kafka_topic_partition_current_offset{partition="1",topic="orders"}`:                       5,
		`kafka_topic_partition_oldest_offset{partition="1",topic="orders"}`:                        0,
	} {
		if got, ok := look(series); !ok || got != want {
			t.Errorf("%s is %v, %t, want %v", series, got, ok, want)
		}
	}
	for _, series := range []string{`ottla_group_lag_seconds{group="billing"}`, `ottla_group_partition_lag_seconds{group="billing",partition="1",topic="orders"}`} {
		if got, ok := look(series); !ok || got < 7200 || got > 7300 {
			t.Errorf("%s is %v, %t, want two hours", series, got, ok)
		}
	}
	// A group that is deleted takes its series with it.
	if _, err := admin.DeleteGroup(ctx, "billing"); err != nil {
		t.Fatal(err)
	}
	look = metrics(t, s)
	if got, ok := look(`ottla_group_offsets_removed_total`); !ok || got != 2 {
		t.Errorf("%v offsets were removed, want 2", got)
	}
	for _, name := range []string{"ottla_group_members", "ottla_group_commits_total"} {
		if _, ok := look(fmt.Sprintf("%s{group=%q}", name, "billing")); ok {
			t.Errorf("there is still %s", name)
		}
	}
}

// TestGroupMemberMetrics: members, state and rebalances of a live group, of both protocols.
func TestGroupMemberMetrics(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t)
	ctx := deadline(t)
	if err := newClient(t, s).ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for kind, opts := range map[string][]kgo.Opt{
		"classic": {kgo.Balancers(kgo.RangeBalancer())}, "consumer": {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
	} {
		group := "the-" + kind
		consumer := newClient(t, s, append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
		if got := consumer.PollFetches(ctx).Records(); len(got) != 1 {
			t.Fatalf("%s: %d records", kind, len(got))
		}
		if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
			t.Fatal(err)
		}
		look := metrics(t, s)
		for series, want := range map[string]float64{
			`ottla_group_members{group="GROUP"}`: 1, `kafka_consumergroup_members{consumergroup="GROUP"}`: 1,
			`ottla_group_info{group="GROUP",protocol_type="consumer",state="Stable",type="` + kind + `"}`: 1,
			`ottla_group_rebalances_total{group="GROUP",reason="join"}`:                                   1, `ottla_group_commits_total{group="GROUP"}`: 1,
			`ottla_group_lag_records{group="GROUP"}`: 0, `ottla_group_lag_seconds{group="GROUP"}`: 0,
		} {
			if got, ok := look(strings.ReplaceAll(series, "GROUP", group)); !ok || got != want {
				t.Errorf("%s of %s is %v, %t, want %v", series, group, got, ok, want)
			}
		}
	}
}
