//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// startSection times from exec to the first acknowledged produce: empty, and with many partitions.
func startSection(r *report) error {
	var empty []time.Duration
	for range r.rounds {
		dir, err := os.MkdirTemp("", "ottla-bench")
		if err != nil {
			return err
		}
		took, p, err := firstAck(dir, true)
		if err != nil {
			return err
		}
		p.stop()
		empty = append(empty, took)
	}
	r.line("start", "empty, to the first acknowledged produce", millis(median(empty)), "", "", "under 150 ms")
	return startMany(r)
}

// startMany times the start with 10,000 partitions of 3 segments: killed while they were written, and after a clean stop.
func startMany(r *report) error {
	dir, err := manyPartitions()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	began := now()
	took, p, err := firstAck(dir, false)
	if err != nil {
		return err
	}
	r.line("start", "10,000 partitions x 3 segments, kill -9", millis(took), "", "", "under 10 s")
	if err := awaitRecovery(p); err != nil {
		return err
	}
	r.line("start", "  until all of them are recovered", millis(now().Sub(began)), "", "", "")
	r.line("memory", "resident, 10,000 partitions, all open", mib(p.resident()), "", "", "under 300 MiB")
	p.end(syscall.SIGTERM)
	if took, p, err = firstAck(dir, false); err != nil {
		return err
	}
	r.line("start", "10,000 partitions x 3 segments, clean stop", millis(took), "", "", "under 2 s")
	r.line("memory", "resident, 10,000 partitions", mib(p.resident()), "", "", "under 300 MiB")
	p.end(syscall.SIGTERM)
	return nil
}

// awaitRecovery polls, for two minutes at most, until no partition waits for recovery.
func awaitRecovery(p *process) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		waiting, err := metric(p.admin, "ottla_partitions_recovering")
		if err != nil || waiting == 0 {
			return err
		}
		<-tick.C
	}
	return errors.New("partitions still wait for recovery after two minutes")
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func firstAck(dir string, create bool) (time.Duration, *process, error) {
	began := now()
	p, err := startBrokerAt(dir)
	if err != nil {
		return 0, nil, err
	}
	if create {
		err = createTopic(p.addr, 1)
	}
	if err == nil {
		err = pumpAll(p.addr, produceFrame(0, -1, 1000, 100), 1, 1, 1)
	}
	if err != nil {
		p.end(syscall.SIGKILL)
		return 0, nil, err
	}
	return now().Sub(began), p, nil
}

// manyPartitions makes a data directory with 10,000 partitions of three segments each, and kills the broker.
func manyPartitions() (string, error) {
	dir, err := os.MkdirTemp("", "ottla-bench")
	if err != nil {
		return "", err
	}
	p, err := startBrokerAt(dir)
	if err != nil {
		return "", err
	}
	defer p.end(syscall.SIGKILL)
	const partitions = 10_000
	if err := createTopic(p.addr, partitions, "segment.ms", "1000", "durability", "memory"); err != nil {
		return "", err
	}
	began := now().Add(-time.Minute)
	for segment := range 3 { // each batch is 10 s later by its timestamp, so it starts a segment
		frames := make([][]byte, partitions)
		for i := range frames {
			frames[i] = produceFrameAt(began.Add(time.Duration(segment)*10*time.Second), int32(i), 1, 1000, 100)
		}
		if err := pumpFrames(p.addr, frames, 20, partitions, nil); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// memorySection reads resident memory: idle, and with 10,000 idle connections that each produced 1 MiB before.
func memorySection(r *report) error {
	p, err := startBroker()
	if err != nil {
		return err
	}
	defer p.stop()
	r.line("memory", "resident, idle", mib(p.resident()), "", "", "under 30 MiB")
	if err := createTopic(p.addr, 1, "durability", "memory", "retention.bytes", "134217728", "segment.bytes", "67108864"); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	before := p.resident()
	holder := exec.Command(self, "idle", p.addr)
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := holder.StdinPipe()
	if err != nil {
		return err
	}
	if err := holder.Start(); err != nil {
		return err
	}
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		return fmt.Errorf("idle connections: %w", err)
	}
	open, err := strconv.Atoi(string(line[:max(n-1, 0)]))
	if err != nil {
		return err
	}
	after := settled(p)
	in.Close()
	_ = holder.Wait()
	r.line("memory", fmt.Sprintf("each of %d idle connections", open), fmt.Sprintf("%.1f KiB", float64(after-before)/1024/float64(open)), "", "", "under 20 KiB")
	return nil
}

// settled waits until the broker's resident memory stops falling, at most a minute, and returns it.
func settled(p *process) int64 {
	low := p.resident()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for range 12 {
		<-tick.C
		now := p.resident()
		if now >= low-low/100 {
			return min(now, low)
		}
		low = now
	}
	return low
}

// idleConnections opens 10,000 connections, produces 1 MiB on each, says how many, and holds them until its input ends.
func idleConnections(addr string) error {
	const want = 10_000
	first, frame := produceFrame(0, 1, 300, 100), produceFrame(0, 1, 1<<20, 1024) // the first request may not be large
	answer := make([]byte, 4096)
	var held []net.Conn
	for range want {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return fmt.Errorf("after %d connections: %w", len(held), err)
		}
		for _, f := range [][]byte{first, frame} {
			if _, err := conn.Write(f); err != nil {
				return err
			}
			if _, err := conn.Read(answer); err != nil {
				return err
			}
		}
		held = append(held, conn)
	}
	fmt.Println(len(held))
	_, _ = os.Stdin.Read(answer)
	return nil
}
