package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ottla": func() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ())) },
	})
}

// TestScript runs the command line as a person does. Beside testscript's own, scripts have these commands:
//
//	broker [key=value...]   a broker in the test's process; $OTTLA_BROKERS and $ADMIN are its addresses
//	serve NAME [args...]    `ottla start` with these arguments as a process; as above, and $PID
//	signal NAME SIGNAL      sends it a signal
//	finish NAME CODE        waits for its end; its output is stdout and stderr
//	keep VAR REGEXP         sets $VAR to the first group of what REGEXP finds in stdout
//	await REGEXP ARGS...    runs ottla ARGS until stdout has something like it
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("OTTLA_BROKERS", "127.0.0.1:1")
			env.Values[serversKey{}] = servers{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"broker": runBroker, "serve": serve, "signal": sendSignal, "finish": finish, "keep": keep, "await": await,
		},
	})
}

type serversKey struct{}

// servers are a script's processes by name.
type servers map[string]*process

type process struct {
	cmd  *exec.Cmd
	out  bytes.Buffer // the goroutine's until done
	err  bytes.Buffer
	done chan struct{}
	addr chan [2]string
}

func runBroker(ts *testscript.TestScript, _ bool, args []string) {
	settings := make(map[string]string)
	for _, pair := range args {
		key, text, _ := strings.Cut(pair, "=")
		settings[key] = text
	}
	s, err := ottla.Start(context.Background(), ottla.Options{Memory: true, Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Settings: settings})
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.Close()) })
	ts.Setenv("OTTLA_BROKERS", s.Addr())
	ts.Setenv("ADMIN", s.AdminAddr())
}

func serve(ts *testscript.TestScript, _ bool, args []string) {
	p := &process{cmd: exec.Command("ottla", append([]string{"start"}, args[1:]...)...), done: make(chan struct{}), addr: make(chan [2]string, 1)}
	path, err := exec.LookPath("ottla")
	ts.Check(err)
	p.cmd.Path, p.cmd.Err = path, nil
	p.cmd.Dir = ts.Getenv("WORK")
	p.cmd.Env = os.Environ()
	for _, name := range []string{"NUM_PARTITION", "LISTENER_SECURITY_PROTOCOL_MAP", "CONTROLLER_LISTENER_NAMES", "ADVERTISED_LISTENERS"} {
		if text := ts.Getenv("KAFKA_" + name); text != "" { // scripts that set one mean the broker
			p.cmd.Env = append(p.cmd.Env, "KAFKA_"+name+"="+text)
		}
	}
	p.cmd.Stderr = &p.err
	out, err := p.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	go p.read(bufio.NewScanner(out))
	ts.Value(serversKey{}).(servers)[args[0]] = p
	ts.Defer(func() { _ = p.cmd.Process.Kill(); <-p.done })
	select {
	case addr := <-p.addr:
		ts.Setenv("OTTLA_BROKERS", addr[0])
		ts.Setenv("ADMIN", addr[1])
		ts.Setenv("PID", strconv.Itoa(p.cmd.Process.Pid))
	case <-p.done:
		ts.Fatalf("%s ended before it was ready:\n%s%s", args[0], p.out.String(), p.err.String())
	case <-time.After(20 * time.Second):
		ts.Fatalf("%s was not ready in time", args[0])
	}
}

var readyLine = regexp.MustCompile(`^ready kafka=(\S+) admin=(\S+)$`)

// read collects stdout, and tells of the ready line.
func (p *process) read(lines *bufio.Scanner) {
	defer close(p.done)
	for lines.Scan() {
		p.out.WriteString(lines.Text() + "\n")
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			p.addr <- [2]string{m[1], m[2]}
		}
	}
	_ = p.cmd.Wait()
}

var signals = map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}

func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(serversKey{}).(servers)[args[0]].cmd.Process.Signal(signals[args[1]]))
}

func finish(ts *testscript.TestScript, _ bool, args []string) {
	p := ts.Value(serversKey{}).(servers)[args[0]]
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		ts.Fatalf("%s did not end in time", args[0])
	}
	_, _ = ts.Stdout().Write(p.out.Bytes())
	_, _ = ts.Stderr().Write(p.err.Bytes())
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("%s ended with %s, not %s:\n%s%s", args[0], got, args[1], p.out.String(), p.err.String())
	}
}

func keep(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("stdout has nothing like %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

func await(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		var out, errOut bytes.Buffer
		env := []string{"OTTLA_BROKERS=" + ts.Getenv("OTTLA_BROKERS")}
		cli.Main(append([]string{"ottla"}, args[1:]...), strings.NewReader(""), &out, &errOut, env)
		if want.Match(out.Bytes()) {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			ts.Fatalf("%s does not show %s:\n%s%s", args[1:], args[0], out.String(), errOut.String())
		}
	}
}

// TestEveryCommandHasAScript checks that every command is run by some script.
func TestEveryCommandHasAScript(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, cmd := range []string{
		"topic list", "topic create", "topic describe", "topic alter", "topic delete", "topic add-partitions", "topic trim",
		"produce", "consume", "config get", "config set", "config unset", "config explain", "log dump", "log verify", "log repair", "bench produce", "bench consume",
		"group list", "group describe", "group members", "group seek", "group delete", "group delete-offsets",
		"version", "__complete topic", "completion bash",
	} {
		if !strings.Contains(all.String(), "exec ottla "+cmd) {
			t.Errorf("no script runs ottla %s", cmd)
		}
	}
}
