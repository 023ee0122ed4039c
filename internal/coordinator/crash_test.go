package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// look is what a machine shows of a group: its members, and its offsets. Soft says that the members are amid a classic rebalance, of which the
// log knows nothing: they are left out.
type look struct {
	members, offsets string
	soft             bool
}

func lookAt(m *group.Machine, now time.Time, id string) (l look) {
	caller := group.Caller{Token: 1 << 60}
	ask := func(in group.Input) any { return m.Step(now, in).Replies[0].Result }
	text := func(r any) string {
		b, err := json.Marshal(r)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	l.offsets = text(ask(group.Fetch{Caller: caller, Group: id, Epoch: -1}))
	switch d := ask(group.Describe{Caller: caller, Group: id}).(group.DescribeResult); {
	case errors.Is(d.Err, kerr.GroupIDNotFound):
		if c := ask(group.ConsumerDescribe{Caller: caller, Group: id}).(group.ConsumerDescribeResult); c.Err == nil {
			l.members = text(c)
		}
	case d.State != "Stable" && d.State != "Empty":
		l.soft = true
	case d.ProtocolType != "": // else it has offsets only
		l.members = text(d)
	}
	return l
}

// crashGroups are the groups of a history: of classic members, of the next generation's, of both in turn, and of none. Some share a shard.
var crashGroups = []string{"classic", "consumer", "both", "alone"}

// asked is a request of a history.
type asked struct {
	call  *Call
	in    group.Input
	group string
	// shows says which parts of a look the answer shows.
	members, offsets bool
	then             func(result any)
	done             bool
	end              batch.Offset // of the log when the answer was made
}

// acked is the proof that something is durable: an answer that shows parts of what the group was when its log ended at end.
type acked struct {
	group            string
	end              batch.Offset
	members, offsets bool
	sync             group.Sync // if it answers one
}

// crashed is a disk after a power cut.
type crashed struct {
	files *vfs.Mem
	acked int // how many answers had left
	asked int // how many steps had begun
}

// crashHistory is a random history of the groups of one node.
type crashHistory struct {
	t   *testing.T
	n   *node
	rng *rand.Rand
	// rolls: segments are small.
	rolls bool

	mu struct {
		sync.Mutex
		now    time.Time
		steps  int
		acked  []acked
		clones []crashed
	}
	ends        []map[string]batch.Offset // after each step, by group
	live        []map[string]look
	waiting     []*asked
	classic     map[string]map[string]*classicModel
	next        map[string]map[string]*nextModel
	assignments int
}

// classicModel is what a member of a classic group knows, and nextModel one of the next generation.
type classicModel struct {
	generation int32
	lead       []string // whom it assigns to
}

type nextModel struct {
	epoch int32
	owned []record.TopicPartitions
}

func (h *crashHistory) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.now
}

// crash is called at each change of the files.
func (h *crashHistory) crash(files *vfs.Mem) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seed := uint64(len(h.mu.clones))
	opts := vfs.CrashOptions{Keep: int(seed%3) * 50, Rand: rand.New(rand.NewPCG(seed, 1))}
	h.mu.clones = append(h.mu.clones, crashed{files: files.CrashClone(opts), acked: len(h.mu.acked), asked: h.mu.steps})
}

// ask puts in to the group's machine; then, if not nil, is told of the result.
func (h *crashHistory) ask(id string, in group.Input, then func(any)) *asked {
	a := &asked{call: h.n.groups.Ask(id, in), in: in, group: id, then: then}
	switch in.(type) {
	case group.Commit, group.Fetch, group.DeleteOffsets:
		a.offsets = true
	case group.Sync, group.Describe, group.ConsumerHeartbeat, group.ConsumerDescribe:
		a.members = true
	case group.Delete:
		a.members, a.offsets = true, true
	}
	h.waiting = append(h.waiting, a)
	return a
}

func (h *crashHistory) endOf(id string) batch.Offset {
	s := h.n.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.p == nil {
		return 0
	}
	return s.mu.p.Offsets().End
}

// note notes what the machines show after a step, and which answers were made in it.
func (h *crashHistory) note() {
	ends, live := map[string]batch.Offset{}, map[string]look{}
	for _, id := range crashGroups {
		ends[id] = h.endOf(id)
		s := h.n.shard(id)
		s.mu.Lock()
		if s.mu.state == active {
			live[id] = lookAt(s.mu.machine, h.now(), id)
		}
		s.mu.Unlock()
	}
	h.ends, h.live = append(h.ends, ends), append(h.live, live)
	for _, a := range h.waiting {
		if a.call.mu.Lock(); a.call.mu.done && !a.done {
			a.done, a.end = true, ends[a.group]
		}
		a.call.mu.Unlock()
	}
}

