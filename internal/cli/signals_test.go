package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla"
)

// running is a program whose stderr is read line by line.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	said  strings.Builder
}

// launch runs a program. It is killed when the test ends, if it has not ended then.
func launch(t *testing.T, setup func(*exec.Cmd), name string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r := &running{t: t, cmd: exec.CommandContext(ctx, name, args...), lines: make(chan string, 1000)}
	setup(r.cmd)
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	return r
}

// expect waits for a line of stderr.
func (r *running) expect(part string) {
	r.t.Helper()
	for line := range r.lines {
		r.said.WriteString(line + "\n")
		if strings.Contains(line, part) {
			return
		}
	}
	r.t.Fatalf("%v does not say %q but %s", r.cmd.Args, part, r.said.String())
}

func (r *running) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// finish waits for the end and checks the exit code.
func (r *running) finish(code int) {
	r.t.Helper()
	for line := range r.lines {
		r.said.WriteString(line + "\n")
	}
	_ = r.cmd.Wait()
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Errorf("%v ended with %d, not %d: %s", r.cmd.Args, got, code, r.said.String())
	}
}

// advertised is a broker with a topic t that tells its clients to use an address at which nothing listens.
func advertised(t *testing.T) (broker, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	s, err := ottla.Start(t.Context(), ottla.Options{
		Memory: true, Listen: "127.0.0.1:0", Admin: "off", Settings: map[string]string{"advertised.listeners": "PLAINTEXT://" + address},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req, topic := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	req.Topics = append(req.Topics, topic)
	if _, err := client.SeedBrokers()[0].Request(t.Context(), req); err != nil { // the address it advertises is of no use
		t.Fatal(err)
	}
	return s.Addr(), address
}

func typed(text string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.Stdin = strings.NewReader(text) }
}

// TestSecondSignal: the first signal ends the reading, and the second one the waiting for acknowledgements that do not come.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			broker, address := advertised(t)
			r := launch(t, typed("hi\n"), "ottla", "produce", "t", "-b", broker, "--timeout", "1h")
			r.expect("... no connection to " + address + ", the address that broker 1 advertises (advertised.listeners): connect")
			r.signal(s)
			r.expect("... interrupted; waiting for the acknowledgements, for up to --timeout 1h0m0s; a second signal ends at once")
			r.signal(s)
			r.finish(128 + int(s))
			if !strings.Contains(r.said.String(), "ottla: stopped at once by a second signal: "+s.String()) {
				t.Errorf("said %s", r.said.String())
			}
		})
	}
}

// TestInterruptedInput: input that a signal cuts off is not taken for all of it.
func TestInterruptedInput(t *testing.T) {
	t.Parallel()
	s, err := ottla.Start(t.Context(), ottla.Options{Memory: true, Listen: "127.0.0.1:0", Admin: "off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	input, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = input.Close(), w.Close() })
	r := launch(t, func(cmd *exec.Cmd) { cmd.Stdin = input }, "ottla", "produce", "t", "-b", s.Addr())
	if _, err := w.WriteString("a\nb\n"); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Addr()), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics("t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for n := 0; n < 2; {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		n += fetches.NumRecords()
	}
	r.signal(syscall.SIGTERM)
	r.finish(1)
	if said := r.said.String(); said != "2 records to t: partition 0 offset 0-1\nottla: interrupted: line 3 and what comes after it are not sent\n" {
		t.Errorf("said %q", said)
	}
}

// TestInterruptedCommand: a command that waits for an answer ends at the first signal.
func TestInterruptedCommand(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { _, _ = io.Copy(io.Discard, conn); _ = conn.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close() })
	for _, args := range []string{"topic delete t", "group list", "config set topic t retention.ms=1", "topic trim t --before 1"} {
		r := launch(t, typed(""), "ottla", append(strings.Fields(args), "-b", l.Addr().String(), "--timeout", "1h")...)
		r.expect("... no answer yet from " + l.Addr().String())
		r.signal(syscall.SIGTERM)
		r.finish(1)
		if !strings.Contains(r.said.String(), "ottla: interrupted by a signal: terminated; a change that was under way may have been made") {
			t.Errorf("%s said %s", args, r.said.String())
		}
	}
}

