package api

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// inSession makes m a request of a session.
func inSession(m *kmsg.FetchRequest, id, epoch int32) *kmsg.FetchRequest {
	m.SessionID, m.SessionEpoch, m.MaxWaitMillis = id, epoch, 0
	return m
}

// indexes are the partitions in a response, in order.
func indexes(resp *kmsg.FetchResponse) (all []int32) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			all = append(all, p.Partition)
		}
	}
	return all
}

func (a *testAPI) fetch(m *kmsg.FetchRequest) *kmsg.FetchResponse {
	a.t.Helper()
	return a.call(m).(*kmsg.FetchResponse)
}

// produceTo appends a record to one partition.
func (a *testAPI) produceTo(name string, index int32) {
	a.t.Helper()
	m := produceRequest(9, 1, name, topic.ID{}, records(a.t, 0, 1, 10))
	m.Topics[0].Partitions[0].Partition = index
	if code := a.call(m).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		a.t.Fatal(kerr.ErrorForCode(code))
	}
}

// TestSession: KIP-227, from the full fetch on only what changed is sent, in both directions.
func TestSession(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 3)
	full := a.fetch(inSession(fetchRequest(13, "", id, 0, 0, 0), 0, 0))
	if full.SessionID == 0 || !slices.Equal(indexes(full), []int32{0, 1, 2}) {
		t.Fatalf("full fetch: session %d, partitions %v", full.SessionID, indexes(full))
	}
	s := full.SessionID
	nothing := func() *kmsg.FetchRequest { m := fetchRequest(13, "", id); m.Topics = nil; return m }
	if resp := a.fetch(inSession(nothing(), s, 1)); resp.SessionID != s || indexes(resp) != nil {
		t.Errorf("nothing changed, the response has %v", indexes(resp))
	}
	a.produceTo("t", 1)
	if resp := a.fetch(inSession(nothing(), s, 2)); !slices.Equal(indexes(resp), []int32{1}) {
		t.Errorf("partition 1 changed, the response has %v", indexes(resp))
	}
	// The client has read that; partition 1 went behind the others.
	ahead := nothing()
	ahead.Topics = fetchRequest(13, "", id, 0, 1).Topics
	ahead.Topics[0].Partitions = ahead.Topics[0].Partitions[1:]
	a.produceTo("t", 0)
	a.produceTo("t", 1)
	a.produceTo("t", 2)
	if resp := a.fetch(inSession(ahead, s, 3)); !slices.Equal(indexes(resp), []int32{0, 2, 1}) {
		t.Errorf("all changed, the response has %v", indexes(resp))
	}
	forget := nothing()
	forgotten := kmsg.NewFetchRequestForgottenTopic()
	forgotten.TopicID, forgotten.Partitions = id, []int32{0, 1}
	forget.ForgottenTopics = append(forget.ForgottenTopics, forgotten)
	if resp := a.fetch(inSession(forget, s, 4)); !slices.Equal(indexes(resp), []int32{2}) {
		t.Errorf("0 and 1 are forgotten, the response has %v", indexes(resp))
	}
}

// TestSessionErrors: an error is told until it has gone, and then the partition again.
func TestSessionErrors(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	full := a.fetch(inSession(fetchRequest(12, "t", topic.ID{}, 0), 0, 0))
	s := full.SessionID
	empty := func() *kmsg.FetchRequest { m := fetchRequest(12, "t", topic.ID{}); m.Topics = nil; return m }
	for epoch := range int32(2) {
		resp := a.fetch(inSession(empty(), s, epoch+1))
		if !slices.Equal(indexes(resp), []int32{0}) || resp.Topics[0].Partitions[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Fatalf("response %+v", resp)
		}
	}
	a.node.create("t", 1)
	if resp := a.fetch(inSession(empty(), s, 3)); !slices.Equal(indexes(resp), []int32{0}) || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("the topic is there, the response is %+v", resp)
	}
	if resp := a.fetch(inSession(empty(), s, 4)); indexes(resp) != nil {
		t.Errorf("nothing changed, the response has %v", indexes(resp))
	}
}

func TestSessionRefused(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	s := a.fetch(inSession(fetchRequest(13, "", id, 0), 0, 0)).SessionID
	for name, c := range map[string]struct {
		m    *kmsg.FetchRequest
		want *kerr.Error
	}{
		"id":    {inSession(fetchRequest(13, "", id, 0), s^1, 1), kerr.FetchSessionIDNotFound},
		"epoch": {inSession(fetchRequest(13, "", id, 0), s, 2), kerr.InvalidFetchSessionEpoch},
		"names": {inSession(fetchRequest(12, "t", id, 0), s, 1), kerr.FetchSessionTopicIDError},
	} {
		if resp := a.fetch(c.m); resp.ErrorCode != c.want.Code || resp.Topics != nil || resp.SessionID != 0 {
			t.Errorf("%s: %+v, expected %v", name, resp, c.want)
		}
	}
	// The final epoch ends the session and is answered in full.
	if resp := a.fetch(inSession(fetchRequest(13, "", id, 0), s, -1)); resp.SessionID != 0 || len(resp.Topics) != 1 {
		t.Errorf("final: %+v", resp)
	}
	if resp := a.fetch(inSession(fetchRequest(13, "", id, 0), s, 1)); resp.ErrorCode != kerr.FetchSessionIDNotFound.Code {
		t.Errorf("after the end: %+v", resp)
	}
}

