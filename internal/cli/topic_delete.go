package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func (a *app) topicDelete() *cobra.Command {
	var ifExists, internal bool
	var change session.Change
	cmd := &cobra.Command{
		Use: "delete TOPIC...", Aliases: []string{"rm"}, Short: "delete topics and all that is in them", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.CompleteTopics,
		Long: "Delete topics and all that is in them. It cannot be undone: on a terminal you are asked first, unless --yes is given. --dry-run shows what\n" +
			"would be deleted.",
		Example: "  ottla topic delete orders --dry-run\n  ottla topic delete orders --if-exists --yes",
		RunE: func(cmd *cobra.Command, names []string) error {
			plan := func(ctx context.Context, client *kgo.Client) ([]string, error) {
				details, err := nameable(ctx, kadm.NewClient(client), names, internal)
				if err != nil || !a.Asks(&change) { // the broker says what else is wrong
					return nil, err
				}
				return planDeletion(ctx, kadm.NewClient(client), details, ifExists)
			}
			return a.Apply(cmd.Context(), &change, plan, func(ctx context.Context, client *kgo.Client) error {
				return a.deleteTopics(ctx, kadm.NewClient(client), names, ifExists)
			})
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "a topic that is not there is no error")
	internalFlag(cmd, &internal)
	change.FinalFlags(cmd)
	return cmd
}

// planDeletion returns what would be deleted with topics.
func planDeletion(ctx context.Context, admin *kadm.Client, details kadm.TopicDetails, ifExists bool) ([]string, error) {
	var there []string
	var problems []error
	for _, d := range details.Sorted() {
		if ifExists && errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			continue
		}
		if d.Err == nil {
			there = append(there, d.Topic)
		}
		problems = append(problems, session.TopicError(d.Topic, d.Err, ""))
	}
	if err := errors.Join(problems...); err != nil || len(there) == 0 {
		return nil, err
	}
	starts, err := admin.ListStartOffsets(ctx, there...)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, there...)
	if err != nil {
		return nil, err
	}
	would := make([]string, len(there))
	for i, name := range there {
		var records int64
		for p := range details[name].Partitions {
			records += max(offsetOf(ends, name, p)-offsetOf(starts, name, p), 0)
		}
		would[i] = fmt.Sprintf("delete topic %s with %s and %s", name, session.Plural(len(details[name].Partitions), "partition"), offsets(records))
	}
	return would, nil
}

// offsets counts what a range of a log holds. Compaction and transactions leave fewer records than offsets.
func offsets(n int64) string {
	if n == 1 {
		return "1 record at most"
	}
	return humanize.Comma(n) + " records at most"
}

func (a *app) deleteTopics(ctx context.Context, admin *kadm.Client, names []string, ifExists bool) error {
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
}

func (a *app) topicTrim() *cobra.Command {
	var before string
	var only []int32
	var internal bool
	var change session.Change
	cmd := &cobra.Command{
		Use: "trim TOPIC", Short: "delete the oldest records of a topic", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteOneTopic,
		Long: "Delete all records before an offset, of all partitions or of those that --partition names. It cannot be undone: on a terminal you are asked\n" +
			"first, unless --yes is given. --dry-run shows what would be deleted. A negative number is refused: it is too near to its positive.",
		Example: `  ottla topic trim orders --before 1000 -p 0 --dry-run
  ottla topic trim orders --before @2026-11-01
  ottla topic trim orders --before end --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := session.ParsePlace(before)
			if err != nil || before == "" || at.Kind == session.BeforeEnd {
				return session.Usagef("--before %q: must be OFFSET (0 or more), end or @TIME", before)
			}
			var cuts []cut
			plan := func(ctx context.Context, client *kgo.Client) (would []string, err error) {
				cuts, err = planTrim(ctx, kadm.NewClient(client), args[0], at, only, internal)
				for _, c := range cuts {
					if c.to > c.from {
						would = append(would, fmt.Sprintf("delete offsets %s of partition %d of %s, %s",
							span(c.from, c.to-1), c.partition, args[0], offsets(c.to-c.from)))
					}
				}
				return would, err
			}
			return a.Apply(cmd.Context(), &change, plan, func(ctx context.Context, client *kgo.Client) error {
				return a.trim(ctx, kadm.NewClient(client), args[0], cuts)
			})
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "OFFSET, end or @TIME (see consume --from)")
	session.PartitionsFlag(cmd, &only)
	internalFlag(cmd, &internal)
	change.FinalFlags(cmd)
	return cmd
}

// cut is what trim takes from a partition: the offsets in [from, to).
type cut struct {
	partition int32
	from, to  int64
}

// planTrim finds what a trim takes from each partition.
func planTrim(ctx context.Context, admin *kadm.Client, topic string, at session.Place, only []int32, internal bool) ([]cut, error) {
	details, err := nameable(ctx, admin, []string{topic}, internal)
	if err != nil {
		return nil, err
	}
	if err := details[topic].Err; err != nil {
		return nil, session.TopicError(topic, err, "")
	}
	to, err := session.ResolvePlace(ctx, admin, at, topic, only)
	if err != nil {
		return nil, err
	}
	starts, err := session.Listed(admin.ListStartOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	ends, err := session.Listed(admin.ListEndOffsets(ctx, topic))
	if err != nil {
		return nil, err
	}
	var cuts []cut
	var problems []error
	for _, p := range slices.Sorted(maps.Keys(to)) {
		if end := ends[topic][p].Offset; to[p] > end {
			problems = append(problems, fmt.Errorf("partition %d of %s: the offset is outside of the log, which ends at %d; -p names the partitions to trim", p, topic, end))
		}
		cuts = append(cuts, cut{p, starts[topic][p].Offset, to[p]})
	}
	return cuts, errors.Join(problems...)
}

func (a *app) trim(ctx context.Context, admin *kadm.Client, topic string, cuts []cut) error {
	var before kadm.Offsets
	for _, c := range cuts {
		before.AddOffset(topic, c.partition, c.to, -1)
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
