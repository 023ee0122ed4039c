package vfs

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// modelFile is a file as a slow, obvious model keeps it.
type modelFile struct {
	live, durable []byte
	dirty         bool
}

// model checks a Mem with one directory against plain maps and slices.
type model struct {
	mem     *Mem
	entries map[string]*modelFile
	durable map[string]*modelFile
	touched map[string]bool // entries changed since SyncDir
	earlier *Mem            // a clone of the crash before
	text    map[string]string
}

var modelNames = []string{"a", "b", "c"}

func newModel(mem *Mem, text map[string]string) *model {
	m := &model{mem: mem, entries: map[string]*modelFile{}, durable: map[string]*modelFile{}, touched: map[string]bool{}}
	for name, s := range text {
		f := &modelFile{live: []byte(s), durable: []byte(s)}
		m.entries[name], m.durable[name] = f, f
	}
	return m
}

// change runs op on the file name of both, which is created when it is missing.
func (m *model) change(t *rapid.T, name string, op func(f File, mf *modelFile) error) {
	f, err := m.mem.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mf := m.entries[name]
	if mf == nil {
		mf = &modelFile{}
		m.entries[name], m.touched[name] = mf, true
	}
	if err := op(f, mf); err != nil {
		t.Fatal(err)
	}
}

func (m *model) write(t *rapid.T) {
	pos := rapid.IntRange(0, 3*pageSize).Draw(t, "pos")
	p := slices.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(0, 2*pageSize).Draw(t, "len"))
	m.change(t, rapid.SampledFrom(modelNames).Draw(t, "name"), func(f File, mf *modelFile) error {
		if len(p) > 0 {
			mf.resize(max(len(mf.live), pos+len(p)))
			copy(mf.live[pos:], p)
			mf.dirty = true
		}
		_, err := f.WriteVec([][]byte{p[:len(p)/2], p[len(p)/2:]}, int64(pos))
		return err
	})
}

func (mf *modelFile) resize(size int) {
	mf.live = append(slices.Clone(mf.live), make([]byte, max(0, size-len(mf.live)))...)[:size]
}

func (m *model) truncate(t *rapid.T) {
	size := rapid.IntRange(0, 4*pageSize).Draw(t, "size")
	m.change(t, rapid.SampledFrom(modelNames).Draw(t, "name"), func(f File, mf *modelFile) error {
		mf.resize(size)
		mf.dirty = true
		return f.Truncate(int64(size))
	})
}

func (m *model) preallocate(t *rapid.T) {
	size := rapid.IntRange(0, 4*pageSize).Draw(t, "size")
	m.change(t, rapid.SampledFrom(modelNames).Draw(t, "name"), func(f File, mf *modelFile) error {
		mf.resize(max(size, len(mf.live)))
		mf.dirty = true
		return f.Preallocate(int64(size))
	})
}

func (m *model) sync(t *rapid.T) {
	m.change(t, rapid.SampledFrom(modelNames).Draw(t, "name"), func(f File, mf *modelFile) error {
		mf.durable, mf.dirty = slices.Clone(mf.live), false
		return f.Sync()
	})
}

func (m *model) rename(t *rapid.T) {
	from, to := rapid.SampledFrom(modelNames).Draw(t, "from"), rapid.SampledFrom(modelNames).Draw(t, "to")
	if err := m.mem.Rename(from, to); (err == nil) != (m.entries[from] != nil) {
		t.Fatalf("rename %s to %s: %v", from, to, err)
	}
	if m.entries[from] == nil || from == to {
		return
	}
	m.entries[to] = m.entries[from]
	delete(m.entries, from)
	m.touched[from], m.touched[to] = true, true
}

func (m *model) remove(t *rapid.T) {
	name := rapid.SampledFrom(modelNames).Draw(t, "name")
	if err := m.mem.Remove(name); (err == nil) != (m.entries[name] != nil) {
		t.Fatalf("remove %s: %v", name, err)
	}
	if m.entries[name] != nil {
		delete(m.entries, name)
		m.touched[name] = true
	}
}

