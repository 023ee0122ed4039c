package log_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// change overwrites bytes of a file.
func change(t *testing.T, fs vfs.FS, name string, pos int64, bytes ...byte) {
	t.Helper()
	file, err := fs.OpenFile("t-0/"+name, syscall.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes, pos); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// rotten is a synced log of segments 0, 3 and 6 with batches of one record each at offsets 0 to 8, that was not closed
// cleanly. The payload of the batch at offset spoiled has a flipped bit.
func rotten(t *testing.T, spoiled int) (*vfs.Mem, log.Options, []batch.Batch) {
	t.Helper()
	fs, opts, all := threeSegments(t, false)
	name := fmt.Sprintf("%020d.log", spoiled/3*3)
	pos := int64(spoiled%3*len(all[0]) + len(all[0]) - 5)
	change(t, fs, name, pos, all[spoiled][len(all[0])-5]^4)
	return fs, opts, all
}

// TestBitRot flips a bit in a batch that another one follows, or that is below the recovery point. All others stay
// readable, appends go on, and reads that reach the damaged batch say so.
func TestBitRot(t *testing.T) {
	t.Parallel()
	for spoiled := range 9 {
		for _, point := range []batch.Offset{0, batch.Offset(spoiled), 9} {
			if spoiled == 8 && point <= 8 {
				continue // nothing tells it from a torn end: see TestTails
			}
			for _, compacted := range []bool{false, true} {
				t.Run(fmt.Sprintf("offset %d, recovery point %d, compacted %v", spoiled, point, compacted), func(t *testing.T) {
					t.Parallel()
					fs, opts, all := rotten(t, spoiled)
					l := openLog(t, fs, log.OpenOptions{Options: opts, RecoveryPoint: point, Compacted: compacted})
					if l.End() != 9 || l.Recovery().Cut != 0 {
						t.Fatalf("log ends at %d: %+v", l.End(), l.Recovery())
					}
					walked := batch.Offset(spoiled) >= min(point/3*3, 6)
					list, n := l.Damage(10)
					if !walked {
						if n != 0 {
							t.Errorf("damage %+v in a segment that was not read", list)
						}
						return
					}
					if n != 1 || list[0].Base != batch.Offset(spoiled) || list[0].Next != batch.Offset(spoiled)+1 || !strings.Contains(list[0].Why, "CRC") {
						t.Fatalf("damage: %d, %+v", n, list)
					}
					last := mk(t, 9, 1, 20, 0, epoch0.UnixMilli()+9)
					appendAt(t, l, epoch0, last)
					reads(t, l, append(all, last), spoiled)
				})
			}
		}
	}
}

// reads checks that every offset but bad can be read, that no range goes over bad, and that a search by time passes it over.
func reads(t *testing.T, l *log.Log, all []batch.Batch, bad int) {
	t.Helper()
	for i := range all {
		r, err := l.Read(batch.Offset(i), l.End(), 1<<20, true)
		if i == bad {
			if !errors.Is(err, batch.ErrCorrupt) || !strings.Contains(err.Error(), ".log at position") {
				t.Errorf("read at the damaged offset %d: %d bytes, %v", i, r.Len(), err)
			}
			continue
		}
		if err != nil {
			t.Errorf("read at %d: %v", i, err)
			continue
		}
		got := bytesOf(t, &r)
		end := min(len(all), i/3*3+3)
		if i < bad {
			end = min(end, bad)
		}
		if want := join(all[i:end]...); !bytes.Equal(got, want) {
			t.Errorf("read at %d: %d bytes, expected the %d of [%d, %d)", i, len(got), len(want), i, end)
		}
	}
	found, ok, err := l.FindTimestamp(all[bad].MaxTimestamp(), l.End())
	if err != nil || !ok || found.Offset != batch.Offset(bad+1) {
		t.Errorf("the damaged batch's timestamp finds %+v, %v, %v", found, ok, err)
	}
	if found, ok, err := l.MaxTimestamp(l.End()); err != nil || !ok || found.Offset == batch.Offset(bad) {
		t.Errorf("the largest timestamp is %+v, %v, %v", found, ok, err)
	}
}

// TestBrokenChain damages headers so that the batches behind cannot be reached. Whatever the recovery point says, nothing
// that was whole is cut: the log stays shut and as it is.
func TestBrokenChain(t *testing.T) {
	t.Parallel()
	for field, pos := range map[string]int64{"base offset": 0, "base offset, a little more": 6, "length, huge": 8, "length, a little more": 11, "magic": 16} {
		for spoiled := range 9 {
			for _, point := range []batch.Offset{0, batch.Offset(spoiled), 9} {
				if batch.Offset(spoiled) < min(point/3*3, 6) {
					continue // not walked
				}
				if spoiled == 8 && point <= 8 || field == "length, huge" && point <= batch.Offset(spoiled) && spoiled%3 == 2 {
					continue // what a crash leaves of an end looks the same
				}
				t.Run(fmt.Sprintf("%s at %d, recovery point %d", field, spoiled, point), func(t *testing.T) {
					t.Parallel()
					fs, opts, all := threeSegments(t, false)
					at := int64(spoiled % 3 * len(all[0]))
					change(t, fs, fmt.Sprintf("%020d.log", spoiled/3*3), at+pos, all[spoiled][pos]^0x41)
					before := names(t, fs)
					l, err := log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts, RecoveryPoint: point})
					if !errors.Is(err, batch.ErrCorrupt) || !strings.Contains(err.Error(), ".log at position") {
						t.Fatalf("opened: %v, %+v", err, l)
					}
					if after := names(t, fs); !slices.Equal(before, after) {
						t.Errorf("files %v, before %v", after, before)
					}
				})
			}
		}
	}
}

