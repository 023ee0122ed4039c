package admin

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// durations is a histogram by a label that counts many alike at once, which Prometheus's own does not. It collects itself.
type durations struct {
	desc *prometheus.Desc
	all  shared[string, *duration]
}

// duration is the histogram of one label's value.
type duration struct {
	buckets [latencyCount + 1]atomic.Int64 // by the first of latencies that is not below; the last is what is above all
	sum     atomic.Int64                   // ns
}

// of finds or makes a label's histogram.
func (d *durations) of(label string) *duration {
	if v, ok := d.all.load(label); ok {
		return v
	}
	v, _ := d.all.loadOrStore(label, new(duration))
	return v
}

// observe counts n that took as long.
func (d *duration) observe(took time.Duration, n int) {
	seconds, bucket := took.Seconds(), 0
	for bucket < latencyCount && seconds > latencies[bucket] {
		bucket++
	}
	d.buckets[bucket].Add(int64(n))
	d.sum.Add(int64(took) * int64(n))
}

// Describe implements prometheus.Collector.
func (d *durations) Describe(ch chan<- *prometheus.Desc) { ch <- d.desc }

// Collect implements prometheus.Collector.
func (d *durations) Collect(ch chan<- prometheus.Metric) {
	d.all.each(func(label string, figures *duration) {
		var count uint64
		upTo := make(map[float64]uint64, latencyCount)
		for i, bound := range latencies {
			count += uint64(figures.buckets[i].Load())
			upTo[bound] = count
		}
		count += uint64(figures.buckets[latencyCount].Load())
		sum := time.Duration(figures.sum.Load()).Seconds()
		ch <- prometheus.MustNewConstHistogram(d.desc, count, sum, upTo, label)
	})
}
