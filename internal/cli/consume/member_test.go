package consume

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/internal/cli/session"
)

// buffer is a bytes.Buffer that may be read while it is written to.
type buffer struct {
	mu struct {
		sync.Mutex
		b bytes.Buffer
	}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.b.String()
}

// until polls for what only the broker knows.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		}
	}
}

// rawJoin joins a group by hand, with a member id if the member has one.
func rawJoin(ctx context.Context, client *kgo.Client, group, member string) (*kmsg.JoinGroupResponse, error) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = group, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 60_000, 60_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = kgo.CooperativeStickyBalancer().ProtocolName()
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Version, metadata.Topics = 1, []string{"t"}
	p.Metadata = metadata.AppendTo(nil)
	req.Protocols = append(req.Protocols, p)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); errors.Is(err, kerr.MemberIDRequired) {
		return rawJoin(ctx, client, group, resp.MemberID)
	}
	return resp, kerr.ErrorForCode(resp.ErrorCode)
}

type groupTest struct {
	*commands
	client      *kgo.Client
	admin       *kadm.Client
	out, errOut buffer
}

// newGroupTest is a broker with a topic t of one partition.
func newGroupTest(t *testing.T) *groupTest {
	t.Helper()
	s, err := ottla.Start(t.Context(), ottla.Options{
		Memory: true, Listen: "127.0.0.1:0", Admin: "off", Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	g := &groupTest{}
	if g.client, err = kgo.NewClient(kgo.SeedBrokers(s.Addr()), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.client.Close)
	g.admin = kadm.NewClient(g.client)
	g.commands = &commands{&session.Session{Out: &g.out, ErrOut: &g.errOut, Brokers: s.Addr(), Timeout: 10 * time.Second}}
	if err := g.client.ProduceSync(t.Context(), kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *groupTest) group(t *testing.T) kadm.DescribedGroup {
	t.Helper()
	all, err := g.admin.DescribeGroups(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	return all["g"]
}

// TestLeaveInRebalance: who is interrupted while the group waits for a member that is dead, does not wait too.
func TestLeaveInRebalance(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	dead, err := rawJoin(t.Context(), g.client, "g", "") // and never says a word again
	if err != nil {
		t.Fatal(err)
	}
	interrupt := make(chan os.Signal, 1)
	g.Interrupt = interrupt
	done := make(chan error, 1)
	go func() {
		done <- g.UntilInterrupt(t.Context(), func(ctx context.Context) error {
			return g.consumeGroup(ctx, []string{"t"}, consumeFlags{from: "start", format: `%v\n`, group: groupFlags{name: "g", protocol: classicGroup, commit: true}})
		})
	}()
	until(t, "two members", func() bool { return len(g.group(t).Members) == 2 })
	interrupt <- syscall.SIGINT
	if err := <-done; err != nil {
		t.Error(err)
	}
	if said := g.errOut.String(); said != "... left group g after 0 records\n" {
		t.Errorf("said %q", said)
	}
	if left := g.group(t).Members; len(left) != 1 || left[0].MemberID != dead.MemberID {
		t.Errorf("the group has %+v", left)
	}
}

// TestGoodbye: what is printed is committed, and the member is away, while the group waits for another.
func TestGoodbye(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	me, err := rawJoin(t.Context(), g.client, "g", "")
	if err != nil {
		t.Fatal(err)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation, sync.ProtocolType, sync.Protocol = "g", me.MemberID, me.Generation, me.ProtocolType, me.Protocol
	if resp, err := sync.RequestWith(t.Context(), g.client); err != nil || resp.ErrorCode != 0 {
		t.Fatal(err, resp)
	}
	joined := make(chan error, 1)
	go func() { _, err := rawJoin(t.Context(), g.client, "g", ""); joined <- err }()
	until(t, "a rebalance", func() bool { now := g.group(t); return now.State == "PreparingRebalance" && len(now.Members) == 2 })

	c := &groupConsumption{commands: g.commands}
	bye := goodbye{
		flags: groupFlags{name: "g", protocol: classicGroup}, member: me.MemberID, generation: me.Generation,
		marked: map[string]map[int32]kgo.EpochOffset{"t": {0: {Epoch: 0, Offset: 2}}},
	}
	if err := bye.say(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := <-joined; err != nil { // the rebalance is over
		t.Error(err)
	}
	if offsets, err := g.admin.FetchOffsets(t.Context(), "g"); err != nil || offsets["t"][0].At != 2 {
		t.Errorf("committed is %v, %v", offsets, err)
	}
	if said := g.errOut.String(); said != "... committed t:0@2\n" {
		t.Errorf("said %q", said)
	}
	if err := bye.say(t.Context(), c); err != nil {
		t.Errorf("who is gone already: %v", err)
	}
}
