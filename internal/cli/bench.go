package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func (a *app) benchCommand() *cobra.Command {
	return group("bench", "load a broker and print rates and latencies", a.benchProduce(), a.benchConsume())
}

// benchFlags are the flags of bench produce and consume.
type benchFlags struct {
	topic       string
	partitions  int32
	clients     int
	records     int64
	duration    time.Duration
	size        int
	batch       int32
	linger      time.Duration
	rate        int
	acks        string
	compression string
}

func (a *app) benchProduce() *cobra.Command {
	f := benchFlags{}
	cmd := &cobra.Command{
		Use: "produce", Short: "write records of random bytes as fast as the broker takes them", Args: cobra.NoArgs,
		Example: "  ottla bench produce --clients 4 --size 1024 --acks all\n  ottla bench produce --rate 1000 --linger 0",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.UntilInterrupt(cmd.Context(), func(ctx context.Context) error { return a.runBenchProduce(ctx, f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.topic, "topic", "t", "ottla-bench", "topic, created if it is not there")
	flags.Int32Var(&f.partitions, "partitions", 1, "partitions of a topic that is created")
	flags.IntVarP(&f.clients, "clients", "c", 1, "how many clients, each with its own connections")
	flags.Int64VarP(&f.records, "records", "n", 0, "stop after so many records; 0: after --duration")
	flags.DurationVarP(&f.duration, "duration", "d", 10*time.Second, "stop after so long")
	flags.IntVarP(&f.size, "size", "s", 1024, "bytes of a record's value")
	flags.Int32Var(&f.batch, "batch", 1<<20, "the most bytes of a batch")
	flags.DurationVar(&f.linger, "linger", 5*time.Millisecond, "how long a client gathers records")
	flags.IntVar(&f.rate, "rate", 0, "records a second in all; 0: as many as go")
	flags.StringVar(&f.acks, "acks", "all", "0, 1 or all")
	flags.StringVarP(&f.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	return cmd
}

func (a *app) runBenchProduce(ctx context.Context, f benchFlags) error {
	if f.clients < 1 || f.size < 0 || f.duration <= 0 || f.rate < 0 {
		return session.Usagef("--clients must be at least 1, --size and --rate at least 0, --duration more than 0")
	}
	opts, err := producerOptions(f.compression, f.acks, -1)
	if err != nil {
		return err
	}
	if err := a.ensureTopic(ctx, f); err != nil {
		return err
	}
	opts = append(opts, kgo.DefaultProduceTopic(f.topic), kgo.ProducerBatchMaxBytes(f.batch), kgo.ProducerLinger(f.linger),
		kgo.MaxBufferedRecords(100_000), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	clients := make([]*kgo.Client, 0, f.clients)
	defer func() {
		for _, client := range clients {
			client.Close()
		}
	}()
	for range f.clients {
		client, err := a.Client(ctx, opts...)
		if err != nil {
			return err
		}
		clients = append(clients, client)
	}
	run := &benchRun{f: f, start: time.Now()}
	stop := a.watchBench(run)
	timed, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	var all sync.WaitGroup
	for _, client := range clients {
		all.Go(func() { run.load(timed, a.Session, client) })
	}
	all.Wait()
	run.end = time.Now()
	stop()
	return errors.Join(a.report("produced", run), run.failure())
}

func (a *app) ensureTopic(ctx context.Context, f benchFlags) error {
	return a.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		r, err := admin.CreateTopic(ctx, f.partitions, -1, nil, f.topic)
		if errors.Is(err, kerr.TopicAlreadyExists) {
			return nil
		}
		return session.TopicError(f.topic, err, r.ErrMessage)
	})
}

// benchRun counts what a load did.
type benchRun struct {
	f          benchFlags
	start, end time.Time
	offered    atomic.Int64
	records    atomic.Int64
	bytes      atomic.Int64
	latency    histogram
	failed     atomic.Pointer[error]
}

// load produces with one client until ctx ends or there are enough records, then waits for the answers. It gives up when they stay away.
func (r *benchRun) load(ctx context.Context, s *session.Session, client *kgo.Client) {
	// The records outlive the time of the load, so they are sent under another context.
	sending, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	wait := &ackWait{start: time.Now()}
	defer wait.watch(s, cancel)()
	value := make([]byte, r.f.size)
	random := rand.NewChaCha8([32]byte{1}) // the same bytes in every run
	_, _ = random.Read(value)
	pace := newPace(r.f.rate, r.f.clients)
	for ctx.Err() == nil && r.failed.Load() == nil && pace.wait(ctx) {
		if n := r.offered.Add(1); r.f.records > 0 && n > r.f.records {
			break
		}
		sent := time.Now()
		wait.sent()
		client.Produce(sending, &kgo.Record{Value: value}, func(rec *kgo.Record, err error) {
			wait.answered(err)
			if err != nil {
				r.fail(cmp.Or(context.Cause(sending), err))
				return
			}
			r.latency.add(time.Since(sent))
			r.records.Add(1)
			r.bytes.Add(int64(len(rec.Value)))
		})
	}
	if client.Flush(sending) != nil {
		r.fail(context.Cause(sending))
	}
}

// fail notes the first failure.
func (r *benchRun) fail(err error) { r.failed.CompareAndSwap(nil, &err) }

func (r *benchRun) failure() error {
	if err := r.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// pace spreads a rate evenly; without a rate it never waits.
type pace struct {
	every time.Duration
	next  time.Time
}

func newPace(rate, clients int) *pace {
	if rate == 0 {
		return &pace{}
	}
	return &pace{every: time.Second * time.Duration(clients) / time.Duration(rate), next: time.Now()}
}

// wait waits for the next turn; false if ctx ended.
func (p *pace) wait(ctx context.Context) bool {
	if p.every == 0 {
		return true
	}
	p.next = p.next.Add(p.every)
	left := time.Until(p.next)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *app) benchConsume() *cobra.Command {
	f := benchFlags{}
	cmd := &cobra.Command{
		Use: "consume", Short: "read a topic from its start as fast as the broker gives it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.UntilInterrupt(cmd.Context(), func(ctx context.Context) error { return a.runBenchConsume(ctx, f) })
		},
	}
	cmd.Flags().StringVarP(&f.topic, "topic", "t", "ottla-bench", "topic")
	cmd.Flags().Int64VarP(&f.records, "records", "n", 0, "stop after so many records; 0: at what is the end when the command starts")
	cmd.Flags().DurationVarP(&f.duration, "duration", "d", time.Minute, "stop after so long")
	return cmd
}

func (a *app) runBenchConsume(ctx context.Context, f benchFlags) error {
	var there int64
	err := a.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		starts, err := session.ResolvePlace(ctx, admin, session.Place{Kind: session.AtStart}, f.topic, nil)
		if err != nil {
			return err
		}
		ends, err := session.ResolvePlace(ctx, admin, session.Place{Kind: session.AtEnd}, f.topic, nil)
		for p, end := range ends {
			there += end - starts[p]
		}
		return err
	})
	if err != nil {
		return err
	}
	if f.records == 0 || f.records > there {
		f.records = there
	}
	client, err := a.Client(ctx, kgo.ConsumeTopics(f.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(64<<20), kgo.FetchMaxPartitionBytes(16<<20))
	if err != nil {
		return err
	}
	defer client.Close()
	run := &benchRun{f: f, start: time.Now()}
	stop := a.watchBench(run)
	defer a.Waiting()()
	timed, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	for run.records.Load() < f.records && timed.Err() == nil {
		silent, cancel := context.WithTimeout(timed, a.Timeout)
		fetches := client.PollFetches(silent)
		cancel()
		if err := fetches.Err(); err != nil && timed.Err() == nil {
			run.fail(a.Stuck(err))
			break
		}
		fetches.EachRecord(func(r *kgo.Record) {
			run.records.Add(1)
			run.bytes.Add(int64(len(r.Key) + len(r.Value)))
		})
	}
	run.end = time.Now()
	stop()
	return errors.Join(a.report("consumed", run), run.failure())
}

// watchBench prints a line a second until the function it returns is called.
func (a *app) watchBench(r *benchRun) (stop func()) {
	if a.Output == "json" {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var records, bytes int64
		for {
			select {
			case <-tick.C:
				n, b := r.records.Load(), r.bytes.Load()
				fmt.Fprintf(a.ErrOut, "%12s records/s  %10s/s\n", humanize.Comma(n-records), session.Size(b-bytes))
				records, bytes = n, b
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
