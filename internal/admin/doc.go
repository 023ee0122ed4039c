// Package admin is the HTTP side of a broker: health, metrics and profiles.
//
//	/healthz      200 while the process can do its work, else 503 and why; it waits for no disk
//	/readyz       200 while it also serves and can write
//	/metrics      Prometheus
//	/debug/pprof  profiles
//
// Invariants:
//
//  1. Nothing here knows the rest of the broker: what is counted is told to Metrics, what is looked at comes from a function.
//  2. Metrics are a registry of their own, so that two brokers in one process do not share figures.
//  3. Counting is cheap: no lock and no allocation once a key, topic or code was seen.
//  4. Labels are bounded: topics past Bounds are counted as one, groups and partitions past it are only counted, by a
//     gauge, and are in sums.
//  6. Profiles are served only where Options.Profiles allows it: they show memory, and taking one costs time.
//  5. Names are ottla_*; those of kafka_* repeat what dashboards made for Kafka (Strimzi's, kafka_exporter's) ask for.
//
// Metrics may be told things by any goroutine. Serve runs in the caller's goroutine until Close.
//
// Files in reading order: admin.go (the HTTP server), metrics.go (what is counted), durations.go (histograms), topics.go (by topic),
// figures.go (what is looked at), groups.go (consumer groups).
package admin
