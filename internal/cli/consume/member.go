package consume

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// groupFlags are the flags of consume that are about its group.
type groupFlags struct {
	name     string
	instance string
	protocol string
	assignor string
	commit   bool
}

func (f *groupFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.name, "group", "g", "", "consume as a member of this group, and commit what was printed")
	flags.BoolVar(&f.commit, "commit", true, "commit to the group; --commit=false only looks")
	flags.StringVar(&f.instance, "instance", "", "a static member's `ID`: who comes back in time with it gets the same partitions, without a rebalance")
	flags.StringVar(&f.protocol, "protocol", classicGroup, "the group's protocol: classic, or consumer, the next generation (KIP-848)")
	flags.StringVar(&f.assignor, "assignor", "", "who gets what: cooperative-sticky (default), sticky, range or roundrobin; of consumer: uniform (default) or range")
}

// check finds flags that do not go together.
func (f *consumeFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("count") && f.count < 1 {
		return session.Usagef("--count %d: must be at least 1", f.count)
	}
	if f.group.name == "" {
		for _, flag := range []string{"commit", "instance", "protocol", "assignor"} {
			if cmd.Flags().Changed(flag) {
				return session.Usagef("--%s is about a group; name it with --group", flag)
			}
		}
		if cmd.Flags().Changed("group") {
			return session.Usagef("--group is empty: must be a group's name")
		}
		return nil
	}
	for _, flag := range []string{"offsets", "partition"} {
		if cmd.Flags().Changed(flag) {
			return session.Usagef("--%s does not go with --group, which says who reads what and from where", flag)
		}
	}
	return nil
}

// assignors are kgo's balancers by the names of --protocol and --assignor. A consumer group's broker takes the name alone.
var assignors = map[string]func() kgo.GroupBalancer{
	"classic ":                   kgo.CooperativeStickyBalancer,
	"classic cooperative-sticky": kgo.CooperativeStickyBalancer,
	"classic sticky":             kgo.StickyBalancer,
	"classic range":              kgo.RangeBalancer,
	"classic roundrobin":         kgo.RoundRobinBalancer,
	"consumer ":                  kgo.StickyBalancer,
	"consumer uniform":           kgo.StickyBalancer, // as kgo maps it
	"consumer range":             kgo.RangeBalancer,
}

