package interop

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binary is the program under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if text := os.Getenv(memberVariable); text != "" {
		return runMember(text)
	}
	dir, err := os.MkdirTemp("", "ottla-interop")
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

// startBroker starts the binary on an empty directory and returns its address.
func startBroker(t *testing.T, settings ...string) string {
	t.Helper()
	cmd, addr := startAt(t, filepath.Join(t.TempDir(), "data"), settings...)
	t.Cleanup(func() { stop(t, cmd) })
	return addr
}

// startAt starts the binary on a directory and a port of its own.
func startAt(t *testing.T, dir string, settings ...string) (*exec.Cmd, string) {
	t.Helper()
	return startOn(t, dir, "127.0.0.1:0", settings...)
}

// startOn starts the binary on a directory and an address.
func startOn(t *testing.T, dir, listen string, settings ...string) (*exec.Cmd, string) {
	t.Helper()
	args := []string{"start", "--data", dir, "--listen", listen, "--admin", "off"}
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { // the broker would take these for settings
		return strings.HasPrefix(s, "OTTLA_") || strings.HasPrefix(s, "KAFKA_")
	})
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // does nothing once it was stopped
	addr, err := awaitReady(bufio.NewScanner(out))
	if err != nil {
		t.Fatal(err)
	}
	go func() { // so that the broker never blocks on its own output; ends with the process
		for s := bufio.NewScanner(out); s.Scan(); {
		}
	}()
	return cmd, addr
}

// awaitReady reads up to the line that begins with ready and takes the Kafka address from it.
func awaitReady(lines *bufio.Scanner) (string, error) {
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "ready")
		if !ok {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" =,/", r) }) {
			if _, _, err := net.SplitHostPort(word); err == nil {
				return word, nil
			}
		}
		return "", fmt.Errorf("no address in the ready line %q", lines.Text())
	}
	return "", errors.Join(errors.New("the broker ended before it was ready"), lines.Err())
}

func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("broker ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		t.Errorf("broker did not stop within 30 s of SIGTERM: %v", <-done)
	}
}
