package cli

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla"
	"github.com/ottla-io/ottla/internal/cli/session"
)

// silentPort accepts connections and answers nothing.
func silentPort(t *testing.T) string {
	t.Helper()
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
	return l.Addr().String()
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// advertising is a broker with a topic and a group that tells its clients to use another address.
func advertising(t *testing.T, address string) string {
	t.Helper()
	s, err := ottla.Start(t.Context(), ottla.Options{
		Memory: true, Listen: "127.0.0.1:0", Admin: "off", Settings: map[string]string{"advertised.listeners": "PLAINTEXT://" + address},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Addr()
}

// clientCommands are the commands that speak to a broker, with arguments that make them do it.
var clientCommands = map[string][]string{
	"topic list":           {""},
	"topic describe":       {"t"},
	"topic create":         {"t", "t --dry-run"},
	"topic alter":          {"t -c retention.ms=1", "t -c retention.ms=1 --dry-run"},
	"topic delete":         {"t", "t --dry-run"},
	"topic add-partitions": {"t --add 1", "t --to 2", "t --add 1 --dry-run"},
	"topic trim":           {"t --before end", "t --before 0 --dry-run"},
	"produce":              {"t", "t --acks 0", "t --acks 1", "t -p 0"},
	"consume":              {"t", "t -e", "t -n 1", "t -g g", "t -g g -e", "t -g g --protocol consumer"},
	"group list":           {""},
	"group describe":       {"g", "--all"},
	"group members":        {"g", "--all"},
	"group seek":           {"g --to start t", "g --to start t --dry-run", "g --to current --export"},
	"group delete":         {"g", "g --dry-run"},
	"group delete-offsets": {"g t", "g t --dry-run"},
	"config get":           {"topic t", "broker 1", "brokers", "group g"},
	"config set":           {"topic t retention.ms=1", "broker 1 log.retention.ms=1", "group g consumer.session.timeout.ms=50000", "topic t retention.ms=1 --dry-run"},
	"config unset":         {"topic t retention.ms", "broker 1 log.retention.ms", "group g consumer.session.timeout.ms", "topic t retention.ms --dry-run"},
	"bench produce":        {"-d 100ms", "-d 100ms --acks 0"},
	"bench consume":        {"-t t"},
}

// localCommands need no broker, or are one.
var localCommands = []string{"start", "log", "config explain", "version", "completion", "help"}

// leaves are the names of all commands that do something.
func leaves(cmd *cobra.Command, prefix string) (all []string) {
	for _, sub := range cmd.Commands() {
		name := strings.TrimSpace(prefix + " " + sub.Name())
		if sub.HasSubCommands() {
			all = append(all, leaves(sub, name)...)
		} else {
			all = append(all, name)
		}
	}
	return all
}

// TestEveryClientCommandIsListed: a new command is tried with brokers that cannot be reached.
func TestEveryClientCommandIsListed(t *testing.T) {
	t.Parallel()
	a := &app{Session: &session.Session{}}
	var want []string
	for _, name := range leaves(a.root(), "") {
		if !slices.ContainsFunc(localCommands, func(local string) bool { return name == local || strings.HasPrefix(name, local+" ") }) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(clientCommands)); !slices.Equal(got, want) {
		t.Errorf("listed are %v; the commands are %v", got, want)
	}
}

// TestUnreachable: --timeout bounds every command, and what it says names the address that it could not use and where that comes from.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent, closed := silentPort(t), closedPort(t)
	for _, tt := range []struct {
		name, broker, address string
		must                  bool   // the command cannot succeed
		origin                string // of the address
	}{
		{"silent", silent, silent, true, "is it an Ottla or Kafka broker?"},
		{"advertised and silent", advertising(t, silent), silent, true, "advertises (advertised.listeners)"},
		{"advertised and closed", advertising(t, closed), closed, false, "advertises (advertised.listeners)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var running sync.WaitGroup
			defer running.Wait()
			slots := make(chan struct{}, 16) // they mostly wait
			for name, all := range clientCommands {
				for _, args := range all {
					slots <- struct{}{}
					running.Go(func() {
						defer func() { <-slots }()
						text, code := runBounded(t, append(strings.Fields(name+" "+args), "-b", tt.broker, "--timeout", "500ms"))
						switch {
						case code == exitDone && !tt.must: // the broker's first address was enough for it
						case code != exitFailed:
							t.Errorf("%s %s: exit code %d: %s", name, args, code, text)
						case !tt.must && strings.Contains(text, "there is no such"): // as above
						case !strings.Contains(text, tt.address) || !strings.Contains(text, tt.origin):
							t.Errorf("%s %s: it says %q; want %s and %q", name, args, text, tt.address, tt.origin)
						}
					})
				}
			}
		})
	}
}

// runBounded runs a command with one line of input, and fails the test if it does not end.
func runBounded(t *testing.T, args []string) (stderr string, code int) {
	t.Helper()
	var out bytes.Buffer
	errOut := &session.Shared{W: &out}
	a := &app{Session: &session.Session{Stdin: strings.NewReader("hi\n"), Out: io.Discard, ErrOut: errOut}}
	done := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { done <- a.run(ctx, args) }()
	select {
	case code := <-done:
		return out.String(), code
	case <-time.After(30 * time.Second):
		t.Errorf("%v does not end", args)
		return "", -1
	}
}
