//go:build java

package interop

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// javaTool runs one of Kafka's tools by its class and returns what it printed.
func javaTool(t *testing.T, stdin, class string, args ...string) string {
	t.Helper()
	return javaToolOf(t, os.Getenv("OTTLA_KAFKA_LIBS"), stdin, class, args...)
}

// javaToolOf is javaTool of the Kafka whose jars are in libs.
func javaToolOf(t *testing.T, libs, stdin, class string, args ...string) string {
	t.Helper()
	cmd := exec.Command("java", append([]string{"-cp", libs + "/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", class}, args...)...)
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
	has(t, dump(t, dir, "dumped-0"), "producerId", "compresscodec: none")
	metadata, err := filepath.Glob(filepath.Join(dir, "__cluster_metadata-0", "*.log"))
	if err != nil || len(metadata) == 0 {
		t.Fatalf("no metadata log: %v", err)
	}
	out := javaTool(t, "", tools+"DumpLogSegments", "--cluster-metadata-decoder", "--skip-record-metadata", "--files", metadata[0])
	has(t, out, "TOPIC_RECORD", `"name":"dumped"`, "PARTITION_RECORD")
}

// TestJavaDumpCompacted has Kafka's dump tool check what compaction left on disk.
func TestJavaDumpCompacted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cmd, addr := startAt(t, dir, "log.cleaner.backoff.ms=50")
	want := overwrite(t, addr, "compacted")
	awaitCleaned(t, dir, "compacted")
	if got := latest(t, addr, "compacted"); !maps.Equal(got, want) {
		t.Errorf("after compaction %d keys, or other values; want %d", len(got), len(want))
	}
	stop(t, cmd)
	has(t, dump(t, dir, "compacted-0"), "compresscodec: zstd", "deleteHorizonMs: OptionalLong[")
}

// dump has Kafka's tool check every file of a partition's directory and returns what it says.
func dump(t *testing.T, dir, partition string) string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.log", "*.index", "*.timeindex", "*.snapshot"} {
		found, err := filepath.Glob(filepath.Join(dir, partition, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s in %s of %s: %v", pattern, partition, dir, err)
		}
		files = append(files, found...)
	}
	out := javaTool(t, "", tools+"DumpLogSegments", "--deep-iteration", "--files", strings.Join(files, ","))
	sanity := javaTool(t, "", tools+"DumpLogSegments", "--index-sanity-check", "--files", strings.Join(files, ","))
	has(t, out, "isvalid: true")
	has(t, sanity, "passed sanity check")
	for _, bad := range []string{"isvalid: false", "Mismatches", "Found timestamp mismatch", "out of order", "orrupt", "Exception", "bytes of trailing"} {
		if strings.Contains(out, bad) || strings.Contains(sanity, bad) {
			t.Errorf("the dump tool says %q of %s:\n%.3000s\n%.3000s", bad, partition, out, sanity)
		}
	}
	return out
}

// overwrite makes a compacted topic in which most records are overwritten or deleted by later ones, in every codec, and
// returns what is left of it by key.
func overwrite(t *testing.T, addr, topic string) map[string]string {
	t.Helper()
	c := franz{addr: addr}
	create(t.Context(), t, c, topic, map[string]string{"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"})
	left := make(map[string]string)
	for round := range 15 {
		records := numbered(1000)
		for i := range records {
			switch {
			case i%10 == round%10:
				records[i].Value = nil
				delete(left, string(records[i].Key))
			default:
				records[i].Value = fmt.Appendf(records[i].Value, "-round-%d-%d", round, rand.Uint64())
				left[string(records[i].Key)] = string(records[i].Value)
			}
		}
		if err := c.Produce(t.Context(), topic, produceOptions{Codec: codecs[round%len(codecs)], Idempotent: true}, records); err != nil {
			t.Fatal(err)
		}
	}
	filler := []record{{Key: []byte("filler"), Value: bytes.Repeat([]byte("x"), 900_000)}}
	for range 2 { // so that what stands before is not in the active segment, which is never compacted
		if err := c.Produce(t.Context(), topic, produceOptions{Codec: "none"}, filler); err != nil {
			t.Fatal(err)
		}
	}
	left["filler"] = string(filler[0].Value)
	return left
}

