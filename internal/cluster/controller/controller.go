package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Journal commits records and gives committed ones back, in order. An error that wraps ErrRefused says that nothing of
// the batch was kept; any other is final.
type Journal interface {
	// Commit appends records as one batch and returns when it is committed; base is the offset of the first.
	Commit(ctx context.Context, records [][]byte) (base batch.Offset, err error)
	// Replay gives fn every committed record from offset from on; value is nil for a control record.
	Replay(from batch.Offset, fn func(offset batch.Offset, value []byte) error) error
	// End is the offset of the next record.
	End() batch.Offset
}

// ErrRefused marks a commit that left nothing behind, so that the next one may be tried.
var ErrRefused = errors.New("metadata records were not written")

// Controller decides metadata commands.
type Controller struct {
	journal Journal
	publish func(*meta.Image, []meta.Record)
	image   atomic.Pointer[meta.Image]
	removed map[topic.ID]string // by the replay; nil once taken
	room    func() bool         // see OnRefused

	// dead is why no command can be decided any more; stored under mu, which is held for as long as a commit syncs.
	dead atomic.Pointer[error]
	mu   struct {
		sync.Mutex
		state *meta.State
	}
}

// Open replays the journal onto state, which may hold a snapshot. publish is told each new Image and the records that
// made it, in order, before their command is answered; it must be quick.
func Open(journal Journal, state *meta.State, publish func(*meta.Image, []meta.Record)) (*Controller, error) {
	c := &Controller{journal: journal, publish: publish, removed: map[topic.ID]string{}}
	c.mu.state = state
	err := journal.Replay(state.Version()+1, func(offset batch.Offset, value []byte) error {
		if value == nil {
			state.Skip(offset)
			return nil
		}
		r, err := meta.DecodeRecord(value)
		if err != nil {
			return fmt.Errorf("metadata offset %d: %w", offset, err)
		}
		c.remember(state, r)
		return state.Apply(offset, r)
	})
	if err != nil {
		return nil, fmt.Errorf("replay the metadata log: %w", err)
	}
	state.Abandon()
	c.image.Store(state.Image())
	return c, nil
}

// remember notes a topic that the log removes.
func (c *Controller) remember(state *meta.State, r meta.Record) {
	removal, ok := r.(meta.RemoveTopicRecord)
	if !ok {
		return
	}
	if t := state.Topic(removal.ID); t != nil {
		c.removed[t.ID] = t.Name
	}
}

// TakeRemoved returns the topics that the replayed log removed, and forgets them: their directories may be there still, if the
// process died before it removed them.
func (c *Controller) TakeRemoved() map[topic.ID]string {
	removed := c.removed
	c.removed = nil
	return removed
}

// OnRefused sets what is asked when a commit was refused, for want of room on the disk. If it says that there is room now, the commit is
// tried once more: topics must be deletable when the disk is full. It is to be set before the first command.
func (c *Controller) OnRefused(makeRoom func() bool) { c.room = makeRoom }

// Image is the newest metadata.
func (c *Controller) Image() *meta.Image { return c.image.Load() }

// Healthy is nil, or why no command can be decided any more. It takes no lock.
func (c *Controller) Healthy() error {
	if dead := c.dead.Load(); dead != nil {
		return *dead
	}
	return nil
}

// Execute decides cmd, commits what it writes and returns its result when the new Image is out. Errors: the command's own
// (a *meta.RefusalError), or KAFKA_STORAGE_ERROR, wrapped.
func Execute[R any](ctx context.Context, c *Controller, cmd meta.Command[R]) (R, error) {
	return execute(ctx, c, func(batch.Offset) meta.Command[R] { return cmd })
}

// execute is Execute for a command that wants to know where its first record will stand.
func execute[R any](ctx context.Context, c *Controller, command func(next batch.Offset) meta.Command[R]) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if dead := c.Healthy(); dead != nil {
		return none, fmt.Errorf("%w: the metadata log is offline: %w", kerr.KafkaStorageError, dead)
	}
	records, result, err := meta.Decide(c.mu.state, command(c.journal.End()))
	if err != nil || len(records) == 0 {
		return result, err
	}
	if err := c.commitLocked(ctx, records); err != nil {
		return none, err
	}
	return result, nil
}

// commitLocked has records committed, applies them and publishes the Image.
func (c *Controller) commitLocked(ctx context.Context, records []meta.Record) error {
	values := make([][]byte, len(records))
	for i, r := range records {
		values[i] = meta.AppendRecord(nil, r)
	}
	base, err := c.journal.Commit(ctx, values)
	if errors.Is(err, ErrRefused) && c.room != nil && c.room() {
		base, err = c.journal.Commit(ctx, values)
	}
	if errors.Is(err, ErrRefused) {
		return fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
	}
	if err != nil {
		c.dead.Store(&err)
		return fmt.Errorf("%w: commit metadata: %w", kerr.KafkaStorageError, err)
	}
	for i, r := range records {
		if err := c.mu.state.Apply(base+batch.Offset(i), r); err != nil {
			c.dead.Store(&err)
			return fmt.Errorf("%w: %w", kerr.UnknownServerError, err)
		}
	}
	image := c.mu.state.Image()
	c.image.Store(image)
	if c.publish != nil {
		c.publish(image, records)
	}
	return nil
}
