package api

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// DeleteTopics: v0 to v6.
//
// **Behaviour**
//
// Deletes topics by name, or from v6 on by id; each succeeds or fails by itself, and is gone when the reply leaves. What is named
// twice is refused once and not deleted, also when once it is named by its name and once by its id.
//
// Per topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST (named twice, by name and id at once, or by neither),
// TOPIC_DELETION_DISABLED (INVALID_REQUEST below v3) if delete.topic.enable is false, REQUEST_TIMED_OUT.
//
// **Differences from Apache Kafka**
//
// Topics are answered in the order of the request; Kafka shuffles them. A timeout of 0 or less is no limit; Kafka times out at once.
//
// **Versions**
//
//	v3 TOPIC_DELETION_DISABLED (KIP-322), v4 flexible, v5 error messages
//	v6 topic ids (KIP-516)

func (a *API) deleteTopics(ctx context.Context, req *Request, m *kmsg.DeleteTopicsRequest) kmsg.Response {
	ctx, cancel := within(ctx, m.TimeoutMillis)
	defer cancel()
	resp := kmsg.NewPtrDeleteTopicsResponse()
	asked, before := a.deletions(m), a.node.Image()
	refs := make([]meta.TopicRef, 0, len(asked))
	for _, d := range asked {
		if d.err == nil {
			refs = append(refs, meta.TopicRef{Name: d.nameOr(""), ID: d.id})
		}
	}
	var results []meta.TopicResult
	var err error
	if len(refs) > 0 {
		results, err = a.topics.DeleteTopics(ctx, refs)
	}
	audit := a.Audit(req)
	defer audit.Done()
	place := 0
	for _, d := range asked {
		if d.err == nil {
			result := resultOf(results, place, d.nameOr(""), err)
			place++
			if d.err = result.Err; d.err == nil {
				d.name, d.id = &result.Name, result.ID
				audit.deleted(before, result.Name, result.ID)
			}
		}
		rt := kmsg.NewDeleteTopicsResponseTopic()
		rt.Topic, rt.TopicID = d.name, d.id
		rt.ErrorCode, rt.ErrorMessage = a.fault(req, d.err), explain(d.err)
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// deleted writes that a topic of the image before was deleted.
func (t *Audit) deleted(before *meta.Image, name string, id topic.ID) {
	partitions := 0
	if was := before.TopicByID(id); was != nil {
		partitions = len(was.Partitions)
	}
	t.Line("topic deleted", slog.String("topic", name), slog.Any("id", id), slog.Int("partitions", partitions))
}

// deletion is a topic that a request names, by name or id, and why it is refused, if it is.
type deletion struct {
	name *string
	id   topic.ID
	err  error
}

func (d *deletion) nameOr(other string) string {
	if d.name == nil {
		return other
	}
	return *d.name
}

// deletionKey tells the topics of a request apart. A topic named by name and id at once is one of its own.
type deletionKey struct {
	named bool
	name  string
	id    topic.ID
}

func (d *deletion) key() deletionKey { return deletionKey{d.name != nil, d.nameOr(""), d.id} }

// deletions are the topics that a request names, each once, and what is wrong with them (Kafka's ControllerApis.deleteTopics).
func (a *API) deletions(m *kmsg.DeleteTopicsRequest) []deletion {
	var named []deletion
	for i := range m.TopicNames {
		named = append(named, deletion{name: &m.TopicNames[i]})
	}
	for _, t := range m.Topics {
		named = append(named, deletion{name: t.Topic, id: t.TopicID})
	}
	times := Counted(named, (*deletion).key)
	image := a.node.Image()
	asked := named[:0]
	for _, d := range named {
		n := times[d.key()]
		if n == 0 { // answered
			continue
		}
		times[d.key()] = 0
		d.err = a.refuseDeletion(m.Version, d, n)
		asked = append(asked, d)
	}
	byID := make(map[topic.ID]int)
	for i := range asked {
		if d := &asked[i]; d.err == nil && d.name == nil {
			byID[d.id] = i
		}
	}
	return refuseBoth(image, asked, byID)
}

// refuseDeletion says what is wrong with the way a topic is named n times.
func (a *API) refuseDeletion(version int16, d deletion, n int) error {
	noID := d.id == topic.ID{}
	switch {
	case a.opts.KeepTopics && version < 3:
		return refuse(kerr.InvalidRequest, "delete.topic.enable is false")
	case a.opts.KeepTopics:
		return refuse(kerr.TopicDeletionDisabled, "delete.topic.enable is false")
	case d.name == nil && noID:
		return refuse(kerr.InvalidRequest, "neither topic name nor topic id were given")
	case d.name != nil && !noID:
		return refuse(kerr.InvalidRequest, "topic %q is named by its name and by an id: give one of them", *d.name)
	case n > 1 && d.name == nil:
		return refuse(kerr.InvalidRequest, "duplicate topic id: it is named %d times", n)
	case n > 1:
		return refuse(kerr.InvalidRequest, "duplicate topic name: %q is named %d times", *d.name, n)
	case d.name != nil && *d.name == "":
		return refuse(kerr.UnknownTopicOrPartition, "the topic name is empty")
	}
	return nil
}

// refuseBoth refuses topics that are named by their name while byID has their id too; such a pair is answered once.
func refuseBoth(image *meta.Image, asked []deletion, byID map[topic.ID]int) []deletion {
	gone := make(map[int]bool)
	for i := range asked {
		d := &asked[i]
		if d.err != nil || d.name == nil {
			continue
		}
		t := image.Topic(*d.name)
		if t == nil {
			continue
		}
		if at, also := byID[t.ID]; also {
			d.id, d.err = t.ID, refuse(kerr.InvalidRequest, "topic %q is named by its name and, elsewhere, by its id", *d.name)
			gone[at] = true
		}
	}
	kept := make([]deletion, 0, len(asked))
	for i, d := range asked {
		if !gone[i] {
			kept = append(kept, d)
		}
	}
	return kept
}