// TestSessionLastPartition: forgetting all ends the session.
func TestSessionLastPartition(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	id := a.node.create("t", 1)
	s := a.fetch(inSession(fetchRequest(13, "", id, 0), 0, 0)).SessionID
	m := inSession(fetchRequest(13, "", id), s, 1)
	m.Topics = nil
	forgotten := kmsg.NewFetchRequestForgottenTopic()
	forgotten.TopicID, forgotten.Partitions = id, []int32{0}
	m.ForgottenTopics = append(m.ForgottenTopics, forgotten)
	if resp := a.fetch(m); resp.SessionID != 0 || resp.ErrorCode != 0 {
		t.Errorf("response %+v", resp)
	}
	if n := len(a.sessions.mu.byID); n != 0 || a.sessions.mu.partitions != 0 {
		t.Errorf("%d sessions of %d partitions are left", n, a.sessions.mu.partitions)
	}
}

// TestSessionEviction: case 64, more sessions than the cache has room for. Kafka's rules: a stale one goes, or one that is old and smaller;
// else there is no session.
func TestSessionEviction(t *testing.T) {
	t.Parallel()
	c := newSessions(2, time.Minute)
	parts := func(n int) []fetchPart {
		ps := make([]fetchPart, n)
		for i := range ps {
			ps[i].index = int32(i)
		}
		return ps
	}
	small, large := c.create(testNow, true, parts(2)), c.create(testNow, true, parts(5))
	if small == 0 || large == 0 || small == large {
		t.Fatalf("sessions %d and %d", small, large)
	}
	if id := c.create(testNow.Add(time.Second), true, parts(9)); id != 0 {
		t.Error("a young session was evicted")
	}
	later := testNow.Add(61 * time.Second)
	c.use(later, small)
	c.use(later, large)
	if id := c.create(later, true, parts(2)); id != 0 {
		t.Error("a session was evicted for one that is not larger")
	}
	third := c.create(later, true, parts(3))
	if third == 0 || c.use(later, small) != nil || c.use(later, large) == nil {
		t.Error("the smaller session was not evicted for a larger one")
	}
	stale := later.Add(61 * time.Second)
	c.use(stale, third)
	if id := c.create(stale, true, parts(1)); id == 0 || c.use(stale, large) != nil {
		t.Error("the stale session was not evicted")
	}
	if c.mu.partitions != 4 {
		t.Errorf("%d partitions are counted, expected 4", c.mu.partitions)
	}
	if newSessions(0, time.Minute).create(testNow, true, parts(1)) != 0 {
		t.Error("a cache without slots made a session")
	}
}

// TestSessionGrowth: the partitions of all sessions together are bounded.
func TestSessionGrowth(t *testing.T) {
	t.Parallel()
	c := newSessions(2, time.Minute)
	id := c.create(testNow, true, make([]fetchPart, 1))
	s := c.use(testNow, id)
	if !c.resize(s, cachedPartitionsMax) || c.resize(s, cachedPartitionsMax+1) {
		t.Error("the bound is not kept")
	}
	if c.use(testNow, id) != nil || c.mu.partitions != 0 {
		t.Errorf("the session that grew too large is still there, %d partitions are counted", c.mu.partitions)
	}
	if c.resize(s, 1) {
		t.Error("a session that is gone was resized")
	}
}

func TestNextSessionEpoch(t *testing.T) {
	t.Parallel()
	for epoch, want := range map[int32]int32{0: 1, 1: 2, math.MaxInt32: 1, -1: -1} {
		if got := nextSessionEpoch(epoch); got != want {
			t.Errorf("%d follows %d, expected %d", got, epoch, want)
		}
	}
}

// TestSessionNames: partitions of topics with names of 32 KB, which there are none of, count as what they hold.
func TestSessionNames(t *testing.T) {
	t.Parallel()
	c := newSessions(1000, time.Minute)
	parts := make([]fetchPart, 100)
	for i := range parts {
		parts[i].name = strings.Repeat("x", 32_000) + strconv.Itoa(i)
	}
	made := 0
	for c.create(testNow, false, parts) != 0 {
		made++
	}
	if made != cachedPartitionsMax/100/161 {
		t.Errorf("%d sessions of 3.2 MB of names each", made)
	}
	for _, s := range c.mu.byID {
		if left := s.update(nil, []partKey{{name: parts[0].name}, {name: "unknown"}}); left != 99*161 {
			t.Errorf("%d are left of 100 names of 161", left)
		}
		left := s.update([]*cachedPart{{key: partKey{name: "short"}}, {key: partKey{name: parts[1].name}}}, nil)
		if left != 99*161+1 || !c.resize(s, left) || c.mu.partitions != made*100*161-160 {
			t.Errorf("%d after a short name more, %d in all", left, c.mu.partitions)
		}
		break
	}
}
