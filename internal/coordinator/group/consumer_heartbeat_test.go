package group

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/record"
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
