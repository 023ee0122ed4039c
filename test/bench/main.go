//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// brokerBinary is the broker under measurement, built by main unless -binary names one.
var brokerBinary string

// scale multiplies the bytes of the produce sections.
var scale int

// section is a part of the bench.
type section struct {
	name string
	run  func(*report) error
}

var sections = []section{
	{"produce-1MiB", produceSection(1<<20, 1024, 5, 1, 768)},
	{"produce-16KiB", produceSection(16<<10, 1024, 20, 2, 512)},
	{"produce-1KB", produceSection(1000, 100, 20, 2, 96)},
	{"fetch-1MiB", fetchSection},
	{"round-trip", roundTripSection},
	{"sync", syncSection},
	{"own-record", ownSection},
	{"end-to-end", endToEndSection},
	{"start", startSection},
	{"memory", memorySection},
	{"allocations", allocationSection},
	{"groups", manySection},
	{"group-join", joinSection},
	{"group-rebalance", rebalanceSection},
	{"group-commits", commitSection},
	{"group-load", loadSection},
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		fatal(serve(os.Args[2], os.Args[3]))
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "idle" {
		fatal(idleConnections(os.Args[2]))
		return
	}
	run := flag.String("run", ".", "sections to run, a regular expression")
	rounds := flag.Int("rounds", 5, "interleaved rounds of each comparison")
	flag.IntVar(&scale, "scale", 1, "times as many bytes in the produce sections, for profiles")
	flag.StringVar(&brokerBinary, "binary", "", "broker to measure (default: built from this tree)")
	flag.Parse()
	want, err := regexp.Compile(*run)
	fatal(err)
	cleanup := func() {}
	if brokerBinary == "" {
		cleanup, err = buildBroker()
		fatal(err)
	}
	defer cleanup()
	r := &report{rounds: *rounds}
	r.header()
	for _, s := range sections {
		if !want.MatchString(s.name) {
			continue
		}
		if err := s.run(r); err != nil {
			fmt.Printf("%-14s failed: %v\n", s.name, err)
		}
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func buildBroker() (func(), error) {
	dir, err := os.MkdirTemp("", "ottla-bench")
	if err != nil {
		return nil, err
	}
	brokerBinary = filepath.Join(dir, "ottla")
	build := exec.Command("go", "build", "-trimpath", "-o", brokerBinary, "github.com/ottla-io/ottla/cmd/ottla")
	build.Stderr = os.Stderr
	return func() { os.RemoveAll(dir) }, build.Run()
}

// report prints one line for each figure.
type report struct{ rounds int }

func (r *report) header() {
	var host unix.Utsname
	_ = unix.Uname(&host) // for people
	fmt.Printf("%d cores, %s %s, %s; %d rounds, interleaved; medians. CPU is the server's, user and system.\n\n", runtime.NumCPU(),
		unix.ByteSliceToString(host.Sysname[:]), unix.ByteSliceToString(host.Release[:]), runtime.Version(), r.rounds)
	fmt.Printf("%-14s %-44s %14s %14s %8s  %s\n", "section", "figure", "ottla", "floor", "ratio", "aim")
}

func (r *report) line(section, figure, ottla, floor, ratio, aim string) {
	fmt.Printf("%-14s %-44s %14s %14s %8s  %s\n", section, figure, ottla, floor, ratio, aim)
}

// allocationSection prints the allocations of a produce and of a fetch for records of two sizes, from the handlers' own benchmarks.
func allocationSection(r *report) error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "Produce|Fetch", "-benchmem", "-benchtime", "2000x", "github.com/ottla-io/ottla/internal/api")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if i := slices.Index(words, "allocs/op"); i > 0 {
			r.line("allocations", words[0], words[i-1]+" allocs", "", "", "none that grow with the records")
		}
	}
	return nil
}

func median[T ~int64 | ~float64](of []T) T {
	if len(of) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(of))
	return s[len(s)/2]
}

// percentile of sorted or unsorted durations; sorts in place.
func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(int(float64(len(d))*p), len(d)-1)]
}

func micros(d time.Duration) string { return fmt.Sprintf("%.0f us", float64(d)/1e3) }
func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }
