package group

import (
	"time"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

type offsets struct{}

func (offsets) empty() bool                                     { return true }
func (m *Machine) commit(now time.Time, in Commit)              {}
func (m *Machine) fetch(in Fetch)                               {}
func (m *Machine) deleteOffsets(in DeleteOffsets)               {}
func (m *Machine) delete(in Delete)                             {}
func (m *Machine) list(in List)                                 {}
func (m *Machine) expire(now time.Time)                         {}
func (m *Machine) offsetImage(old *meta.Image)                  {}
func (m *Machine) applyOffset(at batch.Offset, e record.Offset) {}
