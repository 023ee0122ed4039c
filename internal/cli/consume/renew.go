package consume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// renewal follows topics that are deleted, and created again under the same name. The client (kgo 1.22) never takes on a topic's new id by
// itself: it asks for the old one for ever.
type renewal struct {
	ids   map[string]kadm.TopicID // of the topics that are read
	lost  map[string]bool         // deleted, as a fetch said; true once a person was told
	next  time.Time               // when to look for them again
	final bool                    // what is read has an end, which is gone with its topic
}

// lookEvery is how often a topic that was deleted is looked for.
const lookEvery = time.Second

func newRenewal(details kadm.TopicDetails, final bool) *renewal {
	r := &renewal{ids: make(map[string]kadm.TopicID), lost: make(map[string]bool), final: final}
	for name, d := range details {
		r.ids[name] = d.ID
	}
	return r
}

// absent are the answers to a fetch of a topic that was deleted, or whose id is another one by now. A fetch session keeps the topic's name, so its
// answers differ from those to a fetch without one. A topic that is new to a broker gets them for a moment, too.
var absent = []*kerr.Error{kerr.UnknownTopicID, kerr.UnknownTopicOrPartition, kerr.InconsistentTopicID}

// noteLost notes the topic of a fetch that failed because the topic may be deleted, and reports whether it did. The client then leaves the topic
// alone until look has found it.
func (r *renewal) noteLost(client *kgo.Client, e kgo.FetchError) bool {
	if !slices.ContainsFunc(absent, func(ke *kerr.Error) bool { return errors.Is(e.Err, ke) }) {
		return false
	}
	if _, known := r.lost[e.Topic]; !known && e.Topic != "" {
		r.lost[e.Topic] = false
		r.next = time.Time{}
		client.PauseFetchTopics(e.Topic)
	}
	return true
}

// retryPause is how long a consumer rests after an error that the client tries again.
const retryPause = 100 * time.Millisecond

// rest waits a little where a fetch failed with what the client tries again by itself. It shows such errors, since one of them says that a topic
// was deleted, and would fetch again without a rest.
func rest(ctx context.Context, fetches kgo.Fetches) {
	if !slices.ContainsFunc(fetches.Errors(), func(e kgo.FetchError) bool { return kerr.IsRetriable(e.Err) }) {
		return
	}
	select {
	case <-time.After(retryPause):
	case <-ctx.Done():
	}
}

// look returns the topics that are there again under another id, and makes the client forget what it knew of them. It asks at most once a
// second. A topic that has its old id was only hidden for a moment, and is read on. Where the end of what is read is gone with its topic, that is
// an error.
func (r *renewal) look(ctx context.Context, s *session.Session, client *kgo.Client) ([]kadm.TopicDetail, error) {
	if len(r.lost) == 0 || time.Now().Before(r.next) {
		return nil, nil
	}
	r.next = time.Now().Add(lookEvery)
	timed, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	names := slices.Sorted(maps.Keys(r.lost))
	details, err := kadm.NewClient(client).ListTopicsWithInternal(timed, names...)
	if err != nil {
		return nil, s.Explain(ctx, err)
	}
	var again []kadm.TopicDetail
	for _, name := range names {
		d := details[name]
		away := d.Err != nil || len(d.Partitions) == 0
		if r.final && (away || d.ID != r.ids[name]) {
			return nil, session.TopicError(name, kerr.UnknownTopicID, "")
		}
		if away {
			r.tellLost(s.ErrOut, name)
			continue
		}
		delete(r.lost, name)
		if d.ID != r.ids[name] {
			r.ids[name] = d.ID
			client.PurgeTopicsFromConsuming(name)
			fmt.Fprintf(s.ErrOut, "... topic %s was deleted and created again; the new one is read from its start\n", name)
			again = append(again, d)
		}
		client.ResumeFetchTopics(name)
	}
	return again, nil
}

func (r *renewal) tellLost(out io.Writer, name string) {
	if !r.lost[name] {
		r.lost[name] = true
		fmt.Fprintf(out, "... topic %s was deleted; waiting until it is created again (Ctrl-C ends)\n", name)
	}
}

// noteLost is renewal's, and keeps what this member has marked in the topic from being committed to the next one of its name.
func (c *groupConsumption) noteLost(e kgo.FetchError) bool {
	if !c.topics.noteLost(c.client, e) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.lost[e.Topic] = true
	return true
}

// renew joins anew for topics that were created again.
func (c *groupConsumption) renew(ctx context.Context) error {
	again, err := c.topics.look(ctx, c.Session, c.client)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range again {
		c.mu.renewed[d.Topic] = make(map[int32]bool)
		c.client.AddConsumeTopics(d.Topic)
	}
	for topic := range c.mu.lost {
		if _, still := c.topics.lost[topic]; !still {
			delete(c.mu.lost, topic)
		}
	}
	return err
}

// adjust makes this member begin each partition of a topic that was created again at its start, once: an offset that the group has is of the
// topic that was deleted, or of another member that was quicker. Then records come twice, and none is left out.
func (c *groupConsumption) adjust(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, partitions := range offsets {
		begun, renewed := c.mu.renewed[topic]
		for p := range partitions {
			if renewed && !begun[p] {
				begun[p] = true
				partitions[p] = kgo.NewOffset().AtStart()
			}
		}
	}
	return offsets, nil
}