// TestMemberLeaves: a member of a group leaves it when its terminal hangs up and when the reader of its output is gone, whether or not there is
// more to print.
func TestMemberLeaves(t *testing.T) {
	t.Parallel()
	s, err := ottla.Start(t.Context(), ottla.Options{
		Memory: true, Listen: "127.0.0.1:0", Admin: "off", Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Addr()), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for name, leave := range map[string]struct {
		code int
		end  func(r *running, out *os.File)
	}{
		"hangup": {0, func(r *running, _ *os.File) { r.signal(syscall.SIGHUP) }},
		"closed": {141, func(_ *running, out *os.File) { _ = out.Close() }},
		"closed, and more comes": {141, func(_ *running, out *os.File) {
			_ = out.Close()
			client.Produce(t.Context(), kgo.StringRecord("c"), nil)
		}},
	} {
		for _, protocol := range []string{"classic", "consumer"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				out, in, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _, _ = out.Close(), in.Close() })
				group := strings.ReplaceAll(t.Name(), "/", ".")
				r := launch(t, func(cmd *exec.Cmd) { cmd.Stdout = in }, "ottla", "consume", "t", "-g", group, "--protocol", protocol, "-b", s.Addr())
				_ = in.Close()
				if line, err := bufio.NewReader(out).ReadString('\n'); line != "a\n" {
					t.Fatalf("read %q, %v", line, err)
				}
				leave.end(r, out)
				r.finish(leave.code)
				if !strings.Contains(r.said.String(), "... left group "+group) || strings.Contains(r.said.String(), "ottla: ") {
					t.Errorf("said %s", r.said.String())
				}
				admin := kadm.NewClient(client)
				listed, err := admin.ListGroups(t.Context())
				if err != nil || !strings.EqualFold(listed[group].State, "empty") {
					t.Errorf("the group is %+v, %v", listed[group], err)
				}
				if offsets, err := admin.FetchOffsets(t.Context(), group); err != nil || offsets["t"][0].At < 2 {
					t.Errorf("committed is %+v, %v", offsets, err)
				}
			})
		}
	}
}

// TestClosedOutput: a command whose reader is gone ends as quietly as other programs do.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	r := launch(t, func(cmd *exec.Cmd) { cmd.Stdout = in }, "ottla", "version")
	_ = in.Close()
	r.finish(141)
	if r.said.Len() > 0 {
		t.Errorf("said %s", r.said.String())
	}
}

// TestNohup: a broker that was started with hangups ignored goes on after one, and one whose output is closed goes on too.
func TestNohup(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	dir := t.TempDir()
	r := launch(t, func(cmd *exec.Cmd) { cmd.Stdout = in }, "sh", "-c", `trap "" HUP; exec ottla "$@"`, "sh",
		"start", "--data", dir, "--listen", "127.0.0.1:0", "--admin", "off")
	_ = in.Close()
	broker := ""
	for lines := bufio.NewScanner(out); broker == "" && lines.Scan(); {
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			broker = m[1]
		}
	}
	_ = out.Close() // and with it whatever the broker prints from here on
	r.signal(syscall.SIGHUP)
	var said bytes.Buffer
	list := exec.CommandContext(t.Context(), "ottla", "topic", "create", "t", "-b", broker)
	list.Stdout, list.Stderr = &said, &said
	if err := list.Run(); err != nil {
		t.Errorf("after the hangup: %v, %s", err, said.String())
	}
	r.signal(syscall.SIGTERM)
	r.finish(0)
	if text := r.said.String(); !strings.Contains(text, "signal=terminated") || strings.Contains(text, "signal=hangup") || !strings.Contains(text, "stopped cleanly") {
		t.Errorf("said %s", text)
	}
}
