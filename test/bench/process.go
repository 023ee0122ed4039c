//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server under measurement.
type process struct {
	cmd   *exec.Cmd
	addr  string // where it serves
	admin string // the broker's HTTP address, or ""
	dir   string // its files; removed by stop
	ready time.Duration
}

// startBare starts this program as the bare server of that name.
func startBare(name string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ottla-bench")
	if err != nil {
		return nil, err
	}
	return start(dir, self, "serve", name, dir)
}

// startBroker starts the broker on an empty directory.
func startBroker(args ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "ottla-bench")
	if err != nil {
		return nil, err
	}
	return startBrokerAt(dir, args...)
}

func startBrokerAt(dir string, args ...string) (*process, error) {
	args = append([]string{
		"start", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--set", "queued.max.request.bytes=1073741824",
	}, args...)
	return start(dir, brokerBinary, args...)
}

// start runs a program and waits for its line that begins with ready.
func start(dir, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), dir: dir}
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "ready"); ok {
			p.ready = time.Since(began)
			p.setAddresses(rest)
			go io.Copy(io.Discard, out)
			return p, nil
		}
	}
	err = p.cmd.Wait()
	return nil, fmt.Errorf("%s ended before it was ready: %w", program, err)
}

func (p *process) setAddresses(line string) {
	var found []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" =,/", r) }) {
		if _, _, err := net.SplitHostPort(word); err == nil {
			found = append(found, word)
		}
	}
	if len(found) > 0 {
		p.addr = found[0]
	}
	if len(found) > 1 {
		p.admin = found[1]
	}
}

// stop ends the process and removes its files.
func (p *process) stop() {
	p.end(syscall.SIGTERM)
	os.RemoveAll(p.dir)
}

// end ends the process with a signal and keeps its files.
func (p *process) end(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	_ = p.cmd.Wait()
}

// cpu is the CPU time the process has used.
func (p *process) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100) // USER_HZ is 100 on every Linux that Go supports
}

// resident is the process's resident memory in bytes.
func (p *process) resident() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// touchPages makes the kernel hand out page cache once, so that a run does not measure a cold host: see
// "free page reporting" in virtual machines.
func touchPages(bytes int64) error {
	f, err := os.CreateTemp("", "ottla-bench-touch")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	chunk := make([]byte, 1<<20)
	for n := int64(0); n < bytes; n += int64(len(chunk)) {
		if _, err := f.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}
