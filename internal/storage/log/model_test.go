package log_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/storage/log"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// model is the dumb twin of a Log: a slice of batches.
type model struct {
	batches []batch.Batch
	below   []batch.Batch // deleted by the start
	start   batch.Offset
	end     batch.Offset
	synced  batch.Offset
}

func (m *model) truncate(to batch.Offset) {
	if to >= m.end {
		return
	}
	m.end = to
	for n := len(m.batches); n > 0 && m.batches[n-1].NextOffset() > to; n-- {
		m.end = min(m.end, m.batches[n-1].BaseOffset())
		m.batches = m.batches[:n-1]
	}
	m.start, m.synced = min(m.start, m.end), min(m.synced, m.end)
}

// read is the whole bytes from the batch that holds from to the one that holds limit, excluded.
func (m *model) read(from, limit batch.Offset) []byte {
	var b []byte
	for _, x := range m.batches {
		if x.LastOffset() >= from && x.LastOffset() < limit {
			b = append(b, x...)
		}
	}
	return b
}

func (m *model) records(limit batch.Offset) (list []log.TimestampOffset) {
	for _, b := range m.batches {
		for r, err := range b.All(batch.Limit{}) {
			if err != nil {
				panic(err)
			}
			if r.Offset >= m.start && r.Offset < limit {
				list = append(list, log.TimestampOffset{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: b.LeaderEpoch()})
			}
		}
	}
	return list
}

// boundary is an offset at which a batch begins, or the end.
func (m *model) boundary(t *rapid.T, label string) batch.Offset {
	i := rapid.IntRange(0, len(m.batches)).Draw(t, label)
	if i == len(m.batches) {
		return m.end
	}
	return max(m.batches[i].BaseOffset(), m.start)
}

// check compares everything a Log answers with the twin.
func (m *model) check(t rapid.TB, l *log.Log) {
	t.Helper()
	if l.Start() != m.start || l.End() != m.end {
		t.Fatalf("log is [%d, %d), expected [%d, %d)", l.Start(), l.End(), m.start, m.end)
	}
	m.checkRead(t, l, m.start, m.end)
	m.checkScan(t, l)
	m.checkTimes(t, l, m.end)
	m.checkEpochs(t, l)
}