func (f *groupFlags) options() ([]kgo.Opt, error) {
	if f.protocol != classicGroup && f.protocol != consumerGroup {
		return nil, session.Usagef("--protocol %s: must be classic or consumer", f.protocol)
	}
	balancer, ok := assignors[f.protocol+" "+f.assignor]
	if !ok {
		return nil, session.Usagef("--assignor %s: of the protocol %s there is %s", f.assignor, f.protocol, assignorNames(f.protocol))
	}
	opts := []kgo.Opt{kgo.ConsumerGroup(f.name), kgo.Balancers(balancer()), kgo.BlockRebalanceOnPoll()}
	if f.protocol == consumerGroup {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	if f.instance != "" {
		opts = append(opts, kgo.InstanceID(f.instance))
	}
	if f.commit {
		return append(opts, kgo.AutoCommitMarks()), nil
	}
	return append(opts, kgo.DisableAutoCommit()), nil
}

func assignorNames(protocol string) string {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(assignors)) {
		if p, name, _ := strings.Cut(key, " "); p == protocol && name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// groupConsumption is one run of consume --group. What was printed is marked, and what is marked is committed: now and then, when partitions
// leave, and at the end. So a record may be printed twice after a crash, and none is left out.
type groupConsumption struct {
	*commands
	flags  consumeFlags
	client *kgo.Client
	cut    context.CancelFunc // ends the client whatever it does
	write  func(*kgo.Record) []byte
	from   session.Place
	ends   map[string]map[int32]int64 // where to stop; nil: never
	done   int64
	quiet  time.Time // since when nothing came
	heard  time.Time // since when no record came
	began  time.Time
	topics *renewal
	waits  bool // a person was told that there is nothing more for now

	mu struct { // the client's goroutines assign and revoke, and tell
		sync.Mutex
		owned   map[string]map[int32]int64 // the next offset to print; -1: that of the group
		joined  bool
		leaving bool
		renewed map[string]map[int32]bool // topics that were created again, with the partitions of them that this member has begun
		lost    map[string]bool           // topics that were deleted: what is marked in them is not committed
		gone    bool                      // without the client, which cannot commit any more
	}
}

// fetchWait is how long a fetch waits for records. The client finds the places of its partitions one by one and may fetch before it has all; those
// that come later wait for that fetch.
const fetchWait = 500 * time.Millisecond

func (a *commands) consumeGroup(ctx context.Context, names []string, f consumeFlags) error {
	write, err := a.recordWriter(f)
	if err != nil {
		return err
	}
	c := &groupConsumption{commands: a, flags: f, write: write}
	if c.from, err = session.ParsePlace(f.from); err != nil {
		return err
	}
	opts, err := f.group.options()
	if err != nil {
		return err
	}
	if err := a.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error { return c.prepare(ctx, admin, names) }); err != nil {
		return err
	}
	reset := startAt(c.from)
	opts = append(opts, kgo.ConsumeTopics(names...), kgo.ConsumeStartOffset(reset), kgo.ConsumeResetOffset(reset), kgo.KeepControlRecords(),
		kgo.KeepRetryableFetchErrors(), kgo.FetchMaxWait(fetchWait), kgo.AdjustFetchOffsetsFn(c.adjust),
		kgo.OnPartitionsAssigned(c.assigned), kgo.OnPartitionsRevoked(c.revoked), kgo.OnPartitionsLost(c.lost),
		kgo.AutoCommitCallback(c.committed))
	if f.committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	opts = append(opts, kgo.WithContext(life))
	c.cut = cut
	c.mu.owned = make(map[string]map[int32]int64)
	c.mu.renewed, c.mu.lost = make(map[string]map[int32]bool), make(map[string]bool)
	c.began = time.Now()
	if c.client, err = a.Client(ctx, opts...); err != nil {
		return err
	}
	defer c.leave(ctx)
	return c.run(ctx)
}

// endAfter is how long nothing comes before a member looks whether it is at the end.
const endAfter = 200 * time.Millisecond

// prepare checks what the group is to consume, and finds the ends of it.
func (c *groupConsumption) prepare(ctx context.Context, admin *kadm.Client, names []string) error {
	details, err := session.Topics(ctx, admin, names...)
	if err != nil {
		return err
	}
	c.topics = newRenewal(details, c.flags.untilEnd)
	if c.flags.group.protocol == consumerGroup {
		versions, err := admin.ApiVersions(ctx)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if newest, ok := v.KeyMaxVersion(kmsg.ConsumerGroupHeartbeat.Int16()); v.Err == nil && (!ok || newest < 1) {
				return fmt.Errorf("broker %d does not speak the protocol consumer as clients of Kafka 4.0 and later do; give --protocol classic", v.NodeID)
			}
		}
	}
	if !c.flags.untilEnd {
		return nil
	}
	c.ends = make(map[string]map[int32]int64)
	for _, name := range names {
		var err error
		if c.ends[name], err = session.ResolvePlace(ctx, admin, session.Place{Kind: session.AtEnd}, name, nil); err != nil {
			return err
		}
	}
	return nil
}

// startAt is a place as the client takes it.
func startAt(p session.Place) kgo.Offset {
	switch p.Kind {
	case session.AtEnd:
		return kgo.NewOffset().AtEnd()
	case session.AtOffset:
		return kgo.NewOffset().At(p.Offset)
	case session.BeforeEnd:
		return kgo.NewOffset().AtEnd().Relative(-p.Offset)
	case session.AtTime:
		return kgo.NewOffset().AfterMilli(p.Time.UnixMilli())
	default:
		return kgo.NewOffset().AtStart()
	}
}

func (c *groupConsumption) run(ctx context.Context) error {
	out := bufio.NewWriterSize(c.Out, 64<<10)
	c.quiet, c.heard = time.Now(), time.Now()
	wait := idleAfter
	if c.ends != nil {
		wait = endAfter
	}
	for {
		fetches, idle := pollFor(ctx, c.client, wait)
		ended, err := c.take(ctx, out, fetches, idle)
		if err != nil || ended {
			return err
		}
		c.client.AllowRebalance()
	}
}

