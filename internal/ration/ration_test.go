package ration

import (
	"context"
	"errors"
	"testing"
)

// TestRation: room is given in turn, a reply larger than all of it has it alone, and who gives up waiting takes none.
func TestRation(t *testing.T) {
	t.Parallel()
	r := New(100)
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
		for r.waitingNow() == before { // until it waits
		}
	}
	gone, cancel := context.WithCancel(ctx)
	wait(gone, 500)
	wait(ctx, 30)
	r.grow(-60)
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
	r.grow(-40)
	wait(ctx, 500)
	r.grow(-30)
	if got := <-turns; got != (turn{500, nil}) || r.mu.used != 500 {
		t.Errorf("%v, %d bytes are used", got, r.mu.used)
	}
	r.grow(-500)
	if r.mu.used != 0 || r.waitingNow() != 0 {
		t.Errorf("%d bytes are used in the end, %d wait", r.mu.used, r.waitingNow())
	}
}

func (r *Ration) waitingNow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.waiting.Len()
}

// TestReply: a small reply takes no room; a large one waits for it without its bytes, and is built again.
func TestReply(t *testing.T) {
	t.Parallel()
	r := New(FreeReply * 2)
	built := 0
	size := FreeReply
	build := func() ([]byte, error) { built++; return make([]byte, size), nil }
	if b, free, err := r.Reply(t.Context(), build); len(b) != size || free != nil || err != nil || r.mu.used != 0 {
		t.Errorf("a small reply: %d bytes, %v, %d used", len(b), err, r.mu.used)
	}
	size++
	_, first, err := r.Reply(t.Context(), build)
	if err != nil || first == nil || r.mu.used != size {
		t.Fatalf("a large reply: %v, %d used", err, r.mu.used)
	}
	done := make(chan func())
	go func() {
		_, free, _ := r.Reply(t.Context(), build)
		done <- free
	}()
	for r.waitingNow() == 0 { // until it waits
	}
	first()
	first()
	second := <-done
	if built != 4 || r.mu.used != size {
		t.Errorf("built %d times, %d used", built, r.mu.used)
	}
	second()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.grow(FreeReply * 2)
	if _, _, err := r.ReplyOnce(gone, size, build); !errors.Is(err, context.Canceled) || built != 4 {
		t.Errorf("%v, built %d times", err, built)
	}
	fails := errors.New("fails")
	r.grow(-FreeReply * 2)
	if _, _, err := r.ReplyOnce(t.Context(), size, func() ([]byte, error) { return nil, fails }); !errors.Is(err, fails) || r.mu.used != 0 {
		t.Errorf("%v, %d used", err, r.mu.used)
	}
}
