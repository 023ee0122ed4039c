package api

import (
	"testing"
	"time"
)

// TestEncoded: the room of a large reply is given back once, when it has left or is given up.
func TestEncoded(t *testing.T) {
	t.Parallel()
	free := 0
	e := encoded{bytes: []byte("reply"), free: func() { free++ }}
	var out Out
	out.Bytes = append(out.Bytes, "a "...)
	if ready, _ := e.Poll(time.Time{}, nil, &out); !ready || string(out.Bytes) != "a reply" || free != 0 {
		t.Errorf("%q, given back %d times", out.Bytes, free)
	}
	out.Reset()
	out.Reset()
	if free != 1 {
		t.Errorf("given back %d times after it left", free)
	}
	if e.Drop(); free != 2 {
		t.Errorf("given back %d times after it was given up", free)
	}
}
