package consume

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// consumeFlags are the flags of consume.
type consumeFlags struct {
	from       string
	offsets    string
	partitions []int32
	format     string
	asJSON     bool
	count      int64
	untilEnd   bool
	committed  bool
	group      groupFlags
}

// commands are the commands of this package.
type commands struct{ *session.Session }

// Command is consume.
func Command(s *session.Session) *cobra.Command {
	a := &commands{s}
	var f consumeFlags
	cmd := &cobra.Command{
		Use: "consume TOPIC...", Short: "print a topic's records", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.CompleteTopics,
		Long: `Print the values of records, one a line, from the start of the topic on, and wait for more.

--format (%v\n by default) takes the letters of kcat and rpk:
  %t topic   %p partition   %o offset   %e leader epoch
  %k key     %v or %s value  %K %V %S their lengths
  %T timestamp in ms   %d{go[2006-01-02]} or %d{strftime[%F]} the timestamp as text
  %h headers (a=b,c=d)   %h{%k=%v } headers one by one   %H their number
  \n \t \xNN escapes     %% a percent sign

With --group the members of the group share the topics' partitions. It starts where the group has committed, and where it has not, at --from.
What was printed is committed: every 5 seconds, when partitions go to another member, and at the end. After a crash, records come again.`,
		Example: `  ottla consume orders
  ottla consume orders --from end
  ottla consume orders --from @-1h --until-end --json
  ottla consume orders --offsets 100:200 -p 0 --format '%p %o %T %k: %v\n'
  ottla consume orders invoices --group billing`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			consume := a.consume
			if f.group.name != "" {
				consume = a.consumeGroup
			}
			return a.UntilInterrupt(cmd.Context(), func(ctx context.Context) error { return consume(ctx, args, f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "start", "start, end, OFFSET, -N (before the end) or @TIME (RFC 3339, a date, ms, or -1h)")
	flags.StringVar(&f.offsets, "offsets", "", "FROM:TO, the offsets to print, TO not among them; either may be left out")
	session.PartitionsFlag(cmd, &f.partitions)
	flags.StringVarP(&f.format, "format", "f", `%v\n`, "how to print a record")
	flags.Lookup("format").DefValue = "" // pflag would show it with two backslashes
	flags.BoolVarP(&f.asJSON, "json", "J", false, "print each record as a line of JSON")
	flags.Int64VarP(&f.count, "count", "n", 0, "stop after so many records")
	flags.BoolVarP(&f.untilEnd, "until-end", "e", false, "stop at what is the end when the command starts")
	flags.BoolVar(&f.committed, "read-committed", false, "leave out records of open and aborted transactions")
	f.group.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("group", a.CompleteGroups)
	return cmd
}

// limits are where to start and stop in each partition of a topic.
type limits map[string]map[int32]limit

// limit is the offset that comes next and the one to stop at (-1: never).
type limit struct{ from, to int64 }

func (a *commands) consume(ctx context.Context, names []string, f consumeFlags) error {
	write, err := a.recordWriter(f)
	if err != nil {
		return err
	}
	from, to, err := f.place()
	if err != nil {
		return err
	}
	var where limits
	var topics *renewal
	if err := a.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		details, err := session.Topics(ctx, admin, names...)
		if err != nil {
			return err
		}
		topics = newRenewal(details, f.untilEnd || to >= 0)
		where, err = findLimits(ctx, admin, names, from, to, f)
		return err
	}); err != nil {
		return err
	}
	start := make(map[string]map[int32]kgo.Offset)
	left := 0
	for topic, partitions := range where {
		start[topic] = make(map[int32]kgo.Offset)
		for p, l := range partitions {
			if l.to >= 0 && l.from >= l.to {
				delete(partitions, p)
				continue
			}
			start[topic][p] = kgo.NewOffset().At(l.from)
			left++
		}
	}
	if left == 0 {
		return nil // nothing there that is asked for
	}
	opts := []kgo.Opt{
		kgo.ConsumePartitions(start), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(), // a log may end in one
		kgo.KeepRetryableFetchErrors(), kgo.FetchMaxWait(min(max(a.Timeout/2, fetchWait), fetchWaitMost)),
	}
	if f.committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	c := &consumption{commands: a, where: where, write: write, left: left, most: f.count, only: f.partitions, topics: topics, began: time.Now()}
	if c.client, err = a.Client(ctx, opts...); err != nil {
		return err
	}
	defer c.client.Close()
	return c.run(ctx)
}

// place is where to start, and the offset to stop at (-1: none).
func (f *consumeFlags) place() (session.Place, int64, error) {
	if f.offsets == "" {
		at, err := session.ParsePlace(f.from)
		return at, -1, err
	}
	first, last, ok := strings.Cut(f.offsets, ":")
	bounds := []int64{0, -1}
	for i, text := range []string{first, last} {
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || n < 0 {
			return session.Place{}, 0, session.Usagef("--offsets %s: must be FROM:TO", f.offsets)
		}
		bounds[i] = n
	}
	if !ok {
		return session.Place{}, 0, session.Usagef("--offsets %s: must be FROM:TO", f.offsets)
	}
	if bounds[1] >= 0 && bounds[1] < bounds[0] {
		return session.Place{}, 0, session.Usagef("--offsets %s: TO must not be below FROM", f.offsets)
	}
	if first == "" {
		return session.Place{Kind: session.AtStart}, bounds[1], nil
	}
	return session.Place{Kind: session.AtOffset, Offset: bounds[0]}, bounds[1], nil
}

func findLimits(ctx context.Context, admin *kadm.Client, names []string, from session.Place, to int64, f consumeFlags) (limits, error) {
	where := limits{}
	for _, name := range names {
		starts, err := session.ResolvePlace(ctx, admin, from, name, f.partitions)
		if err != nil {
			return nil, err
		}
		ends, err := session.ResolvePlace(ctx, admin, session.Place{Kind: session.AtEnd}, name, f.partitions)
		if err != nil {
			return nil, err
		}
		where[name] = make(map[int32]limit)
		for p, start := range starts {
			l := limit{start, to}
			if f.untilEnd && (l.to < 0 || ends[p] < l.to) {
				l.to = ends[p]
			}
			where[name][p] = l
		}
	}
	return where, nil
}

// consumption is one run of consume.
type consumption struct {
	*commands
	client *kgo.Client
	where  limits
	write  func(*kgo.Record) []byte
	left   int   // partitions that are not at their end
	most   int64 // records to print; 0: no limit
	done   int64
	waits  bool // a person was told that there is nothing more for now
	only   []int32
	topics *renewal
	began  time.Time
	quiet  time.Time // since when no record came
}

// fetchWaitMost is the most that a fetch waits for records. It waits for half of --timeout, so that a broker that answers is told from one that
// does not.
const fetchWaitMost = 5 * time.Second

func (c *consumption) run(ctx context.Context) error {
	out := bufio.NewWriterSize(c.Out, 64<<10)
	c.quiet = time.Now()
	for {
		fetches, idle := pollFor(ctx, c.client, idleAfter)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // an interrupt is how a person ends it
		}
		if fetches.NumRecords() > 0 {
			c.quiet = time.Now()
		}
		if idle {
			if err := c.idle(ctx); err != nil || c.left == 0 {
				return err
			}
			continue
		}
		for _, e := range fetches.Errors() {
			if err := c.failed(e); err != nil {
				return err
			}
		}
		if err := c.renew(ctx); err != nil {
			return err
		}
		rest(ctx, fetches)
		if time.Since(c.quiet) >= idleAfter { // fetches that fail one after another are as quiet as none
			if err := c.idle(ctx); err != nil || c.left == 0 {
				return err
			}
		}
		ended, err := c.printAll(out, fetches)
		if err == nil {
			err = out.Flush()
		}
		if err != nil || ended {
			return err
		}
	}
}

