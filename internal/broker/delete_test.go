package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// eventually waits for what another goroutine does.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in 20 s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, options(files))
	createTopic(t, b, "a", 2)
	p := touch(t, b, "a", 0)
	produce(t, p, "one")
	r, _, err := p.Read(partition.Fetch{LeaderEpoch: -1, MaxBytes: 100, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	deleteTopic(t, b, "a")
	if _, err := b.Partition("a", 0); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("a deleted topic: %v", err)
	}
	eventually(t, "the directories go", func() bool { return dirs(t, files) == "__cluster_metadata-0" })
	if _, err := r.ReadAt(make([]byte, r.Len()), 0); err != nil {
		t.Errorf("a reader that holds the file: %v", err)
	}
	r.Release()
	if _, err := appendValue(p, "two"); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("append to a deleted partition: %v, want NOT_LEADER_OR_FOLLOWER", err)
	}
}

// TestRecreate deletes and makes a topic again and again, with nobody in the background: old records never come back.
func TestRecreate(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b, err := Open(t.Context(), options(files))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		createTopic(t, b, "a", 1)
		if i%2 == 0 {
			p := touch(t, b, "a", 0)
			if got := p.Offsets().End; got != 0 {
				t.Fatalf("round %d: a new topic ends at %d", i, got)
			}
			if _, err := appendValue(p, strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
		deleteTopic(t, b, "a")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := dirs(t, files); strings.Contains(" "+got+" ", " a-0 ") {
		t.Errorf("directories after a stop: %s", got)
	}
	again := bring(t, options(files))
	eventually(t, "the directories go", func() bool { return dirs(t, files) == "__cluster_metadata-0" })
	createTopic(t, again, "a", 1)
	produce(t, touch(t, again, "a", 0), "new")
	if got := values(t, touch(t, again, "a", 0)); got != "new" {
		t.Errorf("records: %q", got)
	}
}

// TestCrashAnywhere crashes at every change of the files while topics are made, written, deleted and made again. Then: what was
// acknowledged is there, nothing of a deleted topic is, and its directories go.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	type state struct {
		topics  string // that may be, of what was answered last and what is asked now
		records map[string]string
	}
	type clone struct {
		files *vfs.Mem
		last  state
		next  state
	}
	files := vfs.NewMem()
	var (
		mu         sync.Mutex
		clones     []clone
		last, next state
	)
	b := bring(t, options(files))
	seed := uint64(0)
	files.OnOp(func(vfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		seed++
		crash := vfs.CrashOptions{Keep: int(seed%3) * 50, Rand: rand.New(rand.NewPCG(seed, 1))}
		clones = append(clones, clone{files.CrashClone(crash), last, next})
	})
	step := func(after state, do func()) {
		mu.Lock()
		next = after
		mu.Unlock()
		do()
		mu.Lock()
		last = after
		mu.Unlock()
	}
	step(state{"a", nil}, func() { createTopic(t, b, "a", 1) })
	step(state{"a", map[string]string{"a": "one"}}, func() { produce(t, touch(t, b, "a", 0), "one") })
	step(state{"", nil}, func() { deleteTopic(t, b, "a") })
	step(state{"a", nil}, func() { createTopic(t, b, "a", 1) })
	step(state{"a", map[string]string{"a": "two"}}, func() { produce(t, touch(t, b, "a", 0), "two") })
	step(state{"a", map[string]string{"a": "two"}}, func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	files.OnOp(func(vfs.Op) {})
	for i, c := range clones {
		again, err := Open(t.Context(), options(c.files))
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		run(t, again)
		var topics []string
		for _, topic := range again.Image().Topics {
			topics = append(topics, topic.Name)
		}
		got := strings.Join(topics, " ")
		if got != c.last.topics && got != c.next.topics {
			t.Errorf("crash %d: topics %q, want %q or %q", i, got, c.last.topics, c.next.topics)
			continue
		}
		if got == "a" {
			records := values(t, touch(t, again, "a", 0))
			if records != c.last.records["a"] && records != c.next.records["a"] && (c.last.topics != "" && c.next.topics != "") {
				t.Errorf("crash %d: records %q, want %q or %q", i, records, c.last.records["a"], c.next.records["a"])
			}
			if (c.last.topics == "" || c.last.records["a"] == "" && c.next.records["a"] == "two") && strings.Contains(records, "one") {
				t.Errorf("crash %d: records of a deleted topic came back: %q", i, records)
			}
		}
		eventually(t, fmt.Sprintf("crash %d: deleted directories go", i), func() bool {
			left := strings.Fields(dirs(t, c.files))
			return len(left) <= 1+len(topics)
		})
		if err := again.Close(); err != nil {
			t.Errorf("crash %d: close: %v", i, err)
		}
	}
	t.Logf("%d crashes", len(clones))
	if len(clones) < 40 {
		t.Errorf("only %d crashes were tried", len(clones))
	}
}

// TestManyAtOnce makes, writes and deletes topics from several goroutines.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	b := bring(t, options(files))
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			name := fmt.Sprintf("topic-%d", g%2)
			for i := range 10 {
				_, _ = b.CreateTopics(t.Context(), newTopics(name), false)
				if p, err := b.Partition(name, 0); err == nil {
					if end, err := appendValue(p, strconv.Itoa(i)); err == nil {
						_ = await(p, end)
					}
				}
				if g < 2 {
					_, _ = b.DeleteTopics(t.Context(), refs(name))
				}
			}
		})
	}
	group.Wait()
	if err := b.Healthy(); err != nil {
		t.Fatal(err)
	}
	for g := range 2 {
		_, _ = b.DeleteTopics(t.Context(), refs(fmt.Sprintf("topic-%d", g)))
	}
	eventually(t, "the directories go", func() bool { return dirs(t, files) == "__cluster_metadata-0" })
}
