package consume

import (
	"math"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// TestNegativeOffsets: an offset that a client has committed is shown, moved and deleted whatever its sign.
func TestNegativeOffsets(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	var offsets kadm.Offsets
	offsets.AddOffset("t", 0, -5, -1)
	if err := g.admin.CommitAllOffsets(t.Context(), "g", offsets); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cmd  *cobra.Command
		args []string
		want string
	}{
		{g.groupDescribe(), []string{"g"}, "t      0          -5         2    2 "},
		{g.groupSeek(), []string{"g", "--to", "current", "--dry-run"}, "t      0          -5      0      2"},
		{g.groupSeek(), []string{"g", "--shift", "6", "--dry-run"}, "t      0          -5      1      1"},
		{g.groupSeek(), []string{"g", "--shift=-9223372036854775808", "--dry-run"}, "t      0          -5      0      2"},
		{g.groupDeleteOffsets(), []string{"g", "t", "--dry-run"}, "would delete offset -5 of group g in partition 0 of t\n"},
	} {
		before := len(g.out.String())
		tt.cmd.SetArgs(tt.args)
		if err := tt.cmd.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
		if said := g.out.String()[before:]; !strings.Contains(said, tt.want) {
			t.Errorf("%s %v printed %q; want %q in it", tt.cmd.Name(), tt.args, said, tt.want)
		}
	}
}

func TestAdded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want int64 }{
		{1, 2, 3},
		{-5, 6, 1},
		{-5, -6, -11},
		{math.MaxInt64, 1, math.MaxInt64},
		{-5, math.MinInt64, math.MinInt64},
		{math.MinInt64, -1, math.MinInt64},
		{0, math.MinInt64, math.MinInt64},
		{5, math.MinInt64, math.MinInt64 + 5},
	} {
		if got := added(tt.a, tt.b); got != tt.want {
			t.Errorf("%d and %d: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
