package coordinator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/consumer"
	"github.com/ottla-io/ottla/internal/pattern"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// topics is metadata whose topics come and go.
type topics struct {
	t     testing.TB
	state *meta.State
	ids   map[string]topic.ID
}

func newTopics(t testing.TB) *topics {
	return &topics{t: t, state: meta.New("cluster", 1), ids: make(map[string]topic.ID)}
}

func (w *topics) apply(r meta.Record) {
	w.t.Helper()
	if err := w.state.Apply(w.state.Version()+1, r); err != nil {
		w.t.Fatal(err)
	}
}

// flip removes the topic, or makes it.
func (w *topics) flip(name string) {
	if id, ok := w.ids[name]; ok {
		delete(w.ids, name)
		w.apply(meta.RemoveTopicRecord{ID: id})
		return
	}
	n := int(w.state.Version()) + 1
	id := topic.ID{13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
	w.ids[name] = id
	w.apply(meta.TopicRecord{Name: name, ID: id})
	w.apply(meta.PartitionRecord{TopicID: id, Partition: meta.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
}

// TestPatternsTwin: what is remembered says what a Matcher without a memory says, while topics come and go and there is room for few.
func TestPatternsTwin(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	w := newTopics(t)
	c := newPatterns(8 << 10)
	texts := []string{"t.*", "t1.*", ".*9", "t[0-4]+", "none", ".*-.{36}", "a(", "t(1|22|333)", strings.Repeat("a{1000}", 200), ""}
	images := []*meta.Image{w.state.Image()}
	for range 600 {
		for range r.IntN(3) * r.IntN(200) * r.IntN(2) {
			w.flip(fmt.Sprint("t", r.IntN(300)))
		}
		if r.IntN(3) == 0 {
			w.flip(fmt.Sprint("t", r.IntN(300)))
		}
		images = append(images, w.state.Image())
		image := images[len(images)-1-min(r.IntN(20)/18, len(images)-1)] // now and then one that another shard has passed
		text := texts[r.IntN(len(texts))]
		names, err := c.match(text, image)
		want, wantErr := consumer.MatchTopics(text, image)
		if !slices.Equal(names, want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %d names, %v; without a memory %d, %v", text, len(names), err, len(want), wantErr)
		}
		size := 0
		for e := c.mu.used.Front(); e != nil; e = e.Next() {
			size += e.Value.(*matched).size()
		}
		if size != c.mu.size || size > c.mu.max || len(c.mu.byText) != c.mu.used.Len() {
			t.Fatalf("it holds %d bytes and counts %d, the limit is %d; %d entries, %d in the list", size, c.mu.size, c.mu.max, len(c.mu.byText), c.mu.used.Len())
		}
	}
}

// TestPatternsBounded: many clients bring many patterns, large and refused ones too, at once; each is compiled once while it is remembered.
func TestPatternsBounded(t *testing.T) {
	t.Parallel()
	w := newTopics(t)
	for i := range 100 {
		w.flip(fmt.Sprint("t", i))
	}
	image := w.state.Image()
	c := newPatterns(1 << 20)
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Go(func() {
			for i := range 60 {
				text := fmt.Sprintf("t%d(a{500}|.*)", (i+n)%50)
				if i%10 == 0 {
					text = fmt.Sprintf(".*-.{%d}", 300+i)
				}
				_, err := c.match(text, image)
				if refused := i%10 == 0; refused != errors.Is(err, pattern.ErrTooLarge) {
					t.Errorf("%q: %v", text, err)
				}
			}
		})
	}
	clients.Wait()
	if c.mu.size > c.mu.max || c.mu.size == 0 {
		t.Errorf("it holds %d bytes, the limit is %d", c.mu.size, c.mu.max)
	}
	first, _ := c.compiled("t.*", image)
	again, _ := c.compiled("t.*", image)
	if first.pattern == nil || first.pattern != again.pattern {
		t.Error("a pattern is compiled anew although it is remembered")
	}
}

// BenchmarkPatterns is 1,000 patterns and 10,000 topics: what the next heartbeat of each of their groups costs after a topic came.
func BenchmarkPatterns(b *testing.B) {
	for what, format := range map[string]string{"usual": "orders-%d.*", "half of all": ".*[05](%d)?", "simulated": ".*%d-.{36}"} {
		b.Run(what, func(b *testing.B) {
			w := newTopics(b)
			for i := range 10_000 {
				w.flip(fmt.Sprintf("orders-%d-payments-of-region-eu", i))
			}
			c := newPatterns(patternsMax)
			texts := make([]string, 1000)
			for i := range texts {
				texts[i] = fmt.Sprintf(format, i)
			}
			all := func() {
				image := w.state.Image()
				for _, text := range texts {
					if _, err := c.match(text, image); err != nil {
						b.Fatal(err)
					}
				}
			}
			all()
			for b.Loop() {
				b.StopTimer()
				w.flip("orders-x")
				b.StartTimer()
				all()
			}
			b.ReportMetric(float64(c.mu.size), "kept-B")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/group")
		})
	}
}
