package main

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// produceSection compares pipelined produces with the bare server: throughput, and CPU for each GB.
func produceSection(batchBytes, recordBytes, depth, conns, mebibytes int) func(*report) error {
	return func(r *report) error {
		name := fmt.Sprintf("produce-%s", sizeName(batchBytes))
		frame := produceFrame(0, 1, batchBytes, recordBytes)
		total := mebibytes << 20 / len(frame)
		var ottla, bare, ratios, ottlaCPU, bareCPU []float64
		for range r.rounds {
			b, bc, err := produceRound(func() (*process, error) { return startBare("produce") }, false, frame, depth, conns, total)
			if err != nil {
				return err
			}
			o, oc, err := produceRound(func() (*process, error) { return startBroker() }, true, frame, depth, conns, total)
			if err != nil {
				return err
			}
			ottla, bare, ratios = append(ottla, o), append(bare, b), append(ratios, o/b)
			ottlaCPU, bareCPU = append(ottlaCPU, oc), append(bareCPU, bc)
		}
		aims := map[string][2]string{"1MiB": {"0.80", "0.9 s/GB"}, "16KiB": {"0.80", "1.2 s/GB"}, "1KB": {"0.75", ""}}[sizeName(batchBytes)]
		figure := fmt.Sprintf("acks=1, %d conn x %d deep", conns, depth)
		r.line(name, figure, mb(median(ottla)), mb(median(bare)), fmt.Sprintf("%.2f", median(ratios)), aims[0])
		r.line(name, "server CPU", fmt.Sprintf("%.2f s/GB", median(ottlaCPU)), fmt.Sprintf("%.2f s/GB", median(bareCPU)),
			fmt.Sprintf("%.2f", median(ottlaCPU)/median(bareCPU)), aims[1])
		return nil
	}
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

// produceRound runs one server through total frames a connection share and returns bytes a second and CPU seconds a GB.
func produceRound(start func() (*process, error), create bool, frame []byte, depth, conns, total int) (rate, cpu float64, err error) {
	bytes := int64(total) * int64(len(frame))
	if err := touchPages(bytes * 3 / 2); err != nil {
		return 0, 0, err
	}
	p, err := start()
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	if create {
		if err := createTopic(p.addr, 1); err != nil {
			return 0, 0, err
		}
	}
	if err := pumpAll(p.addr, frame, depth, conns, max(total/20, conns)); err != nil { // warm up
		return 0, 0, err
	}
	before, began := p.cpu(), now()
	if err := pumpAll(p.addr, frame, depth, conns, total); err != nil {
		return 0, 0, err
	}
	took := now().Sub(began)
	return float64(bytes) / took.Seconds(), (p.cpu() - before).Seconds() / (float64(bytes) / 1e9), nil
}

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
