package vfs

import "sync"

// ring counts the open descriptors and chooses which to close, by the clock algorithm: a hand goes round and takes
// the first that nobody used since it last came by. That is close to the least recently used, and a use only sets
// a bit. Descriptors with unsynced writes are parked outside until they are synced, so that many of them do not
// slow the hand down.
type ring struct {
	max    int
	most   int         // where opening one more waits for the sync of a parked one; 0: nowhere
	failed func(error) // told of a failed sync of the ring's own
	mu     struct {
		sync.Mutex
		open   int // descriptors open, being opened or being closed
		list   []*descriptor
		hand   int
		parked []*descriptor
		next   int // the parked one that is synced next
	}
}

// bound syncs a parked descriptor, and so lets one be closed, when as many are open as ever may be.
func (r *ring) bound() {
	if r.most > 0 && r.crowded(r.most) {
		r.syncOne()
	}
}

// relieve syncs parked descriptors, and closes what may be closed then, until max are open at most or there are none to sync.
func (r *ring) relieve() {
	for r.crowded(r.max+1) && r.syncOne() {
	}
}

// crowded reports whether limit descriptors or more are open, though all are closed that may be.
func (r *ring) crowded(limit int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shrinkLocked(r.max)
	return r.mu.open >= limit
}

// syncOne syncs a parked descriptor and puts it back into the ring; false if there is none, or its sync failed. Its owner learns of the
// error when it syncs the file itself.
func (r *ring) syncOne() bool {
	d := r.takeParked()
	if d == nil {
		return false
	}
	err := d.sync()
	if err != nil {
		d.failure.Store(&err)
	}
	d.unpin()
	if err != nil {
		if r.failed != nil {
			r.failed(err)
		}
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unparkLocked(d)
	if d.parked.Load() && !d.held && d.slot < 0 {
		r.addParkedLocked(d) // written to meanwhile
	}
	r.shrinkLocked(r.max)
	return true
}

// takeParked pins a parked descriptor and takes it out of those, so that two do not sync the same one.
func (r *ring) takeParked() *descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range len(r.mu.parked) {
		r.mu.next %= len(r.mu.parked)
		d := r.mu.parked[r.mu.next]
		if d.failed.Load() {
			r.mu.next++
			continue
		}
		d.pins.Add(1) // it is not gone: a descriptor outside of the list stays open while its owner has it
		r.removeLocked(d)
		return d
	}
	return nil
}

// reserve counts one descriptor more, having closed what must go for it; pinned says that too many could not be.
func (r *ring) reserve() (pinned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shrinkLocked(r.max - 1)
	r.mu.open++
	return r.mu.open > r.max
}

// evict closes at most n descriptors, though fewer than max are open, and returns how many.
func (r *ring) evict(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.mu.open
	r.shrinkLocked(max(before-n, 0))
	return before - r.mu.open
}

// giveBack counts one descriptor less.
func (r *ring) giveBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.open--
}

// shrinkLocked closes descriptors until at most limit are open or no more may be closed. It lets go of the lock while it closes.
func (r *ring) shrinkLocked(limit int) {
	for r.mu.open > limit {
		d := r.victimLocked()
		if d == nil {
			return
		}
		r.mu.Unlock()
		_ = d.file.Close() // nothing was written that a Sync has not covered
		r.mu.Lock()
		r.mu.open--
	}
}

// victimLocked takes a descriptor out of the ring and from its owner, or returns nil after two rounds.
func (r *ring) victimLocked() *descriptor {
	for range 2 * len(r.mu.list) {
		if len(r.mu.list) == 0 {
			break
		}
		r.mu.hand %= len(r.mu.list)
		d := r.mu.list[r.mu.hand]
		switch {
		case d.used.Swap(false):
			r.mu.hand++
		case !d.pins.CompareAndSwap(0, gone):
			r.mu.hand++ // in use
		case d.dirty(): // looked at once claimed, so that no write can come between
			d.pins.Store(0)
			r.parkLocked(d)
		default:
			r.removeLocked(d)
			d.owner.current.CompareAndSwap(d, nil)
			return d
		}
	}
	return nil
}

// parkLocked takes d out until unpark. It looks at d again because a Sync may have missed the mark.
func (r *ring) parkLocked(d *descriptor) {
	r.removeLocked(d)
	d.parked.Store(true)
	r.addParkedLocked(d)
	r.unparkLocked(d)
}

func (r *ring) unparkLocked(d *descriptor) {
	if d.parked.Load() && !d.held && !d.dirty() {
		d.parked.Store(false)
		r.removeLocked(d)
		r.addLocked(d)
	}
}

// unpark puts d back once it is synced.
func (r *ring) unpark(d *descriptor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unparkLocked(d)
	r.shrinkLocked(r.max)
}

func (r *ring) add(d *descriptor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLocked(d)
}

// hold takes d out for good.
func (r *ring) hold(d *descriptor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.held = true
	r.removeLocked(d)
}

// release undoes hold.
func (r *ring) release(d *descriptor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.held = false
	d.parked.Store(false)
	r.addLocked(d)
	r.shrinkLocked(r.max)
}

// take takes f's descriptor, if it has one, out of the ring and from f.
func (r *ring) take(f *cachedFile) *descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := f.current.Swap(nil)
	if d != nil {
		d.held = true
		r.removeLocked(d)
	}
	return d
}

// currentOf returns f's descriptor when the ring is not about to decide on it.
func (r *ring) currentOf(f *cachedFile) *descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f.current.Load()
}

func (r *ring) addLocked(d *descriptor) {
	if d.slot < 0 {
		d.slot, d.wait = len(r.mu.list), false
		r.mu.list = append(r.mu.list, d)
	}
}

func (r *ring) addParkedLocked(d *descriptor) {
	if d.slot < 0 {
		d.slot, d.wait = len(r.mu.parked), true
		r.mu.parked = append(r.mu.parked, d)
	}
}

// removeLocked takes d out of the list, or of the parked ones.
func (r *ring) removeLocked(d *descriptor) {
	if d.slot < 0 {
		return
	}
	from := &r.mu.list
	if d.wait {
		from = &r.mu.parked
	}
	last := len(*from) - 1
	moved := (*from)[last]
	(*from)[d.slot], moved.slot = moved, d.slot
	(*from)[last] = nil
	*from = (*from)[:last]
	d.slot = -1
}
