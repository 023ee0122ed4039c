package journal

import "github.com/ottla-io/ottla/internal/storage/vfs"

// Settle settles the owners of the closed half until Stop. Several may run; each settles one owner at a time. What could not be
// settled keeps its half from being used again.
func (j *Journal) Settle() {
	for owner, h := j.next(); owner != nil; owner, h = j.next() {
		err := owner.Settle()
		if err == nil || vfs.IsUnopened(err) {
			j.mu.Lock()
			h.settling--
			if err != nil {
				h.again = append(h.again, owner)
			}
			j.mu.Unlock()
			continue
		}
		if j.opts.Failed != nil {
			j.opts.Failed(owner, err)
		}
	}
}

// settleAgain has those settled that found no descriptor.
func (j *Journal) settleAgain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := &j.mu.halves[1-j.mu.active]
	h.waiting, h.again = append(h.waiting, h.again...), nil
	j.mu.more.Broadcast()
}

// next waits for an owner to settle; nil after Stop.
func (j *Journal) next() (Owner, *half) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.mu.stopped {
		h := &j.mu.halves[1-j.mu.active]
		if n := len(h.waiting); n > 0 {
			owner := h.waiting[n-1]
			h.waiting[n-1] = nil
			h.waiting = h.waiting[:n-1]
			h.settling++
			return owner, h
		}
		j.mu.more.Wait()
	}
	return nil, nil
}

// Stop ends Settle.
func (j *Journal) Stop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.stopped = true
	j.mu.more.Broadcast()
}
