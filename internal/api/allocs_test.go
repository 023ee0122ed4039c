package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// onDisk moves the partitions to a real directory: files in memory allocate pages.
func (a *testAPI) onDisk() {
	files, err := vfs.OS(a.t.TempDir())
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = files.Close() })
	a.node.fs = files
}

// TestAllocations: what a produce and a fetch allocate does not grow with their records. It counts, so it runs alone.
func TestAllocations(t *testing.T) {
	a := newTestAPI(t)
	a.onDisk()
	a.node.create("t", 1)
	count := func(m kmsg.Request) float64 {
		req := a.request(m)
		frame := append([]byte(nil), req.Body...)
		run, replies := []*Request{req}, make([]Reply, 1)
		var out Out
		return testing.AllocsPerRun(50, func() {
			copy(req.Body, frame) // the append changed it
			if _, err := a.Begin(t.Context(), a.now, run, replies); err != nil {
				t.Fatal(err)
			}
			if ready, _ := replies[0].Poll(a.now, nil, &out); !ready {
				t.Fatal("not ready")
			}
			out.Reset()
		})
	}
	const most = 12
	for _, size := range []int{10, 1000, 50_000} {
		produce := count(produceRequest(9, 1, "t", topic.ID{}, records(t, batch.CodecNone, 10, size)))
		m := fetchRequest(11, "t", topic.ID{}, 0)
		m.Topics[0].Partitions[0].PartitionMaxBytes = int32(10 * size)
		fetch := count(m)
		if produce > most || fetch > most {
			t.Errorf("with records of %d bytes a produce allocates %v times, a fetch %v; the limit is %d", size, produce, fetch, most)
		}
	}
}
