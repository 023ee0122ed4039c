package consume

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

// passEmpty returns the first offset from next on that may have a record. Compaction leaves batches without records, and a client
// passes them in silence: a consumer that waits for the offset before the log's end would wait for ever.
func passEmpty(ctx context.Context, client *kgo.Client, topic string, partition int32, next int64) (int64, error) {
	details, err := session.Topics(ctx, kadm.NewClient(client), topic)
	if err != nil {
		return 0, err
	}
	leader := details[topic].Partitions[partition].Leader
	if leader < 0 {
		return next, nil
	}
	for {
		batches, err := fetch(ctx, client, leader, details[topic].ID, topic, partition, next)
		if err != nil {
			return 0, err
		}
		passed := pastEmpty(batches, next)
		if passed == next {
			return next, nil
		}
		next = passed
	}
}

// fetch asks a broker once for batches from an offset on; it does not wait for any.
func fetch(ctx context.Context, client *kgo.Client, broker int32, id kadm.TopicID, topic string, partition int32, offset int64) ([]byte, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes = 1 << 20
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = topic, id
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = partition, offset, 1<<20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := client.Broker(int(broker)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	r, ok := resp.(*kmsg.FetchResponse)
	if !ok {
		return nil, fmt.Errorf("the broker answered a fetch with a %T", resp)
	}
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return nil, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("the broker answered a fetch of partition %d of %s with other partitions", partition, topic)
	}
	got := r.Topics[0].Partitions[0]
	return got.RecordBatches, session.TopicError(topic, kerr.ErrorForCode(got.ErrorCode), "")
}

// pastEmpty is the offset after the batches without records that hold next, or next if there are none.
func pastEmpty(batches []byte, next int64) int64 {
	for {
		b, rest, err := batch.Next(batches)
		if err != nil || b.Count() > 0 && int64(b.LastOffset()) >= next {
			return next
		}
		next = max(next, int64(b.NextOffset()))
		batches = rest
	}
}
