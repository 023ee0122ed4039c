//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// serve runs the bare server of that name until it is killed.
func serve(name, dir string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handle, err := bareHandler(name, dir)
	if err != nil {
		return err
	}
	fmt.Println("ready", ln.Addr())
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			_ = handle(conn.(*net.TCPConn)) // a client that goes away ends its connection
		}()
	}
}

func bareHandler(name, dir string) (func(*net.TCPConn) error, error) {
	switch name {
	case "produce":
		l, err := newBareLog(dir)
		return func(c *net.TCPConn) error { return serveProduce(c, l) }, err
	case "echo":
		return func(c *net.TCPConn) error { return serveEcho(c) }, nil
	case "sendfile":
		f, err := os.Create(filepath.Join(dir, "bare.log"))
		if err != nil {
			return nil, err
		}
		_, err = f.Write(make([]byte, fetchFileBytes))
		return func(c *net.TCPConn) error { return serveSendfile(c, f) }, err
	case "relay":
		r := &relay{records: make(chan []byte, 1024)}
		return r.serve, nil
	default:
		return nil, fmt.Errorf("no bare server %q", name)
	}
}

// fetchFileBytes is the size of the file the bare sendfile server serves round and round.
const fetchFileBytes = 256 << 20

// serveSendfile answers every frame with a size and 1 MiB of the file.
func serveSendfile(conn *net.TCPConn, f *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	in := make([]byte, 4096)
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], 1<<20)
	for at := int64(0); ; at = (at + 1<<20) % fetchFileBytes {
		if _, err := io.ReadFull(conn, in[:4]); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, in[:binary.BigEndian.Uint32(in)]); err != nil {
			return err
		}
		if _, err := conn.Write(size[:]); err != nil {
			return err
		}
		if err := sendfile(raw, f, at, 1<<20); err != nil {
			return err
		}
	}
}

func sendfile(raw interface {
	Write(func(uintptr) bool) error
}, f *os.File, at, n int64,
) error {
	var failed error
	end := at + n
	err := raw.Write(func(fd uintptr) bool {
		for at < end {
			_, err := unix.Sendfile(int(fd), int(f.Fd()), &at, int(end-at))
			if err == unix.EAGAIN {
				return false
			}
			if err != nil {
				failed = err
				return true
			}
		}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}

// relay hands what producers send to a consumer that waits, without a log: the floor of end to end.
type relay struct{ records chan []byte }

func (r *relay) serve(conn *net.TCPConn) error {
	buf := make([]byte, 64<<10)
	for {
		if _, err := io.ReadFull(conn, buf[:4]); err != nil {
			return err
		}
		size := 4 + int(binary.BigEndian.Uint32(buf))
		if size > len(buf) {
			return errFrame
		}
		if _, err := io.ReadFull(conn, buf[4:size]); err != nil {
			return err
		}
		reply, err := r.answer(buf[:size])
		if err != nil {
			return err
		}
		if _, err := conn.Write(reply); err != nil {
			return err
		}
	}
}

func (r *relay) answer(frame []byte) ([]byte, error) {
	if binary.BigEndian.Uint16(frame[4:]) == 1 {
		return appendFetched(nil, frame, <-r.records), nil
	}
	records, err := frameRecords(frame)
	if err != nil {
		return nil, err
	}
	r.records <- append([]byte(nil), records...)
	return appendReply(nil, frame), nil
}

// appendFetched appends a fetch response (version 11) of one partition with records.
func appendFetched(dst, frame, records []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(dst, frame[8:12]...)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, byte(len(topicName))) // throttle, error, session, topics
	dst = append(dst, topicName...)
	dst = append(dst, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) // partitions, index, error
	dst = append(dst, make([]byte, 24)...)          // high watermark, last stable, log start
	dst = append(dst, 0, 0, 0, 0, 255, 255, 255, 255)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(records)))
	dst = append(dst, records...)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// highWatermark is that of a fetch response that fetchedRecords took.
func highWatermark(body []byte) int64 {
	return int64(binary.BigEndian.Uint64(body[4+10+4+2+len(topicName)+4+4+2:]))
}

// fetchedRecords finds the records in a fetch response (version 11) of one partition, without its size.
func fetchedRecords(body []byte) ([]byte, error) {
	at := 4 + 10 + 4 + 2 + len(topicName) + 4 + 4
	if len(body) < at+2+24+12 {
		return nil, fmt.Errorf("fetch response of %d bytes is too short", len(body))
	}
	if code := binary.BigEndian.Uint16(body[at:]); code != 0 {
		return nil, fmt.Errorf("fetch: error code %d", code)
	}
	at += 2 + 24 + 4 + 4
	n := int(int32(binary.BigEndian.Uint32(body[at:])))
	return body[at+4 : at+4+max(n, 0)], nil
}
