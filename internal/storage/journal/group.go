package journal

import "slices"

// Source reads an entry's bytes.
type Source interface {
	// Read fills dst.
	Read(dst []byte) error
}

// Group is what one frame takes. It is used again after Reset, by one goroutine.
type Group struct {
	buf    []byte // a frame, its head not filled in
	count  int
	owners map[Key]Owner
}

// Reset empties the group.
func (g *Group) Reset() {
	g.buf = append(g.buf[:0], make([]byte, frameHead)...)
	g.count = 0
	if g.owners == nil {
		g.owners = map[Key]Owner{}
	}
	clear(g.owners)
}

// Count is the number of entries.
func (g *Group) Count() int { return g.count }

// Fits says whether an entry of length bytes for the directory dir has room beside the others.
func (g *Group) Fits(dir string, length int64) bool {
	return length <= FrameMax && int64(len(g.buf)+entryHead+len(dir))+length <= FrameMax
}

// Add takes length bytes from src for owner; the entry's Bytes are not looked at. It must fit. After an error the group is as before.
func (g *Group) Add(e Entry, length int64, src Source, owner Owner) error {
	was := len(g.buf)
	g.buf = appendEntry(g.buf, e, length)
	from := len(g.buf)
	g.buf = slices.Grow(g.buf, int(length))[:from+int(length)]
	if err := src.Read(g.buf[from:]); err != nil {
		g.buf = g.buf[:was]
		return err
	}
	g.count++
	g.owners[e.Key] = owner
	return nil
}
