package vfs

import (
	"slices"
	"strings"
	"sync"
)

// nameTree holds the names of the open files, so that the rename of a directory is one step for all below it.
// Its lock is for the many that attach and detach at once; move and below also need the cache's names.Lock.
type nameTree struct {
	mu   sync.Mutex
	root nameNode
}

// nameNode is a part of a name. Nodes with neither kids nor files are dropped.
type nameNode struct {
	parent *nameNode // nil for the root
	base   string
	kids   map[string]*nameNode
	files  []*cachedFile
}

// path is the whole name. The caller holds names, for reading or writing.
func (n *nameNode) path() string {
	if n.parent == nil || n.parent.parent == nil {
		return n.base
	}
	return n.parent.path() + "/" + n.base
}

// attach gives f the name and returns its node.
func (t *nameTree) attach(name string, f *cachedFile) *nameNode {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.makeLocked(name)
	n.files = append(n.files, f)
	return n
}

func (t *nameTree) makeLocked(name string) *nameNode {
	n := &t.root
	for base := range strings.SplitSeq(name, "/") {
		kid := n.kids[base]
		if kid == nil {
			kid = &nameNode{base: base}
			n.adopt(kid)
		}
		n = kid
	}
	return n
}

func (n *nameNode) adopt(kid *nameNode) {
	if n.kids == nil {
		n.kids = make(map[string]*nameNode)
	}
	kid.parent = n
	n.kids[kid.base] = kid
}

// detach takes f's name away.
func (t *nameTree) detach(f *cachedFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := f.node
	if n == nil {
		return
	}
	f.node = nil
	i := slices.Index(n.files, f)
	n.files = slices.Delete(n.files, i, i+1)
	n.prune()
}

// prune drops n and its parents as far as they are empty.
func (n *nameNode) prune() {
	for n.parent != nil && len(n.kids) == 0 && len(n.files) == 0 {
		delete(n.parent.kids, n.base)
		n = n.parent
	}
}

func (t *nameTree) findLocked(name string) *nameNode {
	n := &t.root
	for base := range strings.SplitSeq(name, "/") {
		if n = n.kids[base]; n == nil {
			return nil
		}
	}
	return n
}

// below returns the open files named name or below it.
func (t *nameTree) below(name string) []*cachedFile {
	t.mu.Lock()
	defer t.mu.Unlock()
	var files []*cachedFile
	if n := t.findLocked(name); n != nil {
		files = n.collect(files)
	}
	return files
}

func (n *nameNode) collect(files []*cachedFile) []*cachedFile {
	files = append(files, n.files...)
	for _, kid := range n.kids {
		files = kid.collect(files)
	}
	return files
}

// move renames from and all below it. No file is named to, or below it, any more.
func (t *nameTree) move(from, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.findLocked(from)
	if n == nil {
		return
	}
	target := t.makeLocked(to)
	old := n.parent
	delete(old.kids, n.base)
	n.base = target.base
	target.parent.adopt(n)
	old.prune()
}
