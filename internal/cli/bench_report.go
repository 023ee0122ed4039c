package cli

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// histogram counts durations in buckets that are 2 % wide, from 1 us up. It may be added to by any goroutine.
type histogram struct {
	buckets [1024]atomic.Int64
	most    atomic.Int64
}

const bucketGrowth = 1.02

func (h *histogram) add(d time.Duration) {
	us := max(float64(d)/float64(time.Microsecond), 1)
	h.buckets[min(int(math.Log(us)/math.Log(bucketGrowth)), len(h.buckets)-1)].Add(1)
	for {
		most := h.most.Load()
		if int64(d) <= most || h.most.CompareAndSwap(most, int64(d)) {
			return
		}
	}
}

// percentile is the duration that the fraction p of all is not above, within a bucket's width.
func (h *histogram) percentile(p float64) time.Duration {
	var total int64
	for i := range h.buckets {
		total += h.buckets[i].Load()
	}
	left := int64(math.Ceil(float64(total) * p))
	for i := range h.buckets {
		if left -= h.buckets[i].Load(); left <= 0 && total > 0 {
			upper := time.Duration(math.Pow(bucketGrowth, float64(i+1)) * float64(time.Microsecond))
			return min(upper, time.Duration(h.most.Load()))
		}
	}
	return 0
}

// benchReport is the result of a load.
type benchReport struct {
	Records    int64              `json:"records"`
	Bytes      int64              `json:"bytes"`
	Seconds    float64            `json:"seconds"`
	RecordsSec float64            `json:"records_per_second"`
	BytesSec   float64            `json:"bytes_per_second"`
	LatencyMs  map[string]float64 `json:"latency_ms,omitempty"`
}

// report prints what a load did.
func (a *app) report(verb string, r *benchRun) error {
	took := max(r.end.Sub(r.start).Seconds(), 1e-9)
	rep := benchReport{Records: r.records.Load(), Bytes: r.bytes.Load(), Seconds: took}
	rep.RecordsSec, rep.BytesSec = float64(rep.Records)/took, float64(rep.Bytes)/took
	var latencies strings.Builder
	if r.latency.most.Load() > 0 {
		rep.LatencyMs = make(map[string]float64)
		for _, p := range []struct {
			name string
			at   float64
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}} {
			ms := float64(r.latency.percentile(p.at)) / float64(time.Millisecond)
			rep.LatencyMs[p.name] = ms
			fmt.Fprintf(&latencies, "  %s %.2f ms", p.name, ms)
		}
	}
	if a.Output == "json" {
		return a.PrintJSON(rep)
	}
	fmt.Fprintf(a.Out, "%s %s (%s) in %.2f s: %s records/s, %s/s\n", verb, session.Plural(rep.Records, "record"), session.Size(rep.Bytes), took,
		humanize.Comma(int64(rep.RecordsSec)), session.Size(int64(rep.BytesSec)))
	if latencies.Len() > 0 {
		fmt.Fprintf(a.Out, "latency%s\n", latencies.String())
	}
	return nil
}
