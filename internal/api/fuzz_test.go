package api

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// fuzzed are the keys whose handlers touch no broker beyond node, as the tests' node is none.
var fuzzed = []kmsg.Key{kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.ApiVersions, kmsg.InitProducerID}

// FuzzBegin gives handlers any body at any version. Nothing may panic, and every response must be one that a client can read.
func FuzzBegin(f *testing.F) {
	seed := func(m kmsg.Request) { f.Add(m.Key(), m.GetVersion(), m.AppendTo(nil)) }
	id := topic.ID{1, 1}
	for v := int16(3); v <= 13; v += 5 {
		seed(produceRequest(v, 1, "t", id, records(f, batch.CodecNone, 2, 10)))
	}
	for v := int16(4); v <= 18; v += 7 {
		seed(inSession(fetchRequest(v, "t", id, 0, 0), 0, 0))
	}
	seed(metadataRequest(9, "t", "a/b"))
	seed(kmsg.NewPtrListOffsetsRequest())
	seed(kmsg.NewPtrInitProducerIDRequest())
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		a := newTestAPI(t)
		a.opts.AutoCreateTopics = false
		a.node.create("t", 1)
		a.produceOne("t", records(t, 0, 2, 10))
		row, ok := wire.Lookup(kmsg.Key(key))
		if !ok || !row.Serves(version) || !isFuzzed(row.Key) {
			return
		}
		h := wire.Header{Key: row.Key, Version: version, CorrelationID: 77, Flexible: row.IsFlexible(version)}
		req := &Request{Header: h, Body: body, Conn: a.conn, Received: a.now}
		replies := make([]Reply, 1)
		if _, err := a.Begin(t.Context(), a.now, []*Request{req}, replies); err != nil || replies[0] == nil {
			return
		}
		a.now = a.now.Add(24 * 365 * time.Hour)
		m := row.Key.Request()
		m.SetVersion(version)
		if resp := a.poll(m, replies[0], nil); resp == nil {
			t.Errorf("%s v%d is not ready after a year", row.Key.Name(), version)
		}
	})
}

func isFuzzed(key kmsg.Key) bool {
	return slices.Contains(fuzzed, key)
}