func (m *model) checkRead(t rapid.TB, l *log.Log, from, limit batch.Offset) {
	t.Helper()
	want := m.read(from, limit)
	var got []byte
	for next := from; ; {
		r, err := l.Read(next, limit, 1<<20, true)
		if err != nil {
			t.Fatalf("read [%d, %d) at %d: %v", from, limit, next, err)
		}
		if r.Len() == 0 {
			break
		}
		b := bytesOf(t, &r)
		got = append(got, b...)
		for len(b) > 0 {
			var x batch.Batch
			if x, b, err = batch.Next(b); err != nil {
				t.Fatalf("read [%d, %d) at %d: %v", from, limit, next, err)
			}
			next = x.NextOffset()
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("read [%d, %d): %d bytes, expected %d", from, limit, len(got), len(want))
	}
}

func bytesOf(t rapid.TB, r *log.Range) []byte {
	t.Helper()
	b := make([]byte, r.Len())
	if n, err := r.ReadAt(b, 0); n < len(b) {
		t.Fatalf("range of %d bytes: read %d: %v", len(b), n, err)
	}
	r.Release()
	return b
}

func (m *model) checkScan(t rapid.TB, l *log.Log) {
	t.Helper()
	i := 0
	for i < len(m.batches) && m.batches[i].LastOffset() < m.start {
		i++
	}
	err := l.Scan(m.start, func(h batch.Batch) error {
		if i >= len(m.batches) || !bytes.Equal(h, m.batches[i][:batch.HeaderSize]) {
			return fmt.Errorf("unexpected batch at offset %d", h.BaseOffset())
		}
		i++
		return nil
	})
	if err != nil || i != len(m.batches) {
		t.Fatalf("scan from %d ended at batch %d of %d: %v", m.start, i, len(m.batches), err)
	}
}

func (m *model) checkTimes(t rapid.TB, l *log.Log, limit batch.Offset) {
	t.Helper()
	records := m.records(limit)
	var largest log.TimestampOffset
	exists := false
	for _, r := range records {
		if r.Timestamp >= 0 && (!exists || r.Timestamp > largest.Timestamp) {
			largest, exists = r, true
		}
	}
	if found, ok, err := l.MaxTimestamp(limit); err != nil || ok != exists || found != largest {
		t.Fatalf("max timestamp below %d: %v %v %v, expected %v %v", limit, found, ok, err, largest, exists)
	}
	for i := range min(len(records), 5) {
		m.checkFind(t, l, records[i*len(records)/5].Timestamp, limit)
	}
	m.checkFind(t, l, largest.Timestamp+1, limit)
}

func (m *model) checkFind(t rapid.TB, l *log.Log, ts int64, limit batch.Offset) {
	t.Helper()
	var want log.TimestampOffset
	exists := false
	for _, r := range m.records(limit) {
		if r.Timestamp >= ts {
			want, exists = r, true
			break
		}
	}
	if found, ok, err := l.FindTimestamp(ts, limit); err != nil || ok != exists || found != want {
		t.Fatalf("find %d below %d: %v %v %v, expected %v %v", ts, limit, found, ok, err, want, exists)
	}
}

func (m *model) checkEpochs(t rapid.TB, l *log.Log) {
	t.Helper()
	for _, b := range m.batches {
		if b.BaseOffset() >= m.start && l.EpochOf(b.BaseOffset()) != b.LeaderEpoch() {
			t.Fatalf("epoch of %d is %d, expected %d", b.BaseOffset(), l.EpochOf(b.BaseOffset()), b.LeaderEpoch())
		}
	}
	for i, b := range m.batches {
		if b.LastOffset() < m.start {
			continue
		}
		end := m.end
		for _, later := range m.batches[i:] {
			if later.LeaderEpoch() > b.LeaderEpoch() {
				end = later.BaseOffset()
				break
			}
		}
		if e, o := l.EpochEnd(b.LeaderEpoch()); e != b.LeaderEpoch() || o != end {
			t.Fatalf("end of epoch %d is %d %d, expected %d", b.LeaderEpoch(), e, o, end)
		}
	}
}

// machine drives a Log and its twin.
type machine struct {
	model
	fs    *vfs.Mem
	l     *log.Log
	opts  log.Options
	now   time.Time
	epoch batch.Epoch
}

func (m *machine) open(t rapid.TB, clean bool) {
	t.Helper()
	l, err := log.Open(m.fs, "topic-0", m.now, log.OpenOptions{
		Options: m.opts, Clean: clean, RecoveryPoint: m.synced, StartOffset: m.start,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.l = l
}

func (m *machine) drawGroup(t *rapid.T) []batch.Batch {
	var group []batch.Batch
	next := m.end
	for range rapid.IntRange(1, 4).Draw(t, "batches") {
		if rapid.IntRange(0, 9).Draw(t, "new epoch") == 0 {
			m.epoch++
		}
		ts := rapid.SampledFrom([]int64{-1, 0, m.now.UnixMilli(), m.now.UnixMilli() + 5000, m.now.UnixMilli() - 9000}).Draw(t, "timestamp")
		count := rapid.IntRange(1, 5).Draw(t, "records")
		if ts < 0 {
			count = 1
		}
		b := mk(t, next, count, rapid.IntRange(0, 300).Draw(t, "size"), m.epoch, ts)
		next = b.NextOffset()
		group = append(group, b)
	}
	return group
}

func (m *machine) append(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
	for group := m.drawGroup(t); len(group) > 0; {
		n := m.l.Fit(group)
		if err := m.l.Append(m.now, group[:n]); err != nil {
			t.Fatal(err)
		}
		m.batches = append(m.batches, group[:n]...)
		m.end = group[n-1].NextOffset()
		group = group[n:]
	}
}

func (m *machine) reopen(t *rapid.T) {
	clean := rapid.Bool().Draw(t, "clean")
	if err := m.l.Close(clean); err != nil {
		t.Fatal(err)
	}
	if clean {
		m.synced = m.end
	}
	m.open(t, clean)
}

func (m *machine) crash(t *rapid.T) {
	seed := rapid.Uint64().Draw(t, "seed")
	m.fs = m.fs.CrashClone(vfs.CrashOptions{
		Keep: rapid.SampledFrom([]int{0, 50, 90, 100}).Draw(t, "keep"), Rand: rand.New(rand.NewPCG(seed, 1)),
	})
	_ = m.l.Close(false)
	m.open(t, false)
	m.settle(t)
}

// settle takes over what a crash left: a prefix of whole batches that has everything synced.
func (m *machine) settle(t rapid.TB) {
	t.Helper()
	end := m.l.End()
	if start := m.l.Start(); start > m.start && m.synced <= m.start {
		// No file system that orders its directory operations loses the oldest file and keeps a newer one, but Mem does.
		m.advance(start)
		m.end = max(m.end, start)
	}
	if end < max(m.synced, m.start) || end > m.end {
		t.Fatalf("log ends at %d, expected [%d, %d]: %+v", end, m.synced, m.end, m.l.Recovery())
	}
	if end == m.start && m.l.Size() == 0 { // nothing at or after the start was left
		m.batches, m.end = nil, end
		return
	}
	before := m.end
	m.truncate(end)
	if m.end != end && before != end {
		t.Fatalf("log ends at %d, within a batch", end)
	}
	if len(m.batches) > 0 {
		m.epoch = max(m.batches[len(m.batches)-1].LeaderEpoch(), 0)
	}
}

func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{fs: vfs.NewMem(), opts: defaults(), now: epoch0}
		m.opts.SegmentBytes = int64(rapid.SampledFrom([]int{900, 3000, 20000}).Draw(t, "segment.bytes"))
		m.opts.IndexInterval = rapid.SampledFrom([]int{0, 100, 4096}).Draw(t, "index.interval.bytes")
		m.opts.IndexBytesMax = rapid.SampledFrom([]int{48, 400, 4096}).Draw(t, "segment.index.bytes")
		m.opts.SegmentAge = time.Duration(rapid.SampledFrom([]int{5, 3600}).Draw(t, "segment.s")) * time.Second
		m.opts.RetentionAge = -1
		m.opts.Preallocate = rapid.Bool().Draw(t, "preallocate")
		m.open(t, false)
		t.Repeat(m.actions())
		if err := m.l.Close(true); err != nil {
			t.Fatal(err)
		}
	})
}

