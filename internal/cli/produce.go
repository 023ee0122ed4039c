package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// produceFlags are the flags of produce.
type produceFlags struct {
	key          string
	keySeparator string
	headers      []string
	file         string
	follow       bool
	asJSON       bool
	nullEmpty    bool
	compression  string
	acks         string
	partition    int32
}

func (a *app) produceCommand() *cobra.Command {
	var f produceFlags
	cmd := &cobra.Command{
		Use: "produce TOPIC", Short: "write lines to a topic", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteOneTopic,
		Long: `Write each line of stdin, or of a file, to a topic as a record.

It gives up, with exit code 1, when records wait for --timeout without a single acknowledgement. Such records may or may not be written. A signal
ends the reading, waits for the acknowledgements and names the first line that was not sent; a second one ends at once.`,
		Example: `  echo hello | ottla produce greetings
  ottla produce orders --key-separator : --headers source=import --file orders.txt
  ottla produce logs --file /var/log/syslog --follow
  ottla consume orders --json | ottla produce copy --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.UntilInterrupt(cmd.Context(), func(ctx context.Context) error { return a.produce(ctx, args[0], f, cmd.Flags().Changed("key")) })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.key, "key", "k", "", "key of all records")
	flags.StringVarP(&f.keySeparator, "key-separator", "K", "", `what stands between key and value in a line (\t is a tab)`)
	flags.StringSliceVarP(&f.headers, "headers", "H", nil, "key=value headers of all records")
	flags.StringVarP(&f.file, "file", "f", "", "a file to read instead of stdin")
	flags.BoolVarP(&f.follow, "follow", "F", false, "go on as the file grows (with --file)")
	flags.BoolVar(&f.asJSON, "json", false, "each line is a record in JSON, as consume --json writes it")
	flags.BoolVarP(&f.nullEmpty, "null", "Z", false, "an empty value is a null one (a tombstone)")
	flags.StringVarP(&f.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	flags.StringVar(&f.acks, "acks", "all", "0, 1 or all: when a record counts as written")
	flags.Int32VarP(&f.partition, "partition", "p", -1, "the partition; -1: by the key, or spread")
	for name, values := range map[string][]string{"compression": slices.Sorted(maps.Keys(codecs)), "acks": {"0", "1", "all"}} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// producerOptions turn --compression, --acks and --partition into the client's options.
func producerOptions(compression, acks string, partition int32) ([]kgo.Opt, error) {
	codec, ok := codecs[compression]
	if !ok {
		return nil, session.Usagef("--compression %s: must be one of %s", compression, strings.Join(slices.Sorted(maps.Keys(codecs)), ", "))
	}
	opts := []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(2)}
	switch acks {
	case "all", "-1":
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, session.Usagef("--acks %s: must be 0, 1 or all", acks)
	}
	if partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	return opts, nil
}

func (a *app) produce(ctx context.Context, topic string, f produceFlags, hasKey bool) error {
	opts, err := producerOptions(f.compression, f.acks, f.partition)
	if err != nil {
		return err
	}
	parse, err := f.parser(topic, hasKey)
	if err != nil {
		return err
	}
	input, err := a.produceInput(ctx, f)
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }() // it was only read
	p := &production{app: a, topic: topic, endless: f.follow || session.IsTerminal(a.Stdin)}
	p.tally.blind = f.acks == "0"
	p.wait.start = time.Now()
	if p.client, err = a.producer(ctx, topic, f.partition, opts); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: nothing was sent to %s", topic)
		}
		return err
	}
	defer p.client.Close()
	p.wait.prepared = time.Since(p.wait.start)
	return p.run(ctx, input, parse)
}

// producer returns a client that is ready to produce to topic. All of it takes no longer than --timeout.
func (a *app) producer(ctx context.Context, topic string, partition int32, opts []kgo.Opt) (*kgo.Client, error) {
	timed, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	limit, err := a.batchLimit(timed, topic)
	if err != nil {
		return nil, err
	}
	client, err := a.Client(timed, append(opts, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(limit))...)
	if err != nil {
		return nil, err
	}
	if partition >= 0 {
		if err := hasPartition(timed, client, topic, partition); err != nil {
			client.Close()
			return nil, a.Explain(ctx, err)
		}
	}
	return client, nil
}

// The bounds of batchLimit, in bytes: what the client takes as a setting, with room beside it in a request.
const (
	batchLeast = 512
	batchMost  = 64 << 20
)

// batchLimit is how many bytes a batch for topic may have: the topic's max.message.bytes, or Kafka's default while there is no topic.
func (a *app) batchLimit(ctx context.Context, topic string) (limit int32, err error) {
	limit = 1 << 20
	err = a.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		all, err := admin.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		for _, c := range all {
			for _, s := range c.Configs {
				if n, err := strconv.ParseInt(s.MaybeValue(), 10, 64); err == nil && s.Key == "max.message.bytes" {
					limit = int32(min(max(n, batchLeast), batchMost))
				}
			}
		}
		return nil
	})
	return limit, err
}

// hasPartition says that a topic lacks a partition. A topic that is not there is for the produce request to tell of, or to create.
func hasPartition(ctx context.Context, client *kgo.Client, topic string, partition int32) error {
	details, err := session.Topics(ctx, kadm.NewClient(client), topic)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	}
	if n := len(details[topic].Partitions); err == nil && int(partition) >= n {
		return session.NoPartition(topic, partition, n)
	}
	return err
}

// produceInput opens what is to be read.
func (a *app) produceInput(ctx context.Context, f produceFlags) (io.ReadCloser, error) {
	if f.file == "" || f.file == "-" {
		if f.follow {
			return nil, session.Usagef("--follow needs --file")
		}
		if session.IsTerminal(a.Stdin) {
			fmt.Fprintln(a.ErrOut, "one record a line; Ctrl-D ends")
		}
		return io.NopCloser(a.Stdin), nil
	}
	if f.follow {
		return followFile(ctx, f.file)
	}
	return os.Open(f.file)
}

// production is one run of produce.
type production struct {
	*app
	client *kgo.Client
	topic  string
	tally  tally
	wait   ackWait

	endless bool // the input ends by an interrupt
}

// run produces the records of input's lines, and waits until all are answered. Interrupted, it stops reading and does the same.
func (p *production) run(ctx context.Context, input io.Reader, parse func([]byte) (*kgo.Record, error)) error {
	sendCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	show := p.showProgress(&p.tally)
	unwatch := p.wait.watch(p.Session, cancel)
	lines := readLines(ctx, input)
	var failed error
	for n := 1; failed == nil; n++ {
		line, err := lines.next(ctx)
		if err != nil {
			switch {
			case ctx.Err() != nil && !p.endless:
				failed = fmt.Errorf("interrupted: line %d and what comes after it are not sent", n)
			case ctx.Err() == nil && !errors.Is(err, io.EOF):
				failed = fmt.Errorf("line %d: %w", n, err)
			}
			break
		}
		record, err := parse(line)
		if err != nil {
			failed = fmt.Errorf("line %d: %w", n, err)
			break
		}
		p.wait.sent()
		p.client.Produce(sendCtx, record, func(r *kgo.Record, err error) {
			p.wait.answered(err)
			if err != nil {
				cancel(err) // the first one stays the cause
				return
			}
			p.tally.add(r)
		})
		if err := context.Cause(sendCtx); err != nil {
			break
		}
	}
	p.flush(ctx, sendCtx)
	unwatch()
	show()
	if err := context.Cause(sendCtx); err != nil {
		failed = session.TopicError(p.topic, p.Explain(context.Background(), err), "")
	}
	if t := p.tally.snapshot(); failed == nil || t.Records > 0 || p.Output == "json" {
		p.summary(t)
	}
	return failed
}

// flush waits for all acknowledgements, or for the end of sendCtx. After an interrupt it says so, if it takes a while.
func (p *production) flush(ctx, sendCtx context.Context) {
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		select {
		case <-time.After(time.Second):
		case <-done:
			return
		}
		fmt.Fprintf(p.ErrOut, "... interrupted; waiting for the acknowledgements, for up to --timeout %v; a second signal ends at once\n", p.Timeout)
	})
	_ = p.client.Flush(sendCtx) // it fails as sendCtx does
	close(done)
	telling.Wait()
}

func (p *production) summary(t produced) {
	if p.Output == "json" {
		_ = p.PrintJSON(t)
		return
	}
	if t.Records == 0 {
		fmt.Fprintf(p.ErrOut, "no records to %s\n", p.topic)
		return
	}
	var parts []string
	for _, partition := range t.Partitions {
		if partition.First < 0 {
			parts = append(parts, fmt.Sprintf("partition %d", partition.Partition)) // acks=0 learns no offsets
			continue
		}
		parts = append(parts, fmt.Sprintf("partition %d offset %s", partition.Partition, span(partition.First, partition.Last)))
	}
	const most = 6
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	fmt.Fprintf(p.ErrOut, "%s to %s: %s\n", session.Plural(t.Records, "record"), p.topic, strings.Join(parts, ", "))
}

func span(first, last int64) string {
	if first == last {
		return strconv.FormatInt(first, 10)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// tally counts what was answered.
type tally struct {
	blind bool // acks=0 learns no offsets
	mu    struct {
		sync.Mutex
		records, bytes int64
		partitions     map[int32]*producedPartition
	}
}

// produced is what a tally shows.
type produced struct {
	Records    int64               `json:"records"`
	Bytes      int64               `json:"bytes"`
	Partitions []producedPartition `json:"partitions"`
}

type producedPartition struct {
	Partition int32 `json:"partition"`
	Records   int64 `json:"records"`
	First     int64 `json:"first"` // -1 where acks=0 learns none
	Last      int64 `json:"last"`
}

func (t *tally) add(r *kgo.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.records++
	t.mu.bytes += int64(len(r.Key) + len(r.Value))
	if t.mu.partitions == nil {
		t.mu.partitions = make(map[int32]*producedPartition)
	}
	offset := r.Offset
	if t.blind {
		offset = -1
	}
	p := t.mu.partitions[r.Partition]
	if p == nil {
		p = &producedPartition{Partition: r.Partition, First: offset, Last: offset}
		t.mu.partitions[r.Partition] = p
	}
	p.Records++
	p.First, p.Last = min(p.First, offset), max(p.Last, offset)
}

func (t *tally) snapshot() produced {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := produced{Records: t.mu.records, Bytes: t.mu.bytes, Partitions: []producedPartition{}}
	for _, p := range t.mu.partitions {
		s.Partitions = append(s.Partitions, *p)
	}
	slices.SortFunc(s.Partitions, func(a, b producedPartition) int { return int(a.Partition - b.Partition) })
	return s
}
