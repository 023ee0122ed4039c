//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

// ownTries is how many records a round produces, each followed by a question for it.
const ownTries = 1000

// ownRound is what one round measured with one value of acks.
type ownRound struct {
	produce, latest, both []time.Duration
	missed                int
}

// ownSection compares the two ways in which a client can be made to see its own record on a topic of durability=disk: the
// question that comes after acks=1 waits for the sync, or the acknowledgement does, as with acks=all.
func ownSection(r *report) error {
	var rounds [2]ownRound
	var rates [2][]float64
	acks := [2]int16{1, -1}
	for range r.rounds {
		for i := range acks {
			if err := rounds[i].run(acks[i]); err != nil {
				return err
			}
			rate, err := ownRate(acks[i])
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], rate)
		}
	}
	for i, name := range []string{"acks=1", "acks=all"} {
		o := &rounds[i]
		line := func(what string, d []time.Duration) {
			r.line("own-record", name+": "+what+", p50 / p99", fmt.Sprintf("%s / %s", micros(percentile(d, 0.5)), micros(percentile(d, 0.99))), "", "", "")
		}
		line("produce", o.produce)
		line("the latest offset after it", o.latest)
		line("both", o.both)
		r.line("own-record", name+": answers that miss the record", fmt.Sprintf("%d of %d", o.missed, len(o.both)), "", "", "0")
		r.line("own-record", name+": 16 KiB batches, 20 in flight", mb(median(rates[i])), "", "", "")
	}
	return nil
}

// run produces records one after the other and asks for the latest offset after each.
func (o *ownRound) run(acks int16) error {
	unix.Sync() // what was written before must not be written back meanwhile
	p, err := startBroker()
	if err != nil {
		return err
	}
	defer p.stop()
	if err := createTopic(p.addr, 1); err != nil {
		return err
	}
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	send, ask := produceFrame(0, acks, 1000, 1000), latestFrame()
	for i := range ownTries {
		began := now()
		body, err := exchange(conn, r, send)
		if err != nil {
			return err
		}
		if code := produceError(body); code != 0 {
			return fmt.Errorf("produce: error code %d", code)
		}
		acknowledged := now()
		if body, err = exchange(conn, r, ask); err != nil {
			return err
		}
		end := now()
		o.produce = append(o.produce, acknowledged.Sub(began))
		o.latest = append(o.latest, end.Sub(acknowledged))
		o.both = append(o.both, end.Sub(began))
		if latest := binary.BigEndian.Uint64(body[len(body)-8:]); latest != uint64(i+1) {
			o.missed++
		}
	}
	return nil
}

// exchange sends one frame and reads its answer.
func exchange(conn net.Conn, r *bufio.Reader, frame []byte) ([]byte, error) {
	if _, err := conn.Write(frame); err != nil {
		return nil, err
	}
	return readFrame(r, nil)
}

// latestFrame is a whole ListOffsets request (version 1) for the end of partition 0. The answer ends with the offset.
func latestFrame() []byte {
	req := kmsg.NewListOffsetsRequest()
	req.Version = 1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topicName, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return formatter.AppendRequest(nil, &req, 0)
}

// ownRate is the throughput of one connection with 20 batches of 16 KiB in flight, in bytes a second.
func ownRate(acks int16) (float64, error) {
	unix.Sync()
	p, err := startBroker()
	if err != nil {
		return 0, err
	}
	defer p.stop()
	if err := createTopic(p.addr, 1); err != nil {
		return 0, err
	}
	const batches = 8192
	frame := produceFrame(0, acks, 16<<10, 1024)
	if err := pump(p.addr, frame, 20, batches/8, nil); err != nil {
		return 0, err
	}
	began := now()
	err = pump(p.addr, frame, 20, batches, nil)
	return batches * (16 << 10) / now().Sub(began).Seconds(), err
}
