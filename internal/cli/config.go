package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/cli/session"
	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/host"
	"github.com/ottla-io/ottla/internal/setting"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "show and change settings of topics, groups and brokers",
		a.configGet(), a.configSet(), a.configUnset(), a.configExplain())
}

// resource is what a setting belongs to.
type resource struct {
	topic  string
	group  string
	broker []int32 // of brokers: an id, or none for all
}

const resourceUse = "(topic NAME | group NAME | broker ID | brokers)"

// parseResource takes "topic NAME", "group NAME", "broker ID" or "brokers" from the front of args.
func parseResource(args []string) (resource, []string, error) {
	switch {
	case args[0] == "brokers":
		return resource{}, args[1:], nil
	case len(args) < 2:
	case args[0] == "topic":
		return resource{topic: args[1]}, args[2:], nil
	case args[0] == "group":
		if args[1] == "" {
			return resource{}, nil, session.Usagef("the group's name is empty")
		}
		return resource{group: args[1]}, args[2:], nil
	case args[0] == "broker":
		id, err := strconv.ParseInt(args[1], 10, 32)
		if err != nil {
			return resource{}, nil, session.Usagef("broker %s: must be a node id, a number", args[1])
		}
		return resource{broker: []int32{int32(id)}}, args[2:], nil
	}
	return resource{}, nil, session.Usagef("must begin with topic NAME, group NAME, broker ID or brokers")
}

func (a *app) completeResource(keys func(string) string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return []string{"topic", "group", "broker", "brokers"}, cobra.ShellCompDirectiveNoFileComp
		case len(args) == 1 && args[0] == "topic":
			return a.CompleteTopics(cmd, nil, prefix)
		case len(args) == 1 && args[0] == "group":
			return a.CompleteGroups(cmd, nil, prefix)
		case len(args) == 1 && args[0] == "broker":
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := slices.Clone(groupKeys)
		if args[0] != "group" {
			names = config.Names(args[0] == "topic")
		}
		for i := range names {
			names[i] = keys(names[i])
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func bare(key string) string   { return key }
func equals(key string) string { return key + "=" }

// configRow is a line of config get.
type configRow struct {
	Key       string  `json:"key"`
	Value     *string `json:"value"`
	Source    string  `json:"source"`
	Sensitive bool    `json:"sensitive,omitempty"`
}

func (a *app) configGet() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "get " + resourceUse + " [KEY...]", Short: "show settings", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeResource(bare),
		Long:    "Show the settings of a topic, a group or a broker: those that were set somewhere, the named ones, or with --all all.",
		Example: "  ottla config get topic orders\n  ottla config get topic orders retention.ms\n  ottla config get broker 1 --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, keys, err := parseResource(args)
			if err != nil {
				return err
			}
			if r.group != "" {
				return a.WithClient(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
					configs, err := describeGroup(ctx, client, r.group)
					if err != nil {
						return err
					}
					return a.printConfigs(r, configs, keys, all)
				})
			}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				configs, err := r.describe(ctx, admin)
				if err != nil {
					return err
				}
				return a.printConfigs(r, configs, keys, all)
			})
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show defaults too")
	return cmd
}

func (r resource) describe(ctx context.Context, admin *kadm.Client) ([]kadm.Config, error) {
	var all kadm.ResourceConfigs
	var err error
	if r.topic != "" {
		all, err = admin.DescribeTopicConfigs(ctx, r.topic)
	} else {
		all, err = admin.DescribeBrokerConfigs(ctx, r.broker...)
	}
	if err != nil {
		return nil, r.orMissing(ctx, admin, err)
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("the broker described %d resources when asked for one", len(all))
	}
	if all[0].Err != nil {
		return nil, r.wrap(all[0].Err, all[0].ErrMessage)
	}
	return all[0].Configs, nil
}

// orMissing is err, or that there is no such broker, where that is why.
func (r resource) orMissing(ctx context.Context, admin *kadm.Client, err error) error {
	if len(r.broker) == 0 {
		return err
	}
	brokers, failed := admin.ListBrokers(ctx)
	if failed != nil || slices.Contains(brokers.NodeIDs(), r.broker[0]) {
		return err
	}
	return fmt.Errorf("broker %d: there is no such broker; there are %v", r.broker[0], brokers.NodeIDs())
}

func (r resource) wrap(err error, message string) error {
	if r.topic != "" {
		return session.TopicError(r.topic, err, message)
	}
	return session.Detailed(err, message)
}