// TestCompactionMeetsRot: a pass that meets a damaged batch changes nothing, and reads of that batch say so from then on.
func TestCompactionMeetsRot(t *testing.T) {
	t.Parallel()
	fs, opts, all := threeSegments(t, true)
	change(t, fs, "00000000000000000003.log", int64(2*len(all[0])-5), all[4][len(all[0])-5]^4)
	l := openLog(t, fs, log.OpenOptions{Options: opts, Clean: true, Compacted: true})
	before := names(t, fs)
	done, err := l.Compact(epoch0, l.End(), log.Compaction{}, log.Cleaner{Memory: 1 << 20, LoadFactor: 0.9, Buffer: 1 << 16, Newest: func(batch.Batch) bool { return false }})
	if !errors.Is(err, batch.ErrCorrupt) || done.Replaced != 0 {
		t.Errorf("compacted %+v, %v", done, err)
	}
	if after := names(t, fs); !slices.Equal(before, after) {
		t.Errorf("files %v, before %v", after, before)
	}
	if list, n := l.Damage(1); n != 1 || list[0].Base != 4 {
		t.Errorf("damage %+v", list)
	}
	reads(t, l, all, 4)
}

// TestMuchRot damages the payloads of many batches in a row: each is stepped over, and what stands around them is read.
func TestMuchRot(t *testing.T) {
	t.Parallel()
	const count = 3000
	fs := vfs.NewMem()
	l := openLog(t, fs, log.OpenOptions{Options: defaults()})
	size := 0
	for i := range batch.Offset(count) {
		b := mk(t, i, 1, 20, 0, epoch0.UnixMilli())
		size = len(b)
		appendAt(t, l, epoch0, b)
	}
	if _, err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < count-1; i++ {
		change(t, fs, "00000000000000000000.log", int64((i+1)*size-7), 0xee, 0x0e, 0xe1, 0x1e)
	}
	l = openLog(t, fs, log.OpenOptions{Options: defaults(), RecoveryPoint: count})
	if _, n := l.Damage(1); n != count-2 || l.End() != count {
		t.Errorf("%d batches are damaged, expected %d; the log ends at %d", n, count-2, l.End())
	}
	for at, readable := range map[batch.Offset]bool{0: true, 1: false, count / 2: false, count - 2: false, count - 1: true} {
		r, err := l.Read(at, l.End(), 1<<20, true)
		if (err == nil) != readable || readable && r.Len() != size {
			t.Errorf("read at %d: %d bytes, %v", at, r.Len(), err)
		}
		r.Release()
	}
}

// TestSurplus: bytes behind the batches of a sealed segment, whose last one reaches the next segment's base, are dropped alone.
// No batch is lost, whatever the recovery point says.
func TestSurplus(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string][]byte{"a byte": {'x'}, "zeros": make([]byte, 600), "noise": bytes.Repeat([]byte{2, 0xfe, 0}, 100)} {
		for _, point := range []batch.Offset{0, 4, 9} {
			t.Run(fmt.Sprintf("%s, recovery point %d", name, point), func(t *testing.T) {
				t.Parallel()
				fs, opts, all := threeSegments(t, false)
				f, err := fs.OpenFile(fmt.Sprintf("t-0/%020d.log", 3), os.O_RDWR)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.WriteAt(extra, int64(3*len(all[3]))); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				l, err := log.Open(fs, "t-0", epoch0, log.OpenOptions{Options: opts, RecoveryPoint: point})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close(false)
				if l.End() != 9 || l.Segments() != 3 {
					t.Fatalf("the log ends at %d in %d segments", l.End(), l.Segments())
				}
				for from := range batch.Offset(9) {
					r, err := l.Read(from, 9, 1<<20, true)
					if err != nil {
						t.Fatalf("read at %d: %v", from, err)
					}
					if got, want := bytesOf(t, &r), join(all[from:from/3*3+3]...); point < 9 && !bytes.Equal(got, want) {
						t.Errorf("read at %d: %d bytes, expected %d", from, len(got), len(want))
					}
				}
			})
		}
	}
}
