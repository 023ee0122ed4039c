package group

import (
	"time"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

type classic struct{}

// What the offsets ask of a classic group (offset_*.go is its caller).

// checkCommit says why a commit of in may not be taken from this group now; a member that commits is alive: its session begins anew.
func (m *Machine) classicCheckCommit(now time.Time, g *group, in *Commit) error { return nil }

// subscribes reports whether members of the group subscribe to topic, as far as it is known; unknown counts as yes while there are members.
func (c *classic) subscribes(topic string) bool { return false }

// state is Kafka's word: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead.
func (c *classic) state() string { return "" }

// emptySince is when the group lost its last member, in ms; false if it has members or it is not known.
func (c *classic) emptySince() (int64, bool) { return 0, false }

// protocolType is the group's, or empty.
func (c *classic) protocolType() string { return "" }

// classicRemove emits the tombstones of the group, and changes nothing itself (DeleteGroups and expiry: the group is empty).
func (m *Machine) classicRemove(g *group) {}

func (m *Machine) join(now time.Time, in Join)                                     {}
func (m *Machine) sync(now time.Time, in Sync)                                     {}
func (m *Machine) heartbeat(now time.Time, in Heartbeat)                           {}
func (m *Machine) leave(now time.Time, in Leave)                                   {}
func (m *Machine) describe(in Describe)                                            {}
func (m *Machine) classicTimer(now time.Time, t timer)                             {}
func (m *Machine) classicLoaded(now time.Time, g *group)                           {}
func (m *Machine) applyClassic(at batch.Offset, timestamp int64, e record.Classic) {}
