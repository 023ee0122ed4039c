package admin

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// otherTopics is the label of all topics past Bounds.Topics together.
const otherTopics = "(other)"

// topics counts records and bytes by topic, and collects them.
type topics struct {
	all   shared[string, *topicMetrics]
	count atomic.Int64
	max   int64
}

type topicMetrics struct{ records, in, recordsOut, out, batches atomic.Int64 }

// of finds or makes a topic's figures.
func (t *topics) of(name string) *topicMetrics {
	if v, ok := t.all.load(name); ok {
		return v
	}
	if t.count.Load() >= t.max {
		name = otherTopics
	}
	v, had := t.all.loadOrStore(name, new(topicMetrics))
	if !had {
		t.count.Add(1)
	}
	return v
}

// Produced counts batches that were appended; see api.Observer.
func (m *Metrics) Produced(topic string, batches, records, bytes int) {
	t := m.topics.of(topic)
	t.batches.Add(int64(batches))
	t.records.Add(int64(records))
	t.in.Add(int64(bytes))
}

// Fetched counts records and their bytes that were sent; see api.Observer.
func (m *Metrics) Fetched(topic string, records, bytes int) {
	t := m.topics.of(topic)
	t.recordsOut.Add(int64(records))
	t.out.Add(int64(bytes))
}

// topicSeries are the series of a topic: ours, and what Strimzi's dashboards call them.
var topicSeries = []struct {
	desc, alias *prometheus.Desc
	of          func(*topicMetrics) *atomic.Int64
}{
	{
		topicDesc("ottla_topic_records_in_total", "Records appended, by topic."), topicDesc("kafka_server_brokertopicmetrics_messagesin_total", "Records appended."),
		func(t *topicMetrics) *atomic.Int64 { return &t.records },
	},
	{
		topicDesc("ottla_topic_bytes_in_total", "Bytes of batches appended, by topic."), topicDesc("kafka_server_brokertopicmetrics_bytesin_total", "Bytes appended."),
		func(t *topicMetrics) *atomic.Int64 { return &t.in },
	},
	{
		topicDesc("ottla_topic_records_out_total", "Records sent to consumers, by topic, counted by their offsets: those that compaction removed count."), nil,
		func(t *topicMetrics) *atomic.Int64 { return &t.recordsOut },
	},
	{
		topicDesc("ottla_topic_bytes_out_total", "Bytes of batches sent to consumers, by topic."), topicDesc("kafka_server_brokertopicmetrics_bytesout_total", "Bytes sent."),
		func(t *topicMetrics) *atomic.Int64 { return &t.out },
	},
	{
		topicDesc("ottla_topic_batches_in_total", "Batches appended, by topic."), nil,
		func(t *topicMetrics) *atomic.Int64 { return &t.batches },
	},
}

func topicDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"topic"}, nil)
}

// Describe implements prometheus.Collector.
func (t *topics) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range topicSeries {
		ch <- s.desc
		if s.alias != nil {
			ch <- s.alias
		}
	}
}

// Collect implements prometheus.Collector.
func (t *topics) Collect(ch chan<- prometheus.Metric) {
	t.all.each(func(name string, figures *topicMetrics) {
		for _, s := range topicSeries {
			n := float64(s.of(figures).Load())
			ch <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, n, name)
			if s.alias != nil {
				ch <- prometheus.MustNewConstMetric(s.alias, prometheus.CounterValue, n, name)
			}
		}
	})
}
