package admin

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// serve runs a server on a free port and returns a function that gets a path: the status and the body.
func serve(t *testing.T, o Options) func(path string) (int, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return func(path string) (int, string) {
		t.Helper()
		resp, err := client.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
}

func fine() error { return nil }

// bounds are small ones.
var bounds = Bounds{Topics: 100, Groups: 30, Partitions: 60}

func TestHealth(t *testing.T) {
	t.Parallel()
	get := serve(t, Options{
		Metrics: NewMetrics("v1", bounds), Healthy: fine, Ready: func() error { return errors.New("disk is full") },
		Figures: func() Figures { return Figures{} },
	})
	for path, want := range map[string]string{"/healthz": "200 ok\n", "/readyz": "503 disk is full\n", "/nowhere": "404 404 page not found\n"} {
		if status, body := get(path); fmt.Sprint(status, " ", body) != want {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	if status, body := get("/"); status != 200 || !strings.Contains(body, "/metrics") {
		t.Errorf("/: got %d %s", status, body)
	}
}

// TestProfiles: profiles are served where the options allow it, and nowhere else.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{true, false} {
		get := serve(t, Options{Metrics: NewMetrics("", bounds), Healthy: fine, Ready: fine, Figures: func() Figures { return Figures{} }, Profiles: allowed})
		if _, body := get("/"); strings.Contains(body, "pprof") != allowed {
			t.Errorf("allowed %v: the index is %q", allowed, body)
		}
		status, body := get("/debug/pprof/goroutine?debug=1")
		if allowed && (status != 200 || !strings.Contains(body, "goroutine profile")) {
			t.Errorf("got %d %.100s", status, body)
		}
		if !allowed && (status != 403 || !strings.Contains(body, "admin.pprof=on")) {
			t.Errorf("not allowed: got %d %.100s", status, body)
		}
		for _, path := range []string{"cmdline", "profile?seconds=1", "symbol", "trace?seconds=1"} {
			if status, _ := get("/debug/pprof/" + path); !allowed && status != 403 {
				t.Errorf("not allowed: %s gives %d", path, status)
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", bounds)
	m.Answered(kmsg.Produce, 9, 3*time.Millisecond, 1, 100, 50)
	m.Answered(kmsg.Produce, 9, 3*time.Millisecond, 2, 200, 100)
	m.Answered(kmsg.Fetch, 12, time.Second, 1, 10, 1000)
	m.Answered(kmsg.Fetch, 12, time.Minute, 1, 0, 0)
	m.Answered(9999, 0, time.Second, 1, 1, 1)
	m.Failed(kmsg.Produce, 10)
	m.Failed(kmsg.Metadata, 3)
	m.Failed(kmsg.Metadata, 3)
	m.Failed(kmsg.Metadata, 29999)
	m.Connections("PLAINTEXT", 1)
	m.Connections("PLAINTEXT", 1)
	m.Connections("PLAINTEXT", -1)
	m.Refused("PLAINTEXT", "limit")
	m.Synced(time.Millisecond, 16, nil)
	m.Synced(time.Millisecond, 1, errors.New("failed"))
	m.Produced("t", 2, 10, 700)
	m.Fetched("t", 4, 300)
	get := serve(t, Options{Metrics: m, Healthy: fine, Ready: fine, Figures: func() Figures {
		return Figures{
			Hosted: 3, Opened: 2, Offline: 1, Controller: true, Brokers: 1, DiskFree: 5, DiskTotal: 10, Requests: RequestFigures{Held: 77, Unfinished: 7, Limit: 100},
			Topics: []TopicFigures{{"t", 2}},
			Logs:   []LogFigures{{"t", 0, 40, 2, 3, 9}, {"t", 1, 2, 1, 0, 1}, {"u", 0, 7, 0, 0, 0}},
		}
	}})
	status, body := get("/metrics")
	if status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	for _, want := range []string{
		`ottla_request_duration_seconds_count{api="Produce"} 3`, `ottla_request_duration_seconds_bucket{api="Produce",le="0.005"} 3`,
		`ottla_request_duration_seconds_bucket{api="Produce",le="30"} 3`, `ottla_request_duration_seconds_sum{api="Produce"} 0.009`,
		`ottla_request_duration_seconds_bucket{api="Fetch",le="1"} 1`, `ottla_request_duration_seconds_bucket{api="Fetch",le="30"} 1`,
		`ottla_request_duration_seconds_bucket{api="Fetch",le="+Inf"} 2`, `ottla_request_duration_seconds_sum{api="Fetch"} 61`,
		`ottla_topic_batches_in_total{topic="t"} 2`,
		`ottla_request_duration_seconds_bucket{api="Produce",le="0.0025"} 0`, `ottla_request_duration_seconds_count{api="Unknown"} 1`,
		`ottla_request_bytes_total{api="Produce"} 300`, `ottla_response_bytes_total{api="Fetch"} 1000`,
		`ottla_request_errors_total{api="Metadata",code="UNKNOWN_TOPIC_OR_PARTITION"} 2`, `ottla_request_errors_total{api="Produce",code="MESSAGE_TOO_LARGE"} 1`,
		`ottla_connections{listener="PLAINTEXT"} 1`, `ottla_connections_opened_total{listener="PLAINTEXT"} 2`,
		`ottla_connections_refused_total{listener="PLAINTEXT",reason="limit"} 1`,
		`ottla_fsync_duration_seconds_count 2`, `ottla_fsync_appends_total 16`, `ottla_fsync_errors_total 1`,
		`ottla_topic_records_in_total{topic="t"} 10`, `ottla_topic_bytes_in_total{topic="t"} 700`, `ottla_topic_bytes_out_total{topic="t"} 300`, `ottla_topic_records_out_total{topic="t"} 4`,
		`ottla_topic_log_size_bytes{topic="t"} 42`, `ottla_topic_log_size_bytes{topic="u"} 7`, `ottla_topic_segments{topic="t"} 3`, `kafka_log_log_size{partition="1",topic="t"} 2`,
		`kafka_topic_partition_current_offset{partition="0",topic="t"} 9`, `kafka_topic_partition_oldest_offset{partition="0",topic="t"} 3`,
		`kafka_topic_partitions{topic="t"} 2`, `ottla_partitions 3`, `ottla_disk_free_bytes 5`, `ottla_request_memory_bytes 77`,
		`ottla_request_memory_unfinished_bytes 7`, `ottla_request_memory_limit_bytes 100`,
		`kafka_server_brokertopicmetrics_bytesin_total{topic="t"} 700`, `kafka_server_brokertopicmetrics_totalproducerequests_total 3`,
		`kafka_server_brokertopicmetrics_failedproducerequests_total 1`, `kafka_controller_kafkacontroller_activecontrollercount 1`,
		`kafka_server_socket_server_metrics_connection_count 1`, `go_goroutines `, `process_open_fds `, `ottla_build_info{go="`,
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	lint(t, m)
}

// TestTopicsAreBounded: a topic past the bound is counted with the rest.
func TestTopicsAreBounded(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", bounds)
	var figures Figures
	for i := range bounds.Topics + 50 {
		name := fmt.Sprint("topic-", i)
		m.Produced(name, 1, 1, 1)
		figures.Logs = append(figures.Logs, LogFigures{Topic: name, Bytes: 1})
		figures.Topics = append(figures.Topics, TopicFigures{Name: name, Partitions: 1})
	}
	for range bounds.Partitions {
		figures.Logs = append(figures.Logs, LogFigures{Topic: "topic-0", Bytes: 1})
	}
	get := serve(t, Options{Metrics: m, Healthy: fine, Ready: fine, Figures: func() Figures {
		for i := range figures.Logs {
			figures.Logs[i].Partition = int32(i)
		}
		return figures
	}})
	_, body := get("/metrics")
	for series, most := range map[string]int{
		"ottla_topic_records_in_total{": bounds.Topics + 1, "ottla_topic_log_size_bytes{": bounds.Topics + 1,
		"kafka_topic_partitions{": bounds.Topics, "kafka_log_log_size{": bounds.Partitions,
	} {
		if n := strings.Count(body, "\n"+series); n == 0 || n > most {
			t.Errorf("%d of %s, want at most %d", n, series, most)
		}
	}
	if !strings.Contains(body, `ottla_topic_records_in_total{topic="(other)"} 50`) {
		t.Error("the rest is not counted")
	}
	for _, want := range []string{"ottla_topics_unlisted 50", fmt.Sprint("ottla_partitions_unlisted ", bounds.Topics+50)} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	m := NewMetrics("", bounds)
	count := func() {
		m.Answered(kmsg.Produce, 9, time.Millisecond, 20, 100, 50)
		m.Produced("t", 1, 10, 700)
		m.Fetched("t", 4, 300)
		m.Connections("PLAINTEXT", 1)
		m.Synced(time.Millisecond, 16, nil)
	}
	if n := testing.AllocsPerRun(100, count); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
