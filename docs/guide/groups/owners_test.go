package groups_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestOwners checks for each protocol that, as members come and go, each partition has one owner, nobody has more than a fair share, and
// that cooperative members give up nothing but what moves.
func TestOwners(t *testing.T) {
	t.Parallel()
	all := blocks(t)
	for _, protocol := range []string{"range", "roundrobin", "sticky", "cooperative", "next"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			lines := strings.Split(strings.TrimSpace(shell(t, start(t, all), "go run ./docs/guide/groups/owners -protocol "+protocol)), "\n")
			counts := []int{1, 2, 3, 4, 3, 2, 1}
			if len(lines) != len(counts)+1 {
				t.Fatalf("%d lines: %q", len(lines), lines)
			}
			for i, line := range lines[1:] {
				checkOwners(t, line, counts[i], protocol)
			}
		})
	}
}

// checkOwners checks a line of the program: columns of 11 and four of 9 characters, and what was given up.
func checkOwners(t *testing.T, line string, n int, protocol string) {
	t.Helper()
	line += strings.Repeat(" ", 60)
	if got := strings.TrimSpace(line[:11]); got != strconv.Itoa(n) {
		t.Errorf("%d members: %q", n, line)
	}
	var owned []string
	for i := range 4 {
		has := strings.Fields(line[11+9*i : 20+9*i])
		switch {
		case (len(has) == 0) != (i >= n):
			t.Errorf("%d members: %q", n, line)
		case len(has) > (3+n-1)/n:
			t.Errorf("one of %d members has %q", n, has)
		}
		owned = append(owned, slices.DeleteFunc(has, func(p string) bool { return p == "-" })...)
	}
	if slices.Sort(owned); !slices.Equal(owned, []string{"0", "1", "2"}) {
		t.Errorf("%d members own %q: %q", n, owned, line)
	}
	if gave := strings.Fields(line[47:]); (protocol == "cooperative" || protocol == "next") && len(gave) > 1 {
		t.Errorf("%s members gave up %q: %q", protocol, gave, line)
	}
}
