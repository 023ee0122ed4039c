//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func now() time.Time { return time.Now() }

// call sends one request and decodes its response.
func call(addr string, req kmsg.Request) (kmsg.Response, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(formatter.AppendRequest(nil, req, 1)); err != nil {
		return nil, err
	}
	body, err := readFrame(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	body = body[4:] // correlation id
	if resp.IsFlexible() && resp.Key() != 18 {
		body = body[1:] // no tags
	}
	return resp, resp.ReadFrom(body)
}

func readFrame(r *bufio.Reader, buf []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	_, err := io.ReadFull(r, buf[:n])
	return buf[:n], err
}

// createTopic makes the topic that every section uses.
func createTopic(addr string, partitions int32, configs ...string) error {
	req := kmsg.NewCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topicName, partitions, 1
	for i := 0; i+1 < len(configs); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	req.Topics = append(req.Topics, t)
	resp, err := call(addr, &req)
	if err != nil {
		return err
	}
	if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 {
		return fmt.Errorf("create topic: error code %d", code)
	}
	return nil
}

// pump is pumpFrames with one frame.
func pump(addr string, frame []byte, depth, total int, answered func(body []byte, took time.Duration)) error {
	return pumpFrames(addr, [][]byte{frame}, depth, total, answered)
}

// pumpFrames sends frames round and round, keeps depth of them in flight until total were answered, and calls answered
// (if not nil) with each response's body and the time since its frame was sent.
func pumpFrames(addr string, frames [][]byte, depth, total int, answered func(body []byte, took time.Duration)) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := greet(conn, frames[0]); err != nil {
		return err
	}
	window := make(chan struct{}, depth)
	sent := make(chan time.Time, depth)
	failed := make(chan error, 1)
	go func() { failed <- send(conn, frames, total, window, sent) }()
	if err := receive(conn, total, window, sent, answered); err != nil {
		return err
	}
	return <-failed
}

// greetMax is a size that every server takes as a connection's first frame.
const greetMax = 256 << 10

// greet sends a small frame before large ones, as every client does: the broker limits the first frame.
func greet(conn net.Conn, frame []byte) error {
	if len(frame) <= greetMax {
		return nil
	}
	if _, err := conn.Write(produceFrame(0, 1, 300, 100)); err != nil {
		return err
	}
	_, err := readFrame(bufio.NewReaderSize(conn, 16), nil)
	return err
}

// send writes as many frames at once as the window allows.
func send(conn net.Conn, frames [][]byte, total int, window chan<- struct{}, sent chan<- time.Time) error {
	for done := 0; done < total; {
		window <- struct{}{}
		n := 1
	more:
		for done+n < total {
			select {
			case window <- struct{}{}:
				n++
			default:
				break more
			}
		}
		var group net.Buffers
		at := now()
		for i := range n {
			group = append(group, frames[(done+i)%len(frames)])
			sent <- at
		}
		if _, err := group.WriteTo(conn); err != nil {
			return err
		}
		done += n
	}
	return nil
}

func receive(conn net.Conn, total int, window <-chan struct{}, sent <-chan time.Time, answered func([]byte, time.Duration)) error {
	r := bufio.NewReaderSize(conn, 64<<10)
	var buf []byte
	for range total {
		body, err := readFrame(r, buf)
		if err != nil {
			return err
		}
		buf = body
		at := <-sent
		if answered != nil {
			answered(body, now().Sub(at))
		}
		<-window
	}
	return nil
}

// produceError finds the error code in a produce response (version 9) of one partition of topicName, or -1 if it is shorter.
func produceError(body []byte) int16 {
	at := 4 + 1 + 1 + 1 + len(topicName) + 1 + 4 // correlation, tags, topics, name, partitions, index
	if len(body) < at+2 {
		return -1
	}
	return int16(binary.BigEndian.Uint16(body[at:]))
}
