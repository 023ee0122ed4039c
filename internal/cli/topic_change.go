package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func (a *app) topicCreate() *cobra.Command {
	var partitions int32
	var replicas int16
	var settings []string
	var ifNotExists bool
	var change session.Change
	cmd := &cobra.Command{
		Use: "create TOPIC...", Short: "create topics", Args: cobra.MinimumNArgs(1),
		Example: "  ottla topic create orders -p 6 -c retention.ms=86400000 -c durability=memory",
		RunE: func(cmd *cobra.Command, names []string) error {
			configs, err := parsePairs(settings, "-c")
			if err != nil {
				return err
			}
			if partitions == 0 || partitions < -1 {
				return session.Usagef("-p %d: must be at least 1", partitions)
			}
			spec := newTopics{names, partitions, replicas, configs, ifNotExists}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error { return a.create(ctx, admin, spec, &change) })
		},
	}
	flags := cmd.Flags()
	flags.Int32VarP(&partitions, "partitions", "p", -1, "number of partitions; -1: the broker's num.partitions")
	flags.Int16VarP(&replicas, "replicas", "r", -1, "number of replicas; -1: the broker's default.replication.factor")
	flags.StringArrayVarP(&settings, "config", "c", nil, "`KEY=VALUE` of a setting, again for more")
	flags.BoolVar(&ifNotExists, "if-not-exists", false, "a topic that is there already is no error")
	change.DryRunFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("config", completeSettings)
	return cmd
}

// createdTopic is a line of topic create -o json.
type createdTopic struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Partitions int32  `json:"partitions"`
	Replicas   int16  `json:"replicas"`
}

// newTopics are topics to create.
type newTopics struct {
	names       []string
	partitions  int32
	replicas    int16
	configs     map[string]*string
	ifNotExists bool
}

// create creates topics, or has the broker check whether it would.
func (a *app) create(ctx context.Context, admin *kadm.Client, spec newTopics, change *session.Change) error {
	create := admin.CreateTopics
	if change.DryRun {
		create = admin.ValidateCreateTopics
	}
	responses, err := create(ctx, spec.partitions, spec.replicas, spec.configs, spec.names...)
	if err != nil {
		return err
	}
	made := []createdTopic{}
	var would []string
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(responses)) {
		r := responses[name]
		what := fmt.Sprintf("topic %s (%s, %s)", r.Topic, session.Plural(r.NumPartitions, "partition"), session.Plural(r.ReplicationFactor, "replica"))
		switch {
		case r.Err == nil && change.DryRun:
			would = append(would, "create "+what)
		case r.Err == nil:
			made = append(made, createdTopic{r.Topic, topicID(r.ID), r.NumPartitions, r.ReplicationFactor})
			a.Say("created %s", what)
		case spec.ifNotExists && errors.Is(r.Err, kerr.TopicAlreadyExists):
			a.Say("topic %s exists", r.Topic)
		default:
			problems = append(problems, session.TopicError(r.Topic, r.Err, r.ErrMessage))
		}
	}
	switch {
	case change.DryRun:
		_, err := a.Proceed(ctx, change, would...)
		problems = append(problems, err)
	case a.Output == "json":
		problems = append(problems, a.PrintJSON(made))
	}
	return errors.Join(problems...)
}

func (a *app) topicGrow() *cobra.Command {
	var add, to int
	var internal bool
	var change session.Change
	cmd := &cobra.Command{
		Use: "add-partitions TOPIC...", Short: "give topics more partitions", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.CompleteTopics,
		Long: "Give topics more partitions. Records stay where they are, so a key's new records may land in another partition than its old ones. It\n" +
			"cannot be undone: on a terminal you are asked first, unless --yes is given.",
		Example: "  ottla topic add-partitions orders --to 6 --dry-run",
		RunE: func(cmd *cobra.Command, names []string) error {
			if (add > 0) == (to > 0) {
				return session.Usagef("give one of --add N (how many more) and --to N (how many in all), at least 1")
			}
			plan := func(ctx context.Context, client *kgo.Client) ([]string, error) {
				return a.planGrowth(ctx, kadm.NewClient(client), names, add, to, internal, &change)
			}
			return a.Apply(cmd.Context(), &change, plan, func(ctx context.Context, client *kgo.Client) error {
				return a.grow(ctx, kadm.NewClient(client), names, add, to)
			})
		},
	}
	cmd.Flags().IntVarP(&add, "add", "n", 0, "how many more")
	cmd.Flags().IntVar(&to, "to", 0, "how many in all")
	internalFlag(cmd, &internal)
	change.FinalFlags(cmd)
	return cmd
}

