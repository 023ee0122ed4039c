//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// fetchSection compares fetches of 1 MiB from page cache, by 2 consumers, with bare sendfile.
func fetchSection(r *report) error {
	const mebibytes = 2048
	var ottla, bare, ratios, ottlaCPU, bareCPU []float64
	for range r.rounds {
		b, bc, err := fetchRound(func() (*process, error) { return startBare("sendfile") }, false, mebibytes)
		if err != nil {
			return err
		}
		o, oc, err := fetchRound(func() (*process, error) { return startBroker() }, true, mebibytes)
		if err != nil {
			return err
		}
		ottla, bare, ratios = append(ottla, o), append(bare, b), append(ratios, o/b)
		ottlaCPU, bareCPU = append(ottlaCPU, oc), append(bareCPU, bc)
	}
	r.line("fetch-1MiB", "from page cache, 2 consumers", mb(median(ottla)), mb(median(bare)), fmt.Sprintf("%.2f", median(ratios)), "0.80")
	r.line("fetch-1MiB", "server CPU", fmt.Sprintf("%.2f s/GB", median(ottlaCPU)), fmt.Sprintf("%.2f s/GB", median(bareCPU)),
		fmt.Sprintf("%.2f", median(ottlaCPU)/median(bareCPU)), "0.35 s/GB")
	return nil
}

func fetchRound(start func() (*process, error), broker bool, mebibytes int) (rate, cpu float64, err error) {
	p, err := start()
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	if broker {
		if err := fill(p.addr, fetchFileBytes); err != nil {
			return 0, 0, err
		}
	}
	const consumers = 2
	before, began := p.cpu(), now()
	var wg sync.WaitGroup
	errs, read := make([]error, consumers), make([]int64, consumers)
	for i := range consumers {
		wg.Go(func() { read[i], errs[i] = consume(p.addr, broker, int64(mebibytes)<<20/consumers) })
	}
	wg.Wait()
	took, bytes := now().Sub(began), float64(read[0]+read[1])
	return bytes / took.Seconds(), (p.cpu() - before).Seconds() / (bytes / 1e9), errors.Join(errs...)
}

// fill makes the topic and produces about n bytes in 16 KiB batches, and waits until they may be read.
func fill(addr string, n int) error {
	if err := createTopic(addr, 1, "durability", "memory"); err != nil {
		return err
	}
	frame := produceFrame(0, 1, 16<<10, 1024)
	return pumpAll(addr, frame, 20, 1, n/len(frame))
}

// consume fetches 1 MiB at a time, from the log's start again when its end is near, until total bytes came.
func consume(addr string, broker bool, total int64) (int64, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 256<<10)
	var read int64
	var buf []byte
	for offset := int64(0); read < total; {
		// No min bytes: at the log's end the answer is empty at once, not after the longest wait.
		if _, err := conn.Write(fetchFrame(0, offset, 0, 1<<20)); err != nil {
			return read, err
		}
		body, err := readFrame(r, buf)
		if err != nil {
			return read, err
		}
		buf = body
		read += int64(len(body))
		if !broker {
			continue
		}
		records, err := fetchedRecords(body)
		if err != nil {
			return read, err
		}
		if offset = nextOffset(records, offset); offset >= highWatermark(body) {
			offset = 0
		}
	}
	return read, nil
}

// nextOffset is the offset after the last whole batch in records. It looks at headers only, by their sizes.
func nextOffset(records []byte, offset int64) int64 {
	for len(records) >= batch.HeaderSize {
		size := batch.LogOverhead + int(binary.BigEndian.Uint32(records[8:]))
		if size > len(records) {
			break
		}
		offset = int64(batch.Batch(records[:size]).NextOffset())
		records = records[size:]
	}
	return offset
}

