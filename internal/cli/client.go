package cli

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

func (a *app) seeds() string { return a.brokers }

// client returns a Kafka client that has reached a broker.
func (a *app) client(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	seeds := strings.FieldsFunc(a.brokers, func(r rune) bool { return r == ',' || r == ' ' })
	if len(seeds) == 0 {
		return nil, usagef("-b is empty: must be HOST:PORT of a broker")
	}
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.ClientID("ottla-cli"),
		kgo.DialTimeout(5 * time.Second), kgo.RequestRetries(3), kgo.RetryTimeout(a.timeout),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}, opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, usageError{fmt.Errorf("-b %s: %w", a.brokers, err)}
	}
	ping, cancel := context.WithTimeout(ctx, a.timeout)
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

// admin runs fn with an admin client.
func (a *app) admin(ctx context.Context, fn func(ctx context.Context, admin *kadm.Client) error) error {
	client, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	timed, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if err := fn(timed, kadm.NewClient(client)); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// parsePair parses a key=value argument.
func parsePair(pair, what string) (key, text string, err error) {
	key, text, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return "", "", usagef("%s: %s must be key=value", pair, what)
	}
	return key, text, nil
}

// parsePairs parses key=value arguments.
func parsePairs(pairs []string, what string) (map[string]*string, error) {
	m := make(map[string]*string, len(pairs))
	for _, pair := range pairs {
		key, text, err := parsePair(pair, what)
		if err != nil {
			return nil, err
		}
		m[key] = &text
	}
	return m, nil
}

// topics finds topics by name; no names are all of them.
func topics(ctx context.Context, admin *kadm.Client, names ...string) (kadm.TopicDetails, error) {
	details, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, t := range details.Sorted() {
		problems = append(problems, topicError(t.Topic, t.Err, ""))
	}
	return details, errors.Join(problems...)
}
