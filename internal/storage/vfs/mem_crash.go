package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// CrashOptions say how much of what was not synced a power cut leaves.
type CrashOptions struct {
	// Keep is the chance in percent of each unsynced page, size and directory operation to survive. At 0 only
	// what was synced is left, at 100 everything is.
	Keep int
	// Rand decides. The same state of it and the same history of the Mem give the same disk. Keep 0 and 100 need none.
	Rand *rand.Rand
}

// CrashClone returns a new Mem that is the disk after a power cut now; m goes on undisturbed. What was synced is
// there. Of the rest, by chance and independently:
//
//   - each page of 4 KiB is as written, as synced (zero if it was not there), or torn between the two at any byte;
//   - the size is as set, as synced, or anything in between, so tails are torn at any byte;
//   - each creation, removal and rename has happened or not, whatever their order. A rename inside a directory
//     happens whole; between two directories its halves are independent.
//
// Files that come back under two names are two files.
func (m *Mem) CrashClone(opts CrashOptions) *Mem {
	c := crash{keep: opts.Keep, visiting: make(map[*memDir]bool)}
	if opts.Rand != nil {
		c.seed = opts.Rand.Uint64()
	}
	old := m.core
	old.mu.Lock() // not for reading: files learn that their pages are shared
	defer old.mu.Unlock()
	c.fs = &memFS{capacity: old.capacity, lastID: old.lastID, lastOp: old.lastOp}
	c.fs.root = c.dir(old.root)
	return newMem(c.fs)
}

// crash makes one clone.
type crash struct {
	fs       *memFS
	keep     int
	seed     uint64
	visiting map[*memDir]bool // against cycles, which lost halves of directory renames can make
}

// chance is the randomness of one inode, so that the order of visits does not matter.
type chance struct {
	keep int
	pcg  rand.PCG
}

func (c *crash) chance(id uint64) *chance {
	ch := &chance{keep: c.keep}
	ch.pcg.Seed(c.seed, id)
	return ch
}

// below returns a number in [0, n), for n far under 2^64.
func (ch *chance) below(n int64) int64 { return int64(ch.pcg.Uint64() % uint64(n)) }

func (ch *chance) kept() bool { return ch.below(100) < int64(ch.keep) }

// torn says whether something that was not kept is left in part.
func (ch *chance) torn() bool { return ch.keep > 0 && ch.below(3) == 0 }

func (c *crash) dir(old *memDir) *memDir {
	c.visiting[old] = true
	defer delete(c.visiting, old)
	entries := old.entries
	if len(old.changes) > 0 {
		entries = c.entries(old)
	}
	out := &memDir{id: old.id, entries: make(map[string]inode, len(entries))}
	for name, node := range entries {
		switch node := node.(type) {
		case *memNode:
			out.entries[name] = c.file(node)
		case *memDir:
			if !c.visiting[node] {
				out.entries[name] = c.dir(node)
			}
		}
	}
	return out
}

// entries goes back to the durable entries and makes again the changes that survive.
func (c *crash) entries(old *memDir) map[string]inode {
	entries := maps.Clone(old.entries)
	if entries == nil {
		entries = make(map[string]inode)
	}
	put := func(name string, node inode) {
		if node == nil {
			delete(entries, name)
		} else {
			entries[name] = node
		}
	}
	for _, v := range slices.Backward(old.changes) {
		put(v.name, v.old)
	}
	ch := c.chance(old.id)
	var op uint64
	var kept bool
	for _, change := range old.changes {
		if change.op != op {
			op, kept = change.op, ch.kept()
		}
		if kept {
			put(change.name, change.new)
		}
	}
	return entries
}

func (c *crash) file(old *memNode) *memNode {
	left := old.durable
	if !old.live.same(old.clean) || !old.clean.same(left) || old.least < old.clean.size {
		left = c.content(old)
	}
	old.owner = nil // old's pages are shared from here on
	f := &memNode{id: old.id, live: left, clean: left, durable: left, least: left.size, links: 1}
	f.reserved = old.reserved
	c.fs.recountLocked(f)
	return f
}

// content decides what is left of a file with unsynced changes.
func (c *crash) content(old *memNode) content {
	ch := c.chance(old.id)
	size := ch.size(old)
	var torn []int
	left := old.merge(func(i int) bool {
		switch {
		case int64(i)*pageSize >= old.live.size: // cut off: if the size comes back, so do its bytes
			return false
		case ch.kept():
			return true
		case ch.torn():
			torn = append(torn, i)
		}
		return false
	})
	for _, i := range torn {
		left.set(i, tear(old.live.page(i), left.page(i), ch.below(pageSize)))
	}
	left.size = max(left.size, size)
	return left.cut(size, nil)
}

func (ch *chance) size(old *memNode) int64 {
	durable, live := old.durable.size, old.live.size
	pending := live != old.clean.size || old.least < old.clean.size
	switch {
	case !pending:
		return durable
	case ch.kept():
		return live
	case ch.torn():
		low, high := min(old.least, durable), max(durable, live)
		return low + ch.below(high-low+1)
	default:
		return durable
	}
}

// tear returns a page that was written up to byte at only.
func tear(written, before *page, at int64) *page {
	p := &page{}
	if before != nil {
		p.data = before.data
	}
	if written != nil {
		copy(p.data[:at], written.data[:at])
	} else {
		clear(p.data[:at])
	}
	return p
}