func (m *model) syncDir(t *rapid.T) {
	if err := m.mem.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	m.durable = make(map[string]*modelFile)
	maps.Copy(m.durable, m.entries)
	clear(m.touched)
}

// crash checks three clones and goes on with one of them, or with the Mem itself to see that they do not disturb it.
func (m *model) crash(t *rapid.T, tb testing.TB) {
	wantFiles(t, "nothing kept", dump(tb, m.mem.CrashClone(CrashOptions{})), m.durable, func(f *modelFile) []byte { return f.durable })
	wantFiles(t, "all kept", dump(tb, m.mem.CrashClone(CrashOptions{Keep: 100})), m.entries, func(f *modelFile) []byte { return f.live })
	keep, seed := rapid.IntRange(1, 99).Draw(t, "keep"), rapid.Uint64().Draw(t, "seed")
	clone := func() *Mem {
		return m.mem.CrashClone(CrashOptions{Keep: keep, Rand: rand.New(rand.NewPCG(seed, 0))})
	}
	next := clone()
	left := dump(tb, next)
	if m.earlier != nil && !maps.Equal(dump(tb, m.earlier), m.text) {
		t.Fatal("writes went through to an earlier clone")
	}
	m.earlier, m.text = clone(), left
	if !maps.Equal(dump(tb, m.earlier), left) {
		t.Fatal("two clones of one seed differ")
	}
	m.checkPartial(t, left)
	if rapid.Bool().Draw(t, "go on with the clone") {
		*m = *newModel(next, left)
	} else {
		scribble(t, next)
	}
	wantFiles(t, "live", dump(tb, m.mem), m.entries, func(f *modelFile) []byte { return f.live })
}

// scribble changes all of a clone, which must not be seen in what it was cloned from.
func scribble(t *rapid.T, clone *Mem) {
	for _, name := range modelNames {
		f, err := clone.OpenFile(name, os.O_RDWR|os.O_CREATE)
		if err == nil {
			_, err = f.WriteAt(slices.Repeat([]byte{0xEE}, 5*pageSize), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantFiles(t *rapid.T, what string, got map[string]string, want map[string]*modelFile, text func(*modelFile) []byte) {
	if len(got) != len(want) {
		t.Fatalf("%s: %d files, want %d", what, len(got), len(want))
	}
	for name, f := range want {
		if s, ok := got[name]; !ok || s != string(text(f)) {
			t.Fatalf("%s: %s has %d bytes (there: %v), want %d, or other bytes", what, name, len(s), ok, len(text(f)))
		}
	}
}

// checkPartial checks what holds of every crash: entries that did not change stay, files without unsynced
// changes are whole, and every byte is the synced one, the written one or zero.
func (m *model) checkPartial(t *rapid.T, left map[string]string) {
	for _, name := range modelNames {
		text, there := left[name]
		f := m.durable[name]
		if m.touched[name] {
			continue
		}
		if there != (f != nil) {
			t.Fatalf("%s: there is %v, want %v", name, there, f != nil)
		}
		if f == nil {
			continue
		}
		if !f.dirty && text != string(f.durable) {
			t.Fatalf("%s was synced and changed in the crash", name)
		}
		if len(text) > max(len(f.live), len(f.durable)) {
			t.Fatalf("%s has %d bytes, more than it ever had", name, len(text))
		}
		for i := range len(text) {
			b := text[i]
			if b != 0 && (i >= len(f.live) || f.live[i] != b) && (i >= len(f.durable) || f.durable[i] != b) {
				t.Fatalf("%s: byte %d is %d, which was never there", name, i, b)
			}
		}
	}
}

func TestMemModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(NewMem(), nil)
		rt.Repeat(map[string]func(*rapid.T){
			"write": m.write, "write more": m.write, "truncate": m.truncate, "preallocate": m.preallocate,
			"sync": m.sync, "rename": m.rename, "remove": m.remove, "sync directory": m.syncDir,
			"crash": func(rt *rapid.T) { m.crash(rt, t) },
		})
	})
}
