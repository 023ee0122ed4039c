package partition

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// BenchmarkAppend appends groups to a real file: batches of 16 KiB and of 1 MiB in records of 1 KiB.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ records, group int }{{16, 1}, {16, 20}, {1024, 1}} {
		b.Run(fmt.Sprintf("%dKiB/group=%d", c.records, c.group), func(b *testing.B) {
			fs, err := vfs.OS(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer fs.Close()
			p := openTest(b, fs, func(o *OpenOptions) {
				memory(o)
				o.MaxMessageBytes, o.Log.SegmentBytes, o.Log.RetentionBytes = 2<<20, 256<<20, 256<<20
			})
			defer p.Close(false)
			o := plain(c.records)
			o.size = 1000
			image := o.batch(b)
			var group []*Produce
			for range c.group {
				group = append(group, &Produce{Records: slices.Clone(image)})
			}
			b.SetBytes(int64(len(image) * c.group))
			b.ReportAllocs()
			written := 0
			for b.Loop() {
				for _, pr := range group {
					copy(pr.Records, image[:8]) // a client's base offset again
				}
				p.Append(start, group)
				if group[0].Err != nil {
					b.Fatal(group[0].Err)
				}
				if written += len(image) * c.group; written > 256<<20 {
					written = 0
					if err := p.Maintain(start); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