// take takes the answers that may leave; with patience, all that are made.
func (h *crashHistory) take(patient bool) {
	kept := h.waiting[:0]
	for _, a := range h.waiting {
		w := partition.NewWaiter()
		result, ready := a.call.Poll(w)
		for ; !ready && a.done && patient; result, ready = a.call.Poll(w) {
			<-w.C
		}
		if !ready {
			kept = append(kept, a)
			continue
		}
		if a.done && failure(result) == nil {
			sync, _ := a.in.(group.Sync)
			h.mu.Lock()
			h.mu.acked = append(h.mu.acked, acked{a.group, a.end, a.members, a.offsets, sync})
			h.mu.Unlock()
		}
		if a.then != nil {
			a.then(result)
		}
	}
	h.waiting = kept
}

// failure is the error of a result that says nothing of what is there.
func failure(result any) error {
	switch r := result.(type) {
	case group.CommitResult:
		return r.Topics[0].Partitions[0].Err
	case group.FetchResult:
		return r.Err
	case group.DeleteOffsetsResult:
		if r.Err == nil {
			return r.Topics[0].Partitions[0].Err
		}
		return r.Err
	case group.DeleteResult:
		return r.Err
	case group.SyncResult:
		return r.Err
	case group.ConsumerHeartbeatResult:
		return r.Err
	}
	return nil
}

func (h *crashHistory) caller() group.Caller { return h.n.groups.Caller("client", "/127.0.0.1") }

func newCrashHistory(t *testing.T, files vfs.FS, seed uint64) *crashHistory {
	h := &crashHistory{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), rolls: seed%2 == 1, classic: map[string]map[string]*classicModel{}, next: map[string]map[string]*nextModel{},
	}
	h.mu.now = time.Now()
	s := compacted() // by the test alone, since the logs tell what was
	s.still, s.now, s.resolve = true, h.now, func(o *partition.Options) {
		o.Log.SegmentAge = 50 * 24 * time.Hour
		if h.rolls {
			o.Log.SegmentBytes = 2000
		}
	}
	h.n = s.bring(t, files)
	h.n.topicWide(t, "orders", 3)
	h.n.serve(t, crashGroups[0])
	for _, id := range crashGroups {
		h.classic[id], h.next[id] = map[string]*classicModel{}, map[string]*nextModel{}
	}
	return h
}

// TestCrashInHistory crashes at every change of the files in random histories of groups of both protocols. Each disk comes back as what the log
// holds there: what the machine showed that wrote it, at a moment that is not before what an answer showed that had left, and not after the last
// step that was begun.
func TestCrashInHistory(t *testing.T) {
	t.Parallel()
	var crashes, answers, looks, beats int
	for seed := range uint64(4) {
		files := vfs.NewMem()
		h := newCrashHistory(t, files, seed)
		files.OnOp(func(vfs.Op) { h.crash(files) })
		for range 200 {
			h.step()
			h.note()
			h.take(h.rng.IntN(2) == 0)
		}
		h.take(true)
		told := h.replay()
		h.n.stop()
		files.OnOp(nil)
		h.checkLive(told)
		for i := range h.mu.clones {
			beats += h.check(told, seed, i)
		}
		crashes, answers = crashes+len(h.mu.clones), answers+len(h.mu.acked)
		for _, m := range told {
			looks += len(m)
		}
	}
	t.Logf("%d crashes, %d answers, %d states, %d heartbeats of members that had synced", crashes, answers, looks, beats)
	if crashes < 500 || answers < 100 || looks < 100 || beats < 100 {
		t.Error("that is too few")
	}
}

// load loads what is to be loaded.
func (h *crashHistory) load() {
	for s := h.n.groups.loads.first(); s != nil; s = h.n.groups.loads.first() {
		s.load(h.t.Context())
	}
}

// TestFaultsInHistory has writes fail at random, for want of room, in random histories. What is shown is what is in the log, whatever steps had to be
// taken back or thrown away; whoever waits is answered.
func TestFaultsInHistory(t *testing.T) {
	t.Parallel()
	var failed, reloads int
	var saved int64
	for seed := range uint64(8) {
		var one atomic.Bool
		files := vfs.Faulty(vfs.NewMem(), func(op vfs.Op) error {
			if op.Kind == vfs.OpWrite && strings.HasPrefix(op.Name, Topic) && one.CompareAndSwap(true, false) {
				failed++
				return fmt.Errorf("write: %w", syscall.ENOSPC)
			}
			return nil
		})
		h := newCrashHistory(t, files, 100+seed)
		for range 300 {
			one.Store(h.rng.IntN(6) == 0)
			h.step()
			one.Store(false)
			h.note()
			h.take(h.rng.IntN(2) == 0)
			for _, s := range h.n.groups.table.Load().shards {
				if s.mu.state != active {
					reloads++
				}
			}
			if h.rng.IntN(2) == 0 {
				h.load()
			}
		}
		h.pass(reloadPause)
		h.load()
		told := h.replay()
		h.checkLive(told)
		saved += h.checkCompacted(seed)
		h.n.groups.Close()
		h.take(true)
		if len(h.waiting) > 0 {
			t.Errorf("seed %d: %d calls are never answered", seed, len(h.waiting))
		}
	}
	t.Logf("%d writes failed, %d times a shard was found to be loaded, %d bytes were compacted away", failed, reloads, saved)
	if failed < 50 || reloads < 20 || saved < 10_000 {
		t.Error("that is too few")
	}
}

