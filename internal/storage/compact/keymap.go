package compact

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// SlotBytes is the memory that a KeyMap takes for each of its slots.
const SlotBytes = 24

// slot holds 16 bytes of a key's hash and the offset after the key's last record; 0 if the slot is empty.
type slot struct {
	high, low uint64
	next      batch.Offset
}

// KeyMap maps keys to the offset of their last record in fixed memory: open addressing with linear probing, no deletes,
// keys by their hash alone (Kafka's SkimpyOffsetMap, with a hash whose collisions nobody can make: of two keys that
// collide one would be lost, and Kafka's MD5 lets a client choose such keys).
type KeyMap struct {
	slots []slot
	used  int
	most  int
}

// NewKeyMap returns a map that takes at most memory bytes and is filled to load (0 to 1) at most. It takes less memory when
// no more than keys will be put into it. It holds one key at least.
func NewKeyMap(memory int64, load float64, keys int64) *KeyMap {
	load = min(max(load, 0.1), 1)
	n := max(memory/SlotBytes, 2)
	if need := float64(keys)/load + 2; need < float64(n) {
		n = max(int64(need), 2)
	}
	most := min(max(int64(float64(n)*load), 1), n-1) // an empty slot ends each search
	return &KeyMap{slots: make([]slot, n), most: int(min(most, math.MaxInt))}
}

// Put makes offset the last one of key. It is false, and the key has no place, if the map is full.
func (m *KeyMap) Put(key []byte, offset batch.Offset) bool {
	s, found := m.find(key)
	if !found {
		if m.used == m.most {
			return false
		}
		m.used++
	}
	m.slots[s.at] = slot{s.high, s.low, offset + 1}
	return true
}

// Last is the last offset of key, if it was put.
func (m *KeyMap) Last(key []byte) (batch.Offset, bool) {
	s, found := m.find(key)
	return m.slots[s.at].next - 1, found
}

// Len is the number of keys.
func (m *KeyMap) Len() int { return m.used }

// Bytes is the memory taken.
func (m *KeyMap) Bytes() int64 { return int64(len(m.slots)) * SlotBytes }

// place is where a key stands, or would stand.
type place struct {
	at        uint64
	high, low uint64
}

func (m *KeyMap) find(key []byte) (p place, found bool) {
	sum := sha256.Sum256(key)
	p.high, p.low = binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
	n := uint64(len(m.slots))
	p.at, _ = bits.Mul64(p.high, n)
	for {
		s := &m.slots[p.at]
		if s.next == 0 {
			return p, false
		}
		if s.high == p.high && s.low == p.low {
			return p, true
		}
		if p.at++; p.at == n {
			p.at = 0
		}
	}
}
