package api_test

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func logDirsOf(n *adminNode, version int16, topics []kmsg.DescribeLogDirsRequestTopic) kmsg.DescribeLogDirsResponseDir {
	n.t.Helper()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = topics
	resp := ask[*kmsg.DescribeLogDirsResponse](n, version, req)
	wantCode(n.t, "request", resp.ErrorCode, "")
	if len(resp.Dirs) != 1 {
		n.t.Fatalf("%d directories", len(resp.Dirs))
	}
	return resp.Dirs[0]
}

// TestDescribeLogDirsVersions: traps.md rule 9, consoles and exporters take the sizes of topics from here.
func TestDescribeLogDirsVersions(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("b", 1)
	n.create("a", 2, "durability", "memory")
	n.produce("a")
	for _, v := range versionsOf(t, kmsg.DescribeLogDirs) {
		all := logDirsOf(n, v, nil)
		wantCode(t, "all", all.ErrorCode, "")
		if !filepath.IsAbs(all.Dir) || all.IsCordoned {
			t.Errorf("v%d: %+v", v, all)
		}
		if v >= 4 && (all.TotalBytes <= 0 || all.UsableBytes <= 0 || all.UsableBytes > all.TotalBytes) {
			t.Errorf("v%d: %d bytes of %d are free", v, all.UsableBytes, all.TotalBytes)
		}
		if len(all.Topics) != 2 || all.Topics[0].Topic != "a" || len(all.Topics[0].Partitions) != 2 || all.Topics[1].Topic != "b" {
			t.Fatalf("v%d: topics are %+v", v, all.Topics)
		}
		written := all.Topics[0].Partitions[0]
		if written.Partition != 0 || written.Size <= 0 || written.OffsetLag != 0 || written.IsFuture {
			t.Errorf("v%d: a-0 is %+v", v, written)
		}
		if empty := all.Topics[0].Partitions[1]; empty.Partition != 1 || empty.Size != 0 {
			t.Errorf("v%d: a-1 is %+v", v, empty)
		}
	}
}

func TestDescribeLogDirsNamed(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	n.create("a", 2)
	n.create("b", 1)
	got := logDirsOf(n, 4, []kmsg.DescribeLogDirsRequestTopic{{Topic: "a", Partitions: []int32{1, 7}}, {Topic: "none", Partitions: []int32{0}}, {Topic: "b"}})
	if len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 || got.Topics[0].Partitions[0].Partition != 1 {
		t.Errorf("asked for a-1: %+v", got.Topics)
	}
	if got := logDirsOf(n, 4, []kmsg.DescribeLogDirsRequestTopic{}); len(got.Topics) != 0 || got.Dir == "" {
		t.Errorf("asked for none: %+v", got)
	}
}
