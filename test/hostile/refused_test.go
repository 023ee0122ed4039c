package hostile

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestRefusedStarts: each start that cannot be is refused with one line, which names what is wrong and what to do.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	b := start(t, dir)
	b.create(t, "kept", 1)
	b.produce(t, "kept", 0, "a")

	wantRefusal(t, dir, nil, "in use", fmt.Sprintf("pid %d", b.cmd.Process.Pid))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	wantRefusal(t, t.TempDir(), []string{"--listen", taken.Addr().String()}, taken.Addr().String(), "--listen", strconv.Itoa(os.Getpid()))
	b.stop(t)

	edit := func(from, to string) string {
		copied := copyTree(t, dir)
		name := filepath.Join(copied, "meta.properties")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, from) {
				lines[i] = to
			}
		}
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return copied
	}
	wantRefusal(t, dir, []string{"--set", "node.id=7"}, "belongs to node 1", "7", "node.id=1")
	wantRefusal(t, edit("node.id", "node.id=x"), nil, "meta.properties", "node.id", "x")
	wantRefusal(t, edit("version", "version=9"), nil, "meta.properties", "9")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, file, nil, file)

	b = start(t, dir)
	b.wantValues(t, "kept", 0, []string{"a"})
}

// wantRefusal starts a broker, which must end at once with one line that has all of words.
func wantRefusal(t *testing.T, dir string, args []string, words ...string) {
	t.Helper()
	b, err := tryStart(t, dir, nil, args...)
	if err == nil {
		t.Errorf("a start that was to be refused for %q is ready", words)
		return
	}
	text := strings.TrimSpace(b.log.String())
	last := text[strings.LastIndexByte(text, '\n')+1:]
	for _, w := range words {
		if !strings.Contains(last, w) {
			t.Errorf("the refusal does not say %q: %s", w, text)
		}
	}
	if b.cmd.ProcessState.ExitCode() != 1 && b.cmd.ProcessState.ExitCode() != 2 || strings.Contains(text, "goroutine ") {
		t.Errorf("it ended with %v: %s", b.cmd.ProcessState, text)
	}
}

// TestProperties: a server.properties with something wrong is refused, or a warning names the place and the nearest key.
func TestProperties(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "server.properties")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for text, words := range map[string][]string{
		"num.partitions=many\n":                           {"server.properties:1", "num.partitions", "many"},
		"\nnum.partitions=0\n":                            {"server.properties:2", "num.partitions", "0", "1"},
		"log.segment.bytes=99999999999999999999\n":        {"server.properties:1", "log.segment.bytes"},
		"log.cleanup.policy=burn\n":                       {"server.properties:1", "log.cleanup.policy", "burn", "compact"},
		"ssl.keystore.locaton=/x\n":                       {"server.properties:1", "ssl.keystore.locaton", "ssl.keystore.location"},
		"sasl.enabled.mechanism=PLAIN\n":                  {"server.properties:1", "sasl.enabled.mechanism", "sasl.enabled.mechanisms"},
		"authorizer.clas.name=x\n":                        {"server.properties:1", "authorizer.class.name"},
		"log.retention.ms=0\n":                            {"server.properties:1", "log.retention.ms", "0"},
		"message.max.bytes=1\nmessage.max.bytes=-7\n":     {"server.properties:2", "message.max.bytes", "-7"},
		"listeners=PLAINTEXT//nowhere\n":                  {"server.properties:1", "listeners"},
		"listeners=GOPHER://127.0.0.1:0\n":                {"server.properties:1", "GOPHER"},
		"log.durability=hope\n":                           {"server.properties:1", "log.durability", "hope", "disk", "memory"},
		"log.flush.offset.checkpoint.interval.ms=never\n": {"server.properties:1", "never"},
	} {
		write(text)
		wantRefusal(t, t.TempDir(), []string{"--config", file}, words...)
	}
	write("log.retention.hour=5\nwhat.is.this=1\nnum.partitions = 3\nlisteners=PLAINTEXT://127.0.0.1:0\n")
	b := start(t, t.TempDir(), "--config", file)
	for _, w := range []string{"log.retention.hour:", "log.retention.hours", "server.properties:1", "what.is.this", "server.properties:2"} {
		if !strings.Contains(b.log.String(), w) {
			t.Errorf("the warnings do not say %q:\n%s", w, b.log)
		}
	}
	b.serves(t)
}

// TestRecreatedTopic: a topic that has the name of a deleted one is not judged by that one's checkpoints after a crash.
func TestRecreatedTopic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, dir, "--set", "log.flush.offset.checkpoint.interval.ms=100")
	b.create(t, "again", 1)
	b.produce(t, "again", 0, numbered(20)...)
	adm := kadm.NewClient(b.client(t))
	to := kadm.Offsets{}
	to.AddOffset("again", 0, 15, -1)
	if _, err := adm.DeleteRecords(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	b.checkpointed(t)
	b.checkpointed(t) // one that began after the records were deleted
	b.kill()
	b = start(t, dir) // a minute between checkpoints
	if _, err := kadm.NewClient(b.client(t)).DeleteTopic(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	b.create(t, "again", 1)
	b.produce(t, "again", 0, "x", "y", "z")
	b.kill()
	b = start(t, dir)
	b.wantValues(t, "again", 0, []string{"x", "y", "z"})
}
