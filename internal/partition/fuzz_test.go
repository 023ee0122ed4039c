package partition

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// FuzzAppend is case 68: whatever the records field of a produce holds, it is appended whole and sound, or refused with
// a protocol error, and the partition goes on.
func FuzzAppend(f *testing.F) {
	for _, codec := range []batch.Codec{batch.CodecNone, batch.CodecGzip, batch.CodecSnappy, batch.CodecLZ4, batch.CodecZstd} {
		o := from(1, 0, 0, 3)
		o.fields = func(f *batch.Fields) { f.Codec = codec }
		f.Add([]byte(o.batch(f)), uint8(codec), true)
	}
	f.Add([]byte{}, uint8(7), false)
	f.Fuzz(func(t *testing.T, records []byte, how uint8, seal bool) {
		if b := batch.Batch(records); seal && len(b) >= batch.HeaderSize { // let the fuzzer past the CRC
			b = slices.Clone(b)
			b.SetLogAppendTime(b.MaxTimestamp())
			b.SetMaxTimestamp(b.MaxTimestamp())
			records = b
		}
		p := openBriefly(t, vfs.NewMem(), func(o *OpenOptions) {
			memory(o)
			o.Compact, o.LogAppendTime, o.Compression = how&1 != 0, how&2 != 0, batch.Codec(how>>2%6)-1
		})
		defer p.Close(false)
		pr := &Produce{Records: slices.Clone(records)}
		p.Append(start, []*Produce{pr})
		stored := readAll(t, p)
		if pr.Err != nil {
			if code, ok := errors.AsType[*kerr.Error](pr.Err); !ok || code == kerr.KafkaStorageError || len(stored) != 0 {
				t.Fatalf("%d batches are stored after %v", len(stored), pr.Err)
			}
		} else {
			if len(stored) != 1 || stored[0].Count() != pr.Count {
				t.Fatalf("%d batches are stored of %+v", len(stored), pr)
			}
		}
		mustAppend(t, p, plain(1))
	})
}
