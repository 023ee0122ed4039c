package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// still is a node of which only what stands here is asked.
type still struct {
	node
	image *meta.Image
	dirs  []broker.LogDir
}

func (s *still) Image() *meta.Image                               { return s.image }
func (s *still) NodeID() int32                                    { return 1 }
func (s *still) LogDirs(func(string, int32) bool) []broker.LogDir { return s.dirs }

func newStill(s *still) (*API, *Request) {
	a := New(Options{Log: slog.New(slog.DiscardHandler)})
	a.node, a.nodes = s, s
	return a, &Request{Conn: &Conn{Listener: "PLAINTEXT", Local: netip.MustParseAddrPort("10.0.0.1:9092")}}
}

func TestDescribeLogDirsOffline(t *testing.T) {
	t.Parallel()
	broken := fmt.Errorf("%w: %w", kerr.KafkaStorageError, errors.New("sync a-0: input/output error"))
	a, req := newStill(&still{dirs: []broker.LogDir{{Path: "/d", Err: broken, Free: 5, Total: 6, Partitions: []broker.LogDirPartition{{Topic: "a"}}}}})
	got := a.describeLogDirs(t.Context(), req, kmsg.NewPtrDescribeLogDirsRequest()).(*kmsg.DescribeLogDirsResponse)
	d := got.Dirs[0]
	if got.ErrorCode != 0 || d.ErrorCode != kerr.KafkaStorageError.Code || d.Dir != "/d" || len(d.Topics) > 0 || d.TotalBytes != -1 || d.UsableBytes != -1 {
		t.Errorf("%+v", got)
	}
}

// Fenced brokers are there for those who ask only, and a controller that is not shown is none.
func TestDescribeClusterFenced(t *testing.T) {
	t.Parallel()
	a, req := newStill(&still{image: &meta.Image{
		ClusterID: "c", Controller: 2,
		Brokers: []meta.Broker{{ID: 1, Endpoints: []meta.Endpoint{{Listener: "PLAINTEXT", Host: "one", Port: 1}}}, {ID: 2, Fenced: true}},
	}})
	for _, fenced := range []bool{false, true} {
		m := kmsg.NewPtrDescribeClusterRequest()
		m.EndpointType, m.IncludeFencedBrokers = brokerEndpoint, fenced
		got := a.describeCluster(t.Context(), req, m).(*kmsg.DescribeClusterResponse)
		brokers, controller := 1, int32(-1)
		if fenced {
			brokers, controller = 2, 2
		}
		if len(got.Brokers) != brokers || got.ControllerID != controller || got.Brokers[0].Host != "one" || fenced && !got.Brokers[1].IsFenced {
			t.Errorf("fenced %v: %+v", fenced, got)
		}
	}
}

func TestDescribeTopicPartitionsWithoutLeader(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t)
	p := a.describedPartition(&meta.Image{Brokers: []meta.Broker{{ID: 1, Fenced: true}}}, &meta.Topic{Partitions: []meta.Partition{{
		Leader: meta.NoLeader, LeaderEpoch: 9, Replicas: []int32{1, 2}, ELR: []int32{1}, LastKnownELR: []int32{2},
	}}}, 0)
	if p.ErrorCode != kerr.LeaderNotAvailable.Code || p.LeaderID != -1 || p.LeaderEpoch != 9 || len(p.OfflineReplicas) != 2 || p.EligibleLeaderReplicas[0] != 1 || p.LastKnownELR[0] != 2 {
		t.Errorf("%+v", p)
	}
}

// What fails as a whole is said for each topic.
func TestResultOf(t *testing.T) {
	t.Parallel()
	if got := resultOf(nil, 3, "a", kerr.RequestTimedOut); got.Name != "a" || code(got.Err) != kerr.RequestTimedOut.Code {
		t.Errorf("%+v", got)
	}
	ctx, cancel := within(t.Context(), 0)
	defer cancel()
	if _, bounded := ctx.Deadline(); bounded {
		t.Error("a timeout of 0 is a limit")
	}
}

// TestHandlersAreTheTable: traps.md rule 15, every key that is advertised has a handler, and no other has. Those of the families are
// tested there.
func TestHandlersAreTheTable(t *testing.T) {
	t.Parallel()
	a := New(Options{Log: slog.New(slog.DiscardHandler)})
	families := []kmsg.Key{8, 9, 10, 11, 12, 13, 14, 15, 16, 29, 30, 31, 32, 33, 42, 44, 47, 68, 69, 74}
	for key := range kmsg.Key(handlerSlots) {
		_, advertised := wire.Lookup(key)
		if slices.Contains(families, key) {
			continue
		}
		if advertised != (a.handler(key) != nil) {
			t.Errorf("%s: advertised is %v, handled is %v", key.Name(), advertised, !advertised)
		}
	}
}
