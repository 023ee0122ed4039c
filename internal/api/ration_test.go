package api

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestRation: room is given in turn, a reply larger than all of it has it alone, and who gives up waiting takes none.
func TestRation(t *testing.T) {
	t.Parallel()
	r := newRation(100)
	ctx := t.Context()
	if !r.take(60) || !r.take(40) || r.take(1) {
		t.Fatal("100 bytes of room are not 60 and 40")
	}
	type turn struct {
		size int
		err  error
	}
	turns := make(chan turn)
	wait := func(ctx context.Context, size int) {
		before := r.waitingNow()
		go func() { turns <- turn{size, r.wait(ctx, size)} }()
		for r.waitingNow() == before { //nolint:revive // until it waits
		}
	}
	gone, cancel := context.WithCancel(ctx)
	wait(gone, 500)
	wait(ctx, 30)
	r.give(60)
	if r.take(1) {
		t.Error("one that came later has room before those that wait")
	}
	cancel()
	var first, second turn
	if first = <-turns; first.size == 30 {
		first, second = <-turns, first
	} else {
		second = <-turns
	}
	if !errors.Is(first.err, context.Canceled) || second != (turn{30, nil}) {
		t.Errorf("%v, %v", first, second)
	}
	r.give(40)
	wait(ctx, 500)
	r.give(30)
	if got := <-turns; got != (turn{500, nil}) || r.mu.used != 500 {
		t.Errorf("%v, %d bytes are used", got, r.mu.used)
	}
	r.give(500)
	if r.mu.used != 0 || r.waitingNow() != 0 {
		t.Errorf("%d bytes are used in the end, %d wait", r.mu.used, r.waitingNow())
	}
}

func (r *ration) waitingNow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.waiting.Len()
}

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
