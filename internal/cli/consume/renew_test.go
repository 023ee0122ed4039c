package consume

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// put produces to topic t with a client of its own, which does not know the topic from before.
func (g *groupTest) put(t *testing.T, values ...string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(g.Brokers), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, value := range values {
		if err := client.ProduceSync(t.Context(), kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// renewed is one way to consume a topic that is deleted and created again.
type renewed struct {
	name string
	run  func(g *groupTest, ctx context.Context) error
}

func ways() []renewed {
	member := func(protocol, from string) func(*groupTest, context.Context) error {
		return func(g *groupTest, ctx context.Context) error {
			return g.consumeGroup(ctx, []string{"t"}, consumeFlags{from: from, format: `%v\n`, group: groupFlags{name: "g", protocol: protocol, commit: true}})
		}
	}
	return []renewed{
		{"alone", func(g *groupTest, ctx context.Context) error {
			return g.consume(ctx, []string{"t"}, consumeFlags{from: "start", format: `%v\n`})
		}},
		{"alone, one partition", func(g *groupTest, ctx context.Context) error {
			return g.consume(ctx, []string{"t"}, consumeFlags{from: "0", format: `%v\n`, partitions: []int32{0}})
		}},
		{"classic", member(classicGroup, "start")},
		{"consumer", member(consumerGroup, "start")},
		{"classic, from the end", member(classicGroup, "end")},
	}
}

// TestRenewed: a topic that is deleted and created again is read from the start of the new one, whatever was read and committed before, and
// whether the new one is there at once or later.
func TestRenewed(t *testing.T) {
	t.Parallel()
	for _, way := range ways() {
		for _, late := range []bool{false, true} {
			t.Run(way.name+", late "+strconv.FormatBool(late), func(t *testing.T) {
				t.Parallel()
				testRenewed(t, way, late)
			})
		}
	}
}

func testRenewed(t *testing.T, way renewed, late bool) {
	g := newGroupTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- g.UntilInterrupt(ctx, func(ctx context.Context) error { return way.run(g, ctx) }) }()
	until(t, "the first records", func() bool {
		g.put(t, "old") // until it comes, for a member that begins at the end
		return strings.Contains(g.out.String(), "old\n")
	})
	for round := range 2 { // the second time shows that the first left nothing behind
		if _, err := g.admin.DeleteTopic(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if late {
			until(t, "it waits", func() bool {
				said := g.errOut.String()
				return strings.Count(said, "... topic t was deleted; waiting until it is created again") == round+1 ||
					way.name == "consumer" && strings.Count(said, "... revoked t:0") == round+1 // the broker was quicker
			})
		}
		if _, err := g.admin.CreateTopic(t.Context(), 1, -1, nil, "t"); err != nil {
			t.Fatal(err)
		}
		n := strconv.Itoa(round)
		g.put(t, "first"+n, "second"+n)
		until(t, "the new records", func() bool { return strings.Contains(g.out.String(), "first"+n+"\nsecond"+n+"\n") })
		g.put(t, "third"+n)
		until(t, "the next record", func() bool { return strings.Contains(g.out.String(), "third"+n+"\n") })
		t.Logf("round %d: said %s", round, g.errOut.String())
		if said := g.errOut.String(); strings.Count(said, "... topic t was deleted and created again; the new one is read from its start\n") != round+1 {
			t.Errorf("said %s", said)
		}
		if strings.Count(g.out.String(), "first"+n) != 1 {
			t.Errorf("printed %q", g.out.String())
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if strings.Contains(way.name, "alone") {
		return
	}
	if offsets, err := g.admin.FetchOffsets(t.Context(), "g"); err != nil || offsets["t"][0].At != 3 {
		t.Errorf("committed is %+v, %v; want 3; said %s", offsets, err, g.errOut.String())
	}
}

// TestDeletedWithALimit: what is read up to an end that is gone is a failure, whether or not there is another topic of the name.
func TestDeletedWithALimit(t *testing.T) {
	t.Parallel()
	for _, ke := range absent {
		g := newGroupTest(t)
		details, err := g.admin.ListTopics(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		client, err := g.Client(t.Context()) // which creates no topics
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		c := &consumption{commands: g.commands, client: client, where: limits{"t": {0: {1, 5}}}, topics: newRenewal(details, true)}
		fail := func() error {
			if err := c.failed(kgo.FetchError{Topic: "t", Err: ke}); err != nil {
				t.Errorf("%v fails at once: %v", ke, err)
			}
			return c.renew(t.Context())
		}
		if err := fail(); err != nil {
			t.Errorf("the topic is there: %v", err)
		}
		if _, err := g.admin.DeleteTopic(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		until(t, "it is gone", func() bool { return errors.Is(fail(), kerr.UnknownTopicID) })
		if _, err := g.admin.CreateTopic(t.Context(), 1, -1, nil, "t"); err != nil {
			t.Fatal(err)
		}
		until(t, "it is another one", func() bool { return errors.Is(fail(), kerr.UnknownTopicID) })
	}
}

// TestAdjust: each partition of a topic that was created again begins at its start once, and where the group is from then on.
func TestAdjust(t *testing.T) {
	t.Parallel()
	c := &groupConsumption{}
	c.mu.renewed = map[string]map[int32]bool{"t": {}}
	fetched := func() map[string]map[int32]kgo.Offset {
		return map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().At(7)}, "u": {0: kgo.NewOffset().At(8)}}
	}
	for i, want := range []kgo.Offset{kgo.NewOffset().AtStart(), kgo.NewOffset().At(7)} {
		got, err := c.adjust(t.Context(), fetched())
		if err != nil || got["t"][0] != want || got["u"][0] != kgo.NewOffset().At(8) {
			t.Errorf("%d: got %+v, %v", i, got, err)
		}
	}
}

// TestDropLost: what was read of a topic that is gone is not committed to the next one.
func TestDropLost(t *testing.T) {
	t.Parallel()
	c := &groupConsumption{}
	c.mu.lost = map[string]bool{"t": true}
	marked := map[string]map[int32]kgo.EpochOffset{"t": {0: {Offset: 3}}, "u": {0: {Offset: 4}}}
	if !c.dropLost(marked) || len(marked) != 1 || marked["u"][0].Offset != 4 || c.dropLost(marked) {
		t.Errorf("left %v", marked)
	}
	g := newGroupTest(t)
	details, err := g.admin.ListTopics(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, tt := range []struct {
		id   kadm.TopicID
		want int64
	}{{kadm.TopicID{1}, 0}, {details["t"].ID, 2}} {
		bye := goodbye{
			flags: groupFlags{name: "g"}, generation: -1, ids: map[string]kadm.TopicID{"t": tt.id},
			marked: map[string]map[int32]kgo.EpochOffset{"t": {0: {Offset: 2}}},
		}
		if err := bye.commit(ctx, g.client); err != nil {
			t.Fatal(err)
		}
		offsets, err := g.admin.FetchOffsets(ctx, "g")
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) || offsets["t"][0].At != tt.want {
			t.Errorf("id %v: committed is %+v, %v; want %d", tt.id, offsets, err, tt.want)
		}
	}
}
