package segment

import (
	"errors"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestThreeFiles: a segment has its indexes from its creation on, without bytes and without descriptors, whatever stood there before.
func TestThreeFiles(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(vfs.FS) (*Segment, error){
		"created": func(fs vfs.FS) (*Segment, error) { return Create(fs, "d", 0, testInterval, 0) },
		"new": func(fs vfs.FS) (*Segment, error) {
			s := New(fs, "d", 0, testInterval, 0)
			err := s.Make()
			return s, err
		},
	} {
		fs := vfs.Cache(newDir(t), 10)
		if err := vfs.WriteFile(fs, "d/"+Name(0, Index, Live), []byte("of an older one"), false); err != nil {
			t.Fatal(err)
		}
		s, err := begin(fs)
		if err != nil {
			t.Fatal(err)
		}
		b := mk(t, 0, 1, 1)
		put(t, s, b)
		for _, kind := range []Kind{Index, TimeIndex} {
			if info, err := fs.Stat("d/" + Name(0, kind, Live)); err != nil || info.Size() != 0 {
				t.Errorf("%s: the %s of a new segment: %v, %v", name, kind, info, err)
			}
		}
		if n := fs.Descriptors(); n != 1 {
			t.Errorf("%s: %d descriptors, want the log's", name, n)
		}
		check(t, s, []batch.Batch{b})
	}
}

// TestMakeTakesNoOthersRecords: a new segment does not empty a file that has bytes, and may be made once it is gone.
func TestMakeTakesNoOthersRecords(t *testing.T) {
	t.Parallel()
	fs := newDir(t)
	name := "d/" + Name(0, Log, Live)
	if err := vfs.WriteFile(fs, name, []byte("records"), false); err != nil {
		t.Fatal(err)
	}
	if err := New(fs, "d", 0, testInterval, 0).Make(); !errors.Is(err, batch.ErrCorrupt) {
		t.Errorf("a segment was made over records: %v", err)
	}
	if info, err := fs.Stat(name); err != nil || info.Size() != 7 {
		t.Errorf("the records: %v, %v", info, err)
	}
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	s := New(fs, "d", 0, testInterval, 0)
	for range 2 {
		if err := s.Make(); err != nil {
			t.Fatal(err)
		}
	}
}
