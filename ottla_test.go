package ottla_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/ottlatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, s *ottla.Server, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.Addr()), kgo.AllowAutoTopicCreation()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestRestart writes, stops cleanly, starts again in the same directory, and reads.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := deadline(t)
	first := ottlatest.Start(t, ottlatest.Dir(dir), ottlatest.OnDisk(), ottlatest.Log(t))
	client := newClient(t, first)
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "kept", Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	id := first.ClusterID()
	client.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".kafka_cleanshutdown")); err != nil {
		t.Errorf("no clean-shutdown marker: %v", err)
	}
	second := ottlatest.Start(t, ottlatest.Dir(dir))
	if second.ClusterID() != id {
		t.Errorf("cluster id was %s, is %s", id, second.ClusterID())
	}
	reader := newClient(t, second, kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if got := reader.PollFetches(ctx).Records(); len(got) != 1 || string(got[0].Value) != "v" {
		t.Errorf("read %v", got)
	}
}

func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ottlatest.Start(t, ottlatest.Dir(dir))
	_, err := ottla.Start(t.Context(), ottla.Options{DataDir: dir, Listen: "127.0.0.1:0", Admin: "off"})
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v, want the directory to be in use", err)
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t)
	for setting, o := range map[string]ottla.Options{
		"listeners":      {Memory: true, Listen: s.Addr(), Admin: "off"},
		"admin.listener": {Memory: true, Listen: "127.0.0.1:0", Admin: s.AdminAddr()},
	} {
		_, err := ottla.Start(t.Context(), o)
		var busy *ottla.ListenError
		if !errors.As(err, &busy) || busy.Setting != setting || !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: got %v", setting, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    ottla.Options
		err  string
	}{
		{"a bad setting", ottla.Options{Memory: true, Settings: map[string]string{"num.partitions": "0"}}, "num.partitions=0: must be at least 1"},
		{"TLS", ottla.Options{Memory: true, Settings: map[string]string{"listeners": "SSL://127.0.0.1:0"}}, "asks for SSL"},
		{"no file", ottla.Options{Memory: true, ConfigFile: filepath.Join(t.TempDir(), "none")}, "no such file"},
		{"memory and a directory", ottla.Options{Memory: true, DataDir: filepath.Join(t.TempDir(), "d"), Listen: "127.0.0.1:0", Admin: "off"}, "options Memory and DataDir="},
		{"memory and log.dirs", ottla.Options{Memory: true, Settings: map[string]string{"log.dirs": t.TempDir()}, Listen: "127.0.0.1:0", Admin: "off"}, `options Memory and Settings["log.dirs"]=`},
		{"a file for a directory", ottla.Options{DataDir: os.Args[0], Listen: "127.0.0.1:0", Admin: "off"}, "data directory"},
	} {
		s, err := ottla.Start(t.Context(), tt.o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.err)
		}
	}
}

// TestNodeID: a directory's node id stands unless a setting says another, which is refused.
func TestNodeID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := ottlatest.Start(t, ottlatest.Dir(dir), ottlatest.Set("node.id", "7"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = ottlatest.Start(t, ottlatest.Dir(dir)); s.NodeID() != 7 {
		t.Errorf("node id is %d", s.NodeID())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := ottla.Start(t.Context(), ottla.Options{DataDir: dir, Listen: "127.0.0.1:0", Admin: "off", Settings: map[string]string{"node.id": "8"}})
	if err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("another node id: %v", err)
	}
}

// TestBrokerSettingsChange: a topic follows the broker's setting while it runs, unless it has its own.
func TestBrokerSettingsChange(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t)
	ctx := deadline(t)
	client := newClient(t, s, kgo.ProducerBatchCompression(kgo.NoCompression()))
	admin := kadm.NewClient(client)
	small, large := "2000", "1048588"
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "plain"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(ctx, 1, 1, map[string]*string{"max.message.bytes": &large}, "own"); err != nil {
		t.Fatal(err)
	}
	produce := func(topic string) error {
		return client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: make([]byte, 4000)}).FirstErr()
	}
	if err := errors.Join(produce("plain"), produce("own")); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Name: "message.max.bytes", Value: &small}}); err != nil {
		t.Fatal(err)
	}
	if err := produce("plain"); err == nil {
		t.Error("4000 bytes were taken where message.max.bytes is 2000")
	}
	if err := produce("own"); err != nil {
		t.Errorf("a topic with its own max.message.bytes: %v", err)
	}
	configs, err := admin.DescribeTopicConfigs(ctx, "plain")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == "max.message.bytes" && (c.MaybeValue() != small || len(c.Synonyms) != 2) {
			t.Errorf("described as %+v", c)
		}
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t)
	client := newClient(t, s)
	// The second response leaves after the first was counted, so at least one is.
	for range 2 {
		if err := client.ProduceSync(deadline(t), &kgo.Record{Topic: "seen", Value: []byte("12345")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	get := func(path string) string {
		resp, err := http.Get("http://" + s.AdminAddr() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", path, resp.Status, err)
		}
		return string(body)
	}
	get("/healthz")
	get("/readyz")
	metrics := get("/metrics")
	for _, want := range []string{
		`ottla_topic_records_in_total{topic="seen"} 2`, `ottla_topic_log_size_bytes{topic="seen"} 146`, `ottla_partitions 1`,
		`ottla_connections{listener="PLAINTEXT"}`, `ottla_request_duration_seconds_count{api="Produce"} `, `kafka_brokers 1`,
		`kafka_server_brokertopicmetrics_messagesin_total{topic="seen"} 2`, `go_goroutines`, `ottla_build_info{go="`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("metrics have no %s", want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t, ottlatest.With(func(o *ottla.Options) { o.Memory = true }))
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	select {
	case <-s.Done():
		t.Error("Done is closed by Close")
	default:
	}
}

// TestTopicMetrics checks what the handlers tell the metrics: records and bytes by topic, and error codes.
func TestTopicMetrics(t *testing.T) {
	t.Parallel()
	s := ottlatest.Start(t)
	ctx := deadline(t)
	client := newClient(t, s, kgo.ConsumeTopics("counted"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ProducerLinger(10*time.Millisecond))
	one, two := &kgo.Record{Topic: "counted", Value: []byte("a")}, &kgo.Record{Topic: "counted", Value: []byte("b")}
	if err := client.ProduceSync(ctx, one, two).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 2; {
		n += len(client.PollFetches(ctx).Records())
		if ctx.Err() != nil {
			t.Fatal("the records did not come back")
		}
	}
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, "not/valid"); err == nil {
		t.Error("a topic named not/valid was created")
	}
	resp, err := http.Get("http://" + s.AdminAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ottla_topic_records_in_total{topic="counted"} 2`, `ottla_topic_bytes_out_total{topic="counted"} `,
		`ottla_request_errors_total{api="CreateTopics",code="INVALID_TOPIC_EXCEPTION"} 1`,
	} {
		if !strings.Contains(string(body), "\n"+want) {
			t.Errorf("metrics have no %s", want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
