package cow

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestMapAgainstModel runs random writes and freezes against a plain map; frozen maps must stay as they were.
func TestMapAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m Map[int, int]
		model := map[int]int{}
		type frozen struct {
			m    Map[int, int]
			want map[int]int
		}
		var kept []frozen
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			k := rapid.IntRange(0, 200).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0, 1:
				v := rapid.Int().Draw(t, "value")
				m.Set(k, v)
				model[k] = v
			case 2:
				m.Delete(k)
				delete(model, k)
			case 3:
				kept = append(kept, frozen{m.Freeze(), maps.Clone(model)})
			}
		}
		kept = append(kept, frozen{m, model})
		for i, f := range kept {
			if got := maps.Collect(f.m.All()); !maps.Equal(got, f.want) || f.m.Len() != len(f.want) {
				t.Fatalf("map %d of %d: %v (length %d), want %v", i, len(kept), got, f.m.Len(), f.want)
			}
			for k := range 200 {
				got, ok := f.m.Get(k)
				if want, has := f.want[k]; ok != has || ok && got != want {
					t.Fatalf("map %d: Get(%d) = %d, %v; want %d, %v", i, k, got, ok, want, has)
				}
			}
		}
	})
}
