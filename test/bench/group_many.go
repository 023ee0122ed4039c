//go:build linux

package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The groups of manySection, and the connections that their members share.
const (
	manyGroups = 10_000
	manyConns  = 100
	manyShare  = manyGroups / manyConns
)

// manySection makes 10,000 groups of one member, each with an offset, and lets them heartbeat every 3 s, as consumers do by default; the
// floor echoes as many frames of that size.
func manySection(r *report) error {
	p, err := startBroker("--set", "group.initial.rebalance.delay.ms=0")
	if err != nil {
		return err
	}
	defer p.stop()
	before, err := warm(p)
	if err != nil {
		return err
	}
	members := make([]member, manyGroups)
	began := now()
	if err := each(manyConns, func(c int) error {
		mine := make([]*member, manyShare)
		for i := range mine {
			mine[i] = &members[c*manyShare+i]
			mine[i].group = fmt.Sprint("group-", c*manyShare+i)
		}
		return joinAndCommit(p.addr, mine)
	}); err != nil {
		return err
	}
	r.line("groups", "10,000 of one member, join, sync and commit", millis(now().Sub(began)), "", "", "")
	r.line("groups", "  resident memory more", mib(p.resident()-before), "", "", "under 200 MiB")
	if err := beats(r, p, members); err != nil {
		return err
	}
	r.line("groups", "  resident memory more, after heartbeats", mib(settled(p)-before), "", "", "under 200 MiB")
	return nil
}

// beats times the members' heartbeats, beside an echo of them.
func beats(r *report, p *process, members []member) error {
	e, err := startBare("echo")
	if err != nil {
		return err
	}
	defer e.stop()
	frames := make([][][]byte, manyConns)
	for i := range members {
		frames[i/manyShare] = append(frames[i/manyShare], heartbeatFrame(&members[i]))
	}
	var figures [2][3][]time.Duration // of the echo and the broker: p50, p99, CPU of each
	for range r.rounds {
		for i, server := range []*process{e, p} {
			judge := heartbeatError
			if server == e {
				judge = nil
			}
			cpu := server.cpu()
			took, err := beat(server.addr, frames, judge)
			if err != nil {
				return err
			}
			for j, figure := range []time.Duration{percentile(took, 0.5), percentile(took, 0.99), (server.cpu() - cpu) / manyGroups} {
				figures[i][j] = append(figures[i][j], figure)
			}
		}
	}
	for j, figure := range []struct{ name, aim string }{{"p50", ""}, {"p99", "under 10 ms"}, {"CPU of each", ""}} {
		floor, ottla := median(figures[0][j]), median(figures[1][j])
		r.line("groups", "  heartbeats every 3 s, "+figure.name, micros(ottla), micros(floor), fmt.Sprintf("%.2f", float64(ottla)/float64(floor)), figure.aim)
	}
	return nil
}

// warm makes the topic and the coordinator, opens its shards, and returns the memory that the broker has then.
func warm(p *process) (int64, error) {
	if err := createTopic(p.addr, 8); err != nil {
		return 0, err
	}
	if err := locate(p.addr, "group-0"); err != nil {
		return 0, err
	}
	a, err := dialAsker(p.addr)
	if err != nil {
		return 0, err
	}
	defer a.close()
	for i := range 500 { // some in each shard
		resp, err := a.ask(commitRequest(&member{group: fmt.Sprint("warm-", i), generation: -1}, 1, 0))
		if err == nil {
			err = committedError(resp)
		}
		if err != nil {
			return 0, err
		}
	}
	return p.resident(), nil
}

// joinAndCommit makes each of members the only one of its group, with an offset committed.
func joinAndCommit(addr string, members []*member) error {
	a, err := dialAsker(addr)
	if err != nil {
		return err
	}
	defer a.close()
	if err := joinAlone(a, members); err != nil {
		return err
	}
	reqs := make([]kmsg.Request, len(members))
	for i, m := range members {
		reqs[i] = commitRequest(m, 1, 0)
	}
	return a.askAll(reqs, func(_ int, resp kmsg.Response) error { return committedError(resp) })
}

func heartbeatFrame(m *member) []byte {
	req := kmsg.NewHeartbeatRequest()
	req.Version, req.Group, req.Generation, req.MemberID = 4, m.group, m.generation, m.id
	return formatter.AppendRequest(nil, &req, 0)
}

