package server

import "sync"

// Sizes in bytes. Buffers of a megabyte of records need a little more for the request around them, hence the slack.
const (
	smallBuffer = 4 << 10
	readBuffer  = 256<<10 + bufferSlack
	bufferSlack = 4 << 10
	// pooledMax is the largest size class that is kept for use again.
	pooledMax = 16 << 20
)

// bufferSizes are the size classes of the pool, ascending.
var bufferSizes = [...]int{
	smallBuffer, 16 << 10, 64 << 10, readBuffer, 512<<10 + bufferSlack, freshProduceMax + bufferSlack, 1<<20 + bufferSlack,
	2<<20 + bufferSlack, 4<<20 + bufferSlack, 8<<20 + bufferSlack, pooledMax + bufferSlack,
}

// buffer is a lent piece of memory.
type buffer struct {
	b     []byte
	class int // in bufferSizes; -1 if it is not pooled
}

// buffers lends memory by size class.
type buffers struct {
	pools [len(bufferSizes)]sync.Pool
}

// bufferSize is the size of the buffer that lend returns for n bytes.
func bufferSize(n int) int {
	for _, size := range bufferSizes {
		if n <= size {
			return size
		}
	}
	return n
}

// lend returns a buffer of at least n bytes, its length all of it. What is in it is left from earlier use.
func (p *buffers) lend(n int) *buffer {
	for class, size := range bufferSizes {
		if n > size {
			continue
		}
		if b, ok := p.pools[class].Get().(*buffer); ok {
			return b
		}
		return &buffer{b: make([]byte, size), class: class}
	}
	return &buffer{b: make([]byte, n), class: -1}
}

// back takes a buffer back.
func (p *buffers) back(b *buffer) {
	if b.class >= 0 {
		p.pools[b.class].Put(b)
	}
}