// idleAfter is how long nothing comes before somebody is told, or the reason is looked for.
const idleAfter = time.Second

// pollFor waits for records, or until nothing came for a while.
func pollFor(ctx context.Context, client *kgo.Client, d time.Duration) (fetches kgo.Fetches, idle bool) {
	short, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	fetches = client.PollRecords(short, 10_000)
	return fetches, errors.Is(fetches.Err0(), context.DeadlineExceeded)
}

// idle tells a person that there is nothing more for now, and finishes partitions that have nothing to print up to their limit.
func (c *consumption) idle(ctx context.Context) error {
	if !c.waits && session.IsTerminal(c.ErrOut) {
		fmt.Fprintln(c.ErrOut, "... waiting for new records (Ctrl-C ends)")
	}
	c.waits = true
	c.Reach().Tell(c.ErrOut)
	if err := errors.Join(c.ReaderGone(), c.Begun(c.began), c.renew(ctx)); err != nil {
		return err
	}
	for topic, partitions := range c.where {
		for p, l := range partitions {
			if l.to < 0 {
				continue
			}
			next, err := passEmpty(ctx, c.client, topic, p, l.from)
			if err != nil {
				return err
			}
			if next >= l.to {
				c.finish(topic, p)
			}
		}
	}
	return nil
}

// failed returns what a fetch failed with, but for what the client tries again by itself, and for a topic that may be deleted.
func (c *consumption) failed(e kgo.FetchError) error {
	if c.topics.noteLost(c.client, e) || kerr.IsRetriable(e.Err) {
		return nil
	}
	return c.Explain(context.Background(), session.TopicError(e.Topic, fmt.Errorf("partition %d: %w", e.Partition, e.Err), ""))
}

// renew reads topics that were created again from their start.
func (c *consumption) renew(ctx context.Context) error {
	again, err := c.topics.look(ctx, c.Session, c.client)
	for _, d := range again {
		start := make(map[int32]kgo.Offset)
		c.left -= len(c.where[d.Topic])
		c.where[d.Topic] = make(map[int32]limit)
		for p := range d.Partitions {
			if len(c.only) == 0 || slices.Contains(c.only, p) {
				start[p] = kgo.NewOffset().AtStart()
				c.where[d.Topic][p] = limit{0, -1}
			}
		}
		c.left += len(start)
		c.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{d.Topic: start})
	}
	return err
}

// printAll prints records until there are enough. A partition at its end is fetched no more.
func (c *consumption) printAll(out *bufio.Writer, fetches kgo.Fetches) (ended bool, err error) {
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		for _, r := range fp.Records {
			l, open := c.where[r.Topic][r.Partition]
			if ended || err != nil || !open {
				return
			}
			if (l.to < 0 || r.Offset < l.to) && !r.Attrs.IsControl() {
				_, err = out.Write(c.write(r))
				c.done++
			}
			c.where[r.Topic][r.Partition] = limit{r.Offset + 1, l.to}
			if l.to >= 0 && r.Offset+1 >= l.to {
				c.finish(r.Topic, r.Partition)
			}
			ended = c.left == 0 || c.most > 0 && c.done >= c.most
		}
	})
	return ended, err
}

func (c *consumption) finish(topic string, partition int32) {
	delete(c.where[topic], partition)
	c.client.PauseFetchPartitions(map[string][]int32{topic: {partition}})
	c.left--
}
