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

// seeds are the addresses of -b one by one.
func (s *Session) seeds() []string {
	return strings.FieldsFunc(s.Brokers, func(r rune) bool { return r == ',' || r == ' ' })
}

// Reach is how the command's clients get on with their brokers.
func (s *Session) Reach() *Reach {
	s.reachOnce.Do(func() { s.reach = newReach(s.seeds()) })
	return s.reach
}

// Client returns a Kafka client that has reached a broker.
func (s *Session) Client(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	seeds := s.seeds()
	if len(seeds) == 0 {
		return nil, Usagef("-b is empty: must be HOST:PORT of a broker")
	}
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.ClientID("ottla-cli"),
		kgo.Dialer(s.Reach().dial), kgo.RequestRetries(3), kgo.RetryTimeout(s.Timeout),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.WithHooks(s.Reach()),
	}, opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, UsageError{Err: fmt.Errorf("-b %s: %w", s.Brokers, err)}
	}
	ping, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	defer s.Waiting()()
	if err := reach(ping, client); err != nil {
		client.Close()
		return nil, s.Explain(ctx, err)
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

// Admin runs fn with an admin client and a context that ends after --timeout.
func (s *Session) Admin(ctx context.Context, fn func(ctx context.Context, admin *kadm.Client) error) error {
	return s.WithClient(ctx, func(ctx context.Context, client *kgo.Client) error { return fn(ctx, kadm.NewClient(client)) })
}

// WithClient runs fn with a client and a context that ends after --timeout, which the way to the first broker counts towards.
func (s *Session) WithClient(ctx context.Context, fn func(ctx context.Context, client *kgo.Client) error) error {
	timed, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	client, err := s.Client(timed)
	if err != nil {
		return s.Explain(ctx, err)
	}
	defer client.Close()
	defer s.Waiting()()
	return s.Explain(ctx, fn(timed, client))
}

// Explain returns err with the address that it comes from, if a broker advertises that, and with the end of ctx.
func (s *Session) Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	_, done := errors.AsType[*UnreachedError](err)
	if p := s.Reach().trouble(); !done && p != nil && s.Reach().advertised(p) && networkish(err) {
		err = s.Reach().explain(err, p)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.Join(ctx.Err(), err) // an interrupt, whatever failed by it
	}
	return err
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
