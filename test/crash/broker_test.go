package crash

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ottla-crash")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "ottla")
	build := exec.Command("go", "build", "-o", binary, "./cmd/ottla")
	build.Dir = "../.."
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		return 1
	}
	return m.Run()
}

// cycles is how often a test crashes: the variable's value, or few.
func cycles(t *testing.T, variable string, few int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s is not a number", variable, text)
	}
	return n
}

// freeAddr finds an address that the broker can have at every restart.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// startBroker starts the binary and waits until it is ready.
func startBroker(t *testing.T, dir, addr string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, "start", "--data", dir, "--listen", addr, "--admin", "off",
		"--set", "log.flush.offset.checkpoint.interval.ms=300", "--set", "log.journal.bytes=4194304")
	cmd.Env = []string{} // OTTLA_* are settings, and the test's own variables are not
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // does nothing once it is dead
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "ready") {
			go func() {
				for lines.Scan() { // so that the broker never blocks on its own output; ends with the process
				}
			}()
			return cmd
		}
	}
	t.Fatalf("the broker ended before it was ready: %v", cmd.Wait())
	return nil
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
}

func createTopic(t *testing.T, addr string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	bytes := "1048576"
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), partitions, 1, map[string]*string{"segment.bytes": &bytes}, topic)
	if err != nil {
		t.Fatal(err)
	}
}

// pause waits for a while; it is the moment of the crash that is random, not an event that is waited for.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
