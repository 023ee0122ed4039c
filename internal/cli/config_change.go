package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func (a *app) configSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set " + resourceUse + " KEY=VALUE...", Short: "change settings", Args: cobra.MinimumNArgs(2), ValidArgsFunction: a.completeResource(equals),
		Example: "  ottla config set topic orders retention.ms=3600000 --dry-run\n  ottla config set group billing consumer.session.timeout.ms=60000\n  ottla config set brokers log.retention.ms=86400000",
	}
	a.altering(cmd, func(pairs []string) ([]kadm.AlterConfig, error) { return alterations(pairs, nil) })
	return cmd
}

func (a *app) configUnset() *cobra.Command {
	cmd := &cobra.Command{
		Use: "unset " + resourceUse + " KEY...", Short: "set settings back to what they fall back to", Args: cobra.MinimumNArgs(2),
		Example:           "  ottla config unset topic orders retention.ms",
		ValidArgsFunction: a.completeResource(bare),
	}
	a.altering(cmd, func(keys []string) ([]kadm.AlterConfig, error) { return alterations(nil, keys) })
	return cmd
}

// altering makes cmd config set or unset.
func (a *app) altering(cmd *cobra.Command, changes func(args []string) ([]kadm.AlterConfig, error)) {
	alt := &altering{app: a}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, rest, err := parseResource(args)
		if err != nil {
			return err
		}
		alt.resources = []resource{r}
		if alt.changes, err = changes(rest); err != nil {
			return err
		}
		return alt.run(cmd.Context())
	}
	alt.flags(cmd)
}

func (a *app) topicAlter() *cobra.Command {
	var settings, unset []string
	alt := &altering{app: a}
	cmd := &cobra.Command{
		Use: "alter TOPIC...", Short: "change settings of topics", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.CompleteTopics,
		Example: "  ottla topic alter orders -c retention.ms=3600000 -d max.message.bytes --dry-run",
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			if alt.changes, err = alterations(settings, unset); err != nil {
				return err
			}
			if len(alt.changes) == 0 {
				return session.Usagef("nothing to change; give -c key=value or -d key")
			}
			for _, name := range names {
				alt.resources = append(alt.resources, resource{topic: name})
			}
			return alt.run(cmd.Context())
		},
	}
	cmd.Flags().StringArrayVarP(&settings, "config", "c", nil, "`KEY=VALUE` to set, again for more")
	cmd.Flags().StringArrayVarP(&unset, "delete", "d", nil, "`KEY` to set back to the broker's default, again for more")
	_ = cmd.RegisterFlagCompletionFunc("config", completeSettings)
	alt.flags(cmd)
	return cmd
}

// alterations are the changes for key=value pairs to set and keys to unset.
func alterations(pairs, unset []string) ([]kadm.AlterConfig, error) {
	var changes []kadm.AlterConfig
	for _, pair := range pairs {
		key, text, err := parsePair(pair, "a setting")
		if err != nil {
			return nil, err
		}
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &text})
	}
	for _, key := range unset {
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: key})
	}
	return changes, nil
}

// altering is one run of a command that changes settings.
type altering struct {
	*app
	resources []resource
	changes   []kadm.AlterConfig
	internal  bool
	change    session.Change
}

func (a *altering) flags(cmd *cobra.Command) {
	internalFlag(cmd, &a.internal)
	a.change.DryRunFlag(cmd)
}

func (a *altering) run(ctx context.Context) error {
	if len(a.changes) == 0 {
		return session.Usagef("nothing to change; name a key")
	}
	return a.Apply(ctx, &a.change, a.plan, func(ctx context.Context, client *kgo.Client) error {
		var problems []error
		for _, r := range a.resources {
			if err := r.alter(ctx, client, a.changes, false); err != nil {
				problems = append(problems, err)
				continue
			}
			a.Say("changed %s", r)
		}
		return errors.Join(problems...)
	})
}

// plan finds what the changes would do. The broker takes the removal of a setting that it does not know without a word, so that is refused here;
// with a dry run it is asked whether it takes the rest.
func (a *altering) plan(ctx context.Context, client *kgo.Client) (would []string, err error) {
	admin := kadm.NewClient(client)
	var names []string
	for _, r := range a.resources {
		if r.topic != "" {
			names = append(names, r.topic)
		}
	}
	if len(names) > 0 {
		if _, err := nameable(ctx, admin, names, a.internal); err != nil {
			return nil, err
		}
	}
	var problems []error
	for _, r := range a.resources {
		if err := r.check(ctx, client, a.changes); err != nil {
			problems = append(problems, err)
			continue
		}
		if !a.change.DryRun {
			continue
		}
		lines, err := r.would(ctx, client, a.changes)
		if err == nil {
			err = r.alter(ctx, client, a.changes, true)
		}
		would = append(would, lines...)
		problems = append(problems, err)
	}
	return would, errors.Join(problems...)
}

