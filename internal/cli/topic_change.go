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

	"github.com/ottla-io/ottla/internal/cli/session"
)

func (a *app) topicCreate() *cobra.Command {
	var partitions int32
	var replicas int16
	var settings []string
	var ifNotExists bool
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
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				responses, err := admin.CreateTopics(ctx, partitions, replicas, configs, names...)
				if err != nil {
					return err
				}
				return a.created(responses, ifNotExists)
			})
		},
	}
	flags := cmd.Flags()
	flags.Int32VarP(&partitions, "partitions", "p", -1, "number of partitions; -1: the broker's num.partitions")
	flags.Int16VarP(&replicas, "replicas", "r", -1, "number of replicas; -1: the broker's default.replication.factor")
	flags.StringArrayVarP(&settings, "config", "c", nil, "`KEY=VALUE` of a setting, again for more")
	flags.BoolVar(&ifNotExists, "if-not-exists", false, "a topic that is there already is no error")
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

// created tells what became of the topics that were to be created.
func (a *app) created(responses kadm.CreateTopicResponses, ifNotExists bool) error {
	made := []createdTopic{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(responses)) {
		r := responses[name]
		switch {
		case r.Err == nil:
			made = append(made, createdTopic{r.Topic, topicID(r.ID), r.NumPartitions, r.ReplicationFactor})
			a.Say("created topic %s (%s, %s)", r.Topic, session.Plural(r.NumPartitions, "partition"), session.Plural(r.ReplicationFactor, "replica"))
		case ifNotExists && errors.Is(r.Err, kerr.TopicAlreadyExists):
			a.Say("topic %s exists", r.Topic)
		default:
			problems = append(problems, session.TopicError(r.Topic, r.Err, r.ErrMessage))
		}
	}
	if a.Output == "json" {
		problems = append(problems, a.PrintJSON(made))
	}
	return errors.Join(problems...)
}

func (a *app) topicAlter() *cobra.Command {
	var settings, unset []string
	cmd := &cobra.Command{
		Use: "alter TOPIC...", Short: "change settings of topics", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.CompleteTopics,
		Example: "  ottla topic alter orders -c retention.ms=3600000 -d max.message.bytes",
		RunE: func(cmd *cobra.Command, names []string) error {
			changes, err := alterations(settings, unset)
			if err != nil {
				return err
			}
			if len(changes) == 0 {
				return session.Usagef("nothing to change; give -c key=value or -d key")
			}
			return a.alterTopics(cmd.Context(), changes, names...)
		},
	}
	cmd.Flags().StringArrayVarP(&settings, "config", "c", nil, "`KEY=VALUE` to set, again for more")
	cmd.Flags().StringArrayVarP(&unset, "delete", "d", nil, "`KEY` to set back to the broker's default, again for more")
	_ = cmd.RegisterFlagCompletionFunc("config", completeSettings)
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

func (a *app) alterTopics(ctx context.Context, changes []kadm.AlterConfig, names ...string) error {
	return a.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		responses, err := admin.AlterTopicConfigs(ctx, changes, names...)
		if err != nil {
			return err
		}
		var problems []error
		for _, r := range responses {
			if r.Err != nil {
				problems = append(problems, session.TopicError(r.Name, r.Err, r.ErrMessage))
				continue
			}
			a.Say("changed topic %s", r.Name)
		}
		return errors.Join(problems...)
	})
}

func (a *app) topicDelete() *cobra.Command {
	var ifExists bool
	cmd := &cobra.Command{
		Use: "delete TOPIC...", Aliases: []string{"rm"}, Short: "delete topics and all that is in them", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.CompleteTopics,
		Example:           "  ottla topic delete orders --if-exists",
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				responses, err := admin.DeleteTopics(ctx, names...)
				if err != nil {
					return err
				}
				var problems []error
				for _, r := range responses.Sorted() {
					if ifExists && errors.Is(r.Err, kerr.UnknownTopicOrPartition) {
						a.Say("topic %s is not there", r.Topic)
						continue
					}
					if r.Err == nil {
						a.Say("deleted topic %s", r.Topic)
					}
					problems = append(problems, session.TopicError(r.Topic, r.Err, r.ErrMessage))
				}
				return errors.Join(problems...)
			})
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "a topic that is not there is no error")
	return cmd
}

func (a *app) topicGrow() *cobra.Command {
	var add, to int
	cmd := &cobra.Command{
		Use: "add-partitions TOPIC...", Short: "give topics more partitions", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.CompleteTopics,
		Long:    "Give topics more partitions. Records stay where they are, so a key's new records may land in another partition than its old ones.",
		Example: "  ottla topic add-partitions orders --to 6",
		RunE: func(cmd *cobra.Command, names []string) error {
			if (add > 0) == (to > 0) {
				return session.Usagef("give one of --add N (how many more) and --to N (how many in all), at least 1")
			}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				grow := func() (kadm.CreatePartitionsResponses, error) { return admin.UpdatePartitions(ctx, to, names...) }
				if add > 0 {
					grow = func() (kadm.CreatePartitionsResponses, error) { return admin.CreatePartitions(ctx, add, names...) }
				}
				responses, err := grow()
				if err != nil {
					return err
				}
				return a.grown(ctx, admin, responses)
			})
		},
	}
	cmd.Flags().IntVarP(&add, "add", "n", 0, "how many more")
	cmd.Flags().IntVar(&to, "to", 0, "how many in all")
	return cmd
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

func (a *app) topicTrim() *cobra.Command {
	var before string
	var only []int32
	cmd := &cobra.Command{
		Use: "trim TOPIC", Short: "delete the oldest records of a topic", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteOneTopic,
		Long: "Delete all records before an offset. What is deleted cannot be brought back.",
		Example: `  ottla topic trim orders --before 1000 -p 0
  ottla topic trim orders --before @2026-11-01
  ottla topic trim orders --before end`,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := session.ParsePlace(before)
			if err != nil || before == "" {
				return session.Usagef("--before %q: must be OFFSET, end or @TIME", before)
			}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				offsets, err := session.ResolvePlace(ctx, admin, at, args[0], only)
				if err != nil {
					return err
				}
				return a.trim(ctx, admin, args[0], offsets)
			})
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "OFFSET, end or @TIME (see consume --from)")
	session.PartitionsFlag(cmd, &only)
	return cmd
}

func (a *app) trim(ctx context.Context, admin *kadm.Client, topic string, offsets map[int32]int64) error {
	var before kadm.Offsets
	for partition, offset := range offsets {
		before.AddOffset(topic, partition, offset, -1)
	}
	responses, err := admin.DeleteRecords(ctx, before)
	if err != nil {
		return err
	}
	type row struct {
		Partition int32 `json:"partition"`
		Start     int64 `json:"start"`
	}
	rows := []row{}
	t := session.NewTable("PARTITION", "START")
	var problems []error
	for _, r := range responses.Sorted() {
		if r.Err != nil {
			problems = append(problems, fmt.Errorf("partition %d of %s: %w", r.Partition, topic, r.Err))
			continue
		}
		rows = append(rows, row{r.Partition, r.LowWatermark})
		t.Row(r.Partition, r.LowWatermark)
	}
	if len(rows) == 0 && a.Output != "json" {
		return errors.Join(problems...)
	}
	return errors.Join(a.Print(rows, t), errors.Join(problems...))
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
