package coordinator

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// all asks for every offset of a group, until the shard is loaded and the group is not being deleted.
func (n *node) all(t testing.TB, groupID string) []group.FetchedTopic {
	t.Helper()
	for {
		n.locate(t, groupID)
		in := group.Fetch{Caller: n.groups.Caller("test", "/127.0.0.1"), Group: groupID, Epoch: -1}
		result := n.groups.Ask(groupID, in).Wait(t.Context()).(group.FetchResult)
		if result.Err == nil {
			return result.Topics
		}
		if !errors.Is(result.Err, kerr.CoordinatorLoadInProgress) && !errors.Is(result.Err, kerr.NotCoordinator) {
			t.Fatalf("group %s: %v", groupID, result.Err)
		}
	}
}

// TestLargeGroupIsDeleted: more tombstones than one batch holds, while others commit; nobody sees half of the group, and it stays gone.
func TestLargeGroupIsDeleted(t *testing.T) {
	t.Parallel()
	const size = 5_000
	files := vfs.NewMem()
	n := bring(t, files)
	n.topicOf(t, "orders")
	n.locate(t, "large")
	in := group.Commit{
		Caller: n.groups.Caller("test", "/127.0.0.1"), Group: "large", Epoch: -1, Retention: -1, Version: 8,
		Topics: []group.CommitTopic{{Topic: "orders", Partitions: make([]group.CommitPartition, size)}},
	}
	for i := range in.Topics[0].Partitions {
		in.Topics[0].Partitions[i] = group.CommitPartition{Partition: int32(i), Offset: batch.Offset(i), Timestamp: -1}
	}
	for _, p := range n.groups.Ask("large", in).Wait(t.Context()).(group.CommitResult).Topics[0].Partitions {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
	}
	if got := n.all(t, "large"); len(got) != 1 || len(got[0].Partitions) != size {
		t.Fatal("not all is committed")
	}
	call := n.groups.Ask("large", group.Delete{Caller: n.groups.Caller("test", "/127.0.0.1"), Group: "large"})
	if left := n.all(t, "large"); len(left) != 0 {
		t.Errorf("%d offsets are seen of a group that is being deleted", len(left[0].Partitions))
	}
	if err := call.Wait(t.Context()).(group.DeleteResult).Err; err != nil {
		t.Fatal(err)
	}
	n.stop()
	n = bring(t, files)
	if left := n.all(t, "large"); len(left) != 0 {
		t.Errorf("%d offsets are back after a restart", len(left[0].Partitions))
	}
}

// TestTopicIsDeleted: the offsets of a topic go with it, and those of another stay; made again, it has none (hard-cases 62).
func TestTopicIsDeleted(t *testing.T) {
	t.Parallel()
	n := bring(t, vfs.NewMem())
	n.topicOf(t, "orders")
	n.topicOf(t, "payments")
	n.locate(t, "g")
	for _, name := range []string{"orders", "payments"} {
		if err := n.commit(t, "g", name, 7); err != nil {
			t.Fatal(err)
		}
	}
	results, err := n.broker.DeleteTopics(t.Context(), []meta.TopicRef{{Name: "orders"}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	for len(n.all(t, "g")) != 1 {
	}
	n.topicOf(t, "orders")
	if got := n.eventually(t, "g", "orders"); got != -1 {
		t.Errorf("the new topic's offset is %d", got)
	}
	if got := n.eventually(t, "g", "payments"); got != 7 {
		t.Errorf("the other topic's offset is %d, want 7", got)
	}
}