// take prints what came and marks it.
func (c *groupConsumption) take(ctx context.Context, out *bufio.Writer, fetches kgo.Fetches, idle bool) (ended bool, err error) {
	if ctx.Err() != nil {
		return true, nil //nolint:nilerr // an interrupt is how a person ends it
	}
	if idle {
		return c.idle(ctx)
	}
	for _, e := range fetches.Errors() {
		if err := c.failed(e); err != nil {
			return true, err
		}
	}
	if err := errors.Join(c.begun(), c.renew(ctx)); err != nil {
		return true, err
	}
	rest(ctx, fetches)
	if fetches.NumRecords() > 0 {
		c.heard = time.Now()
	} else if time.Since(c.heard) >= idleAfter { // fetches that fail one after another are as quiet as none
		return c.idle(ctx)
	}
	last, ended, err := c.printAll(out, fetches)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return true, err
	}
	c.quiet = time.Now()
	c.client.MarkCommitRecords(last...)
	return ended || c.atEnd(), nil
}

// printAll prints records until there are enough, and returns the last of each partition.
func (c *groupConsumption) printAll(out *bufio.Writer, fetches kgo.Fetches) (last []*kgo.Record, ended bool, err error) {
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		var printed *kgo.Record
		for _, r := range fp.Records {
			if ended || err != nil {
				break
			}
			if !r.Attrs.IsControl() {
				_, err = out.Write(c.write(r))
				c.done++
			}
			printed = r
			ended = c.flags.count > 0 && c.done >= c.flags.count
		}
		if printed != nil {
			last = append(last, printed)
			c.moved(fp.Topic, fp.Partition, printed.Offset+1)
		}
	})
	return last, ended, err
}

func (c *groupConsumption) moved(topic string, partition int32, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.owned[topic][partition]; ok {
		c.mu.owned[topic][partition] = next
	}
}

// failed tells what went wrong with a fetch or with the group, and is an error if it will not get better by itself.
func (c *groupConsumption) failed(e kgo.FetchError) error {
	if failure, ok := errors.AsType[*kgo.ErrGroupSession](e.Err); ok {
		if hopeless(failure.Err) {
			return groupError(c.flags.group.name, failure.Err, "")
		}
		if errors.Is(failure.Err, kerr.RebalanceInProgress) {
			return nil // what comes of it is told
		}
		if op, ok := errors.AsType[*net.OpError](failure.Err); ok && op.Op == "dial" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.Reach().Tell(c.ErrOut) // once, however often it is tried
			return nil
		}
		c.tell("... the group's session ended: %s; trying again", session.InWords(failure.Err, c.Seeds()))
		return nil
	}
	if c.noteLost(e) || kerr.IsRetriable(e.Err) {
		return nil
	}
	return session.TopicError(e.Topic, fmt.Errorf("partition %d: %w", e.Partition, e.Err), "")
}

// hopeless reports whether a member need not try to join again.
func hopeless(err error) bool {
	return slices.ContainsFunc([]*kerr.Error{
		kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.FencedInstanceID, kerr.UnreleasedInstanceID, kerr.InvalidGroupID,
		kerr.InconsistentGroupProtocol, kerr.GroupMaxSizeReached, kerr.UnsupportedAssignor, kerr.InvalidSessionTimeout, kerr.GroupIDNotFound,
		kerr.UnsupportedVersion, kerr.InvalidRequest,
	}, func(ke *kerr.Error) bool { return errors.Is(err, ke) })
}

// tell writes a line to stderr.
func (c *groupConsumption) tell(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tellLocked(format, args...)
}

func (c *groupConsumption) tellLocked(format string, args ...any) {
	fmt.Fprintf(c.ErrOut, format+"\n", args...)
}

// showOffsets writes offsets by topic and partition: "orders:0@12 orders:1@7".
func showOffsets(offsets map[string]map[int32]int64) string {
	var text []string
	for _, topic := range slices.Sorted(maps.Keys(offsets)) {
		for _, p := range slices.Sorted(maps.Keys(offsets[topic])) {
			text = append(text, fmt.Sprintf("%s:%d@%d", topic, p, offsets[topic][p]))
		}
	}
	return strings.Join(text, " ")
}