// latest reads the whole of partition 0 and returns the last value of each key that was not deleted.
func latest(t *testing.T, addr, topic string) map[string]string {
	t.Helper()
	left := make(map[string]string)
	err := (franz{addr: addr}).each(t.Context(), topic, func(k *kgo.Record) {
		if k.Value == nil {
			delete(left, string(k.Key))
			return
		}
		left[string(k.Key)] = string(k.Value)
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// awaitCleaned waits until the cleaner's checkpoint says that the topic is compacted past its first 15,000 records.
func awaitCleaned(t *testing.T, dir, topic string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var content []byte
	for range 600 {
		content, _ = os.ReadFile(filepath.Join(dir, "cleaner-offset-checkpoint"))
		for line := range strings.Lines(string(content)) {
			var name string
			var partition, offset int
			if n, _ := fmt.Sscan(line, &name, &partition, &offset); n == 3 && name == topic && offset >= 15_000 {
				return
			}
		}
		<-tick.C
	}
	t.Fatalf("%s is not compacted after a minute: the checkpoint says %q", topic, content)
}

// TestJavaDirectory has a real Kafka broker write a directory and end, by itself or by kill -9. It then opens here in
// place, is written to, and passes Kafka's dump tool again.
func TestJavaDirectory(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kafka")
			kafka, addr := startKafka(t, dir)
			c := franz{addr: addr}
			create(t.Context(), t, c, "from-kafka", map[string]string{"segment.bytes": "1048576"})
			sent := numbered(20_000)
			if err := c.Produce(t.Context(), "from-kafka", produceOptions{Codec: "lz4", Idempotent: true}, sent); err != nil {
				t.Fatal(err)
			}
			want := overwrite(t, addr, "compacted")
			awaitCleaned(t, dir, "compacted")
			javaTool(t, "", tools+"consumer.ConsoleConsumer", "--bootstrap-server", addr, "--topic", "from-kafka", "--group", "g",
				"--from-beginning", "--max-messages", "10") // so that there is a __consumer_offsets
			if err := kafka.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = kafka.Wait() // 143 after SIGTERM, no code after SIGKILL

			broker, ours := startAt(t, dir, "log.cleaner.backoff.ms=50")
			expect(t.Context(), t, franz{addr: ours}, "from-kafka", sent)
			if err := (franz{addr: ours}).Produce(t.Context(), "from-kafka", produceOptions{Codec: "zstd", Idempotent: true}, sent); err != nil {
				t.Error(err)
			}
			expect(t.Context(), t, franz{addr: ours}, "from-kafka", slices.Concat(sent, sent))
			if got := latest(t, ours, "compacted"); !maps.Equal(got, want) {
				t.Errorf("the compacted topic has %d keys, or other values; want %d", len(got), len(want))
			}
			if n, err := (franz{addr: ours}).Partitions(t.Context(), "__consumer_offsets"); err != nil || n != 50 {
				t.Errorf("%d partitions of __consumer_offsets, error %v; want 50", n, err)
			}
			stop(t, broker)
			dump(t, dir, "from-kafka-0")
			dump(t, dir, "compacted-0")
		})
	}
}

// startKafka formats a directory and starts a real Kafka broker on it, with a port of its own.
func startKafka(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	return startKafkaOf(t, os.Getenv("OTTLA_KAFKA_LIBS"), dir)
}

// startKafkaOf is startKafka of the Kafka whose jars are in libs.
func startKafkaOf(t *testing.T, libs, dir string) (*exec.Cmd, string) {
	t.Helper()
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	props := filepath.Join(t.TempDir(), "server.properties")
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%[2]d
listeners=PLAINTEXT://%[1]s,CONTROLLER://127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
log.dirs=%[3]s
log.cleaner.backoff.ms=50
offsets.topic.replication.factor=1
`, addr, freePort(t), dir)
	if err := os.WriteFile(props, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	javaToolOf(t, libs, "", "kafka.tools.StorageTool", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", props)
	kafka := exec.Command("java", "-Xmx512m", "-cp", libs+"/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "kafka.Kafka", props)
	kafka.Stderr = os.Stderr
	if err := kafka.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kafka.Process.Kill() }) // does nothing once it has ended
	awaitListener(t, addr)
	return kafka, addr
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
