package ottla

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/coordinator/group"
)

// TestGroupOptions: every setting of groups reaches the machine. Each has a default above zero but for those named.
func TestGroupOptions(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{config: c}
	zero := map[string]bool{"RecordMax": true, "Match": true, "MinAssignmentInterval": true} // the coordinator has the first two; the third's default is 0
	check := func(v reflect.Value) {
		for field, value := range v.Fields() {
			if value.Kind() != reflect.Struct && value.IsZero() != zero[field.Name] {
				t.Errorf("%s is %v", field.Name, value)
			}
		}
	}
	opts := s.groupOptions()
	check(reflect.ValueOf(opts))
	check(reflect.ValueOf(opts.Classic))
	check(reflect.ValueOf(opts.Consumer))
	if opts.Consumer.MaxAssignmentInterval <= opts.Consumer.AssignmentInterval || opts.Consumer.MaxSession <= opts.Consumer.Session {
		t.Errorf("%+v", opts.Consumer)
	}
}

// TestGroupOptionsAreTheirOwn: each setting reaches the option that is named after it.
func TestGroupOptionsAreTheirOwn(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Input{Text: `
offset.metadata.max.bytes=11
offsets.retention.minutes=12
offsets.retention.check.interval.ms=13
group.min.session.timeout.ms=14
group.max.session.timeout.ms=15
group.initial.rebalance.delay.ms=16
group.max.size=17
group.consumer.min.heartbeat.interval.ms=21
group.consumer.heartbeat.interval.ms=22
group.consumer.max.heartbeat.interval.ms=23
group.consumer.min.session.timeout.ms=31
group.consumer.session.timeout.ms=32
group.consumer.max.session.timeout.ms=33
group.consumer.min.assignment.interval.ms=41
group.consumer.assignment.interval.ms=42
group.consumer.max.assignment.interval.ms=43
group.consumer.max.size=51
group.consumer.assignors=org.apache.kafka.coordinator.group.assignor.RangeAssignor,uniform
group.consumer.migration.policy=DOWNGRADE
`})
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	want := group.Options{
		OffsetMetadataMax: 11, OffsetsRetention: 12 * time.Minute, RetentionInterval: 13 * ms,
		Classic: group.ClassicOptions{MinSession: 14 * ms, MaxSession: 15 * ms, InitialDelay: 16 * ms, MaxSize: 17},
		Consumer: group.ConsumerOptions{
			MinHeartbeat: 21 * ms, Heartbeat: 22 * ms, MaxHeartbeat: 23 * ms, MinSession: 31 * ms, Session: 32 * ms, MaxSession: 33 * ms,
			MinAssignmentInterval: 41 * ms, AssignmentInterval: 42 * ms, MaxAssignmentInterval: 43 * ms,
			MaxSize: 51, Assignors: []string{"range", "uniform"}, Downgrade: true,
		},
	}
	if diff := cmp.Diff(want, (&Server{config: c}).groupOptions()); diff != "" {
		t.Error(diff)
	}
}
