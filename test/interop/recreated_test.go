package interop

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const recreated = "again"

// reading is a consumer of a topic that is deleted and created again.
type reading struct {
	values chan string
	errs   chan error
}

// next waits for n values.
func (r reading) next(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for i := range n {
		select {
		case <-r.values:
		case <-ctx.Done():
			t.Fatalf("%d of %d records came", i, n)
		}
	}
}

// TestRecreatedTopicClients checks that each client does with a topic that was deleted and created
// again what it does against Kafka 4.4: the groups of librdkafka and sarama find their offset out of
// range and read the new topic from its start; franz-go keeps the old id, reports UNKNOWN_TOPIC_ID,
// and reads on once its user has purged the topic.
func TestRecreatedTopicClients(t *testing.T) {
	addr := startBroker(t, "auto.create.topics.enable=false", "group.initial.rebalance.delay.ms=0")
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cl, err := franz{addr: addr}.open()
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	produce := func(n int) {
		t.Helper()
		values := make([]record, n)
		for i := range values {
			values[i].Value = fmt.Append(nil, i)
		}
		if err := (librdkafka{addr}).Produce(ctx, recreated, produceOptions{Codec: "none"}, values); err != nil { // franz-go would keep the old id
			t.Fatal(err)
		}
	}
	adm := kadm.NewClient(cl)
	create := func() {
		t.Helper()
		if _, err := adm.CreateTopic(ctx, 1, 1, nil, recreated); err != nil {
			t.Fatal(err)
		}
	}
	create()
	produce(20)
	reader, err := franz{addr: addr}.open(kgo.ConsumeTopics(recreated), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	all := map[string]reading{
		"librdkafka": readLibrdkafka(ctx, t, addr), "sarama": readSarama(ctx, t, addr), "franz-go": readFranz(ctx, reader),
	}
	for _, r := range all {
		r.next(ctx, t, 20)
	}
	if _, err := adm.DeleteTopic(ctx, recreated); err != nil {
		t.Fatal(err)
	}
	create()
	produce(5)
	all["librdkafka"].next(ctx, t, 5)
	all["sarama"].next(ctx, t, 5)
	for unknown := false; !unknown; {
		select {
		case err := <-all["franz-go"].errs:
			unknown = errors.Is(err, kerr.UnknownTopicID)
		case v := <-all["franz-go"].values:
			t.Fatalf("franz-go read %q of the new topic by itself", v)
		case <-ctx.Done():
			t.Fatal("franz-go reports nothing")
		}
	}
	reader.PurgeTopicsFromConsuming(recreated)
	reader.AddConsumeTopics(recreated)
	all["franz-go"].next(ctx, t, 5)
}

func newReading() reading {
	return reading{values: make(chan string, 100), errs: make(chan error, 100)}
}

func (r reading) failed(err error) {
	select {
	case r.errs <- err:
	default: // there are enough
	}
}

func readFranz(ctx context.Context, cl *kgo.Client) reading {
	r := newReading()
	go func() {
		for ctx.Err() == nil {
			fetches := cl.PollFetches(ctx)
			fetches.EachError(func(_ string, _ int32, err error) { r.failed(err) })
			fetches.EachRecord(func(rec *kgo.Record) { r.values <- string(rec.Value) })
			if fetches.IsClientClosed() {
				return
			}
		}
	}()
	return r
}

func readLibrdkafka(ctx context.Context, t *testing.T, addr string) reading {
	t.Helper()
	c, err := kafka.NewConsumer(librdkafka{addr}.config(kafka.ConfigMap{
		"group.id": "librdkafka", "auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 1000,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(recreated, nil); err != nil {
		t.Fatal(err)
	}
	r, done := newReading(), make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if m, ok := c.Poll(100).(*kafka.Message); ok {
				r.values <- string(m.Value)
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
		_ = c.Close()
	})
	return r
}

func readSarama(ctx context.Context, t *testing.T, addr string) reading {
	t.Helper()
	cfg := shopify{addr: addr, version: sarama.MaxVersion}.config()
	cfg.Consumer.Offsets.Initial, cfg.Consumer.Return.Errors = sarama.OffsetOldest, false
	g, err := sarama.NewConsumerGroup([]string{addr}, "sarama", cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, done := newReading(), make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(done)
		for ctx.Err() == nil { // a session ends when its topic goes
			_ = g.Consume(ctx, []string{recreated}, claims{r})
		}
	}()
	t.Cleanup(func() {
		stop()
		_ = g.Close()
		<-done
	})
	return r
}

type claims struct{ reading }

func (claims) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (claims) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c claims) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		c.values <- string(m.Value)
		s.MarkMessage(m, "")
	}
	return nil
}

