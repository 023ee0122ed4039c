package api

import (
	"testing"
	"time"
)

// TestAuditRate checks the bound of lines in time: a burst of 100, then 10 in a second, and the next
// line counts what was left out.
func TestAuditRate(t *testing.T) {
	t.Parallel()
	var r auditRate
	now := testNow
	taken := 0
	for range 250 {
		if ok, left := r.take(now); ok {
			if taken++; left != 0 {
				t.Errorf("line %d counts %d before it", taken, left)
			}
		}
	}
	if taken != 100 {
		t.Errorf("%d lines at once, expected 100", taken)
	}
	now = now.Add(time.Second)
	taken = 0
	for i := range 50 {
		ok, left := r.take(now)
		if ok {
			taken++
		}
		if want := map[bool]int{true: 150}[i == 0]; left != want {
			t.Errorf("line %d counts %d before it, expected %d", i, left, want)
		}
	}
	if taken != 10 {
		t.Errorf("%d lines after a second, expected 10", taken)
	}
	if ok, left := r.take(now.Add(time.Hour)); !ok || left != 40 {
		t.Errorf("after an hour: %v, %d before it", ok, left)
	}
}
