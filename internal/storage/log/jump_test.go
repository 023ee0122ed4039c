package log_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/segment"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestRecoverJump spoils the base offset of a batch below the recovery point, which no CRC covers. Recovery must not take the jump for
// the log's end, or it would cut everything behind as if it were past the recovery point.
func TestRecoverJump(t *testing.T) {
	t.Parallel()
	for _, jump := range []batch.Offset{1, 1 << 20, 1 << 40, 1 << 62} {
		for _, spoiled := range []int{0, 4, 9} {
			mem := vfs.NewMem()
			l, err := log.Open(mem, "t-0", epoch0, log.OpenOptions{Options: defaults()})
			if err != nil {
				t.Fatal(err)
			}
			pos, at := int64(0), int64(0)
			for i := range 10 {
				b := mk(t, batch.Offset(i), 1, 10, 0, epoch0.UnixMilli())
				if err := l.Append(epoch0, []batch.Batch{b}); err != nil {
					t.Fatal(err)
				}
				if i == spoiled {
					at = pos
				}
				pos += int64(len(b))
			}
			if _, err := l.Sync(); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(false); err != nil {
				t.Fatal(err)
			}
			f, err := mem.OpenFile("t-0/"+segment.Name(0, segment.Log, segment.Live), 2)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(batch.Offset(spoiled)+jump)), at); err != nil {
				t.Fatal(err)
			}
			l, err = log.Open(mem, "t-0", epoch0, log.OpenOptions{Options: defaults(), RecoveryPoint: 10})
			if errors.Is(err, batch.ErrCorrupt) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if spoiled < 9 || jump > 1<<31 { // nothing follows the last one to tell
				t.Errorf("batch %d moved by %d: the log is [%d, %d), %+v", spoiled, jump, l.Start(), l.End(), l.Recovery())
			}
		}
	}
}
