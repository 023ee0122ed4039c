package host

import "testing"

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 400}, {2 << 20, 400}, {16 << 20, 400}, {32 << 20, 200}, {64 << 20, 100}, {1 << 40, 100},
	} {
		if got := gcPercent(c.live); got != c.want {
			t.Errorf("%d bytes live: %d %%, want %d", c.live, got, c.want)
		}
	}
}
