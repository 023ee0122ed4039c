package admin

import "sync"

// shared is a sync.Map whose keys and values have types. Its zero value is empty.
type shared[K comparable, V any] struct{ all sync.Map }

func (s *shared[K, V]) load(key K) (v V, ok bool) {
	found, ok := s.all.Load(key)
	v, _ = found.(V)
	return v, ok
}

// loadOrStore returns what key has, which is v if it had nothing.
func (s *shared[K, V]) loadOrStore(key K, v V) (kept V, had bool) {
	found, had := s.all.LoadOrStore(key, v)
	kept, _ = found.(V)
	return kept, had
}

// each calls fn with all there is, in no order.
func (s *shared[K, V]) each(fn func(K, V)) {
	s.all.Range(func(key, value any) bool {
		k, _ := key.(K)
		v, _ := value.(V)
		fn(k, v)
		return true
	})
}
