package coordinator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// The steps of a crashHistory.

// some is a key of m, or "".
func some[T any](rng *rand.Rand, m map[string]T) string {
	if len(m) == 0 {
		return ""
	}
	return slices.Sorted(maps.Keys(m))[rng.IntN(len(m))]
}

// pick is one of all.
func pick[T any](rng *rand.Rand, all ...T) T { return all[rng.IntN(len(all))] }

// step makes one step.
func (h *crashHistory) step() {
	h.mu.Lock()
	h.mu.steps++
	h.mu.Unlock()
	classic, next, id := pick(h.rng, "classic", "both"), pick(h.rng, "consumer", "both"), pick(h.rng, crashGroups...)
	switch h.rng.IntN(20) {
	case 0, 1, 2:
		h.joinClassic(classic)
	case 3, 4, 5:
		h.syncClassic(classic)
	case 6:
		h.ask(classic, h.n.leaving(classic, some(h.rng, h.classic[classic])), nil)
	case 7, 8, 9, 10:
		h.beatNext(next)
	case 11, 12:
		h.commitAs(id)
	case 13:
		h.ask("alone", h.n.committing("alone", "orders", batch.Offset(h.rng.IntN(1000))), nil)
	case 14:
		h.ask(id, group.DeleteOffsets{Caller: h.caller(), Group: id, Topics: []group.FetchTopic{{Topic: "orders", Partitions: []int32{0, 1}}}}, nil)
	case 15:
		h.ask(id, group.Delete{Caller: h.caller(), Group: id}, nil)
	case 16:
		h.ask(id, group.Fetch{Caller: h.caller(), Group: id, Epoch: -1}, nil)
		h.ask(id, group.Describe{Caller: h.caller(), Group: id}, nil)
		h.ask(id, group.ConsumerDescribe{Caller: h.caller(), Group: id}, nil)
	case 17:
		if h.rng.IntN(5) == 0 {
			h.grow()
		}
	default:
		h.pass(time.Duration(h.rng.Int64N(int64(40 * time.Second))))
	}
}

// pass lets time pass.
func (h *crashHistory) pass(d time.Duration) {
	h.mu.Lock()
	h.mu.now = h.mu.now.Add(d)
	h.mu.Unlock()
	h.n.groups.tick()
}

func (h *crashHistory) joinClassic(id string) {
	in := h.n.joining(id, "", time.Minute, time.Minute)
	if h.rng.IntN(3) == 0 {
		in.InstanceID = new(fmt.Sprint("i", h.rng.IntN(2)))
	} else if h.rng.IntN(4) > 0 {
		in.Member = some(h.rng, h.classic[id])
	}
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics, m.UserData = []string{"orders"}, []byte{byte(h.rng.IntN(2))}
	in.Protocols[0].Metadata = m.AppendTo(nil)
	h.ask(id, in, func(result any) {
		r := result.(group.JoinResult)
		if r.Err != nil {
			delete(h.classic[id], in.Member)
			return
		}
		m := &classicModel{generation: r.Generation}
		for _, other := range r.Members {
			m.lead = append(m.lead, other.Member)
		}
		h.classic[id][r.Member] = m
	})
}

// syncClassic: each assignment of a history is another one, so that no two generations look alike.
func (h *crashHistory) syncClassic(id string) {
	member := some(h.rng, h.classic[id])
	if member == "" {
		return
	}
	m := h.classic[id][member]
	in := h.n.syncing(id, member, m.generation)
	for i, other := range m.lead {
		a := kmsg.NewConsumerMemberAssignment()
		h.assignments++
		a.UserData = fmt.Append(nil, h.assignments)
		a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: "orders", Partitions: []int32{int32(i)}}}
		in.Assignments = append(in.Assignments, group.Assigned{Member: other, Assignment: a.AppendTo(nil)})
	}
	h.ask(id, in, nil)
}

func (n *node) leaving(id, member string) group.Leave {
	return group.Leave{Caller: n.groups.Caller("client", "/127.0.0.1"), Group: id, Members: []group.LeavingMember{{Member: member}}}
}

func (h *crashHistory) beatNext(id string) {
	member := fmt.Sprint("m", h.rng.IntN(4))
	m := h.next[id][member]
	if m == nil {
		m = &nextModel{}
		h.next[id][member] = m
	}
	in := h.n.heartbeat(id, member, m.epoch)
	switch {
	case m.epoch == 0 && h.rng.IntN(4) == 0:
		in.Topics, in.Regex = nil, new("ord.*")
	case m.epoch == 0:
	case h.rng.IntN(5) == 0:
		in.Epoch = -1
	default:
		in.Owned = m.owned
	}
	h.ask(id, in, func(result any) {
		r := result.(group.ConsumerHeartbeatResult)
		if r.Err != nil || in.Epoch < 0 {
			delete(h.next[id], member)
			return
		}
		m.epoch = r.Epoch
		if r.Assignment != nil {
			m.owned = *r.Assignment
		}
	})
}

// commitAs commits as a member, of either protocol.
func (h *crashHistory) commitAs(id string) {
	in := h.n.committing(id, "orders", batch.Offset(h.rng.IntN(1000)))
	in.Version = 9
	in.Topics[0].Partitions[0].Partition = h.rng.Int32N(2)
	in.Topics[0].Partitions[0].Metadata = fmt.Sprint("step ", len(h.ends))
	if member := some(h.rng, h.classic[id]); member != "" {
		in.Member, in.Epoch = member, h.classic[id][member].generation
	}
	if member := some(h.rng, h.next[id]); member != "" && h.rng.IntN(2) == 0 {
		in.Member, in.Epoch = member, h.next[id][member].epoch
	}
	h.ask(id, in, nil)
}

// grow gives the topic one partition more.
func (h *crashHistory) grow() {
	more := meta.MorePartitions{Topic: "orders", Count: int32(len(h.n.broker.Image().Topic("orders").Partitions)) + 1}
	results, err := h.n.broker.CreatePartitions(h.t.Context(), []meta.MorePartitions{more}, false)
	if err != nil || results[0].Err != nil {
		h.t.Fatal(err, results)
	}
	h.n.groups.tick()
}
