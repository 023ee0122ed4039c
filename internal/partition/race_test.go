package partition

import (
	"sync"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// group commits: it syncs whenever it was told, as the broker's syncer does.
type groupSyncer struct {
	told chan *Partition
}

func (g *groupSyncer) Dirty(p *Partition) {
	select {
	case g.told <- p:
	default: // one is queued, and its sync begins after this write
	}
}

func (g *groupSyncer) run(t *testing.T) {
	for p := range g.told {
		if err := p.Sync(); err != nil {
			t.Error(err)
		}
	}
}

// TestConcurrent runs producers that wait for their acknowledgements, two syncers, readers, lookups and maintenance at once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const producers, batches = 6, 60
	syncer := &groupSyncer{told: make(chan *Partition, 1)}
	p := openTest(t, newFS(t), func(o *OpenOptions) { o.Syncer, o.Log.SegmentBytes = syncer, 4000 })
	var syncing, writing, reading sync.WaitGroup
	for range 2 {
		syncing.Go(func() { syncer.run(t) })
	}
	for id := range int64(producers) {
		writing.Go(func() { produceAndWait(t, p, id, batches) })
	}
	done := make(chan struct{})
	for range 2 {
		reading.Go(func() { followLog(t, p, producers*batches) })
	}
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := p.Maintain(start); err != nil {
					t.Error(err)
				}
				p.SetOptions(*p.opts.Load())
				marks := p.Offsets()
				if marks.Start > marks.HighWatermark || marks.HighWatermark > marks.End {
					t.Errorf("%+v", marks)
				}
				if _, _, err := p.MaxTimestamp(ReadUncommitted); err != nil {
					t.Error(err)
				}
			}
		}
	})
	writing.Wait()
	close(done)
	reading.Wait()
	close(syncer.told)
	syncing.Wait()
}

func produceAndWait(t *testing.T, p *Partition, id int64, batches int32) {
	w := NewWaiter()
	for i := range batches {
		pr := appendAll(t, p, from(id, 0, i, 1))[0]
		if pr.Err != nil {
			t.Error(pr.Err)
			return
		}
		for {
			p.Watch(w)
			done, err := p.Await(pr.End)
			if err != nil {
				t.Error(err)
				return
			}
			if done {
				p.Unwatch(w)
				break
			}
			<-w.C
		}
	}
}

// followLog reads as a consumer does until it has seen n batches.
func followLog(t *testing.T, p *Partition, n int) {
	w := NewWaiter()
	sequences := map[int64]int32{}
	at := batch.Offset(0)
	for seen := 0; seen < n; {
		p.Watch(w)
		r, marks, err := p.Read(Fetch{Offset: at, LeaderEpoch: batch.NoEpoch, MaxBytes: 700, Whole: true})
		if err != nil {
			t.Error(err)
			return
		}
		if r.Len() == 0 {
			<-w.C
			continue
		}
		data := make([]byte, r.Len())
		if k, err := r.ReadAt(data, 0); k < len(data) {
			t.Error(err)
		}
		r.Release()
		for len(data) > 0 {
			b, rest, err := batch.Next(data)
			if err != nil {
				break
			}
			if b.BaseOffset() != at || b.LastOffset() >= marks.HighWatermark || b.BaseSequence() != sequences[b.ProducerID()] {
				t.Errorf("batch at %d of producer %d sequence %d, want offset %d sequence %d",
					b.BaseOffset(), b.ProducerID(), b.BaseSequence(), at, sequences[b.ProducerID()])
				return
			}
			sequences[b.ProducerID()]++
			at, data, seen = b.NextOffset(), rest, seen+1
		}
	}
}