// String names the resource as the command line does.
func (r resource) String() string {
	switch {
	case r.topic != "":
		return "topic " + r.topic
	case r.group != "":
		return "group " + r.group
	case len(r.broker) > 0:
		return fmt.Sprintf("broker %d", r.broker[0])
	}
	return "brokers"
}

// settings are those of the resource, of whatever kind.
func (r resource) settings(ctx context.Context, client *kgo.Client) ([]kadm.Config, error) {
	if r.group != "" {
		return describeGroup(ctx, client, r.group)
	}
	return r.describe(ctx, kadm.NewClient(client))
}

// check refuses to unset what is no setting of the resource.
func (r resource) check(ctx context.Context, client *kgo.Client, changes []kadm.AlterConfig) error {
	unsets := func(c kadm.AlterConfig) bool { return c.Op == kadm.DeleteConfig }
	if !slices.ContainsFunc(changes, unsets) {
		return nil
	}
	whole := r
	if r.topic == "" && r.group == "" && len(r.broker) == 0 { // what is set for all brokers is described alone, so one of them stands for all
		brokers, err := kadm.NewClient(client).ListBrokers(ctx)
		if err != nil || len(brokers) == 0 {
			return err
		}
		whole.broker = brokers.NodeIDs()[:1]
	}
	known, err := whole.settings(ctx, client)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if unsets(c) && !slices.ContainsFunc(known, func(k kadm.Config) bool { return k.Key == c.Name }) {
			return r.unknownKey(c.Name)
		}
	}
	return nil
}

// would says what changes do to the resource.
func (r resource) would(ctx context.Context, client *kgo.Client, changes []kadm.AlterConfig) ([]string, error) {
	now, err := r.settings(ctx, client)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(changes))
	for i, c := range changes {
		old := "not set"
		for _, n := range now {
			if n.Key == c.Name {
				old = "now " + n.MaybeValue() + ", from " + sources[n.Source]
				if n.Sensitive {
					old = "now hidden, from " + sources[n.Source]
				}
			}
		}
		if c.Op == kadm.DeleteConfig {
			lines[i] = fmt.Sprintf("unset %s of %s (%s)", c.Name, r, old)
		} else {
			lines[i] = fmt.Sprintf("set %s=%s of %s (%s)", c.Name, *c.Value, r, old)
		}
	}
	return lines, nil
}

// alter changes settings of the resource, or has the broker check whether it would.
func (r resource) alter(ctx context.Context, client *kgo.Client, changes []kadm.AlterConfig, check bool) error {
	if r.group != "" {
		return alterGroup(ctx, client, r.group, changes, check)
	}
	admin := kadm.NewClient(client)
	alterTopic, alterBroker := admin.AlterTopicConfigs, admin.AlterBrokerConfigs
	if check {
		alterTopic, alterBroker = admin.ValidateAlterTopicConfigs, admin.ValidateAlterBrokerConfigs
	}
	var responses kadm.AlterConfigsResponses
	var err error
	if r.topic != "" {
		responses, err = alterTopic(ctx, changes, r.topic)
	} else if responses, err = alterBroker(ctx, changes, r.broker...); err != nil {
		return r.orMissing(ctx, admin, err)
	}
	if err != nil {
		return err
	}
	var problems []error
	for _, resp := range responses {
		if resp.Err != nil {
			problems = append(problems, r.wrap(resp.Err, resp.ErrMessage))
		}
	}
	return errors.Join(problems...)
}

// alterGroup changes the settings of a group, or has the broker check whether it would.
func alterGroup(ctx context.Context, client *kgo.Client, name string, changes []kadm.AlterConfig, check bool) error {
	one := kmsg.NewIncrementalAlterConfigsRequestResource()
	one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeGroupConfig, name
	for _, c := range changes {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Name, rc.Value, rc.Op = c.Name, c.Value, kmsg.IncrementalAlterConfigOp(c.Op)
		one.Configs = append(one.Configs, rc)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources, req.ValidateOnly = append(req.Resources, one), check
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range resp.Resources {
		problems = append(problems, groupAltered(name, r))
	}
	return errors.Join(problems...)
}
