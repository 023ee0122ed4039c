package admin

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Figures are what is looked at when metrics are asked for.
type Figures struct {
	Hosted, Opened, Offline, Recovering int // partitions here
	Brokers                             int
	Controller                          bool // this node is the active controller
	DirsOffline                         int
	DiskFree, DiskTotal                 int64 // bytes; -1 if not known
	DiskFull                            bool
	Requests                            RequestFigures
	Cleaner                             CleanerFigures
	Topics                              []TopicFigures
	Logs                                []LogFigures
	Groups                              GroupsFigures
}

// RequestFigures are the bytes of memory for requests.
type RequestFigures struct {
	Held, Unfinished int64 // the second of the first
	Limit            int64 // 0: none
}

// CleanerFigures are compaction's since the start.
type CleanerFigures struct {
	Passes, Failed              int64
	BytesRead, BytesWritten     int64
	RecordsRead, RecordsRemoved int64
	LastPassSeconds             float64
	MaxDirtyRatio               float64
	Uncleanable                 int
}

// TopicFigures are a topic's.
type TopicFigures struct {
	Name       string
	Partitions int
}

// LogFigures are a partition's on this node.
type LogFigures struct {
	Topic     string
	Partition int32
	Bytes     int64
	Segments  int // 0: not known, as its files are not open
	// Start is its first offset, and End the one after the last that consumers may read.
	Start, End int64
}

// looker collects Figures.
type looker struct {
	metrics *Metrics
	look    func() Figures
	bounds  Bounds
}

// Bounds are the most topics, groups and partitions with series of their own. Partitions of logs and of groups are bounded apart.
type Bounds struct{ Topics, Groups, Partitions int }

// look registers the function that gives figures.
func (m *Metrics) look(figures func() Figures) {
	m.registry.MustRegister(&looker{m, figures, m.bounds})
}

// Describe sends nothing: the series are not known before they are looked at.
func (l *looker) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (l *looker) Collect(ch chan<- prometheus.Metric) {
	f := l.look()
	send := func(kind prometheus.ValueType, name, help string, value float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, value)
	}
	gauge := func(name, help string, value int) { send(prometheus.GaugeValue, name, help, float64(value)) }
	count := func(name, help string, value int64) { send(prometheus.CounterValue, name, help, float64(value)) }

	gauge("ottla_partitions", "Partitions on this node.", f.Hosted)
	gauge("ottla_partitions_open", "Partitions whose files are open.", f.Opened)
	gauge("ottla_partitions_offline", "Partitions that cannot be opened.", f.Offline)
	gauge("ottla_partitions_recovering", "Partitions that wait for recovery after a crash.", f.Recovering)
	gauge("ottla_disk_full", "1 while produces are refused for want of room.", one(f.DiskFull))
	gauge("ottla_request_memory_bytes", "Memory held for requests, in bytes.", int(f.Requests.Held))
	gauge("ottla_request_memory_unfinished_bytes", "Of that, memory held for requests that have begun to arrive.", int(f.Requests.Unfinished))
	gauge("ottla_request_memory_limit_bytes", "The most memory for requests, in bytes; 0: no limit.", int(f.Requests.Limit))
	if f.DiskTotal >= 0 {
		gauge("ottla_disk_free_bytes", "Bytes free on the disk of the data directory.", int(f.DiskFree))
		gauge("ottla_disk_size_bytes", "Bytes of the disk of the data directory.", int(f.DiskTotal))
	}

	gauge("kafka_brokers", "Brokers in the cluster.", f.Brokers)
	gauge("kafka_server_replicamanager_partitioncount", "Partitions on this node.", f.Hosted)
	gauge("kafka_server_replicamanager_leadercount", "Partitions that this node leads.", f.Hosted-f.Offline)
	gauge("kafka_server_replicamanager_underreplicatedpartitions", "Partitions with replicas out of sync.", 0)
	gauge("kafka_server_replicamanager_underminisrpartitioncount", "Partitions with fewer replicas in sync than min.insync.replicas.", 0)
	gauge("kafka_controller_kafkacontroller_activecontrollercount", "1 on the active controller.", one(f.Controller))
	gauge("kafka_controller_kafkacontroller_offlinepartitionscount", "Partitions without a leader.", f.Offline)
	gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that failed.", f.DirsOffline)
	l.collectCleaner(send, f.Cleaner)
	t := &l.metrics.totals
	gauge("kafka_server_socket_server_metrics_connection_count", "Open connections.", int(t.connections.Load()))
	count("kafka_server_brokertopicmetrics_totalproducerequests_total", "Produce requests.", t.produce.Load())
	count("kafka_server_brokertopicmetrics_totalfetchrequests_total", "Fetch requests.", t.fetch.Load())
	count("kafka_server_brokertopicmetrics_failedproducerequests_total", "Failures in produce responses.", t.failedProduce.Load())
	count("kafka_server_brokertopicmetrics_failedfetchrequests_total", "Failures in fetch responses.", t.failedFetch.Load())
	l.collectTopics(ch, f)
	gauge("ottla_topics_unlisted", "Topics without series of their own, since there are too many.", max(len(f.Topics)-l.bounds.Topics, 0))
	gauge("ottla_partitions_unlisted", "Partitions on this node without series of their own, since there are too many.", max(len(f.Logs)-l.bounds.Partitions, 0))
	collectGroups(ch, &f.Groups, l.bounds.Groups)
}