// heartbeatError judges a heartbeat's response (version 4): correlation, tags, throttle, error code.
func heartbeatError(body []byte) error {
	if len(body) < 11 {
		return errors.New("heartbeat: the response is too short")
	}
	return failed("heartbeat", int16(body[9])<<8|int16(body[10]))
}

// beat sends each frame once, spread over 3 s, and returns how long after their scheduled times the answers came.
func beat(addr string, frames [][][]byte, judge func([]byte) error) ([]time.Duration, error) {
	askers := make([]*asker, len(frames))
	if err := each(len(frames), func(i int) (err error) {
		askers[i], err = dialAsker(addr)
		return err
	}); err != nil {
		return nil, err
	}
	const gap = 3 * time.Second / manyGroups
	began := now().Add(50 * time.Millisecond)
	sentAt := func(conn, n int) time.Time { return began.Add(gap * time.Duration(n*len(frames)+conn)) }
	took := make([][]time.Duration, len(frames))
	sent := make(chan error, 1)
	go func() { sent <- sendBeats(askers, frames, sentAt) }()
	err := each(len(frames), func(c int) error {
		defer askers[c].close()
		for n := range frames[c] {
			body, err := readFrame(askers[c].r, askers[c].buf)
			if err == nil && judge != nil {
				err = judge(body)
			}
			if err != nil {
				return err
			}
			askers[c].buf = body
			took[c] = append(took[c], now().Sub(sentAt(c, n)))
		}
		return nil
	})
	if err := errors.Join(err, <-sent); err != nil {
		return nil, err
	}
	var all []time.Duration
	for _, t := range took {
		all = append(all, t...)
	}
	return all, nil
}

// sendBeats sends on schedule from one thread, connection by connection.
func sendBeats(askers []*asker, frames [][][]byte, at func(conn, n int) time.Time) error {
	runtime.LockOSThread() // for nanosleep: Go's own timers are late by up to a millisecond in an idle process
	defer runtime.UnlockOSThread()
	for n := range manyShare {
		for c, a := range askers {
			if err := sleepUntil(at(c, n)); err != nil {
				return err
			}
			if _, err := a.conn.Write(frames[c][n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// joinSection lets 1,000 members, each with a connection of its own, join one group at once: with the least delay that lets them all be there,
// and with the default of group.initial.rebalance.delay.ms, 3 s.
func joinSection(r *report) error {
	for _, delay := range []struct{ name, ms, aim string }{{"delay of 1 s", "1000", "under 5 s"}, {"default delay of 3 s", "3000", "under 5 s; 3 s are delay"}} {
		var took []time.Duration
		var rebalances []float64
		for range min(r.rounds, 3) {
			spent, n, err := joinRound(delay.ms)
			if err != nil {
				return err
			}
			took, rebalances = append(took, spent), append(rebalances, n)
		}
		r.line("group-join", "1,000 members at once, "+delay.name, millis(median(took)), "", "", delay.aim)
		r.line("group-join", "  rebalances", fmt.Sprintf("%.0f", median(rebalances)), "", "", "one")
	}
	return nil
}

func joinRound(delay string) (took time.Duration, rebalances float64, err error) {
	const members = 1000
	p, err := startBroker("--set", "group.initial.rebalance.delay.ms="+delay)
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	if err := createTopic(p.addr, members); err != nil {
		return 0, 0, err
	}
	if err := locate(p.addr, "joined"); err != nil {
		return 0, 0, err
	}
	askers := make([]*asker, members)
	if err := each(members, func(i int) (err error) {
		askers[i], err = dialAsker(p.addr)
		return err
	}); err != nil {
		return 0, 0, err
	}
	began := now()
	err = each(members, func(i int) error {
		defer askers[i].close()
		m := &member{group: "joined"}
		for again := true; again; {
			resp, err := askers[i].ask(joinRequest(m))
			if err != nil {
				return err
			}
			if again, err = m.joined(resp); err != nil {
				return err
			}
		}
		if m.generation != 1 {
			return fmt.Errorf("a member is in generation %d: there was more than one rebalance", m.generation)
		}
		resp, err := askers[i].ask(syncRequest(m))
		if err != nil {
			return err
		}
		return failed("sync", resp.(*kmsg.SyncGroupResponse).ErrorCode)
	})
	took = now().Sub(began)
	if err == nil {
		rebalances, err = metric(p.admin, "ottla_group_rebalances_total")
	}
	return took, rebalances, err
}
