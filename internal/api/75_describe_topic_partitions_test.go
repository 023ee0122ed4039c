package api_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/configapi"
)

// describeFrom asks for topics ("" for all, else separated by spaces), from a cursor "topic-partition" on if it is not "".
func describeFrom(n *adminNode, limit int32, cursor, topics string) *kmsg.DescribeTopicPartitionsResponse {
	n.t.Helper()
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for name := range strings.FieldsSeq(topics) {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = strings.Trim(name, "'")
		req.Topics = append(req.Topics, rt)
	}
	if cursor != "" {
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		if _, err := fmt.Sscanf(cursor, "%s %d", &c.Topic, &c.Partition); err != nil {
			n.t.Fatal(err)
		}
		req.Cursor = &c
	}
	return ask[*kmsg.DescribeTopicPartitionsResponse](n, 0, req)
}

// summary is a response in a line: topics with their partitions or error, and the next cursor.
func summary(resp *kmsg.DescribeTopicPartitionsResponse) string {
	var parts []string
	for _, rt := range resp.Topics {
		var indexes []string
		for _, p := range rt.Partitions {
			indexes = append(indexes, strconv.Itoa(int(p.Partition)))
		}
		text := *rt.Topic + "[" + strings.Join(indexes, " ") + "]"
		if rt.ErrorCode != 0 {
			text = fmt.Sprintf("%s!%d", *rt.Topic, rt.ErrorCode)
		}
		parts = append(parts, text)
	}
	if c := resp.NextCursor; c != nil {
		parts = append(parts, fmt.Sprintf("> %s %d", c.Topic, c.Partition))
	}
	return strings.Join(parts, " ")
}

// A key that is advertised is served whole: the Java client asks with this one before it tries Metadata.
func TestDescribeTopicPartitionsPages(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("q3", 1)
	n.create("q1", 3)
	n.create("q2", 2)
	for _, c := range []struct {
		limit          int32
		cursor, topics string
		want           string
	}{
		{100, "", "q3 q1 q2", "q1[0 1 2] q2[0 1] q3[0]"},
		{100, "", "", "q1[0 1 2] q2[0 1] q3[0]"},
		{100, "", "q1 q1", "q1[0 1 2]"},
		{2, "", "", "q1[0 1] > q1 2"},
		{3, "", "", "q1[0 1 2] > q2 0"},
		{4, "", "", "q1[0 1 2] q2[0] > q2 1"},
		{6, "", "", "q1[0 1 2] q2[0 1] q3[0]"},
		{0, "", "", "q1[0] > q1 1"},
		{-5, "", "", "q1[0] > q1 1"},
		{2, "q1 2", "", "q1[2] q2[0] > q2 1"},
		{2, "q1 2", "q3 q1 q2", "q1[2] q2[0] > q2 1"},
		{2, "q1 7", "", "q1[] q2[0 1] > q3 0"},
		{2, "q22 1", "", "q3[0]"},
		{9, "q4 0", "", ""},
		{2, "q0 0", "q3 q1", "q3!42 q1!42"},
		{2, "q1 -1", "q3 q1", "q3!42 q1!42"},
		{2, "q1 -1", "", ""},
		{9, "", "none q1 a/b", "a/b!17 none!3 q1[0 1 2]"},
		{1, "", "none q1", "none!3 q1[0] > q1 1"},
		{3, "", "q1 zz", "q1[0 1 2] > zz 0"},
		{5, "none 3", "none q1", "none!3 q1[0 1 2]"},
		{9, "", "'' q3", "!17 q3[0]"},
	} {
		if got := summary(describeFrom(n, c.limit, c.cursor, c.topics)); got != c.want {
			t.Errorf("limit %d, cursor %q, topics %q: %s, expected %s", c.limit, c.cursor, c.topics, got, c.want)
		}
	}
}

// Pages put together are the whole, whatever their size, and the broker's limit holds too.
func TestDescribeTopicPartitionsAllPages(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, func(o *api.Options, _ *configapi.Options) { o.DescribedPartitionsMax = 4 })
	for i, partitions := range []int32{3, 1, 4, 2} {
		n.create(fmt.Sprint("t", i), partitions)
	}
	for limit := int32(1); limit < 12; limit++ {
		seen, cursor, pages := map[string]bool{}, "", 0
		for {
			resp := describeFrom(n, limit, cursor, "")
			for _, rt := range resp.Topics {
				for _, p := range rt.Partitions {
					name := fmt.Sprint(*rt.Topic, "-", p.Partition)
					if seen[name] {
						t.Errorf("limit %d: %s twice", limit, name)
					}
					seen[name] = true
				}
			}
			pages++
			if resp.NextCursor == nil {
				break
			}
			cursor = fmt.Sprint(resp.NextCursor.Topic, " ", resp.NextCursor.Partition)
		}
		size := min(int(limit), 4)
		if want := (10 + size - 1) / size; len(seen) != 10 || pages != want {
			t.Errorf("limit %d: %d partitions in %d pages, expected 10 in %d", limit, len(seen), pages, want)
		}
	}
}

func TestDescribeTopicPartitionsFields(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	id := n.create("a", 1)
	rt := describeFrom(n, 10, "", "a").Topics[0]
	if rt.TopicID != id || rt.IsInternal || rt.AuthorizedOperations != 3576 {
		t.Errorf("%+v", rt)
	}
	p := rt.Partitions[0]
	if p.LeaderID != 1 || p.LeaderEpoch != 0 || len(p.Replicas) != 1 || len(p.ISR) != 1 || len(p.OfflineReplicas) != 0 {
		t.Errorf("%+v", p)
	}
	if p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil {
		t.Error("eligible leader replicas are null, which says that nobody knows")
	}
}
