package vfs

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	mem := NewMem()
	for name, text := range map[string]string{"empty": "", "full": "abc"} {
		f, err := mem.OpenFile(name, os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(text), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(mem, name, 3); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := ReadFile(mem, "full", 2); !errors.Is(err, ErrTooLarge) {
		t.Errorf("above the limit: %v", err)
	}
	if _, err := ReadFile(mem, "none", 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not there: %v", err)
	}
}
