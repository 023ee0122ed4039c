package cli

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// kadm has no calls for the settings of groups.

// groupKeys are the settings of groups that have an effect, for completion.
var groupKeys = []string{"consumer.assignment.interval.ms", "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"}

// groupError is what went wrong with the settings of a group. A group need not be there to have some.
func groupError(name string, err error, message string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("group %s: %w", name, session.Detailed(err, message))
}

// describeGroup finds the settings of a group.
func describeGroup(ctx context.Context, client *kgo.Client, name string) ([]kadm.Config, error) {
	one := kmsg.NewDescribeConfigsRequestResource()
	one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeGroupConfig, name
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = append(req.Resources, one)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	if len(resp.Resources) != 1 {
		return nil, fmt.Errorf("the broker described %d resources when asked for one", len(resp.Resources))
	}
	r := &resp.Resources[0]
	if err := groupError(name, kerr.ErrorForCode(r.ErrorCode), orEmpty(r.ErrorMessage)); err != nil {
		return nil, err
	}
	configs := make([]kadm.Config, len(r.Configs))
	for i := range r.Configs {
		c := &r.Configs[i]
		configs[i] = kadm.Config{Key: c.Name, Value: c.Value, Sensitive: c.IsSensitive, Source: c.Source}
	}
	return configs, nil
}

// groupAltered is what went wrong with a change of a group's settings.
func groupAltered(name string, r kmsg.IncrementalAlterConfigsResponseResource) error {
	return groupError(name, kerr.ErrorForCode(r.ErrorCode), orEmpty(r.ErrorMessage))
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
