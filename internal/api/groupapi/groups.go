package groupapi

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/partition"
)

// Groups is the coordinator of groups on this node.
type Groups interface {
	// Locate makes sure that the topic of groups is there. The error is nil if this node coordinates the group, or becomes it soon.
	Locate(ctx context.Context, groupID string) error
	// Caller begins a request of a client at remote ("/127.0.0.1"). It is for one input.
	Caller(clientID, remote string) group.Caller
	// Ask puts in to the machine of the group. It never waits.
	Ask(groupID string, in group.Input) Call
	// AskAll puts an input of its own to every machine that is here.
	AskAll(input func() group.Input) []Call
}

// Call is an input that is to be answered.
type Call interface {
	// Poll returns the result if it may leave; otherwise w, if not nil, is woken when another Poll may find it. It never blocks.
	Poll(w *partition.Waiter) (result any, ready bool)
	// Wait waits for the result, until ctx ends at most; then it is a failure.
	Wait(ctx context.Context) any
	// Drop gives up a call that was not ready.
	Drop()
}

// Options say what the handlers stand on.
type Options struct {
	Groups Groups
	// Consumer says that groups may use the next generation's protocol: group.coordinator.rebalance.protocols has "consumer".
	Consumer bool
}

// family is the handlers.
type family struct {
	groups   Groups
	consumer bool
}

// Handlers are the handlers by key.
func Handlers(opts Options) map[kmsg.Key]api.Handler {
	f := &family{groups: opts.Groups, consumer: opts.Consumer}
	return map[kmsg.Key]api.Handler{
		kmsg.OffsetCommit:           api.Early(f.offsetCommit),
		kmsg.OffsetFetch:            api.Late(f.offsetFetch),
		kmsg.FindCoordinator:        api.Late(f.findCoordinator),
		kmsg.JoinGroup:              api.Early(f.joinGroup),
		kmsg.Heartbeat:              api.Early(f.heartbeat),
		kmsg.LeaveGroup:             api.Late(f.leaveGroup),
		kmsg.SyncGroup:              api.Early(f.syncGroup),
		kmsg.DescribeGroups:         api.Late(f.describeGroups),
		kmsg.ListGroups:             api.Late(f.listGroups),
		kmsg.DeleteGroups:           api.Late(f.deleteGroups),
		kmsg.OffsetDelete:           api.Late(f.offsetDelete),
		kmsg.ConsumerGroupHeartbeat: api.Early(f.consumerGroupHeartbeat),
		kmsg.ConsumerGroupDescribe:  api.Late(f.consumerGroupDescribe),
	}
}

// caller is who sent req.
func (f *family) caller(req *api.Request) group.Caller {
	return f.groups.Caller(string(req.ClientID), host(req.Conn.Remote.Addr()))
}

// host is an address as Kafka's tools show it (Java's InetAddress.toString): nothing of a IPv6 address is left out.
func host(a netip.Addr) string {
	a = a.Unmap()
	if !a.Is6() {
		return "/" + a.String()
	}
	var b strings.Builder
	bytes := a.As16()
	for i := 0; i < len(bytes); i += 2 {
		sep := ":"
		if i == 0 {
			sep = "/"
		}
		fmt.Fprintf(&b, "%s%x", sep, uint16(bytes[i])<<8|uint16(bytes[i+1]))
	}
	return b.String()
}

// distinct is ids without those that stand in it before.
func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	once := make([]string, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	return once
}