// planGrowth has the broker check whether it would give topics more partitions, and returns what would become of each.
func (a *app) planGrowth(ctx context.Context, admin *kadm.Client, names []string, add, to int, internal bool, change *session.Change) ([]string, error) {
	details, err := nameable(ctx, admin, names, internal)
	if err != nil || !a.Asks(change) { // the broker says what else is wrong
		return nil, err
	}
	check := func() (kadm.CreatePartitionsResponses, error) {
		return admin.ValidateUpdatePartitions(ctx, to, names...)
	}
	if add > 0 {
		check = func() (kadm.CreatePartitionsResponses, error) {
			return admin.ValidateCreatePartitions(ctx, add, names...)
		}
	}
	responses, err := check()
	if err != nil {
		return nil, err
	}
	var would []string
	var problems []error
	for _, r := range responses.Sorted() {
		problems = append(problems, session.TopicError(r.Topic, r.Err, r.ErrMessage))
		n := len(details[r.Topic].Partitions)
		after := to
		if add > 0 {
			after = n + add
		}
		would = append(would, fmt.Sprintf("give topic %s, which has %s, %d", r.Topic, session.Plural(n, "partition"), after))
	}
	return would, errors.Join(problems...)
}

func (a *app) grow(ctx context.Context, admin *kadm.Client, names []string, add, to int) error {
	grow := func() (kadm.CreatePartitionsResponses, error) { return admin.UpdatePartitions(ctx, to, names...) }
	if add > 0 {
		grow = func() (kadm.CreatePartitionsResponses, error) { return admin.CreatePartitions(ctx, add, names...) }
	}
	responses, err := grow()
	if err != nil {
		return err
	}
	return a.grown(ctx, admin, responses)
}

// grown says how many partitions the topics have now.
func (a *app) grown(ctx context.Context, admin *kadm.Client, responses kadm.CreatePartitionsResponses) error {
	var problems []error
	for _, r := range responses.Sorted() {
		if r.Err != nil {
			problems = append(problems, session.TopicError(r.Topic, r.Err, r.ErrMessage))
			continue
		}
		details, err := session.Topics(ctx, admin, r.Topic)
		problems = append(problems, err)
		if err == nil {
			a.Say("topic %s has %s", r.Topic, session.Plural(len(details[r.Topic].Partitions), "partition"))
		}
	}
	return errors.Join(problems...)
}

// internalFlag adds --internal.
func internalFlag(cmd *cobra.Command, internal *bool) {
	cmd.Flags().BoolVar(internal, "internal", false, "allow it for internal topics, such as __consumer_offsets")
}

// nameable finds topics that a command is to change. Internal ones are what the brokers keep for themselves, so they need --internal.
func nameable(ctx context.Context, admin *kadm.Client, names []string, internal bool) (kadm.TopicDetails, error) {
	details, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, d := range details.Sorted() {
		if d.IsInternal && !internal {
			problems = append(problems, fmt.Errorf("topic %s is internal: the broker keeps its own records in it; --internal does it all the same", d.Topic))
		}
	}
	return details, errors.Join(problems...)
}

// parsePair parses a key=value argument.
func parsePair(pair, what string) (key, text string, err error) {
	key, text, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return "", "", session.Usagef("%s: %s must be key=value", pair, what)
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
