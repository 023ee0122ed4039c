package partition

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Absent reports whether the partition has no directory: nothing was ever appended to it.
func (p *Partition) Absent() bool { return p.log.Absent() }

// create makes the directory of an absent partition before the first append, without the partition's lock: readers do not wait for the
// disk. The names become durable with the first sync of the log. For want of room it may be tried again; any other error is final.
func (p *Partition) create() error {
	err := p.createOnce()
	switch {
	case err == nil || isProtocol(err):
		return err
	case !noRoom(err):
		p.Fail(err)
	}
	return fmt.Errorf("%w: %w", err, kerr.KafkaStorageError)
}

func (p *Partition) createOnce() error {
	p.creating.Lock()
	defer p.creating.Unlock()
	if !p.log.Absent() {
		return nil
	}
	if err := p.refusal(); err != nil {
		return err
	}
	if p.onCreate != nil {
		if err := p.onCreate(); err != nil {
			return err
		}
	}
	if err := p.log.CreateDir(); err != nil {
		return err
	}
	if p.id.TopicID != (topic.ID{}) {
		if err := writeMetadata(p.fs, p.dir, p.id.TopicID); err != nil {
			return err
		}
	}
	return p.log.Create()
}

// needsCreating reports whether group has a batch that is to be appended to a partition without a directory.
func (p *Partition) needsCreating(group []*Produce) bool {
	if !p.log.Absent() {
		return false
	}
	for _, pr := range group {
		if pr.Err == nil {
			return true
		}
	}
	return false
}