// checkCompacted compacts the logs, and compares what they tell then with what they told before.
func (h *crashHistory) checkCompacted(seed uint64) (saved int64) {
	for _, id := range crashGroups {
		s := h.n.shard(id)
		before := lookAt(s.mu.machine, h.now(), id)
		if s.mu.p == nil {
			continue
		}
		size := s.mu.p.Size()
		h.n.compact(h.t, id)
		saved += size - s.mu.p.Size()
		h.n.reload(id)
		h.load()
		if after := lookAt(s.mu.machine, h.now(), id); after.offsets != before.offsets || !before.soft && !after.soft && after.members != before.members {
			h.t.Errorf("seed %d: %s was\n%+v\nand is, after its log was compacted,\n%+v", seed, id, before, after)
		}
	}
	return saved
}

// history is what a group's log tells of it, by the end of its batches.
type history map[batch.Offset]look

// replay reads the logs batch by batch into new machines.
func (h *crashHistory) replay() map[string]history {
	told := map[string]history{}
	for _, id := range crashGroups {
		s := h.n.shard(id)
		m := s.newMachine().Machine
		told[id] = history{0: lookAt(m, h.now(), id)}
		if h.endOf(id) == 0 {
			continue
		}
		for !h.readTo(s.mu.p, m, id, told[id]) {
			runtime.Gosched()
		}
	}
	return told
}

// readTo is false if not all is committed.
func (h *crashHistory) readTo(p *partition.Partition, m *group.Machine, id string, told history) bool {
	marks := p.Offsets()
	if marks.HighWatermark < marks.End {
		return false
	}
	r := replayer{machine: m}
	for at := batch.Offset(0); at < marks.End; {
		found, _, err := p.Read(partition.Fetch{Offset: at, LeaderEpoch: batch.NoEpoch, MaxBytes: 1, Whole: true})
		if err != nil {
			h.t.Fatal(err)
		}
		b := make(batch.Batch, found.Len())
		if _, err = found.ReadAt(b, 0); err == nil {
			err = r.apply(b, 0)
		}
		found.Release()
		if err != nil {
			h.t.Fatal(err)
		}
		at = b.NextOffset()
		told[at] = lookAt(m, h.now(), id)
	}
	return true
}

// checkLive compares what the machines showed with what the log tells.
func (h *crashHistory) checkLive(told map[string]history) {
	for i, live := range h.live {
		for _, id := range crashGroups {
			got, ok := live[id]
			want := told[id][h.ends[i][id]]
			if !ok { // it was not loaded
				continue
			}
			if got.offsets != want.offsets || !got.soft && got.members != want.members {
				h.t.Fatalf("step %d: %s was\n%s\n%s\nand the log up to %d tells\n%s\n%s", i, id, got.members, got.offsets, h.ends[i][id], want.members, want.offsets)
			}
		}
	}
}

// check compares a disk after a crash with what the log told.
func (h *crashHistory) check(told map[string]history, seed uint64, i int) (beats int) {
	c := h.mu.clones[i]
	n := bring(h.t, c.files)
	defer n.stop()
	for _, id := range crashGroups {
		end, got := n.loaded(h.t, id)
		fail := func(format string, args ...any) {
			h.t.Helper()
			h.t.Fatalf("seed %d, crash %d, %s, whose log ends at %d: %s", seed, i, id, end, fmt.Sprintf(format, args...))
		}
		want, ok := told[id][end]
		if got.soft { // a group that was made of a next-generation one begins a rebalance when it is loaded
			got.members, got.soft = want.members, false
		}
		if !ok || got != want {
			fail("it is\n%+v\nand was\n%+v", got, want)
		}
		if c.asked < len(h.ends) && end > h.ends[max(c.asked-1, 0)][id] {
			fail("only %d steps were begun, after which it ended at %d", c.asked, h.ends[c.asked-1][id])
		}
		for _, a := range h.mu.acked[:c.acked] {
			if a.group != id {
				continue
			}
			if a.sync.Group == id && told[id][a.end].members == want.members {
				if err := n.beat(h.t, id, a.sync.Member, a.sync.Generation); err != nil && !errors.Is(err, kerr.RebalanceInProgress) {
					fail("heartbeat of member %s of generation %d: %v", a.sync.Member, a.sync.Generation, err)
				}
				beats++
			}
			// What was shown may be older than the log's end was then.
			shown := told[id][a.end]
			for at := end; at < a.end; at++ {
				l, ok := told[id][at]
				if ok && (a.members && l.members != shown.members || a.offsets && l.offsets != shown.offsets) {
					fail("an answer showed\n%+v\nat %d, and at %d it was\n%+v", shown, a.end, at, l)
				}
			}
		}
	}
	return beats
}

// loaded waits until a group's shard is loaded, and looks at it.
func (n *node) loaded(t *testing.T, id string) (end batch.Offset, l look) {
	n.serve(t, id)
	s := n.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.p != nil {
		end = s.mu.p.Offsets().End
	}
	return end, lookAt(s.mu.machine, time.Now(), id)
}
