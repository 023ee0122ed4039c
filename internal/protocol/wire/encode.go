package wire

import (
	"math/bits"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// Leader tells a client of a partition's new leader, beside the error that sent it away (KIP-951).
type Leader struct {
	ID    int32
	Epoch batch.Epoch
}

// noLeader is no hint.
var noLeader = Leader{ID: -1, Epoch: batch.NoEpoch}

// Node is where a leader of a hint is reached (KIP-951).
type Node struct {
	ID   int32
	Host string
	Port int32
	Rack string // "" is sent as null
}

// Tags of the fields that exist only tagged, and the sizes of those that are fixed, their empty tagged fields included.
const (
	tagNodes = 0 // of both responses

	sizeLeader   = 4 + 4 + 1
	sizeEpochEnd = 4 + 8 + 1
)

// appendCount appends an array's length.
func appendCount(dst []byte, n int, flexible bool) []byte {
	if flexible {
		return kbin.AppendCompactArrayLen(dst, n)
	}
	return kbin.AppendArrayLen(dst, n)
}

// appendText appends a string that is never null.
func appendText(dst []byte, s string, flexible bool) []byte {
	if flexible {
		return kbin.AppendCompactString(dst, s)
	}
	return kbin.AppendString(dst, s)
}

// appendNullText appends a string, null if it is empty.
func appendNullText(dst []byte, s string, flexible bool) []byte {
	switch {
	case s != "":
		return appendText(dst, s, flexible)
	case flexible:
		return append(dst, 0)
	default:
		return kbin.AppendInt16(dst, -1)
	}
}

// appendNoTags ends a struct without tagged fields.
func appendNoTags(dst []byte, flexible bool) []byte {
	if flexible {
		return append(dst, 0)
	}
	return dst
}

// appendLeader appends a leader hint as a tagged field.
func appendLeader(dst []byte, tag byte, l Leader) []byte {
	dst = append(dst, tag, sizeLeader)
	dst = kbin.AppendInt32(dst, l.ID)
	dst = kbin.AppendInt32(dst, int32(l.Epoch))
	return append(dst, 0)
}

// appendNodes ends a flexible response: the nodes as its one tagged field, if there are any.
func appendNodes(dst []byte, nodes []Node) []byte {
	if len(nodes) == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1, tagNodes)
	dst = kbin.AppendUvarint(dst, uint32(nodesSize(nodes)))
	dst = kbin.AppendCompactArrayLen(dst, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		dst = kbin.AppendInt32(dst, n.ID)
		dst = kbin.AppendCompactString(dst, n.Host)
		dst = kbin.AppendInt32(dst, n.Port)
		dst = appendNullText(dst, n.Rack, true)
		dst = append(dst, 0)
	}
	return dst
}

// nodesSize is how many bytes the array of nodes takes.
func nodesSize(nodes []Node) int {
	size := uvarintSize(len(nodes) + 1)
	for i := range nodes {
		n := &nodes[i]
		size += 4 + uvarintSize(len(n.Host)+1) + len(n.Host) + 4
		size += uvarintSize(len(n.Rack)+1) + len(n.Rack) + 1
	}
	return size
}

// uvarintSize is how many bytes n takes as an unsigned varint.
func uvarintSize(n int) int { return (bits.Len(uint(n|1)) + 6) / 7 }

// next is s with one element more, which still has what it had when s was longer: the caller resets it and keeps
// the capacity of what is in it.
func next[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}
