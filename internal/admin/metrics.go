package admin

import (
	"cmp"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// latencies are the buckets of durations, in seconds: from what a page cache takes to what a client gives up at.
var latencies = [latencyCount]float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10, 30}

// latencyCount is how many latencies there are.
const latencyCount = 18

// keysMax is above the largest API key that has figures of its own.
const keysMax = 128

// Metrics counts what a broker does. It is a server.Observer and an api.Observer.
type Metrics struct {
	registry *prometheus.Registry

	took     durations
	in, out  *prometheus.CounterVec
	errors   *prometheus.CounterVec
	open     *prometheus.GaugeVec
	opened   *prometheus.CounterVec
	refused  *prometheus.CounterVec
	syncTook prometheus.Histogram
	syncFor  prometheus.Counter
	syncErrs prometheus.Counter

	keys      [keysMax + 1]atomic.Pointer[keyMetrics] // the last one's are all keys' that are not known
	failures  shared[failure, prometheus.Counter]
	listeners shared[string, *listenerMetrics]
	topics    topics
	bounds    Bounds
	totals    totals
}

// totals are sums that kafka_* names show without labels.
type totals struct {
	connections                atomic.Int64
	produce, fetch             atomic.Int64 // requests
	failedProduce, failedFetch atomic.Int64
}

// keyMetrics are the figures of one API key.
type keyMetrics struct {
	took    *duration
	in, out prometheus.Counter
}

type listenerMetrics struct {
	open   prometheus.Gauge
	opened prometheus.Counter
}

type failure struct {
	key  kmsg.Key
	code int16
}

// NewMetrics returns empty metrics of a build, with at most as many series as bounds say.
func NewMetrics(version string, bounds Bounds) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		bounds:   bounds,
		topics:   topics{max: int64(bounds.Topics)},
		took: durations{desc: prometheus.NewDesc("ottla_request_duration_seconds",
			"Time from a request's last byte read to its response written, by API; waiting that the client asked for is in it.", []string{"api"}, nil)},
		in:      counter("ottla_request_bytes_total", "Bytes of requests, by API.", "api"),
		out:     counter("ottla_response_bytes_total", "Bytes of responses, by API.", "api"),
		errors:  counter("ottla_request_errors_total", "Errors in responses, one for each topic, partition or response that had one, by API and Kafka's error code.", "api", "code"),
		open:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ottla_connections", Help: "Open connections, by listener."}, []string{"listener"}),
		opened:  counter("ottla_connections_opened_total", "Connections opened, by listener.", "listener"),
		refused: counter("ottla_connections_refused_total", "Connections closed by the broker, by listener and reason.", "listener", "reason"),
		syncTook: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ottla_fsync_duration_seconds", Buckets: latencies[:],
			Help: "Time of each fsync of a partition.",
		}),
		syncFor: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ottla_fsync_appends_total",
			Help: "Appends that fsyncs covered; divided by ottla_fsync_duration_seconds_count, how many share one.",
		}),
		syncErrs: prometheus.NewCounter(prometheus.CounterOpts{Name: "ottla_fsync_errors_total", Help: "Failed fsyncs; each takes the data directory offline."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ottla_build_info", Help: "The build, as labels.",
		ConstLabels: prometheus.Labels{"version": cmp.Or(version, "unknown"), "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(&m.took, m.in, m.out, m.errors, m.open, m.opened, m.refused, m.syncTook, m.syncFor, m.syncErrs, build, &m.topics,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Answered counts answered requests; see server.Observer.
func (m *Metrics) Answered(key kmsg.Key, _ int16, took time.Duration, n int, in, out int64) {
	k := m.key(key)
	k.took.observe(took, n)
	k.in.Add(float64(in))
	k.out.Add(float64(out))
	switch key {
	case kmsg.Produce:
		m.totals.produce.Add(int64(n))
	case kmsg.Fetch:
		m.totals.fetch.Add(int64(n))
	default: // Strimzi's dashboards have totals of these only
	}
}

// key finds or makes the figures of an API key.
func (m *Metrics) key(key kmsg.Key) *keyMetrics {
	slot := &m.keys[keysMax]
	if key >= 0 && key < keysMax {
		slot = &m.keys[key]
	}
	if k := slot.Load(); k != nil {
		return k
	}
	name := apiName(key)
	k := &keyMetrics{m.took.of(name), m.in.WithLabelValues(name), m.out.WithLabelValues(name)}
	slot.Store(k) // a second one made meanwhile counts into the same series
	return k
}

func apiName(key kmsg.Key) string {
	if key < 0 || int(key) >= keysMax {
		return "Unknown"
	}
	return key.Name()
}

// Failed counts an error code in a response; see api.Observer.
func (m *Metrics) Failed(key kmsg.Key, code int16) {
	switch key {
	case kmsg.Produce:
		m.totals.failedProduce.Add(1)
	case kmsg.Fetch:
		m.totals.failedFetch.Add(1)
	default:
	}
	f := failure{key, code}
	c, ok := m.failures.load(f)
	if !ok {
		c, _ = m.failures.loadOrStore(f, m.errors.WithLabelValues(apiName(key), codeName(code)))
	}
	c.Inc()
}

func codeName(code int16) string {
	if e := kerr.TypedErrorForCode(code); e != nil {
		return e.Message
	}
	return strconv.Itoa(int(code))
}

// Connections counts connections that open (1) and close (-1); see server.Observer.
func (m *Metrics) Connections(listener string, delta int) {
	l, ok := m.listeners.load(listener)
	if !ok {
		l, _ = m.listeners.loadOrStore(listener, &listenerMetrics{m.open.WithLabelValues(listener), m.opened.WithLabelValues(listener)})
	}
	l.open.Add(float64(delta))
	if delta > 0 {
		l.opened.Add(float64(delta))
	}
	m.totals.connections.Add(int64(delta))
}

// Refused counts a connection that the broker closed; see server.Observer.
func (m *Metrics) Refused(listener, reason string) { m.refused.WithLabelValues(listener, reason).Inc() }

// Synced counts an fsync of a partition that about asked appends waited for.
func (m *Metrics) Synced(took time.Duration, asked int, err error) {
	m.syncTook.Observe(took.Seconds())
	if err != nil {
		m.syncErrs.Inc()
		return
	}
	m.syncFor.Add(float64(asked))
}
