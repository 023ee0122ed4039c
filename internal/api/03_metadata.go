package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// Metadata: v0 to v13.
//
// **Behaviour**
//
// Says where brokers are reached and who leads which partition. All topics are asked for by an empty list in v0 and by null
// from v1 on, where an empty list asks for none. Brokers are at the address that they advertise on the client's listener; where
// nothing is advertised, at the one that the client reached. A topic that is not there is created if the broker's settings and the client
// (v4+) allow it; else it gets UNKNOWN_TOPIC_OR_PARTITION, or INVALID_TOPIC_EXCEPTION if it never could be there. Ids that are not known
// get UNKNOWN_TOPIC_ID (v12+). Partitions without a leader get LEADER_NOT_AVAILABLE. One whose log cannot be served here has no leader, and
// this broker among its offline replicas.
//
// **Differences from Apache Kafka**
//
// A topic that is created is in the response at once; Kafka answers with an error first. Internal topics are not created here. Topics
// are in order of name. Names beside ids in one request (v12+) are answered too; Kafka leaves them out.
//
// **Versions**
//
//	v1  rack, controller, internal topics; null means all
//	v2  cluster id, v4 allow auto-creation, v5 offline replicas (KIP-112)
//	v7  leader epoch (KIP-320), v8 authorised operations (KIP-430), v9 flexible
//	v10 topic ids in responses, v12 in requests (KIP-516); v11 no cluster operations (KIP-700)
//	v13 an error for the whole (KIP-1102)

func (a *API) metadata(ctx context.Context, req *Request, m *kmsg.MetadataRequest) kmsg.Response {
	resp := kmsg.NewPtrMetadataResponse()
	asked := a.askedTopics(ctx, req, m)
	image := a.node.Image()
	clusterID := image.ClusterID
	resp.ClusterID = &clusterID
	resp.ControllerID = image.Controller
	for i := range image.Brokers {
		if b := &image.Brokers[i]; !b.Fenced {
			resp.Brokers = append(resp.Brokers, metadataBroker(b, req.Conn))
		}
	}
	if m.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	if asked == nil {
		for _, t := range image.Topics {
			resp.Topics = append(resp.Topics, a.metadataTopic(image, t, m))
		}
		return resp
	}
	for _, t := range asked {
		resp.Topics = append(resp.Topics, a.answerTopic(req, image, t, m))
	}
	return resp
}

// askedTopic is a topic that a request names, by name or by id, and why it is not there, if that is known.
type askedTopic struct {
	name *string
	id   topic.ID
	err  error
}

// askedTopics are the topics that the request names, each once; nil means all. Those that are not there are created if they may be.
func (a *API) askedTopics(ctx context.Context, req *Request, m *kmsg.MetadataRequest) []askedTopic {
	if m.Topics == nil || m.Version == 0 && len(m.Topics) == 0 {
		return nil
	}
	asked := make([]askedTopic, 0, len(m.Topics))
	seen := make(map[partKey]bool, len(m.Topics))
	for _, t := range m.Topics {
		one := askedTopic{name: t.Topic, id: t.TopicID}
		if m.Version >= 12 && one.id != (topic.ID{}) {
			one.name = nil // the id counts, as in Kafka
		}
		key := partKey{id: one.id}
		if one.name != nil {
			key.name = *one.name
		}
		if !seen[key] {
			seen[key] = true
			one.err = refuseTopic(m.Version, one)
			asked = append(asked, one)
		}
	}
	if a.opts.AutoCreateTopics && (m.Version < 4 || m.AllowAutoTopicCreation) {
		a.createMissing(ctx, req, asked)
	}
	return asked
}

// refuseTopic says what is wrong with the way a topic is named (Kafka's KafkaApis.handleTopicMetadataRequest).
func refuseTopic(version int16, t askedTopic) error {
	byID := t.id != topic.ID{}
	switch {
	case version < 12 && (byID || t.name == nil):
		return refuse(kerr.InvalidRequest, "topic ids need Metadata v12, this is v%d", version)
	case !byID && t.name == nil:
		return refuse(kerr.InvalidRequest, "a topic is named by its name or by its id")
	case byID:
		return nil
	}
	return topic.Check(*t.name)
}

// createMissing creates the topics that are named and not there.
func (a *API) createMissing(ctx context.Context, req *Request, asked []askedTopic) {
	image := a.node.Image()
	var missing []meta.NewTopic
	var places []int
	for i, t := range asked {
		if t.err == nil && t.name != nil && image.Topic(*t.name) == nil && !topic.IsInternal(*t.name) {
			missing = append(missing, meta.NewTopic{Name: *t.name, Partitions: -1, ReplicationFactor: -1})
			places = append(places, i)
		}
	}
	if len(missing) == 0 {
		return
	}
	results, err := a.node.CreateTopics(ctx, missing, false)
	audit := a.Audit(req)
	defer audit.Done()
	for i, place := range places {
		failed := err
		if err == nil {
			if failed = results[i].Err; failed == nil {
				audit.created(&results[i], true)
			}
		}
		if code(failed) == kerr.TopicAlreadyExists.Code {
			failed = nil // somebody was faster
		}
		asked[place].err = failed
	}
}

// answerTopic is the response for a topic that was named.
func (a *API) answerTopic(req *Request, image *meta.Image, asked askedTopic, m *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID = asked.name, asked.id
	if rt.Topic == nil && m.Version < 12 {
		rt.Topic = new(string)
	}
	if asked.err != nil {
		rt.ErrorCode = a.fault(req, asked.err)
		return rt
	}
	if asked.name == nil {
		if t := image.TopicByID(asked.id); t != nil {
			return a.metadataTopic(image, t, m)
		}
		rt.ErrorCode = code(kerr.UnknownTopicID)
		return rt
	}
	if t := image.Topic(*asked.name); t != nil {
		return a.metadataTopic(image, t, m)
	}
	rt.ErrorCode = code(kerr.UnknownTopicOrPartition)
	rt.IsInternal = topic.IsInternal(*asked.name)
	return rt
}

func metadataBroker(b *meta.Broker, conn *Conn) kmsg.MetadataResponseBroker {
	rb := kmsg.NewMetadataResponseBroker()
	rb.NodeID, rb.Rack = b.ID, b.Rack
	rb.Host, rb.Port = address(b, conn)
	return rb
}

// metadataTopic describes a topic that is there.
func (a *API) metadataTopic(image *meta.Image, t *meta.Topic, m *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	name := t.Name
	rt.Topic, rt.TopicID, rt.IsInternal = &name, t.ID, t.Internal
	if m.IncludeTopicAuthorizedOperations {
		rt.AuthorizedOperations = topicOperations
	}
	rt.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		p, gone := a.placed(image, t, i)
		rp := &rt.Partitions[i]
		*rp = kmsg.NewMetadataResponseTopicPartition()
		rp.Partition = int32(i)
		rp.Leader, rp.LeaderEpoch = p.Leader, int32(p.LeaderEpoch)
		rp.Replicas, rp.ISR = p.Replicas, p.ISR
		rp.OfflineReplicas = gone
		if p.Leader == meta.NoLeader {
			rp.ErrorCode = code(kerr.LeaderNotAvailable)
		}
	}
	return rt
}
