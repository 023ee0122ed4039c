package interop

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// kcat is the kcat of the PATH on one broker; Debian's is 1.7.1 with librdkafka 2.0.2, which gates its features on
// exact versions of requests.
type kcat struct{ addr string }

func newKcat(t *testing.T) kcat {
	t.Helper()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("kcat is not on the PATH (Debian: apt-get install kcat)")
	}
	return kcat{startBroker(t)}
}

// run returns what kcat printed to standard output; any other end than success fails the test.
func (k kcat) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "kcat", append([]string{"-b", k.addr, "-m", "30"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("kcat %q: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String()
}

// says runs kcat and compares.
func (k kcat) says(t *testing.T, want string, args ...string) {
	t.Helper()
	if got := k.run(t, "", args...); got != want {
		t.Errorf("kcat %q prints %q; want %q", args, got, want)
	}
}

// TestKcatCodecs produces and consumes with each codec; what is stored has that codec.
func TestKcatCodecs(t *testing.T) {
	t.Parallel()
	k := newKcat(t)
	lines := strings.Repeat("a line that compresses well\n", 500)
	for _, codec := range codecs {
		topic := "codec-" + codec
		// One batch: librdkafka leaves one that does not shrink uncompressed, as of a single line, which is what a slow machine sends.
		k.run(t, lines, "-P", "-t", topic, "-z", codec, "-X", "linger.ms=20000", "-X", "batch.num.messages=500")
		k.says(t, lines, "-C", "-t", topic, "-o", "beginning", "-e", "-q")
		expectCodec(t, k.addr, topic, codec)
	}
}

// TestKcatRecords sends keys, headers, tombstones and empty values, and lists the topic.
func TestKcatRecords(t *testing.T) {
	t.Parallel()
	k := newKcat(t)
	k.run(t, "a:1\nb:\nc:3\n", "-P", "-t", "kept", "-K", ":", "-Z", "-H", "h=1", "-H", "h=2", "-H", "empty=")
	k.says(t, "0 a=1 1 h=1,h=2,empty=\n1 b=NULL -1 h=1,h=2,empty=\n2 c=3 1 h=1,h=2,empty=\n",
		"-C", "-t", "kept", "-o", "beginning", "-e", "-q", "-Z", "-f", "%o %k=%s %S %h\n")
	k.run(t, "a:\n", "-P", "-t", "empty", "-K", ":")
	k.says(t, "a 0", "-C", "-t", "empty", "-o", "beginning", "-e", "-q", "-f", "%k %S")
	has(t, k.run(t, "", "-L"), "1 brokers:", "broker 1 at "+k.addr+" (controller)", `topic "kept" with 1 partitions:`)
	has(t, k.run(t, "", "-L", "-t", "kept"), "partition 0, leader 1, replicas: 1, isrs: 1")
	has(t, k.run(t, "", "-C", "-t", "kept", "-o", "beginning", "-c", "1", "-J"), `"tstype":"create"`, `"broker":1`, `"key":"a"`)
}

// TestKcatOffsets consumes from each kind of offset and asks for offsets by time.
func TestKcatOffsets(t *testing.T) {
	t.Parallel()
	k := newKcat(t)
	start := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	var sent []record
	for i := range 10 {
		sent = append(sent, record{Value: fmt.Append(nil, i), Time: start.Add(time.Duration(i) * time.Minute)})
	}
	create(t.Context(), t, franz{addr: k.addr}, "timed", nil)
	if err := (franz{addr: k.addr}).Produce(t.Context(), "timed", produceOptions{Codec: "none"}, sent); err != nil {
		t.Fatal(err)
	}
	at := func(minutes int) int64 { return start.Add(time.Duration(minutes) * time.Minute).UnixMilli() }
	for _, c := range []struct {
		want string
		from []string
	}{
		{"0123456789", []string{"-o", "beginning"}},
		{"789", []string{"-o", "7"}},
		{"89", []string{"-o", "-2"}},
		{"", []string{"-o", "end"}},
		{"456789", []string{"-o", fmt.Sprint("s@", at(4))}},
		{"56789", []string{"-o", fmt.Sprint("s@", at(4)+1)}},
		{"345", []string{"-o", fmt.Sprint("s@", at(3)), "-o", fmt.Sprint("e@", at(6))}},
		{"01", []string{"-o", "beginning", "-c", "2"}},
	} {
		k.says(t, c.want, append([]string{"-C", "-t", "timed", "-p", "0", "-e", "-q", "-f", "%s"}, c.from...)...)
	}
	for time, want := range map[int64]int{-2: 0, -1: 10, at(0): 0, at(9): 9, at(9) + 1: -1, at(2) + 1: 3} {
		k.says(t, fmt.Sprintf("timed [0] offset %d\n", want), "-Q", "-t", fmt.Sprintf("timed:0:%d", time))
	}
}

// TestKcatIdempotent produces with acks=all and idempotence, and reads nothing twice.
func TestKcatIdempotent(t *testing.T) {
	t.Parallel()
	k := newKcat(t)
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintln(&lines, i)
	}
	k.run(t, lines.String(), "-P", "-t", "once", "-X", "enable.idempotence=true", "-X", "linger.ms=1", "-X", "batch.num.messages=100")
	k.says(t, lines.String(), "-C", "-t", "once", "-o", "beginning", "-e", "-q")
}

// TestKcatUnknown: a topic that is not there, and may not be made, is an error and no wait.
func TestKcatUnknown(t *testing.T) {
	t.Parallel()
	k := newKcat(t)
	out, err := exec.CommandContext(t.Context(), "kcat", "-b", k.addr, "-C", "-t", "missing", "-e").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Unknown topic or partition") {
		t.Errorf("kcat ends with %v and says %q; want an unknown topic", err, out)
	}
}
