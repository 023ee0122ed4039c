//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

// commitSection counts the commits of 100 groups of one member, each of which waits for its answer before the next, with durability=disk.
func commitSection(r *report) error {
	var rates, perSync []float64
	var took []time.Duration
	for range r.rounds {
		rate, per, each, err := commitRound()
		if err != nil {
			return err
		}
		rates, perSync, took = append(rates, rate), append(perSync, per), append(took, each...)
	}
	r.line("group-commits", "100 groups, disk, commits a second", fmt.Sprintf("%.0f", median(rates)), "", "", "at least 5,000")
	r.line("group-commits", "  commits a sync", fmt.Sprintf("%.1f", median(perSync)), "", "", "shared")
	r.line("group-commits", "  p50 / p99", millis(percentile(took, 0.5))+" / "+millis(percentile(took, 0.99)), "", "", "")
	return nil
}

func commitRound() (rate, perSync float64, took []time.Duration, err error) {
	const groups, commits = 100, 300
	unix.Sync() // what earlier sections wrote must not be written back meanwhile
	p, err := startBroker("--set", "group.initial.rebalance.delay.ms=0")
	if err != nil {
		return 0, 0, nil, err
	}
	defer p.stop()
	if err := createTopic(p.addr, 8); err != nil {
		return 0, 0, nil, err
	}
	if err := locate(p.addr, "group-0"); err != nil {
		return 0, 0, nil, err
	}
	askers, members := make([]*asker, groups), make([]*member, groups)
	if err := each(groups, func(i int) (err error) {
		if askers[i], err = dialAsker(p.addr); err != nil {
			return err
		}
		members[i] = &member{group: fmt.Sprint("group-", i)}
		return joinAlone(askers[i], members[i:i+1])
	}); err != nil {
		return 0, 0, nil, err
	}
	before, err := fsyncs(p.admin)
	if err != nil {
		return 0, 0, nil, err
	}
	times := make([][]time.Duration, groups)
	began := now()
	err = each(groups, func(i int) error {
		defer askers[i].close()
		for n := range int64(commits) {
			sent := now()
			resp, err := askers[i].ask(commitRequest(members[i], n, 0, 1, 2, 3, 4, 5, 6, 7))
			if err == nil {
				err = committedError(resp)
			}
			if err != nil {
				return err
			}
			times[i] = append(times[i], now().Sub(sent))
		}
		return nil
	})
	if err != nil {
		return 0, 0, nil, err
	}
	spent := now().Sub(began)
	after, err := fsyncs(p.admin)
	for _, t := range times {
		took = append(took, t...)
	}
	return groups * commits / spent.Seconds(), groups * commits / max(after-before, 1), took, err
}

// The offsets that loadSection loads.
const (
	loadGroups     = 1000
	loadPartitions = 1000
)

// loadSection times how long groups with a million offsets are not served after a restart, and looks at the metrics of so many.
func loadSection(r *report) error {
	dir, err := os.MkdirTemp("", "ottla-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := startBrokerAt(dir)
	if err != nil {
		return err
	}
	if err := commitMillion(p); err != nil {
		p.end(syscall.SIGKILL)
		return err
	}
	if err := scrape(r, p); err != nil {
		p.end(syscall.SIGKILL)
		return err
	}
	for _, stop := range []struct {
		how string
		sig syscall.Signal
	}{{"kill -9", syscall.SIGKILL}, {"clean stop", syscall.SIGTERM}} {
		p.end(stop.sig)
		began := now()
		if p, err = startBrokerAt(dir); err != nil {
			return err
		}
		if err := awaitGroups(p.addr); err != nil {
			p.end(syscall.SIGKILL)
			return err
		}
		r.line("group-load", "a million offsets, from exec, "+stop.how, millis(now().Sub(began)), "", "", "under 5 s")
	}
	r.line("group-load", "  resident then", mib(p.resident()), "", "", "")
	p.end(syscall.SIGTERM)
	return nil
}

// commitMillion commits each partition of a topic in each of many groups.
func commitMillion(p *process) error {
	if err := createTopic(p.addr, loadPartitions); err != nil {
		return err
	}
	if err := locate(p.addr, "group-0"); err != nil {
		return err
	}
	all := make([]int32, loadPartitions)
	for i := range all {
		all[i] = int32(i)
	}
	const conns = 4
	return each(conns, func(c int) error {
		a, err := dialAsker(p.addr)
		if err != nil {
			return err
		}
		defer a.close()
		var reqs []kmsg.Request
		for i := c; i < loadGroups; i += conns {
			reqs = append(reqs, commitRequest(&member{group: fmt.Sprint("group-", i), generation: -1}, int64(i+1), all...))
		}
		return a.askAll(reqs, func(_ int, resp kmsg.Response) error { return committedError(resp) })
	})
}

// awaitGroups waits until every group is loaded, and checks that it has what it committed.
func awaitGroups(addr string) error {
	a, err := dialAsker(addr)
	if err != nil {
		return err
	}
	defer a.close()
	for i := range loadGroups {
		offset, err := fetchOffset(a, fmt.Sprint("group-", i), loadPartitions-1)
		if err != nil {
			return err
		}
		if offset != int64(i+1) {
			return fmt.Errorf("group-%d has offset %d, and committed %d", i, offset, i+1)
		}
	}
	return nil
}

// scrape times one look at the metrics, and what commits wait for meanwhile.
func scrape(r *report, p *process) error {
	a, err := dialAsker(p.addr)
	if err != nil {
		return err
	}
	defer a.close()
	looked := make(chan error, 1)
	began := now()
	var size int64
	go func() {
		resp, err := http.Get("http://" + p.admin + "/metrics")
		if err == nil {
			size, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		looked <- err
	}()
	var took []time.Duration
	for n := int64(0); ; n++ {
		select {
		case err := <-looked:
			r.line("group-load", "  /metrics of a million offsets, "+mib(size), millis(now().Sub(began)), "", "", "")
			r.line("group-load", "  commits meanwhile, p99", millis(percentile(took, 0.99)), "", "", "")
			return err
		default:
		}
		sent := now()
		resp, err := a.ask(commitRequest(&member{group: fmt.Sprint("group-", n%loadGroups), generation: -1}, n%loadGroups+1, 0))
		if err == nil {
			err = committedError(resp)
		}
		if err != nil {
			return err
		}
		took = append(took, now().Sub(sent))
	}
}
