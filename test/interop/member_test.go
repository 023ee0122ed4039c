package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// memberVariable has the membership of a process that is a member, so that it can be killed: this test's own binary.
const memberVariable = "INTEROP_MEMBER"

// memberProcess says what the process is.
type memberProcess struct{ Addr, Client, Group, Topic, Strategy, Instance string }

// runMember is a member until its input ends; then it leaves. It writes a line of each record that it was given, and of each commit.
func runMember(text string) int {
	var p memberProcess
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	tell := func(what string) func(int32, int64) {
		return func(partition int32, offset int64) {
			fmt.Fprintf(os.Stdout, "%s %d %d\n", what, partition, offset) // unbuffered: it outlives the process
		}
	}
	for _, c := range joiners(p.Addr) {
		if c.Name() != p.Client {
			continue
		}
		m, err := c.Join(membership{
			Group: p.Group, Topic: p.Topic, Strategy: p.Strategy, Instance: p.Instance, Seen: tell("seen"), Committed: tell("committed"),
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		}
		_ = m.Leave() // a commit that is refused is no failure: another has the partition
		return 0
	}
	fmt.Fprintln(os.Stderr, "no client", p.Client)
	return 1
}

// childMember is a running member.
type childMember struct {
	cmd   *exec.Cmd
	input interface{ Close() error }
	reads sync.WaitGroup
}

// startMember starts a member; each line it writes goes to told.
func startMember(t *testing.T, p memberProcess, told func(what string, partition int32, offset int64)) *childMember {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), memberVariable+"="+string(text))
	return runChild(t, cmd, told)
}

// runChild starts a process that is a member.
func runChild(t *testing.T, cmd *exec.Cmd, told func(what string, partition int32, offset int64)) *childMember {
	t.Helper()
	m := &childMember{cmd: cmd}
	cmd.Stderr = os.Stderr
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.input = in
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.reads.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var what string
			var partition int32
			var offset int64
			if _, err := fmt.Fscan(strings.NewReader(lines.Text()), &what, &partition, &offset); err == nil {
				told(what, partition, offset)
			}
		}
	})
	return m
}

// leave has the member leave, and waits.
func (m *childMember) leave() error {
	_ = m.input.Close()
	m.reads.Wait()
	return m.cmd.Wait()
}

// kill kills the member.
func (m *childMember) kill() {
	_ = m.cmd.Process.Kill()
	m.reads.Wait()
	_ = m.cmd.Wait() // killed
}
