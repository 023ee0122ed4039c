//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bareLog is the file of the bare server: one writer at a time, one writev for a group.
type bareLog struct {
	mu struct {
		sync.Mutex
		file *os.File
		end  int64
		vecs [][]byte
	}
}

func newBareLog(dir string) (*bareLog, error) {
	f, err := os.Create(filepath.Join(dir, "bare.log"))
	if err != nil {
		return nil, err
	}
	l := new(bareLog)
	l.mu.file = f
	return l, nil
}

func (l *bareLog) append(group [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.vecs = append(l.mu.vecs[:0], group...)
	for len(l.mu.vecs) > 0 {
		n, err := unix.Pwritev(int(l.mu.file.Fd()), l.mu.vecs[:min(len(l.mu.vecs), 1024)], l.mu.end)
		if err != nil {
			return err
		}
		l.mu.end += int64(n)
		for n > 0 && len(l.mu.vecs) > 0 {
			if n < len(l.mu.vecs[0]) {
				l.mu.vecs[0] = l.mu.vecs[0][n:]
				break
			}
			n -= len(l.mu.vecs[0])
			l.mu.vecs = l.mu.vecs[1:]
		}
	}
	return nil
}

// serveProduce is one connection of the bare server: it drains the socket, checks each batch's CRC, writes the batches of
// a drain together and answers all of them with one write.
func serveProduce(conn net.Conn, l *bareLog) error {
	buf := make([]byte, 256<<10)
	have := 0
	var group [][]byte
	var replies []byte
	for {
		n, err := conn.Read(buf[have:])
		if err != nil {
			return err
		}
		have += n
		group, replies = group[:0], replies[:0]
		at := 0
		for have-at >= 4 {
			size := 4 + int(binary.BigEndian.Uint32(buf[at:]))
			if have-at < size {
				if size > len(buf) {
					buf = append(make([]byte, 0, size), buf...)[:size]
				}
				break
			}
			frame := buf[at : at+size]
			records, err := frameRecords(frame)
			if err != nil {
				return err
			}
			group = append(group, records)
			replies = appendReply(replies, frame)
			at += size
		}
		if len(group) > 0 {
			if err := l.append(group); err != nil {
				return err
			}
			if _, err := conn.Write(replies); err != nil {
				return err
			}
		}
		have = copy(buf, buf[at:have])
	}
}

var errFrame = errors.New("not a frame of the bench")

// frameRecords finds the batch in a frame made by produceFrame and checks its CRC.
func frameRecords(frame []byte) ([]byte, error) {
	// size 4, key 2, version 2, correlation 4, client id 2+n, tags 1, transactional id 1, acks 2, timeout 4, topics 1,
	// name 1+n, partitions 1, index 4, records uvarint.
	at := 14 + int(binary.BigEndian.Uint16(frame[12:])) + 1 + 1 + 2 + 4 + 1
	if at >= len(frame) {
		return nil, errFrame
	}
	at += int(frame[at]) + 1 + 4
	size, n := binary.Uvarint(frame[at:])
	if n <= 0 || at+n+int(size)-1 > len(frame) || size < 62 {
		return nil, errFrame
	}
	records := frame[at+n : at+n+int(size)-1]
	if binary.BigEndian.Uint32(records[17:]) != crc32.Checksum(records[21:], castagnoli) {
		return nil, fmt.Errorf("%w: bad CRC", errFrame)
	}
	return records, nil
}

// appendReply appends a produce response (version 9) without an error.
func appendReply(dst, frame []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(dst, frame[8:12]...)               // correlation
	dst = append(dst, 0, 2, byte(len(topicName)+1)) // tags, one topic
	dst = append(dst, topicName...)
	dst = append(dst, 2, 0, 0, 0, 0, 0, 0) // one partition, its index, no error
	dst = binary.BigEndian.AppendUint64(dst, 0)
	dst = binary.BigEndian.AppendUint64(dst, ^uint64(0)) // no append time
	dst = binary.BigEndian.AppendUint64(dst, 0)
	dst = append(dst, 1, 0, 0, 0, 0, 0, 0, 0, 0) // no record errors, no message, tags, topic's tags, throttle, tags
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// serveEcho answers every frame with itself.
func serveEcho(conn net.Conn) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}
