package host

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Fit fits the process to the memory and the descriptors there are. getenv looks a variable up, with a value for when it is not set:
// where GOMEMLIMIT is set, it stands.
func Fit(getenv func(name, unset string) string, logger *slog.Logger) {
	if files, err := raiseFiles(); err == nil {
		logger.Debug("descriptors", slog.Uint64("limit", files))
	}
	if getenv("GOMEMLIMIT", "") != "" {
		return
	}
	if total := machineMemory(os.ReadFile); total > 0 {
		// Half: the rest is for the page cache, where records are read from.
		debug.SetMemoryLimit(total / 2)
		logger.Debug("memory", slog.String("there_is", humanize.IBytes(uint64(total))), slog.String("limit", humanize.IBytes(uint64(total/2))))
	}
}

// The default of queued.max.request.bytes: a quarter of the heap that this process may have.
const (
	requestsDiv     = 4
	requestsMin     = 16 << 20
	requestsMax     = 1 << 30
	requestsUnknown = 256 << 20 // where the system tells no limit
)

// RequestMemory returns the bytes that requests may hold where queued.max.request.bytes is -1: an eighth of the machine's memory, or of the
// cgroup's, or a quarter of GOMEMLIMIT if that is less; between 16 MiB and 1 GiB.
func RequestMemory() int64 {
	return requestMemory(debug.SetMemoryLimit(-1), machineMemory(os.ReadFile))
}

// requestMemory computes RequestMemory from the heap's limit and the memory there is; 0 if that is not known.
func requestMemory(heap, total int64) int64 {
	if total > 0 {
		heap = min(heap, total/2) // what Fit leaves to the heap
	}
	if heap == math.MaxInt64 {
		return requestsUnknown
	}
	return min(max(heap/requestsDiv, requestsMin), requestsMax)
}

// machineMemory is the bytes of memory that this process may have: those of its cgroup, or the machine's; 0 if nobody says.
func machineMemory(read func(string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	for _, name := range append(cgroupFiles(read), "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes") {
		text, err := read(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			least = min(least, n) // "max" is no number, and stands for no limit
		}
	}
	if n := memTotal(read); n > 0 {
		least = min(least, n)
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// cgroupFiles are the limits of this process's own cgroup and of those above it, of version 2 (a line 0::PATH) or of version 1's memory
// controller (N:memory:PATH).
func cgroupFiles(read func(string) ([]byte, error)) []string {
	text, err := read("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var files []string
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		root, name := "/sys/fs/cgroup", "/memory.max"
		switch {
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			root, name = "/sys/fs/cgroup/memory", "/memory.limit_in_bytes"
		case controllers != "":
			continue
		}
		for len(path) > 1 {
			files = append(files, root+path+name)
			path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		}
	}
	return files
}

func memTotal(read func(string) ([]byte, error)) int64 {
	text, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
