package group

import (
	"container/heap"
	"time"
)

// timerKind says what a timer is for.
type timerKind int8

// timer names one: a group, a member of it (or none), and what for.
type timer struct {
	group, member string
	kind          timerKind
}

// The kinds of timers. Each part of the machine adds its own.
const (
	expireOffsets timerKind = iota
	removeOffsets           // a large removal goes on
	classicJoin             // the group's join phase ends
	classicSync             // the group's members have to have synced
	classicSession
	classicPending // a member id that was given out (KIP-394) is forgotten
	consumerSession
	consumerRebalance   // a member has to have given up what it was told to
	consumerClassicJoin // a member that speaks the classic protocol has to have joined again
	consumerClassicSync // and has to have synced
)

// timers are the times to come, earliest first; of one time, in the order in which they were set.
type timers struct {
	queue timerQueue
	at    map[timer]*timerEntry
	seq   uint64
}

type timerEntry struct {
	timer
	when  time.Time
	seq   uint64
	index int
}

// set arms t for when, in place of what it was armed for.
func (ts *timers) set(t timer, when time.Time) {
	if ts.at == nil {
		ts.at = make(map[timer]*timerEntry)
	}
	ts.seq++
	if e := ts.at[t]; e != nil {
		e.when, e.seq = when, ts.seq
		heap.Fix(&ts.queue, e.index)
		return
	}
	e := &timerEntry{timer: t, when: when, seq: ts.seq}
	ts.at[t] = e
	heap.Push(&ts.queue, e)
}

// stop disarms t; it may not be armed.
func (ts *timers) stop(t timer) {
	if e := ts.at[t]; e != nil {
		heap.Remove(&ts.queue, e.index)
		delete(ts.at, t)
	}
}

// armed reports whether t is.
func (ts *timers) armed(t timer) bool { return ts.at[t] != nil }

// next is the earliest time; zero: none.
func (ts *timers) next() time.Time {
	if len(ts.queue) == 0 {
		return time.Time{}
	}
	return ts.queue[0].when
}

// large reports whether the earliest timer is one of those that may fill a batch.
func (ts *timers) large() bool {
	return len(ts.queue) > 0 && (ts.queue[0].kind == expireOffsets || ts.queue[0].kind == removeOffsets)
}

// due takes the earliest timer whose time has come.
func (ts *timers) due(now time.Time) (timer, bool) {
	if len(ts.queue) == 0 || ts.queue[0].when.After(now) {
		return timer{}, false
	}
	e := ts.queue[0]
	ts.stop(e.timer)
	return e.timer, true
}

type timerQueue []*timerEntry

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(i, j int) bool {
	if !q[i].when.Equal(q[j].when) {
		return q[i].when.Before(q[j].when)
	}
	return q[i].seq < q[j].seq
}

func (q timerQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *timerQueue) Push(x any) {
	e := x.(*timerEntry) //nolint:errcheck // heap.Interface: timers pushes nothing else
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *timerQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
