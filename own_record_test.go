package ottla_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/ottlatest"
)

// TestOwnRecord produces with acks=1 to a topic with the default durability, on a real disk, and at once asks over another
// connection: every answer shows the record.
func TestOwnRecord(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	s := ottlatest.Start(t, ottlatest.Dir(t.TempDir()), ottlatest.OnDisk())
	writer := newClient(t, s, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(), kgo.ProducerLinger(0))
	reader := &ownReader{broker: newClient(t, s).Broker(1)}
	asks := []struct {
		name string
		ask  func(context.Context, int64) error
	}{{"fetch", reader.fetch}, {"latest", reader.latest}, {"delete", reader.trim}}
	for i := range 200 {
		r := &kgo.Record{Topic: "own", Partition: 0, Value: []byte("v")}
		if err := writer.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		ask := asks[i%len(asks)]
		if err := ask.ask(ctx, r.Offset); err != nil {
			t.Errorf("%s after record %d: %v", ask.name, r.Offset, err)
		}
	}
}

// ownReader asks for the record at an offset of own-0, in different ways.
type ownReader struct {
	broker  *kgo.Broker
	topicID [16]byte
}

// latest asks where the partition ends.
func (o *ownReader) latest(ctx context.Context, last int64) error {
	req := kmsg.NewPtrListOffsetsRequest()
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "own", Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	resp, err := req.RequestWith(ctx, o.broker)
	if err != nil {
		return err
	}
	got := resp.Topics[0].Partitions[0]
	if got.ErrorCode != 0 || got.Offset != last+1 {
		return fmt.Errorf("latest is %d, expected %d: %w", got.Offset, last+1, kerr.ErrorForCode(got.ErrorCode))
	}
	return nil
}

// trim deletes the records up to and with the last one.
func (o *ownReader) trim(ctx context.Context, last int64) error {
	req := kmsg.NewPtrDeleteRecordsRequest()
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = last + 1
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "own", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{p}}}
	resp, err := req.RequestWith(ctx, o.broker)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}

// fetch does not wait for records.
func (o *ownReader) fetch(ctx context.Context, last int64) error {
	if o.topicID == [16]byte{} {
		ask := kmsg.NewPtrMetadataRequest()
		ask.Topics = []kmsg.MetadataRequestTopic{{Topic: new("own")}}
		metadata, err := ask.RequestWith(ctx, o.broker)
		if err != nil {
			return err
		}
		o.topicID = metadata.Topics[0].TopicID
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 1<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = last, 1<<20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = "own", o.topicID
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, o.broker)
	if err != nil {
		return err
	}
	got := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return err
	}
	if len(got.RecordBatches) == 0 {
		return errors.New("the fetch has no records")
	}
	return nil
}