// endToEndSection compares the time from a produce to the consumer that waits for it with a bare relay, at 1,000 records
// a second, each sent on schedule and timed from the schedule.
func endToEndSection(r *report) error {
	type kind struct {
		name  string
		start func() (*process, error)
		topic []string
	}
	kinds := []kind{
		{"relay", func() (*process, error) { return startBare("relay") }, nil},
		{"memory", func() (*process, error) { return startBroker() }, []string{"durability", "memory"}},
		{"disk", func() (*process, error) { return startBroker() }, []string{"durability", "disk"}},
	}
	p50, p99 := map[string][]float64{}, map[string][]float64{}
	for range r.rounds {
		unix.Sync() // what earlier sections wrote must not be written back meanwhile
		syncs, err := syncTimes()
		if err != nil {
			return err
		}
		p50["sync"] = append(p50["sync"], float64(percentile(syncs, 0.5)))
		p99["sync"] = append(p99["sync"], float64(percentile(syncs, 0.99)))
		for _, k := range kinds {
			took, err := endToEnd(k.start, k.topic)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			p50[k.name] = append(p50[k.name], float64(percentile(took, 0.5)))
			p99[k.name] = append(p99[k.name], float64(percentile(took, 0.99)))
		}
	}
	for _, at := range []struct {
		name string
		of   map[string][]float64
	}{{"p50", p50}, {"p99", p99}} {
		floor := median(at.of["relay"])
		line := func(durability string, floor float64, aim string) {
			took := median(at.of[durability])
			r.line("end-to-end", "acks=all, durability="+durability+", "+at.name, micros(time.Duration(took)),
				micros(time.Duration(floor)), fmt.Sprintf("%.2f", took/floor), aim)
		}
		line("memory", floor, "at most 2")
		line("disk", floor+median(at.of["sync"]), "at most 2 (floor: relay and one sync)")
	}
	return nil
}

// syncTimes times the fdatasync of 200 appends of 4 KiB, the floor of everything that waits for the disk.
func syncTimes() ([]time.Duration, error) {
	f, err := os.CreateTemp("", "ottla-bench-sync")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	page := make([]byte, 4096)
	for range 200 {
		if _, err := f.Write(page); err != nil {
			return nil, err
		}
		began := now()
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return nil, err
		}
		took = append(took, now().Sub(began))
	}
	return took, nil
}

func endToEnd(start func() (*process, error), topic []string) ([]time.Duration, error) {
	p, err := start()
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if topic != nil {
		if err := createTopic(p.addr, 1, topic...); err != nil {
			return nil, err
		}
	}
	const rate, total = 1000, 5000
	schedule := make(chan time.Time, total)
	sendErr := make(chan error, 1)
	go func() { sendErr <- sendOnSchedule(p.addr, rate, total, schedule) }()
	took, err := receiveAll(p.addr, total, schedule)
	return took, errors.Join(err, <-sendErr)
}

// sendOnSchedule sends one record each 1/rate seconds, whatever the answers do, and tells each one's scheduled time.
func sendOnSchedule(addr string, rate, total int, schedule chan<- time.Time) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	frame := produceFrame(0, -1, 200, 100)
	answers := make(chan error, 1)
	go func() {
		r := bufio.NewReader(conn)
		var buf []byte
		for range total {
			body, err := readFrame(r, buf)
			if err == nil && produceError(body) != 0 {
				err = fmt.Errorf("produce: error code %d", produceError(body))
			}
			if err != nil {
				answers <- err
				return
			}
			buf = body
		}
		answers <- nil
	}()
	runtime.LockOSThread() // for nanosleep: Go's own timers are late by up to a millisecond in an idle process
	defer runtime.UnlockOSThread()
	began := now()
	for i := range total {
		at := began.Add(time.Duration(i+1) * time.Second / time.Duration(rate))
		if err := sleepUntil(at); err != nil {
			return err
		}
		schedule <- at
		if _, err := conn.Write(frame); err != nil {
			return err
		}
	}
	return <-answers
}

func sleepUntil(at time.Time) error {
	for left := at.Sub(now()); left > 0; left = at.Sub(now()) {
		t := unix.NsecToTimespec(int64(left))
		if err := unix.Nanosleep(&t, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

// receiveAll fetches until total records came; the first fifth warms up and is not timed.
func receiveAll(addr string, total int, schedule <-chan time.Time) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	var took []time.Duration
	var buf []byte
	offset, got := int64(0), 0
	for got < total {
		// No min bytes: at the log's end the answer is empty at once, not after the longest wait.
		if _, err := conn.Write(fetchFrame(0, offset, 0, 1<<20)); err != nil {
			return nil, err
		}
		body, err := readFrame(r, buf)
		if err != nil {
			return nil, err
		}
		buf = body
		records, err := fetchedRecords(body)
		if err != nil {
			return nil, err
		}
		offset = nextOffset(records, offset)
		at := now()
		for len(records) >= batch.HeaderSize {
			got++
			sent := <-schedule
			if got > total/5 {
				took = append(took, at.Sub(sent))
			}
			records = records[min(len(records), batch.LogOverhead+int(binary.BigEndian.Uint32(records[8:]))):]
		}
	}
	return took, nil
}
