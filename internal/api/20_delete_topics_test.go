package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/configapi"
)

func deleteByName(n *adminNode, version int16, names ...string) []kmsg.DeleteTopicsResponseTopic {
	n.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames, req.TimeoutMillis = names, 5000
	for i := range names {
		req.Topics = append(req.Topics, refOf(&names[i], [16]byte{}))
	}
	return ask[*kmsg.DeleteTopicsResponse](n, version, req).Topics
}

func refOf(name *string, id [16]byte) kmsg.DeleteTopicsRequestTopic {
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic, rt.TopicID = name, id
	return rt
}

func deleteRefs(n *adminNode, refs ...kmsg.DeleteTopicsRequestTopic) []kmsg.DeleteTopicsResponseTopic {
	n.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Topics = refs
	return ask[*kmsg.DeleteTopicsResponse](n, 6, req).Topics
}

func TestDeleteTopicsVersions(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	for _, v := range versionsOf(t, kmsg.DeleteTopics) {
		id := n.create("gone", 2)
		got := deleteByName(n, v, "gone", "none", "gone2", "gone2", "")
		if len(got) != 4 {
			t.Fatalf("v%d: %d results for 4 names", v, len(got))
		}
		for i, want := range []string{"", "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_REQUEST", "UNKNOWN_TOPIC_OR_PARTITION"} {
			wantCode(t, *got[i].Topic, got[i].ErrorCode, want)
			if v >= 5 && (got[i].ErrorMessage == nil) != (want == "") {
				t.Errorf("v%d: %s has message %v", v, *got[i].Topic, got[i].ErrorMessage)
			}
		}
		if v >= 6 && got[0].TopicID != id {
			t.Errorf("v%d: id is %x, expected %x", v, got[0].TopicID, id)
		}
		if n.broker.Image().Topic("gone") != nil {
			t.Errorf("v%d: the topic is still there", v)
		}
	}
}

// TestDeleteTopicsByID: traps.md trap 9, ids that nobody knows get UNKNOWN_TOPIC_ID, and no name, at the version that has ids.
func TestDeleteTopicsByID(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	id := n.create("a", 1)
	got := deleteRefs(n, refOf(nil, id), refOf(nil, [16]byte{1, 2, 3}), refOf(nil, [16]byte{}))
	wantCode(t, "known id", got[0].ErrorCode, "")
	if got[0].Topic == nil || *got[0].Topic != "a" || got[0].TopicID != id {
		t.Errorf("known id: %+v", got[0])
	}
	wantCode(t, "unknown id", got[1].ErrorCode, "UNKNOWN_TOPIC_ID")
	if got[1].Topic != nil {
		t.Errorf("unknown id has name %q", *got[1].Topic)
	}
	wantCode(t, "neither", got[2].ErrorCode, "INVALID_REQUEST")
}

func TestDeleteTopicsRefused(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	id := n.create("a", 1)
	name := "a"
	for _, c := range []struct {
		what string
		refs []kmsg.DeleteTopicsRequestTopic
	}{
		{"id twice", []kmsg.DeleteTopicsRequestTopic{refOf(nil, id), refOf(nil, id)}},
		{"name twice", []kmsg.DeleteTopicsRequestTopic{refOf(&name, [16]byte{}), refOf(&name, [16]byte{})}},
		{"name and id at once", []kmsg.DeleteTopicsRequestTopic{refOf(&name, id)}},
		{"name, and id", []kmsg.DeleteTopicsRequestTopic{refOf(&name, [16]byte{}), refOf(nil, id)}},
		{"id, and name", []kmsg.DeleteTopicsRequestTopic{refOf(nil, id), refOf(&name, [16]byte{})}},
	} {
		got := deleteRefs(n, c.refs...)
		if len(got) != 1 {
			t.Errorf("%s: %d results", c.what, len(got))
			continue
		}
		wantCode(t, c.what, got[0].ErrorCode, "INVALID_REQUEST")
	}
	if n.broker.Image().Topic("a") == nil {
		t.Error("the topic was deleted")
	}
}

func TestDeleteTopicsDisabled(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, func(o *api.Options, _ *configapi.Options) { o.KeepTopics = true })
	n.create("a", 1)
	for _, v := range versionsOf(t, kmsg.DeleteTopics) {
		want := "TOPIC_DELETION_DISABLED"
		if v < 3 {
			want = "INVALID_REQUEST"
		}
		wantCode(t, "disabled", deleteByName(n, v, "a")[0].ErrorCode, want)
	}
	if n.broker.Image().Topic("a") == nil {
		t.Error("the topic was deleted")
	}
}

// A name can be used again at once, for another topic.
func TestDeleteTopicsAndCreateAgain(t *testing.T) {
	t.Parallel()
	n := newAdminNode(t, nil, nil)
	before := n.create("a", 1, "retention.ms", "5")
	wantCode(t, "delete", deleteByName(n, 5, "a")[0].ErrorCode, "")
	if after := n.create("a", 2); after == before {
		t.Error("the new topic has the old one's id")
	}
	if got := describe(n, 4, resource(kmsg.ConfigResourceTypeTopic, "a", "retention.ms"))[0].Configs[0]; *got.Value != "604800000" {
		t.Errorf("the new topic has the old one's retention.ms, %s", *got.Value)
	}
}
