package cow

import (
	"iter"
	"maps"
)

// Map is a map in two layers: a large base that is never written and a small layer of what changed since.
// The zero Map is empty and ready.
type Map[K comparable, V any] struct {
	base   map[K]V
	over   map[K]slot[V]
	length int
	// frozen says that somebody else reads over, so that a write must copy it first.
	frozen bool
}

// slot is a changed entry; dead marks one that was deleted.
type slot[V any] struct {
	value V
	dead  bool
}

// overMin is the size up to which the upper layer is always kept: copying it is cheap.
const overMin = 32

// Get returns the value of k.
func (m *Map[K, V]) Get(k K) (V, bool) {
	if s, ok := m.over[k]; ok {
		return s.value, !s.dead
	}
	v, ok := m.base[k]
	return v, ok
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int { return m.length }

// All yields the entries in no order.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, s := range m.over {
			if !s.dead && !yield(k, s.value) {
				return
			}
		}
		for k, v := range m.base {
			if _, changed := m.over[k]; changed {
				continue
			}
			if !yield(k, v) {
				return
			}
		}
	}
}

// Set sets k to v.
func (m *Map[K, V]) Set(k K, v V) {
	if _, had := m.Get(k); !had {
		m.length++
	}
	m.own()
	m.over[k] = slot[V]{value: v}
}

// Delete removes k.
func (m *Map[K, V]) Delete(k K) {
	if _, had := m.Get(k); !had {
		return
	}
	m.length--
	m.own()
	m.over[k] = slot[V]{dead: true}
}

// Freeze returns the map as it is now; writes to m no longer reach it.
func (m *Map[K, V]) Freeze() Map[K, V] {
	if n := len(m.over); n > overMin && n*n > len(m.base) {
		m.fold()
	}
	m.frozen = true
	return *m
}

// own makes the upper layer one that only m has.
func (m *Map[K, V]) own() {
	switch {
	case m.over == nil:
		m.over = map[K]slot[V]{}
	case m.frozen:
		m.over = maps.Clone(m.over)
	}
	m.frozen = false
}

// fold makes a new base of both layers.
func (m *Map[K, V]) fold() {
	base := make(map[K]V, m.length)
	maps.Insert(base, m.All())
	m.base, m.over = base, nil
}