func (l *looker) collectCleaner(send func(kind prometheus.ValueType, name, help string, value float64), c CleanerFigures) {
	for _, m := range []struct {
		name, help string
		value      int64
	}{
		{"ottla_cleaner_passes_total", "Passes of compaction over a partition.", c.Passes},
		{"ottla_cleaner_passes_failed_total", "Passes of compaction that failed or were cut short.", c.Failed},
		{"ottla_cleaner_read_bytes_total", "Bytes read by compaction.", c.BytesRead},
		{"ottla_cleaner_written_bytes_total", "Bytes written by compaction.", c.BytesWritten},
		{"ottla_cleaner_records_read_total", "Records that compaction decided about.", c.RecordsRead},
		{"ottla_cleaner_records_removed_total", "Records that compaction removed.", c.RecordsRemoved},
	} {
		send(prometheus.CounterValue, m.name, m.help, float64(m.value))
	}
	send(prometheus.GaugeValue, "ottla_cleaner_last_pass_seconds", "How long the last pass of compaction took.", c.LastPassSeconds)
	send(prometheus.GaugeValue, "kafka_log_logcleanermanager_max_dirty_percent", "Dirty part of the dirtiest partition, in percent.", 100*c.MaxDirtyRatio)
	send(prometheus.GaugeValue, "kafka_log_logcleanermanager_uncleanable_partitions_count", "Partitions that cannot be compacted.", float64(c.Uncleanable))
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

var (
	topicPartitions = topicDesc("kafka_topic_partitions", "Partitions of a topic.")
	topicSegments   = topicDesc("ottla_topic_segments", "Segments of a topic's open partitions on this node.")
	topicSize       = topicDesc("ottla_topic_log_size_bytes", "Bytes of a topic's segments on this node.")
	logSize         = partitionDesc("kafka_log_log_size", "Bytes of a partition's segments on this node.")
	logEnd          = partitionDesc("kafka_topic_partition_current_offset", "Offset after the last record that consumers may read.")
	logStart        = partitionDesc("kafka_topic_partition_oldest_offset", "Offset of the first record.")
)

func partitionDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"topic", "partition"}, nil)
}

// collectTopics sends what there is by topic and by partition, up to the bounds.
func (l *looker) collectTopics(ch chan<- prometheus.Metric, f Figures) {
	for i, t := range f.Topics {
		if i == l.bounds.Topics {
			break
		}
		ch <- prometheus.MustNewConstMetric(topicPartitions, prometheus.GaugeValue, float64(t.Partitions), t.Name)
	}
	sizes, segments := make(map[string]int64), make(map[string]int)
	var order []string
	for i, p := range f.Logs {
		name := p.Topic
		if _, had := sizes[name]; !had && len(sizes) >= l.bounds.Topics {
			name = otherTopics
		}
		if _, had := sizes[name]; !had {
			order = append(order, name)
		}
		sizes[name] += p.Bytes
		segments[name] += p.Segments
		if i < l.bounds.Partitions {
			index := strconv.Itoa(int(p.Partition))
			ch <- prometheus.MustNewConstMetric(logSize, prometheus.GaugeValue, float64(p.Bytes), p.Topic, index)
			ch <- prometheus.MustNewConstMetric(logStart, prometheus.GaugeValue, float64(p.Start), p.Topic, index)
			ch <- prometheus.MustNewConstMetric(logEnd, prometheus.GaugeValue, float64(p.End), p.Topic, index)
		}
	}
	for _, name := range order {
		ch <- prometheus.MustNewConstMetric(topicSize, prometheus.GaugeValue, float64(sizes[name]), name)
		ch <- prometheus.MustNewConstMetric(topicSegments, prometheus.GaugeValue, float64(segments[name]), name)
	}
}
