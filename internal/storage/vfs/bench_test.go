package vfs

import (
	"os"
	"testing"
)

// BenchmarkWriteVec writes a group of 16 batches of 16 KiB, each a header and records.
func BenchmarkWriteVec(b *testing.B) {
	f := create(b, openDisk(b), "f", "")
	var bufs [][]byte
	for range 16 {
		bufs = append(bufs, make([]byte, 61), make([]byte, 16<<10-61))
	}
	b.SetBytes(16 * 16 << 10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.WriteVec(bufs, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkReadAt(b *testing.B, fsys FS) {
	f := seal(b, fsys, "f", string(make([]byte, 64<<10)))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		p := make([]byte, 4<<10)
		for pb.Next() {
			if _, err := f.ReadAt(p, 8<<10); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkReadAt(b *testing.B)       { benchmarkReadAt(b, openDisk(b)) }
func BenchmarkCachedReadAt(b *testing.B) { benchmarkReadAt(b, Cache(openDisk(b), 10)) }

// BenchmarkCacheMiss reads from two files in turn with room for one.
func BenchmarkCacheMiss(b *testing.B) {
	cache := Cache(openDisk(b), 1)
	files := []File{seal(b, cache, "f", "text"), seal(b, cache, "g", "text")}
	p := make([]byte, 4)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := files[i%2].ReadAt(p, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCachedReadAtDoesNotAllocate(t *testing.T) {
	cache := Cache(openDisk(t), 10)
	seal(t, cache, "f", "text")
	f := open(t, cache, "f", os.O_RDONLY)
	p := make([]byte, 4)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := f.ReadAt(p, 0); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Fatalf("%v allocations a read", n)
	}
}
