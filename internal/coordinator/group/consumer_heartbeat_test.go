package group

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// TestConsumerHeartbeatBlank sends ids of nothing but space, which are missing to Kafka (Utils.throwIfEmptyString).
func TestConsumerHeartbeatBlank(t *testing.T) {
	t.Parallel()
	join := ConsumerHeartbeat{
		Group: "g", Member: "m", Version: 1, RebalanceTimeout: time.Minute, Topics: []string{"t"}, Owned: []record.TopicPartitions{},
	}
	space := " \t"
	tests := map[string]struct {
		change func(in *ConsumerHeartbeat)
		want   error
	}{
		"nothing blank":     {func(*ConsumerHeartbeat) {}, nil},
		"group":             {func(in *ConsumerHeartbeat) { in.Group = space }, kerr.InvalidRequest},
		"member":            {func(in *ConsumerHeartbeat) { in.Member = space }, kerr.InvalidRequest},
		"member, version 0": {func(in *ConsumerHeartbeat) { in.Member, in.Version = space, 0 }, nil},
		"instance":          {func(in *ConsumerHeartbeat) { in.InstanceID = &space }, kerr.InvalidRequest},
		"rack":              {func(in *ConsumerHeartbeat) { in.RackID = &space }, kerr.InvalidRequest},
	}
	for name, test := range tests {
		in := join
		test.change(&in)
		m := New(newScript(t).opts)
		if err := m.checkConsumerHeartbeat(in); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestNotFoundSaysWhy: Kafka's tools show what ConsumerGroupDescribe says of a group that is not there.
func TestNotFoundSaysWhy(t *testing.T) {
	t.Parallel()
	m := New(newScript(t).opts)
	now := time.Unix(1, 0)
	m.Step(now, Loaded{})
	commit := Commit{Caller: Caller{Token: 1}, Group: "standing alone", Epoch: -1, Version: 9, Retention: -1}
	commit.Topics = []CommitTopic{{Topic: "t", Partitions: []CommitPartition{{Partition: 0, Offset: 1}}}}
	for i, r := range m.Step(now, commit).Records {
		if err := m.Apply(batch.Offset(i), 1, r.Key, r.Value); err != nil {
			t.Fatal(err)
		}
	}
	for group, want := range map[string]string{
		"none": `there is no group "none"`, "standing alone": `group "standing alone" is not of the next generation`,
	} {
		effects := m.Step(now, ConsumerDescribe{Caller: Caller{Token: 2}, Group: group})
		err := effects.Replies[0].Result.(ConsumerDescribeResult).Err
		if !errors.Is(err, kerr.GroupIDNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", group, err, want)
		}
	}
}
