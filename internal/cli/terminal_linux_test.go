package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"github.com/ottla-io/ottla"
)

// terminal opens a pseudo-terminal: near is what a person has, far is the program's.
func terminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// answer runs a command at a terminal where a person has typed an answer, and returns what it printed.
func answer(t *testing.T, broker, typed string, args ...string) (text string, code int) {
	t.Helper()
	near, far := terminal(t)
	if _, err := near.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ottla", append(args, "-b", broker)...)
	cmd.Stdin, cmd.Stderr = far, far
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	said, _ := io.ReadAll(near) // it ends with an error when the program has ended
	_ = cmd.Wait()
	return strings.ReplaceAll(string(said), "\r\n", "\n") + out.String(), cmd.ProcessState.ExitCode()
}

// TestAsk: at a terminal, what cannot be undone is shown and confirmed first.
func TestAsk(t *testing.T) {
	t.Parallel()
	s, err := ottla.Start(t.Context(), ottla.Options{Memory: true, Listen: "127.0.0.1:0", Admin: "off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Addr()), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("a"), kgo.StringRecord("b"), kgo.StringRecord("c")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var offsets kadm.Offsets
	offsets.AddOffset("t", 0, 2, -1)
	for _, group := range []string{"g", "h"} {
		if err := admin.CommitAllOffsets(t.Context(), group, offsets); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ args, shows, done string }{
		{"topic trim t --before 2", "this will delete offsets 0-1 of partition 0 of t, 2 records at most", "0          2"},
		{"topic add-partitions t --to 2", "this will give topic t, which has 1 partition, 2", "topic t has 2 partitions"},
		{"group delete-offsets g t", "this will delete offset 2 of group g in partition 0 of t", "deleted the offsets of group g in t:0"},
		{"group delete h", "this will delete group h with the offsets of 1 partition", "deleted group h"},
		{"topic delete t", "this will delete topic t with 2 partitions and 1 record at most", "deleted topic t"},
		{"topic delete __consumer_offsets --internal", "this will delete topic __consumer_offsets with 50 partitions", "deleted topic __consumer_offsets"},
	} {
		args := strings.Fields(tt.args)
		const question = "it cannot be undone; go on? [y/N]"
		text, code := answer(t, s.Addr(), "n\n", args...)
		if code != 1 || !strings.Contains(text, tt.shows) || !strings.Contains(text, question) ||
			!strings.Contains(text, "ottla: nothing was changed: not confirmed; answer y, or give --yes") || strings.Contains(text, tt.done) {
			t.Errorf("%s, answered n: code %d, %s", tt.args, code, text)
		}
		text, code = answer(t, s.Addr(), "", append(args, "--dry-run")...)
		if code != 0 || strings.Contains(text, question) || !strings.Contains(text, "dry run: nothing was changed") {
			t.Errorf("%s --dry-run: code %d, %s", tt.args, code, text)
		}
		text, code = answer(t, s.Addr(), "y\n", args...)
		if code != 0 || !strings.Contains(text, question) || !strings.Contains(text, tt.done) {
			t.Errorf("%s, answered y: code %d, %s", tt.args, code, text)
		}
	}
	for _, args := range []string{"topic create u", "topic delete u --yes"} {
		if text, code := answer(t, s.Addr(), "", strings.Fields(args)...); code != 0 || strings.Contains(text, "go on?") {
			t.Errorf("%s: code %d, %s", args, code, text)
		}
	}
}
