package host

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PortOwner finds who listens on addr's port, by /proc. It finds other users' processes only as root.
func PortOwner(addr string) (pid int, name string, ok bool) {
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, "", false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, "", false
	}
	sockets := make(map[string]bool)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		rows, err := os.ReadFile(table)
		if err == nil {
			listening(string(rows), uint16(port), sockets)
		}
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || !sockets[target] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		if pid, err = strconv.Atoi(filepath.Base(dir)); err != nil {
			continue
		}
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		return pid, strings.TrimSpace(string(comm)), true
	}
	return 0, "", false
}

// listening adds the sockets ("socket:[inode]") of a table of /proc/net/tcp's form that listen on port.
func listening(table string, port uint16, sockets map[string]bool) {
	const stateListen = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], suffix) && f[3] == stateListen {
			sockets["socket:["+f[9]+"]"] = true
		}
	}
}
