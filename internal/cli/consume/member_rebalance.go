package consume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// assigned, revoked and lost are called by the client when the group's work is shared out anew, never while a poll's records are printed.
func (c *groupConsumption) assigned(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, list := range partitions {
		if c.mu.owned[topic] == nil {
			c.mu.owned[topic] = make(map[int32]int64)
		}
		for _, p := range list {
			c.mu.owned[topic][p] = -1
		}
	}
	if text := showPartitions(sortedPartitions(partitions)); text != "" {
		c.tellLocked("... assigned %s", text)
	} else if !c.mu.joined {
		c.tellLocked("... joined; the others have all partitions for now")
	}
	c.mu.joined = true
}

func (c *groupConsumption) revoked(ctx context.Context, _ *kgo.Client, partitions map[string][]int32) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	c.mu.Lock()
	gone := c.mu.gone
	c.mu.Unlock()
	if !gone {
		if err := c.commit(ctx); err != nil { // no failure: another member prints them
			c.tell("... not committed, so the records come again: %s", session.InWords(err, c.Seeds()))
		}
	}
	c.forget("revoked", partitions)
}

func (c *groupConsumption) lost(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	c.forget("lost", partitions)
}

func (c *groupConsumption) forget(how string, partitions map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, list := range partitions {
		for _, p := range list {
			delete(c.mu.owned[topic], p)
		}
	}
	if text := showPartitions(sortedPartitions(partitions)); text != "" && !c.mu.leaving {
		c.tellLocked("... %s %s", how, text)
	}
}

// commit commits what is marked and tells of it.
func (c *groupConsumption) commit(ctx context.Context) error {
	marked := c.client.MarkedOffsets()
	dropped := c.dropLost(marked)
	if len(marked) == 0 {
		return nil
	}
	var err error
	if dropped {
		err = c.commitOnly(ctx, marked)
	} else {
		err = c.client.CommitMarkedOffsets(ctx)
	}
	if err == nil {
		c.tellCommitted(marked)
	}
	return err
}

// commitOnly commits some of what is marked.
func (c *groupConsumption) commitOnly(ctx context.Context, marked map[string]map[int32]kgo.EpochOffset) (failed error) {
	c.client.CommitOffsetsSync(ctx, marked, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if failed = err; failed != nil {
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				failed = cmp.Or(failed, kerr.ErrorForCode(p.ErrorCode))
			}
		}
	})
	return failed
}

// dropLost removes topics that were deleted from offsets to commit, and reports whether it did. The broker would keep them for the next topic
// of the same name.
func (c *groupConsumption) dropLost(marked map[string]map[int32]kgo.EpochOffset) (dropped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic := range c.mu.lost {
		if _, ok := marked[topic]; ok {
			dropped = true
			delete(marked, topic)
		}
	}
	return dropped
}

func (c *groupConsumption) tellCommitted(marked map[string]map[int32]kgo.EpochOffset) {
	offsets := make(map[string]map[int32]int64)
	for topic, partitions := range marked {
		offsets[topic] = make(map[int32]int64)
		for p, at := range partitions {
			offsets[topic][p] = at.Offset
		}
	}
	c.tell("... committed %s", showOffsets(offsets))
}

// committed tells of a commit that the client made by itself.
func (c *groupConsumption) committed(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	offsets := make(map[string]map[int32]int64)
	if err == nil {
		for i, t := range resp.Topics {
			for j, p := range t.Partitions {
				if err = kerr.ErrorForCode(p.ErrorCode); err != nil {
					break
				}
				name := req.Topics[i].Topic
				if offsets[name] == nil {
					offsets[name] = make(map[int32]int64)
				}
				offsets[name][p.Partition] = req.Topics[i].Partitions[j].Offset
			}
		}
	}
	switch {
	case err != nil:
		c.tell("... not committed for now: %s", session.InWords(err, c.Seeds()))
	case len(offsets) > 0:
		c.tell("... committed %s", showOffsets(offsets))
	}
}

// begun returns what keeps this member from joining, once --timeout has passed.
func (c *groupConsumption) begun() error {
	c.mu.Lock()
	joined := c.mu.joined
	c.mu.Unlock()
	if joined {
		return nil
	}
	return c.Begun(c.began)
}

// atEnd reports whether all that this member has is printed up to where the log ended at first.
func (c *groupConsumption) atEnd() bool {
	if c.ends == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for topic, partitions := range c.mu.owned {
		for p, next := range partitions {
			if next < c.ends[topic][p] {
				return false
			}
			n++
		}
	}
	return c.mu.joined && n > 0
}

// idle tells a person that there is nothing more for now, and looks whether what this member has is at its end.
func (c *groupConsumption) idle(ctx context.Context) (ended bool, err error) {
	c.mu.Lock()
	if !c.waits && c.mu.joined && session.IsTerminal(c.ErrOut) {
		c.tellLocked("... waiting for new records (Ctrl-C ends)")
		c.waits = true
	}
	c.Reach().Tell(c.ErrOut)
	owned := copyOffsets(c.mu.owned)
	c.mu.Unlock()
	if err := errors.Join(c.ReaderGone(), c.begun(), c.renew(ctx)); err != nil {
		return true, err
	}
	if c.ends == nil {
		return false, nil
	}
	if len(owned) == 0 {
		if time.Since(c.quiet) < c.Timeout {
			return false, nil
		}
		return true, fmt.Errorf("group %s has given this member no partition; `ottla group describe %s` shows who has them", c.flags.group.name, c.flags.group.name)
	}
	if err := c.advance(ctx, owned); err != nil {
		return true, err
	}
	return c.atEnd(), nil
}

func copyOffsets(offsets map[string]map[int32]int64) map[string]map[int32]int64 {
	all := make(map[string]map[int32]int64)
	for topic, partitions := range offsets {
		for p, at := range partitions {
			if all[topic] == nil {
				all[topic] = make(map[int32]int64)
			}
			all[topic][p] = at
		}
	}
	return all
}

// advance moves on partitions from which nothing came: to what is committed, and past what has no records.
func (c *groupConsumption) advance(ctx context.Context, owned map[string]map[int32]int64) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	admin := kadm.NewClient(c.client)
	committed, err := fetchOffsets(ctx, admin, c.flags.group.name)
	if err != nil {
		return err
	}
	for topic, partitions := range owned {
		from, err := session.ResolvePlace(ctx, admin, c.from, topic, nil)
		if err != nil {
			return err
		}
		starts, err := session.ResolvePlace(ctx, admin, session.Place{Kind: session.AtStart}, topic, nil)
		if err != nil {
			return err
		}
		for p, next := range partitions {
			if next < 0 {
				next = from[p]
				if at, ok := committed[topic][p]; ok {
					next = at
				}
			}
			if next < c.ends[topic][p] {
				if next, err = passEmpty(ctx, c.client, topic, p, max(next, starts[p])); err != nil {
					return err
				}
			}
			if next >= c.ends[topic][p] {
				c.moved(topic, p, next)
			}
		}
	}
	return nil
}
