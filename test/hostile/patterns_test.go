package hostile

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// subscribe is the heartbeat of a member that joins a group with a pattern.
func subscribe(group, pattern string) *kmsg.ConsumerGroupHeartbeatRequest {
	m := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	m.Group, m.MemberID, m.RebalanceTimeoutMillis, m.SubscribedTopicRegex = group, "member-of-"+group, 60_000, &pattern
	m.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	m.SetVersion(1)
	return m
}

// dearPatterns are patterns of few bytes that cost much to compile, or to match, and what the error of each names.
func dearPatterns() map[string]string {
	return map[string]string{
		strings.Repeat("a{1000}", 2900):                          "has 20300 bytes, the limit is 2048",
		strings.Repeat("a{1000}", 290):                           "instructions, the limit is 4096",
		strings.Repeat("(a{900}|b{900})?", 120):                  "instructions, the limit is 4096",
		"((((a{10}){10}){10}.?){2}){2}":                          "",
		strings.Repeat("(", 1000) + strings.Repeat(")", 1000):    "",
		`[` + strings.Repeat(`\pL`, 600) + `]{3}`:                "the limit is 8",
		`(?i)[` + strings.Repeat("\u0100-\U0001e942", 280) + `]`: "the limit is 8",
		".*-.{900}":                "the limit for such is 128",
		strings.Repeat(".*", 1000): "",
		"(" + strings.Repeat("a?", 1000) + ")" + "b": "",
	}
}

// TestPatternMemory: what took 700 MB for each request is refused by name within a cgroup of 256 MiB, from many clients at once, and costs
// no other group anything.
func TestPatternMemory(t *testing.T) {
	t.Parallel()
	g := confine(t, 256<<20)
	b := g.start(t, t.TempDir(), "--set", "offsets.topic.num.partitions=1")
	b.create(t, "orders", 1)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	c := b.dial(t)
	if codes := codesOf(c.ask(find)); codes != "" {
		t.Fatalf("no coordinator: %s", codes)
	}
	var clients sync.WaitGroup
	for i := range 6 {
		c := b.dial(t)
		clients.Go(func() {
			n := 0
			for pattern, limit := range dearPatterns() {
				n++
				resp := c.ask(subscribe(fmt.Sprint("bomb-", i, "-", n), pattern)).(*kmsg.ConsumerGroupHeartbeatResponse)
				err, said := kerr.ErrorForCode(resp.ErrorCode), ""
				if resp.ErrorMessage != nil {
					said = *resp.ErrorMessage
				}
				if limit == "" && err == nil {
					continue
				}
				if !errors.Is(err, kerr.InvalidRegularExpression) || !strings.Contains(said, limit) || len(said) > 1000 {
					t.Errorf("%.30q: %v %.300q, expected INVALID_REGULAR_EXPRESSION with %q", pattern, err, said, limit)
				}
			}
		})
	}
	clients.Wait()
	g.wantAlive(t, b)
	honest := c.ask(subscribe("honest", "ord.*")).(*kmsg.ConsumerGroupHeartbeatResponse)
	if honest.ErrorCode != 0 || honest.Assignment == nil || len(honest.Assignment.Topics) != 1 {
		t.Errorf("an honest pattern: %v, assigned %+v", kerr.ErrorForCode(honest.ErrorCode), honest.Assignment)
	}
	t.Logf("the cgroup had %d MiB at most", g.peak(t)>>20)
	b.serves(t)
}

// TestPatternOfManyTopics: a pattern that matches more topics than a record of the group's log can hold is refused by name.
func TestPatternOfManyTopics(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), "--set", "offsets.topic.num.partitions=1", "--log-level", "error")
	b.manyTopics(t, 9000, 1, strings.Repeat("x", 120))
	c := b.dial(t)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	if codes := codesOf(c.ask(find)); codes != "" {
		t.Fatal(codes)
	}
	resp := c.ask(subscribe("g", ".*")).(*kmsg.ConsumerGroupHeartbeatResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); !errors.Is(err, kerr.InvalidRegularExpression) || !strings.Contains(*resp.ErrorMessage, "matches 9001 topics") {
		t.Errorf("%v: %v", err, resp.ErrorMessage)
	}
	resp = c.ask(subscribe("g", "t0[0-2].*")).(*kmsg.ConsumerGroupHeartbeatResponse)
	if resp.ErrorCode != 0 || len(resp.Assignment.Topics) != 3000 {
		t.Errorf("3,000 topics: %v, assigned %+v", kerr.ErrorForCode(resp.ErrorCode), resp.Assignment)
	}
}
