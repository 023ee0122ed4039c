package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// cgroup is a control group with a limit of memory, which a broker runs in alone.
type cgroup struct {
	dir string
	v2  bool
}

// confine makes a cgroup of limit bytes below the test's own. Where none can be made (not Linux, no root, no memory controller) the test is
// skipped with the reason.
func confine(t *testing.T, limit int64) *cgroup {
	t.Helper()
	parent, v2, err := memoryGroup()
	if err != nil {
		t.Skipf("needs a cgroup of its own: %v", err)
	}
	dir, err := os.MkdirTemp(parent, "ottla-hostile-") //nolint:usetesting // a cgroup is a directory of that file system
	if err != nil {
		t.Skipf("needs a cgroup of its own: %v", err)
	}
	g := &cgroup{dir, v2}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil { // the broker's kill was registered later, so it ran before
			t.Errorf("remove the cgroup: %v", err)
		}
	})
	limits := []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}
	if v2 {
		limits = []string{"memory.max"}
	}
	for i, file := range limits {
		err := os.WriteFile(filepath.Join(dir, file), strconv.AppendInt(nil, limit, 10), 0o644)
		if err != nil && i == 0 { // the second is of kernels that account swap
			t.Skipf("needs a cgroup with a limit of memory: %v", err)
		}
	}
	return g
}

// memoryGroup finds the directory of the test's own memory cgroup.
func memoryGroup() (dir string, v2 bool, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false, err
	}
	unified := ""
	for line := range strings.Lines(string(text)) {
		// id:controllers:path
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[1] == "":
			unified = filepath.Clean("/sys/fs/cgroup/" + f[2])
		case strings.Contains(","+f[1]+",", ",memory,"):
			dir = filepath.Clean("/sys/fs/cgroup/memory/" + f[2])
			if _, err := os.Stat(dir); err != nil { // in a container, the path is the host's
				dir = "/sys/fs/cgroup/memory"
			}
			return dir, false, nil
		}
	}
	control, err := os.ReadFile(filepath.Join(unified, "cgroup.subtree_control"))
	switch {
	case err != nil:
		return "", true, err
	case !strings.Contains(string(control), "memory"):
		return "", true, fmt.Errorf("%s does not give the memory controller to groups below it", unified)
	}
	return unified, true, nil
}

// wrapper is the command that starts another within the cgroup, for tryStart.
func (g *cgroup) wrapper() []string {
	return []string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, g.dir}
}

// start starts a broker within the cgroup, and waits until it is ready.
func (g *cgroup) start(t *testing.T, dir string, args ...string) *broker {
	t.Helper()
	b, err := tryStart(t, dir, g.wrapper(), args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.log)
	}
	return b
}

// peak is the most memory that the cgroup has had, in bytes, its page cache included.
func (g *cgroup) peak(t *testing.T) int64 {
	t.Helper()
	file := "memory.max_usage_in_bytes"
	if g.v2 {
		file = "memory.peak" // since Linux 5.19
	}
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wantAlive fails the test if the kernel has killed what ran in the cgroup, or the broker has ended for another reason.
func (g *cgroup) wantAlive(t *testing.T, b *broker) {
	t.Helper()
	select {
	case <-b.dead:
		t.Fatalf("the broker ended with %v; the cgroup had %d MiB at most\n%s", b.cmd.ProcessState, g.peak(t)>>20, b.log)
	default:
	}
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && n != "0" {
			t.Errorf("the kernel has killed %s processes of the cgroup for their memory", n)
		}
	}
}
