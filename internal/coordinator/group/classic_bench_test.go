package group

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// benchGroups is a machine with that many groups of one member, which is stable.
func benchGroups(b *testing.B, count int) (m *Machine, now time.Time, members []string) {
	b.Helper()
	m, now = floodMachine(1 << 30)
	members = make([]string, count)
	at := batch.Offset(0)
	step := func(in Input) {
		e := m.Step(now, in)
		for _, r := range e.Records {
			if err := m.Apply(at, now.UnixMilli(), r.Key, r.Value); err != nil {
				b.Fatal(err)
			}
			at++
		}
		for _, r := range e.Replies {
			if j, ok := r.Result.(JoinResult); ok && j.Err == nil {
				members[int(r.Token)-1] = j.Member
			}
		}
	}
	for i := range count {
		in := floodJoin(Token(i+1), "consumer-1")
		in.Group, in.NeedsKnownID, in.Session = fmt.Sprint("group-", i), false, 30*time.Minute
		step(in)
	}
	for now = now.Add(3 * time.Second); !m.Next().After(now); {
		step(Tick{})
	}
	for i, id := range members {
		step(Sync{Caller: Caller{Token: Token(i + 1)}, Group: fmt.Sprint("group-", i), Member: id, Generation: 1, Assignments: []Assigned{{id, []byte("assignment")}}})
	}
	return m, now, members
}

// BenchmarkClassicHeartbeat is one Heartbeat among 10,000 groups.
func BenchmarkClassicHeartbeat(b *testing.B) {
	m, now, members := benchGroups(b, 10_000)
	beats := make([]Input, len(members))
	for i, id := range members {
		beats[i] = Heartbeat{Caller: Caller{Token: 1}, Group: fmt.Sprint("group-", i), Member: id, Generation: 1}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Microsecond)
		if e := m.Step(now, beats[i%len(beats)]); e.Replies[0].Result.(HeartbeatResult).Err != nil {
			b.Fatal(e.Replies[0].Result)
		}
	}
}

// BenchmarkClassicGroups says what a group of one member takes in memory.
func BenchmarkClassicGroups(b *testing.B) {
	const count = 10_000
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		m, _, _ := benchGroups(b, count)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/count, "B/group")
		runtime.KeepAlive(m)
	}
}
