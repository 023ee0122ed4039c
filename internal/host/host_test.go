package host

import (
	"math"
	"net"
	"os"
	"strconv"
	"testing"
)

func TestMachineMemory(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       16384000 kB\nMemFree: 1 kB\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing", nil, 0},
		{"machine", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n"}, 16384000 << 10},
		{"container", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"version 1", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576"}, 1 << 20},
		{"version 1 without a limit", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, 16384000 << 10},
		{"a service of version 1", map[string]string{
			"/proc/meminfo": meminfo, "/proc/self/cgroup": "9:name=systemd:/x\n4:cpu,memory:/system.slice/ottla.service\n0::/\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":                            "9223372036854771712",
			"/sys/fs/cgroup/memory/system.slice/ottla.service/memory.limit_in_bytes": "8192",
		}, 8192},
		{"a service", map[string]string{
			"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/system.slice/ottla.service\n",
			"/sys/fs/cgroup/system.slice/memory.max": "4096", "/sys/fs/cgroup/system.slice/ottla.service/memory.max": "8192",
		}, 4096},
	} {
		got := machineMemory(func(name string) ([]byte, error) {
			if text, ok := tt.files[name]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		})
		if got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestRequestMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		heap, total, want int64
	}{
		{"nobody says", math.MaxInt64, 0, 256 << 20},
		{"a container of 1 GiB", math.MaxInt64, 1 << 30, 128 << 20},
		{"the same after Fit", 512 << 20, 1 << 30, 128 << 20},
		{"GOMEMLIMIT is less", 256 << 20, 1 << 30, 64 << 20},
		{"GOMEMLIMIT is more than there is", 8 << 30, 1 << 30, 128 << 20},
		{"a small container", math.MaxInt64, 64 << 20, 16 << 20},
		{"a large machine", math.MaxInt64, 256 << 30, 1 << 30},
	} {
		if got := requestMemory(tt.heap, tt.total); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestPortOwner(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pid, name, ok := PortOwner(l.Addr().String())
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("no /proc here, so nobody knows")
	}
	if !ok || pid != os.Getpid() || name == "" {
		t.Errorf("got pid %d (%s), %v, want %d", pid, name, ok, os.Getpid())
	}
	for _, bad := range []string{"", "x", "h:port", "127.0.0.1:" + strconv.Itoa(1<<17)} {
		if _, _, ok := PortOwner(bad); ok {
			t.Errorf("%q has an owner", bad)
		}
	}
}
