//go:build linux

package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// produceSection compares pipelined produces with the bare server: throughput, and CPU for each GB. The bare server does not
// sync, so the figure with an aim is that of durability=memory; that of the default, where a sync follows every append,
// stands beside it.
func produceSection(batchBytes, recordBytes, depth, conns, mebibytes int) func(*report) error {
	return func(r *report) error {
		name := "produce-" + sizeName(batchBytes)
		load := load{frame: produceFrame(0, 1, batchBytes, recordBytes), depth: depth, conns: conns}
		load.total = scale * mebibytes << 20 / len(load.frame)
		kinds := []string{"", "memory", "disk"} // "" is the bare server
		rates, cpus := make(map[string][]float64), make(map[string][]float64)
		for range r.rounds {
			for _, kind := range kinds {
				rate, cpu, err := load.round(kind)
				if err != nil {
					return err
				}
				rates[kind], cpus[kind] = append(rates[kind], rate), append(cpus[kind], cpu)
			}
		}
		aims := map[string][2]string{"1MiB": {"0.80", "0.9 s/GB"}, "16KiB": {"0.80", "1.2 s/GB"}, "1KB": {"0.75", ""}}[sizeName(batchBytes)]
		for _, kind := range kinds[1:] {
			figure := fmt.Sprintf("acks=1, %d conn x %d deep, %s", conns, depth, kind)
			r.line(name, figure, mb(median(rates[kind])), mb(median(rates[""])), ratio(rates[kind], rates[""]), aims[0])
			r.line(name, "server CPU, "+kind, fmt.Sprintf("%.2f s/GB", median(cpus[kind])),
				fmt.Sprintf("%.2f s/GB", median(cpus[""])), ratio(cpus[kind], cpus[""]), aims[1])
			aims = [2]string{}
		}
		return nil
	}
}

// ratio is the median of the rounds' ratios.
func ratio(a, b []float64) string {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return fmt.Sprintf("%.2f", median(ratios))
}

// load is what a produce section sends.
type load struct {
	frame               []byte
	depth, conns, total int
}

// round runs one server, the bare one or the broker with a durability, through the load, and returns bytes a second and CPU
// seconds a GB.
func (l load) round(durability string) (rate, cpu float64, err error) {
	bytes := int64(l.total) * int64(len(l.frame))
	if err := touchPages(bytes * 3 / 2); err != nil {
		return 0, 0, err
	}
	unix.Sync()
	p, err := startFor(durability)
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	if err := pumpAll(p.addr, l.frame, l.depth, l.conns, max(l.total/20, l.conns)); err != nil { // warm up
		return 0, 0, err
	}
	before, began := p.cpu(), now()
	if err := pumpAll(p.addr, l.frame, l.depth, l.conns, l.total); err != nil {
		return 0, 0, err
	}
	took := now().Sub(began)
	return float64(bytes) / took.Seconds(), (p.cpu() - before).Seconds() / (float64(bytes) / 1e9), nil
}

// startFor starts the bare server, or the broker with a topic of that durability.
func startFor(durability string) (*process, error) {
	if durability == "" {
		return startBare("produce")
	}
	p, err := startBroker()
	if err != nil {
		return nil, err
	}
	if err := createTopic(p.addr, 1, "durability", durability); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func sizeName(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%dMiB", n>>20)
	case n%1024 == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	default:
		return fmt.Sprintf("%dKB", n/1000)
	}
}

func mb(bytesPerSecond float64) string { return fmt.Sprintf("%.0f MB/s", bytesPerSecond/1e6) }

// pumpAll shares total frames among connections and checks every answer.
func pumpAll(addr string, frame []byte, depth, conns, total int) error {
	var wg sync.WaitGroup
	errs := make([]error, conns)
	for i := range conns {
		wg.Go(func() {
			var refused error
			err := pump(addr, frame, depth, max(total/conns, 1), func(body []byte, _ time.Duration) {
				if code := produceError(body); code != 0 {
					refused = fmt.Errorf("produce: error code %d", code)
				}
			})
			errs[i] = errors.Join(err, refused)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// roundTripSection compares one acks=1 produce at a time with a bare echo of the same frame.
func roundTripSection(r *report) error {
	frame := produceFrame(0, 1, 300, 100)
	var ottla50, ottla99, echo50, echo99 []float64
	for range r.rounds {
		e, err := roundTrips(func() (*process, error) { return startBare("echo") }, false, frame)
		if err != nil {
			return err
		}
		o, err := roundTrips(func() (*process, error) { return startBroker() }, true, frame)
		if err != nil {
			return err
		}
		echo50, echo99 = append(echo50, float64(percentile(e, 0.5))), append(echo99, float64(percentile(e, 0.99)))
		ottla50, ottla99 = append(ottla50, float64(percentile(o, 0.5))), append(ottla99, float64(percentile(o, 0.99)))
	}
	line := func(name string, o, e []float64) {
		r.line("round-trip", "acks=1, "+name, micros(time.Duration(median(o))), micros(time.Duration(median(e))),
			fmt.Sprintf("%.2f", median(o)/median(e)), "under 2")
	}
	line("p50", ottla50, echo50)
	line("p99", ottla99, echo99)
	return nil
}

func roundTrips(start func() (*process, error), create bool, frame []byte) ([]time.Duration, error) {
	p, err := start()
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if create {
		if err := createTopic(p.addr, 1, "durability", "memory"); err != nil {
			return nil, err
		}
	}
	const warm, total = 2000, 20_000
	var took []time.Duration
	err = pump(p.addr, frame, 1, warm+total, func(_ []byte, d time.Duration) { took = append(took, d) })
	return took[min(warm, len(took)):], err
}
