package coordinator

import (
	"encoding/binary"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/repair"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// logged is what a log writes.
type logged struct {
	sync.Mutex
	text strings.Builder
}

func (w *logged) Write(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.text.Write(p)
}

func (w *logged) String() string {
	w.Lock()
	defer w.Unlock()
	return w.text.String()
}

// TestDamagedOffsets flips a bit in a commit: its shard is not served, since what is passed over would send a group somewhere else
// without a word, and the log says what to do. After a repair the other commits count.
func TestDamagedOffsets(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	n := bring(t, mem)
	n.serve(t, "g")
	for offset := range batch.Offset(4) {
		if err := n.commit(t, "g", "t", offset); err != nil {
			t.Fatal(err)
		}
	}
	files := mem.CrashClone(vfs.CrashOptions{Keep: 0})
	name := dirOf("g") + "/00000000000000000000.log"
	content, err := vfs.ReadFile(files, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	second := batch.LogOverhead + int(binary.BigEndian.Uint32(content[8:]))
	content[second+batch.HeaderSize+3] ^= 4
	if err := vfs.WriteFile(files, name, content, true); err != nil {
		t.Fatal(err)
	}

	var log logged
	again := setup{log: slog.New(slog.NewTextHandler(&log, nil))}.bring(t, files)
	again.locate(t, "g")
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(log.String(), "cannot be loaded"); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is said of the damage:\n%s", log.String())
		}
	}
	if offset, err := again.committed(t, "g", "t"); err == nil {
		t.Errorf("offset %d is told, though a commit cannot be read", offset)
	}
	if text := log.String(); !strings.Contains(text, "ottla log repair") || !strings.Contains(text, name+" at position") {
		t.Errorf("the log says neither where nor what to do:\n%s", text)
	}
	again.stop()

	d, _, err := repair.Open(files, true)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Plan(dirOf("g"))
	if err == nil {
		_, err = d.Apply(p)
	}
	if err != nil || p.Offsets() != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	mended := bring(t, files)
	mended.serve(t, "g")
	if offset, err := mended.committed(t, "g", "t"); err != nil || offset != 3 {
		t.Errorf("after the repair: offset %d, %v, want 3", offset, err)
	}
}