// TestRecreatedTopicAnswers checks the answers that Kafka 4.4 gives after a topic was deleted and
// created again: leader epochs begin at 0, the old id is unknown everywhere, committed offsets are
// gone while the group is still there, and by name all requests are of the new topic.
func TestRecreatedTopicAnswers(t *testing.T) {
	addr := startBroker(t)
	cl, err := franz{addr: addr}.open()
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm, ctx := kadm.NewClient(cl), t.Context()
	id := func() [16]byte {
		t.Helper()
		r, err := adm.CreateTopic(ctx, 1, 1, nil, recreated)
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	old := id()
	if err := (librdkafka{addr}).Produce(ctx, recreated, produceOptions{Codec: "none"}, make([]record, 20)); err != nil {
		t.Fatal(err)
	}
	commit := func(id [16]byte) int16 {
		t.Helper()
		m := kmsg.NewPtrOffsetCommitRequest()
		m.Group, m.Generation = "g", -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic, rt.TopicID = recreated, id
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset = 3
		rt.Partitions = append(rt.Partitions, p)
		m.Topics = append(m.Topics, rt)
		return ask(ctx, t, cl, m).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
	}
	committed := func(id [16]byte) kmsg.OffsetFetchResponseGroupTopicPartition {
		t.Helper()
		m := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = "g"
		rt := kmsg.NewOffsetFetchRequestGroupTopic()
		rt.Topic, rt.TopicID, rt.Partitions = recreated, id, []int32{0}
		g.Topics = append(g.Topics, rt)
		m.Groups = append(m.Groups, g)
		return ask(ctx, t, cl, m).(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0]
	}
	if _, err := adm.FetchOffsets(ctx, "g"); err != nil { // has the topic of groups made
		t.Fatal(err)
	}
	if code := commit(old); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	if p := committed(old); p.ErrorCode != 0 || p.Offset != 3 {
		t.Fatalf("committed before: %+v", p)
	}
	if _, err := adm.DeleteTopic(ctx, recreated); err != nil {
		t.Fatal(err)
	}
	renewed := id()
	for name, code := range map[string]int16{
		"commit": commit(old), "committed": committed(old).ErrorCode, "metadata": metadataOf(ctx, t, cl, old).ErrorCode,
	} {
		if code != kerr.UnknownTopicID.Code {
			t.Errorf("%s by the old id: %v", name, kerr.ErrorForCode(code))
		}
	}
	if m := metadataOf(ctx, t, cl, renewed); m.ErrorCode != 0 || m.Partitions[0].LeaderEpoch != 0 {
		t.Errorf("metadata of the new topic: %+v", m)
	}
	if p := committed(renewed); p.ErrorCode != 0 || p.Offset != -1 {
		t.Errorf("committed offset of the new topic: %+v", p)
	}
	groups, err := adm.DescribeGroups(ctx, "g")
	if err != nil || groups["g"].State != "Empty" {
		t.Errorf("the group that lost its only offset: %+v, %v", groups["g"], err)
	}
	ends, err := adm.ListEndOffsets(ctx, recreated)
	if end, _ := ends.Lookup(recreated, 0); err != nil || end.Err != nil || end.Offset != 0 || end.LeaderEpoch != 0 {
		t.Errorf("end of the new topic: %+v, %v", end, err)
	}
}

// ask sends a request to the only broker as it is.
func ask(ctx context.Context, t *testing.T, cl *kgo.Client, m kmsg.Request) kmsg.Response {
	t.Helper()
	resp, err := cl.Broker(1).Request(ctx, m)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(m.Key()), err)
	}
	return resp
}

func metadataOf(ctx context.Context, t *testing.T, cl *kgo.Client, id [16]byte) kmsg.MetadataResponseTopic {
	t.Helper()
	m := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.TopicID = id
	m.Topics = append(m.Topics, rt)
	return ask(ctx, t, cl, m).(*kmsg.MetadataResponse).Topics[0]
}
