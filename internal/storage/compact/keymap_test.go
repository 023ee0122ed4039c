package compact

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

func TestKeyMapIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		memory := rapid.Int64Range(0, 2000).Draw(t, "memory")
		m := NewKeyMap(memory, rapid.Float64Range(0, 1).Draw(t, "load"), rapid.Int64Range(0, 100).Draw(t, "keys"))
		if m.Bytes() > max(memory, 2*SlotBytes) {
			t.Fatalf("%d bytes, the limit is %d", m.Bytes(), memory)
		}
		model := map[string]batch.Offset{}
		for offset := range batch.Offset(200) {
			key := strconv.Itoa(rapid.IntRange(0, 80).Draw(t, "key"))
			if m.Put([]byte(key), offset) {
				model[key] = offset
			} else if _, had := model[key]; had || len(model) == 0 {
				t.Fatalf("no place for key %s with %d keys", key, len(model))
			}
		}
		if m.Len() != len(model) {
			t.Fatalf("%d keys, expected %d", m.Len(), len(model))
		}
		for i := range 100 {
			want, had := model[strconv.Itoa(i)]
			if got, ok := m.Last(fmt.Append(nil, i)); ok != had || ok && got != want {
				t.Fatalf("key %d is at %d, %v; expected %d, %v", i, got, ok, want, had)
			}
		}
	})
}

func TestKeyMapTakesNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	const keys = 1000
	m := NewKeyMap(128<<20, 0.9, keys)
	if m.Bytes() > 30<<10 {
		t.Errorf("%d bytes for %d keys", m.Bytes(), keys)
	}
	for i := range batch.Offset(keys) {
		if !m.Put(binary.BigEndian.AppendUint64(nil, uint64(i)), i) {
			t.Fatalf("no place for key %d of %d", i, keys)
		}
	}
}

func BenchmarkKeyMap(b *testing.B) {
	m := NewKeyMap(24<<20, 0.9, 1<<40)
	key := make([]byte, 16)
	b.ReportAllocs()
	for i := range b.N {
		binary.BigEndian.PutUint64(key, uint64(i)%800_000)
		m.Put(key, batch.Offset(i))
		m.Last(key)
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	const far = 1 << 31
	for _, tt := range []struct {
		name    string
		sources []Source
		want    string
	}{
		{"none", nil, "[]"},
		{"all fit", []Source{{0, 10, 40, 8, 12}, {10, 20, 40, 8, 12}, {20, 30, 20, 8, 12}}, "[3]"},
		{"bytes", []Source{{0, 10, 60, 0, 0}, {10, 20, 41, 0, 0}, {20, 30, 59, 0, 0}, {30, 40, 1, 0, 0}}, "[1 2 1]"},
		{"one too large", []Source{{0, 10, 500, 0, 0}, {10, 20, 1, 0, 0}}, "[1 1]"},
		{"offset index", []Source{{0, 10, 1, 30, 0}, {10, 20, 1, 30, 0}}, "[1 1]"},
		{"time index", []Source{{0, 10, 1, 0, 30}, {10, 20, 1, 0, 30}}, "[1 1]"},
		{"last relative offset that fits", []Source{{0, 10, 1, 0, 0}, {10, far, 1, 0, 0}}, "[2]"},
		{"relative offset too large", []Source{{0, 10, 1, 0, 0}, {10, far + 1, 1, 0, 0}, {far + 1, far + 2, 1, 0, 0}}, "[1 2]"},
	} {
		if got := fmt.Sprint(Group(tt.sources, 100, 50)); got != tt.want {
			t.Errorf("%s: %s, expected %s", tt.name, got, tt.want)
		}
	}
}
