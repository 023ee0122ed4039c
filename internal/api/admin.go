package api

import (
	"context"
	"time"

	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// topicAdmin is what the handlers that change topics need of the broker.
type topicAdmin interface {
	CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error)
	DeleteTopics(ctx context.Context, topics []meta.TopicRef) ([]meta.TopicResult, error)
	CreatePartitions(ctx context.Context, topics []meta.MorePartitions, validateOnly bool) ([]meta.TopicResult, error)
}

// nodeAdmin is what the handlers that ask about the node need of the broker.
type nodeAdmin interface {
	NodeID() int32
	LogDirs(want func(topic string, index int32) bool) []broker.LogDir
}

// within bounds ctx by a request's timeout. Kafka gives up at once on 0 and below; here that is no limit, since some clients send
// it and mean that.
func within(ctx context.Context, millis int32) (context.Context, context.CancelFunc) {
	if millis <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(millis)*time.Millisecond)
}

// resultOf is the result of the place'th topic of a request, or the error of the request as a whole.
func resultOf(results []meta.TopicResult, place int, name string, err error) meta.TopicResult {
	if err != nil {
		return meta.TopicResult{Name: name, Err: err}
	}
	return results[place]
}

// Counted returns how often each key stands in list.
func Counted[T any, K comparable](list []T, key func(*T) K) map[K]int {
	n := make(map[K]int, len(list))
	for i := range list {
		n[key(&list[i])]++
	}
	return n
}
