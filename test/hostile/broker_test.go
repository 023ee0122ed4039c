package hostile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var exe string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ottla-hostile")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	exe = filepath.Join(dir, "ottla")
	build := exec.Command("go", "build", "-o", exe, "./cmd/ottla")
	build.Dir = "../.."
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		return 1
	}
	return m.Run()
}

// broker is a running ottla start.
type broker struct {
	cmd  *exec.Cmd
	dir  string
	addr string
	http string // of health; empty unless --admin was given
	log  *logged
	dead chan struct{} // closed when the process has ended
}

// logged is what a process writes to its standard error.
type logged struct {
	mu struct {
		sync.Mutex
		text bytes.Buffer
	}
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.text.String()
}

// start starts a broker on dir, and waits until it is ready.
func start(t *testing.T, dir string, args ...string) *broker {
	t.Helper()
	b, err := tryStart(t, dir, nil, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.log)
	}
	return b
}

// tryStart starts a broker by a wrapper command (nil: none). An error says that it ended before it was ready.
func tryStart(t *testing.T, dir string, wrapper []string, args ...string) (*broker, error) {
	t.Helper()
	line := append(append([]string{}, wrapper...), exe, "start", "--data", dir, "--admin", "off")
	if !slices.Contains(args, "--listen") && !slices.Contains(args, "--config") {
		line = append(line, "--listen", "127.0.0.1:0")
	}
	line = append(line, args...)
	b := &broker{cmd: exec.Command(line[0], line[1:]...), dir: dir, log: &logged{}, dead: make(chan struct{})}
	b.cmd.Stderr = b.log
	b.cmd.Env = append(os.Environ(), environ(t)...)
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(b.dead)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "ready kafka="); ok {
				ready <- text
			}
		}
		_ = b.cmd.Wait() // its state is looked at
	}()
	t.Cleanup(func() { b.kill() })
	select {
	case text := <-ready:
		kafka, admin, _ := strings.Cut(text, " ")
		b.addr, b.http = kafka, strings.TrimPrefix(admin, "admin=")
		return b, nil
	case <-b.dead:
		return b, fmt.Errorf("the broker ended before it was ready: %v", b.cmd.ProcessState)
	case <-time.After(30 * time.Second):
		return b, errors.New("the broker was not ready after 30 s")
	}
}

// lean has the tests whose brokers keep little garbage, so that what they hold is seen: the Go runtime's setting for each.
var lean sync.Map

func environ(t *testing.T) []string {
	if setting, ok := lean.Load(t.Name()); ok {
		return []string{fmt.Sprint(setting)}
	}
	return nil
}

// kill ends the process at once.
func (b *broker) kill() {
	_ = b.cmd.Process.Signal(syscall.SIGKILL) // it may be dead
	<-b.dead
}

// stop ends the process in its own way and wants the stop to be clean.
func (b *broker) stop(t *testing.T) {
	t.Helper()
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.dead:
	case <-time.After(30 * time.Second):
		t.Fatalf("the broker did not stop within 30 s\n%s", b.log)
	}
	if !b.cmd.ProcessState.Success() {
		t.Fatalf("the broker stopped with %v\n%s", b.cmd.ProcessState, b.log)
	}
}

// alive fails the test if the process has ended or panicked.
func (b *broker) alive(t *testing.T) {
	t.Helper()
	select {
	case <-b.dead:
		t.Fatalf("the broker died: %v\n%s", b.cmd.ProcessState, b.log)
	default:
	}
	if text := b.log.String(); strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") {
		t.Fatalf("the broker panicked:\n%s", text)
	}
}

// rss is the memory that the process has, in bytes: what is resident now, and anonymous.
func (b *broker) rss(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		t.Skip("memory is read from /proc: ", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Skip("/proc tells no RssAnon")
	return 0
}

// client is a client with small patience.
func (b *broker) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(b.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
		kgo.RecordRetries(3), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RetryTimeout(5 * time.Second), kgo.MetadataMinAge(10 * time.Millisecond),
	}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// create makes a topic.
func (b *broker) create(t *testing.T, topic string, partitions int32, configs ...string) {
	t.Helper()
	set := map[string]*string{}
	for i := 0; i < len(configs); i += 2 {
		set[configs[i]] = &configs[i+1]
	}
	if _, err := kadm.NewClient(b.client(t)).CreateTopic(t.Context(), partitions, 1, set, topic); err != nil {
		t.Fatalf("create %s: %v\n%s", topic, err, b.log)
	}
}

// produce appends values to a partition, acknowledged, each by itself.
func (b *broker) produce(t *testing.T, topic string, partition int32, values ...string) {
	t.Helper()
	cl := b.client(t)
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatalf("produce to %s-%d: %v\n%s", topic, partition, err, b.log)
		}
	}
}

// consume reads a partition from its start to its end.
func (b *broker) consume(t *testing.T, topic string, partition int32) (values []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(b.client(t)).ListEndOffsets(ctx, topic)
	if shards := (*kadm.ShardErrors)(nil); err != nil && !errors.As(err, &shards) { // these are about other partitions
		return nil, err
	}
	end, ok := ends.Lookup(topic, partition)
	if !ok || end.Err != nil {
		return nil, fmt.Errorf("end of %s-%d: %w", topic, partition, end.Err)
	}
	if end.Offset == 0 {
		return nil, nil
	}
	cl := b.client(t, kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return values, err
		}
		for _, r := range fetches.Records() {
			if r.Offset != int64(len(values)) { // no topic here has gaps
				return values, fmt.Errorf("record %d has offset %d", len(values), r.Offset)
			}
			values = append(values, string(r.Value))
			if r.Offset+1 >= end.Offset {
				return values, nil
			}
		}
	}
}

// wantValues reads a partition and compares it.
func (b *broker) wantValues(t *testing.T, topic string, partition int32, want []string) {
	t.Helper()
	got, err := b.consume(t, topic, partition)
	if err != nil {
		t.Fatalf("consume %s-%d: %v\n%s", topic, partition, err, b.log)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("%s-%d has %d records, want %d: %.200q, want %.200q", topic, partition, len(got), len(want), got, want)
	}
}

// serves checks that the broker does what it is for, on a new topic.
func (b *broker) serves(t *testing.T) {
	t.Helper()
	b.alive(t)
	topic := fmt.Sprintf("works-%d", time.Now().UnixNano())
	b.create(t, topic, 1)
	b.produce(t, topic, 0, "a", "b")
	b.wantValues(t, topic, 0, []string{"a", "b"})
}

func numbered(n int) (values []string) {
	for i := range n {
		values = append(values, fmt.Sprintf("value-%d", i))
	}
	return values
}

// topics lists the topics.
func (b *broker) topics(t *testing.T) []string {
	t.Helper()
	list, err := kadm.NewClient(b.client(t)).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list.Names()
}

// checkpointed waits until the broker has written its checkpoints anew.
func (b *broker) checkpointed(t *testing.T) {
	t.Helper()
	name := filepath.Join(b.dir, "recovery-point-offset-checkpoint")
	before, _ := os.Stat(name) // it may not be there
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if now, err := os.Stat(name); err == nil && (before == nil || now.ModTime().After(before.ModTime())) {
			return
		}
	}
	t.Fatal("no checkpoint was written")
}
