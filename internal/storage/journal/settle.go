package journal

import "github.com/ottla-io/ottla/internal/storage/vfs"

// Settle settles the owners of the closed half, and makes the file when it is due, until Stop. Several may run; each does one thing
// at a time. What could not be settled keeps its half from being used again; a file that could not be made for a failed sync is told of
// by the next Commit.
func (j *Journal) Settle() {
	for owner, h, ok := j.next(); ok; owner, h, ok = j.next() {
		if owner == nil {
			_ = j.Make()
			j.made()
			continue
		}
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

func (j *Journal) made() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.making, j.mu.wanted = false, 0
}

// settleAgain has those settled that found no descriptor.
func (j *Journal) settleAgain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := &j.mu.halves[1-j.mu.active]
	h.waiting, h.again = append(h.waiting, h.again...), nil
	j.mu.more.Broadcast()
}

// next waits for an owner to settle, or nil: the file is to be made. It is not ok after Stop.
func (j *Journal) next() (owner Owner, h *half, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.mu.stopped {
		if j.mu.wanted > j.opts.Patience && !j.mu.making {
			j.mu.making = true
			return nil, nil, true
		}
		h := &j.mu.halves[1-j.mu.active]
		if n := len(h.waiting); n > 0 {
			owner := h.waiting[n-1]
			h.waiting[n-1] = nil
			h.waiting = h.waiting[:n-1]
			h.settling++
			return owner, h, true
		}
		j.mu.more.Wait()
	}
	return nil, nil, false
}

// Stop ends Settle.
func (j *Journal) Stop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.stopped = true
	j.mu.more.Broadcast()
}
