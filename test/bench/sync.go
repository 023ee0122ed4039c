//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// syncSection counts acknowledged batches for each fsync, and compares 64 producers on 1,000 partitions with the same
// load on one.
func syncSection(r *report) error {
	loads := []struct {
		name              string
		conns, depth      int
		partitions, total int
		aim               string
	}{
		{"64 producers, one partition", 64, 1, 1, 40_000, "at least 16"},
		{"one connection, 20 in flight", 1, 20, 1, 20_000, "at least 8"},
		{"64 producers, 1,000 partitions", 64, 1, 1000, 40_000, ""},
	}
	rates := map[int][]float64{}
	perSync := map[int][]float64{}
	for range r.rounds {
		for i, l := range loads {
			rate, per, err := syncRound(l.conns, l.depth, l.partitions, l.total)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			rates[i], perSync[i] = append(rates[i], rate), append(perSync[i], per)
		}
	}
	for i, l := range loads {
		r.line("sync", l.name+", batches a second", fmt.Sprintf("%.0f", median(rates[i])), "", "", "")
		r.line("sync", l.name+", batches a sync", fmt.Sprintf("%.1f", median(perSync[i])), "", "", l.aim)
	}
	spread := median(rates[2]) / median(rates[0])
	r.line("sync", "1,000 partitions beside one", "", "", fmt.Sprintf("%.2f", spread), "at least 0.50")
	return nil
}

func syncRound(conns, depth, partitions, total int) (rate, perSync float64, err error) {
	unix.Sync() // what earlier sections wrote must not be written back meanwhile
	p, err := startBroker()
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	if err := createTopic(p.addr, int32(partitions), "durability", "disk"); err != nil {
		return 0, 0, err
	}
	if err := spread(p.addr, conns, depth, partitions, max(2*partitions, total/20)); err != nil { // open every partition
		return 0, 0, err
	}
	before, err := fsyncs(p.admin)
	if err != nil {
		return 0, 0, err
	}
	began := now()
	if err := spread(p.addr, conns, depth, partitions, total); err != nil {
		return 0, 0, err
	}
	took := now().Sub(began)
	after, err := fsyncs(p.admin)
	return float64(total) / took.Seconds(), float64(total) / max(after-before, 1), err
}

// spread sends total batches of 1 KB with acks=all over conns connections; where there are several partitions, each
// connection walks over its share of them, one batch at a time.
func spread(addr string, conns, depth, partitions, total int) error {
	var wg sync.WaitGroup
	errs := make([]error, conns)
	for i := range conns {
		wg.Go(func() {
			var frames [][]byte
			for p := i % partitions; p < partitions; p += conns {
				frames = append(frames, produceFrame(int32(p), -1, 1000, 100))
			}
			var refused error
			err := pumpFrames(addr, frames, depth, total/conns, func(body []byte, _ time.Duration) {
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

// fsyncs reads the broker's count of syncs from its metrics.
func fsyncs(admin string) (float64, error) {
	return metric(admin, "ottla_fsync_duration_seconds_count")
}

func metric(admin, name string) (float64, error) {
	resp, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	total, found := 0.0, false
	for s := bufio.NewScanner(io.LimitReader(resp.Body, 16<<20)); s.Scan(); {
		line := s.Text()
		if !strings.HasPrefix(line, name) || (line[len(name)] != ' ' && line[len(name)] != '{') {
			continue
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		total, found = total+v, true
	}
	if !found {
		return 0, fmt.Errorf("no metric %s at %s", name, admin)
	}
	return total, nil
}