// actions are what may be done, by name.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append":  m.append,
		"append2": m.append,
		"append3": m.append,
		"sync": func(t *rapid.T) {
			end, err := m.l.Sync()
			if err != nil || end != m.end || m.l.Unsynced() != 0 {
				t.Fatalf("sync: %d, %v, %d left", end, err, m.l.Unsynced())
			}
			m.synced = end
		},
		"read": func(t *rapid.T) {
			from, limit := m.boundary(t, "from"), m.boundary(t, "limit")
			if from > limit {
				from, limit = limit, from
			}
			m.checkRead(t, m.l, from, limit)
			m.checkTimes(t, m.l, limit)
		},
		"read cut": m.readCut,
		"roll old": func(t *rapid.T) {
			if err := m.l.RollIfOld(m.now); err != nil {
				t.Fatal(err)
			}
		},
		"truncate": func(t *rapid.T) {
			to := batch.Offset(rapid.Int64Range(int64(m.start), int64(m.end)).Draw(t, "to"))
			if err := m.l.Truncate(to); err != nil {
				t.Fatal(err)
			}
			m.truncate(to)
			if len(m.batches) > 0 {
				m.epoch = m.batches[len(m.batches)-1].LeaderEpoch()
			}
		},
		"truncate all": func(t *rapid.T) {
			at := batch.Offset(rapid.Int64Range(0, int64(m.end)+50).Draw(t, "at"))
			if rapid.IntRange(0, 3).Draw(t, "do") > 0 {
				return
			}
			if err := m.l.TruncateAll(at); err != nil {
				t.Fatal(err)
			}
			m.batches, m.start, m.end, m.synced = nil, at, at, at
		},
		"advance": func(t *rapid.T) {
			to := batch.Offset(rapid.Int64Range(int64(m.start), int64(m.end)).Draw(t, "to"))
			if err := m.l.AdvanceStart(to); err != nil {
				t.Fatal(err)
			}
			m.advance(to)
		},
		"retain": m.retain,
		"reopen": m.reopen,
		"crash":  m.crash,
		"":       func(t *rapid.T) { m.check(t, m.l) },
	}
}

func (m *machine) advance(to batch.Offset) {
	m.start = to
	for len(m.batches) > 0 && m.batches[0].LastOffset() < to {
		m.below = append(m.below, m.batches[0])
		m.batches = m.batches[1:]
	}
}

func (m *machine) retain(t *rapid.T) {
	opts := m.opts
	opts.RetentionBytes = int64(rapid.IntRange(-1, 3000).Draw(t, "retention.bytes"))
	m.l.SetOptions(opts)
	before, limit := m.l.Size(), m.boundary(t, "limit")
	n, err := m.l.Retain(m.now, limit)
	m.l.SetOptions(m.opts)
	if err != nil {
		t.Fatal(err)
	}
	start := m.l.Start()
	if start < m.start || start > max(limit, m.start) || n == 0 && start != m.start {
		t.Fatalf("retained from %d, was %d, limit %d, %d deleted", start, m.start, limit, n)
	}
	below := int64(0) // bytes below the start that may go whatever the size
	for _, b := range m.below {
		below += int64(len(b))
	}
	if opts.RetentionBytes >= 0 && n > 0 && m.l.Size() < min(before-below, opts.RetentionBytes) {
		t.Fatalf("%d bytes left of %d, %d were to stay", m.l.Size(), before, opts.RetentionBytes)
	}
	m.advance(start)
}

func (m *machine) readCut(t *rapid.T) {
	from := batch.Offset(rapid.Int64Range(int64(m.start)-2, int64(m.end)+2).Draw(t, "from"))
	size, whole := rapid.IntRange(0, 2000).Draw(t, "max"), rapid.Bool().Draw(t, "whole")
	r, err := m.l.Read(from, m.end, size, whole)
	if from < m.start || from > m.end {
		if !errors.Is(err, log.ErrOffsetOutOfRange) {
			t.Fatalf("read at %d outside [%d, %d]: %v", from, m.start, m.end, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := m.read(from, m.end)
	if len(want) == 0 && r.Len() == 0 {
		return
	}
	first, _, err := batch.Next(want)
	if err != nil {
		t.Fatal(err)
	}
	n, got := r.Len(), bytesOf(t, &r)
	if !bytes.HasPrefix(want, got) || n > size && (!whole || n != len(first)) || whole && n < len(first) {
		t.Fatalf("read at %d: %d bytes, max %d, first batch %d", from, n, size, len(first))
	}
}
