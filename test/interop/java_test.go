//go:build java

package interop

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// javaTool runs one of Kafka's tools by its class and returns what it printed.
func javaTool(t *testing.T, stdin, class string, args ...string) string {
	t.Helper()
	cmd := exec.Command("java", append([]string{"-cp", os.Getenv("OTTLA_KAFKA_LIBS") + "/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", class}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", class, args, err, out)
	}
	return string(out)
}

const tools = "org.apache.kafka.tools."

// TestJavaTools runs Kafka's console tools against the broker.
func TestJavaTools(t *testing.T) {
	addr := startBroker(t)
	topics := func(args ...string) string {
		return javaTool(t, "", tools+"TopicCommand", append([]string{"--bootstrap-server", addr}, args...)...)
	}
	has(t, topics("--create", "--topic", "orders", "--partitions", "3", "--config", "retention.ms=3600000"), "Created topic orders.")
	has(t, topics("--list"), "orders")
	has(t, topics("--describe", "--topic", "orders"), "PartitionCount: 3", "ReplicationFactor: 1", "retention.ms=3600000", "Leader: 1")
	topics("--alter", "--topic", "orders", "--partitions", "4")
	has(t, topics("--describe", "--topic", "orders"), "PartitionCount: 4")

	lines := "k1:v1\nk2:v2\nk3:v3\n"
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		topic := "console-" + codec
		topics("--create", "--topic", topic)
		javaTool(t, lines, tools+"ConsoleProducer", "--bootstrap-server", addr, "--topic", topic, "--compression-codec", codec,
			"--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
		out := javaTool(t, "", tools+"consumer.ConsoleConsumer", "--bootstrap-server", addr, "--topic", topic, "--partition", "0",
			"--offset", "earliest", "--max-messages", "3", "--formatter-property", "print.key=true")
		has(t, out, "k1\tv1\nk2\tv2\nk3\tv3")
	}

	configs := func(args ...string) string {
		return javaTool(t, "", tools+"ConfigCommand", append([]string{"--bootstrap-server", addr}, args...)...)
	}
	has(t, configs("--alter", "--topic", "orders", "--add-config", "max.message.bytes=5000"), "Completed updating config")
	has(t, configs("--describe", "--topic", "orders"), "max.message.bytes=5000", "retention.ms=3600000")
	has(t, configs("--describe", "--broker", "1", "--all"), "log.retention.hours=168")

	has(t, javaTool(t, "", tools+"GetOffsetShell", "--bootstrap-server", addr, "--topic", "console-none"), "console-none:0:3")
	file := filepath.Join(t.TempDir(), "delete.json")
	if err := os.WriteFile(file, []byte(`{"partitions":[{"topic":"console-none","partition":0,"offset":2}],"version":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	has(t, javaTool(t, "", tools+"DeleteRecordsCommand", "--bootstrap-server", addr, "--offset-json-file", file), "low_watermark: 2")
	has(t, javaTool(t, "", tools+"LogDirsCommand", "--bootstrap-server", addr, "--describe"), "console-zstd-0")
	has(t, javaTool(t, "", tools+"ProducerPerformance", "--topic", "orders", "--num-records", "20000", "--record-size", "100",
		"--throughput", "-1", "--bootstrap-server", addr), "20000 records sent")
	topics("--delete", "--topic", "orders")
	if strings.Contains(topics("--list"), "orders") {
		t.Error("orders is still listed after its deletion")
	}
}

// TestJavaDump has Kafka's dump tool read and check what the broker left on disk.
func TestJavaDump(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cmd, addr := startAt(t, dir)
	c := franz{addr: addr}
	create(t.Context(), t, c, "dumped", map[string]string{"segment.bytes": "1048576", "index.interval.bytes": "512"})
	for range 20 {
		if err := c.Produce(t.Context(), "dumped", produceOptions{Codec: "none", Idempotent: true}, numbered(1000)); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, cmd)
	var files []string
	for _, pattern := range []string{"dumped-0/*.log", "dumped-0/*.index", "dumped-0/*.timeindex", "dumped-0/*.snapshot"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s in %s: %v", pattern, dir, err)
		}
		files = append(files, found...)
	}
	out := javaTool(t, "", tools+"DumpLogSegments", "--deep-iteration", "--index-sanity-check", "--files", strings.Join(files, ","))
	has(t, out, "isvalid: true", "passed sanity check", "producerId")
	for _, bad := range []string{"isvalid: false", "Mismatches", "Found timestamp mismatch", "out of order", "corrupt"} {
		if strings.Contains(out, bad) {
			t.Errorf("the dump tool says %q:\n%.3000s", bad, out)
		}
	}
	metadata, err := filepath.Glob(filepath.Join(dir, "__cluster_metadata-0", "*.log"))
	if err != nil || len(metadata) == 0 {
		t.Fatalf("no metadata log: %v", err)
	}
	out = javaTool(t, "", tools+"DumpLogSegments", "--cluster-metadata-decoder", "--skip-record-metadata", "--files", metadata[0])
	has(t, out, "TOPIC_RECORD", `"name":"dumped"`, "PARTITION_RECORD")
}

// TestJavaDirectory has a real Kafka broker write a directory, which then opens here in place.
func TestJavaDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kafka")
	port := freePort(t)
	props := filepath.Join(t.TempDir(), "server.properties")
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%[2]d
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
log.dirs=%[3]s
offsets.topic.replication.factor=1
`, port, freePort(t), dir)
	if err := os.WriteFile(props, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	javaTool(t, "", "kafka.tools.StorageTool", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", props)
	kafka := exec.Command("java", "-Xmx512m", "-cp", os.Getenv("OTTLA_KAFKA_LIBS")+"/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "kafka.Kafka", props)
	kafka.Stderr = os.Stderr
	if err := kafka.Start(); err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	awaitListener(t, addr)
	c := franz{addr: addr}
	create(t.Context(), t, c, "from-kafka", map[string]string{"segment.bytes": "1048576"})
	sent := numbered(20_000)
	if err := c.Produce(t.Context(), "from-kafka", produceOptions{Codec: "lz4", Idempotent: true}, sent); err != nil {
		t.Fatal(err)
	}
	if err := kafka.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = kafka.Wait() // 143 after SIGTERM

	_, ours := startAt(t, dir)
	expect(t.Context(), t, franz{addr: ours}, "from-kafka", sent)
	if err := (franz{addr: ours}).Produce(t.Context(), "from-kafka", produceOptions{Codec: "none"}, sent[:1]); err != nil {
		t.Error(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

func awaitListener(t *testing.T, addr string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return
		}
		<-tick.C
	}
	t.Fatalf("nothing listens on %s after a minute", addr)
}
