package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Seeds are the brokers' addresses as they were given.
func (s *Session) Seeds() string { return s.Brokers }

// Client returns a Kafka client that has reached a broker.
func (s *Session) Client(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	seeds := strings.FieldsFunc(s.Brokers, func(r rune) bool { return r == ',' || r == ' ' })
	if len(seeds) == 0 {
		return nil, Usagef("-b is empty: must be HOST:PORT of a broker")
	}
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.ClientID("ottla-cli"),
		kgo.DialTimeout(5 * time.Second), kgo.RequestRetries(3), kgo.RetryTimeout(s.Timeout),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}, opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, UsageError{Err: fmt.Errorf("-b %s: %w", s.Brokers, err)}
	}
	ping, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := reach(ping, client); err != nil {
		client.Close()
		return nil, errors.Join(ctx.Err(), err)
	}
	return client, nil
}

// reach asks the brokers for their metadata, so that a wrong address is told at once and plainly.
func reach(ctx context.Context, client *kgo.Client) error {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	_, err := req.RequestWith(ctx, client)
	return err
}

// Admin runs fn with an admin client.
func (s *Session) Admin(ctx context.Context, fn func(ctx context.Context, admin *kadm.Client) error) error {
	client, err := s.Client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	timed, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := fn(timed, kadm.NewClient(client)); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// Topics finds topics by name; no names are all of them.
func Topics(ctx context.Context, admin *kadm.Client, names ...string) (kadm.TopicDetails, error) {
	details, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, t := range details.Sorted() {
		problems = append(problems, TopicError(t.Topic, t.Err, ""))
	}
	return details, errors.Join(problems...)
}