var sources = map[kmsg.ConfigSource]string{
	kmsg.ConfigSourceDynamicTopicConfig: "topic", kmsg.ConfigSourceDynamicBrokerConfig: "broker",
	kmsg.ConfigSourceDynamicDefaultBrokerConfig: "brokers", kmsg.ConfigSourceStaticBrokerConfig: "start",
	kmsg.ConfigSourceDefaultConfig: "default", kmsg.ConfigSourceDynamicBrokerLoggerConfig: "logger",
	kmsg.ConfigSourceGroupConfig: "group",
}

func (a *app) printConfigs(r resource, configs []kadm.Config, keys []string, all bool) error {
	slices.SortFunc(configs, func(x, y kadm.Config) int { return strings.Compare(x.Key, y.Key) })
	rows := []configRow{}
	t := session.NewTable("KEY", "VALUE", "SET BY")
	for _, c := range configs {
		if len(keys) > 0 && !slices.Contains(keys, c.Key) || len(keys) == 0 && !all && c.Source == kmsg.ConfigSourceDefaultConfig {
			continue
		}
		rows = append(rows, configRow{c.Key, c.Value, sources[c.Source], c.Sensitive})
		text := c.MaybeValue()
		if c.Sensitive {
			text = "[hidden]"
		}
		t.Row(c.Key, text, sources[c.Source])
	}
	for _, key := range keys {
		if !slices.ContainsFunc(rows, func(r configRow) bool { return r.Key == key }) {
			return r.unknownKey(key)
		}
	}
	if len(rows) == 0 && a.Output != "json" {
		fmt.Fprintln(a.ErrOut, r.nothingSet())
		return nil
	}
	return a.Print(rows, t)
}

// nothingSet says that config get has nothing to show, and where to look.
func (r resource) nothingSet() string {
	if r.topic == "" && r.group == "" && len(r.broker) == 0 {
		return "nothing is set for all brokers; `ottla config get broker ID --all` shows what a broker has"
	}
	return "all settings have their defaults; --all shows them"
}

func (r resource) unknownKey(key string) error {
	if near := config.Nearest(key, true); near != "" && r.group == "" {
		return fmt.Errorf("%s: no such setting here; did you mean %s?", key, near)
	}
	return fmt.Errorf("%s: no such setting here; --all lists them", key)
}

// explain explains what a key is of brokers, topics, groups and client metrics subscriptions.
func explain(c *config.Config, key string) ([]config.Explanation, error) {
	all, err := c.Explain(key)
	for _, k := range setting.Lookup(key) {
		e := config.Explanation{Name: k.Name, Of: k.Of, Type: k.Type, Doc: k.Doc, Allowed: k.Allowed, NoEffect: k.NoEffect}
		e.Values = []config.Given{{Value: k.Default, From: "default"}}
		if v, ok := c.Lookup(k.Broker); ok && !v.Null {
			e.Values = []config.Given{{Value: v.Text, From: v.Name + ", " + v.Place}}
		}
		all, err = append(all, e), nil
	}
	return all, err
}

// means adds what a value comes to where the broker chooses by the machine.
func means(c *config.Config, all []config.Explanation) []config.Explanation {
	for i := range all {
		if e := &all[i]; e.Name == "queued.max.request.bytes" && c.Long(e.Name) <= 0 {
			e.Means = fmt.Sprintf("%d bytes on this machine", host.RequestMemory())
		}
	}
	return all
}

func (a *app) configExplain() *cobra.Command {
	var flags settingFlags
	cmd := &cobra.Command{
		Use: "explain KEY...", Short: "tell what a setting is, and where a broker started here would get it from", Args: cobra.MinimumNArgs(1),
		Long: "Tell what a setting is, and where a broker that is started here, with these flags, would get it from: a flag, a variable, a line of --config, or " +
			"the default. No broker is asked; `ottla config get` asks one, and knows what was set while it ran.",
		Example: "  ottla config explain retention.ms\n  ottla config explain listeners --config server.properties",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Concat(config.Names(false), config.Names(true), setting.Names()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, keys []string) error {
			c, err := flags.load(a.environ)
			if err != nil {
				return err
			}
			var all []config.Explanation
			for _, key := range keys {
				some, err := explain(c, key)
				if err != nil {
					return err
				}
				all = append(all, means(c, some)...)
			}
			if a.Output == "json" {
				return a.PrintJSON(all)
			}
			for _, e := range all {
				fmt.Fprint(a.Out, e)
			}
			return nil
		},
	}
	flags.add(cmd)
	return cmd
}
