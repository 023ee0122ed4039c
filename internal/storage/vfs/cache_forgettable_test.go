package vfs

import (
	"fmt"
	"os"
	"path"
	"testing"
)

// TestCacheClosesForgettableFiles: unsynced writes hold the descriptors of other files alone, and nothing of them is lost while the
// process lives.
func TestCacheClosesForgettableFiles(t *testing.T) {
	t.Parallel()
	c := Cache(NewMem(), 4)
	c.Forgettable(func(name string) bool { return path.Ext(name) == ".index" })
	var files []File
	for i := range 20 {
		f, err := c.OpenFile(fmt.Sprintf("%d.index", i), os.O_CREATE|os.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{byte(i)}, 0); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if got := c.Descriptors(); got > 4 {
		t.Errorf("%d descriptors are open for unsynced forgettable files, want 4 at most", got)
	}
	for i, f := range files {
		got := make([]byte, 1)
		if _, err := f.ReadAt(got, 0); err != nil || got[0] != byte(i) {
			t.Errorf("file %d: %v, %v", i, got, err)
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
	}
}
