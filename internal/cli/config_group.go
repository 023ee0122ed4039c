package cli

import (
	"context"
	"errors"
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

// withClient runs fn with a client, for as long as --timeout.
func (a *app) withClient(ctx context.Context, fn func(ctx context.Context, client *kgo.Client) error) error {
	client, err := a.Client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	return fn(ctx, client)
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

// alterGroup changes the settings of a group.
func (a *app) alterGroup(ctx context.Context, name string, changes []kadm.AlterConfig) error {
	one := kmsg.NewIncrementalAlterConfigsRequestResource()
	one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeGroupConfig, name
	for _, c := range changes {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Name, rc.Value, rc.Op = c.Name, c.Value, kmsg.IncrementalAlterConfigOp(c.Op)
		one.Configs = append(one.Configs, rc)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, one)
	return a.withClient(ctx, func(ctx context.Context, client *kgo.Client) error {
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		var problems []error
		for _, r := range resp.Resources {
			problems = append(problems, groupError(name, kerr.ErrorForCode(r.ErrorCode), orEmpty(r.ErrorMessage)))
		}
		if err := errors.Join(problems...); err != nil {
			return err
		}
		a.Say("changed group %s", name)
		return nil
	})
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
