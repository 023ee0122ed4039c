package consume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func (a *commands) groupDelete() *cobra.Command {
	var ifExists bool
	var change session.Change
	cmd := &cobra.Command{
		Use: "delete GROUP...", Aliases: []string{"rm"}, Short: "delete groups and their offsets", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.CompleteGroups,
		Long: "Delete groups that have no members, with all their committed offsets. It cannot be undone: on a terminal you are asked first, unless --yes is\n" +
			"given. --dry-run shows what would be deleted.",
		Example: "  ottla group delete billing --dry-run",
		RunE: func(cmd *cobra.Command, names []string) error {
			plan := func(ctx context.Context, client *kgo.Client) ([]string, error) {
				if !a.Asks(&change) {
					return nil, nil // the broker says what is wrong
				}
				return planGroups(ctx, kadm.NewClient(client), names, ifExists)
			}
			return a.Apply(cmd.Context(), &change, plan, func(ctx context.Context, client *kgo.Client) error {
				return a.deleteGroups(ctx, kadm.NewClient(client), names, ifExists)
			})
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "a group that is not there is no error")
	change.FinalFlags(cmd)
	return cmd
}

// planGroups returns what would be deleted with groups.
func planGroups(ctx context.Context, admin *kadm.Client, names []string, ifExists bool) (would []string, err error) {
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, name := range names {
		g, there := listed[name]
		switch {
		case !there && ifExists:
		case !there:
			problems = append(problems, groupError(name, kerr.GroupIDNotFound, ""))
		case !strings.EqualFold(g.State, "empty") && !strings.EqualFold(g.State, "dead"):
			problems = append(problems, groupError(name, kerr.NonEmptyGroup, ""))
		default:
			committed, err := fetchOffsets(ctx, admin, name)
			if err != nil {
				return nil, err
			}
			n := 0
			for _, partitions := range committed {
				n += len(partitions)
			}
			would = append(would, fmt.Sprintf("delete group %s with the offsets of %s", name, session.Plural(n, "partition")))
		}
	}
	return would, errors.Join(problems...)
}

func (a *commands) deleteGroups(ctx context.Context, admin *kadm.Client, names []string, ifExists bool) error {
	responses, err := admin.DeleteGroups(ctx, names...)
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range responses.Sorted() {
		if ifExists && errors.Is(r.Err, kerr.GroupIDNotFound) {
			a.Say("group %s is not there", r.Group)
			continue
		}
		if r.Err == nil {
			a.Say("deleted group %s", r.Group)
		}
		problems = append(problems, groupError(r.Group, r.Err, r.ErrMessage))
	}
	return errors.Join(problems...)
}

func (a *commands) groupDeleteOffsets() *cobra.Command {
	var change session.Change
	cmd := &cobra.Command{
		Use: "delete-offsets GROUP TOPIC[:PARTITION,...]...", Short: "delete a group's committed offsets in topics", Args: cobra.MinimumNArgs(2),
		ValidArgsFunction: a.CompleteGroupThenTopics,
		Long: "Delete a group's committed offsets in topics that none of its members subscribes to. The next consumer starts where it is told to. It cannot be\n" +
			"undone: on a terminal you are asked first, unless --yes is given. --dry-run shows what would be deleted.",
		Example: "  ottla group delete-offsets billing orders:0,3-5 invoices --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := parseSelection(args[1:])
			if err != nil {
				return err
			}
			var set kadm.TopicsSet
			plan := func(ctx context.Context, client *kgo.Client) (would []string, err error) {
				set, would, err = planOffsets(ctx, kadm.NewClient(client), args[0], where)
				return would, err
			}
			return a.Apply(cmd.Context(), &change, plan, func(ctx context.Context, client *kgo.Client) error {
				return a.deleteOffsets(ctx, kadm.NewClient(client), args[0], set)
			})
		},
	}
	change.FinalFlags(cmd)
	return cmd
}

// planOffsets finds the offsets that a selection stands for.
func planOffsets(ctx context.Context, admin *kadm.Client, name string, where selection) (set kadm.TopicsSet, would []string, err error) {
	committed, err := fetchOffsets(ctx, admin, name)
	if err != nil {
		return nil, nil, err
	}
	set = make(kadm.TopicsSet)
	for _, topic := range slices.Sorted(maps.Keys(where)) {
		partitions := where[topic]
		if partitions == nil {
			partitions = slices.Sorted(maps.Keys(committed[topic]))
		}
		if len(partitions) == 0 {
			return nil, nil, fmt.Errorf("group %s has no offsets in topic %s; `ottla group describe %s` shows what it has", name, topic, name)
		}
		for _, p := range partitions {
			at, ok := committed[topic][p]
			if !ok {
				return nil, nil, fmt.Errorf("group %s has no offset in partition %d of %s; `ottla group describe %s` shows what it has", name, p, topic, name)
			}
			would = append(would, fmt.Sprintf("delete offset %d of group %s in partition %d of %s", at, name, p, topic))
		}
		set.Add(topic, partitions...)
	}
	return set, would, nil
}

func (a *commands) deleteOffsets(ctx context.Context, admin *kadm.Client, name string, set kadm.TopicsSet) error {
	responses, err := admin.DeleteOffsets(ctx, name, set)
	if err != nil {
		return groupError(name, err, "")
	}
	gone := make(map[string][]int32)
	var problems []error
	for topic, partitions := range responses {
		for p, err := range partitions {
			if err != nil {
				problems = append(problems, fmt.Errorf("group %s, partition %d of %s: %w", name, p, topic, err))
				continue
			}
			gone[topic] = append(gone[topic], p)
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	done := sortedPartitions(gone)
	if a.Output == "json" {
		problems = append(problems, a.PrintJSON(done))
	}
	if len(done) > 0 {
		a.Say("deleted the offsets of group %s in %s", name, showPartitions(done))
	}
	return errors.Join(problems...)
}

// fetchOffsets are a group's committed offsets by topic and partition. The broker lists only what is committed, so a negative one is too: a
// client has committed it.
func fetchOffsets(ctx context.Context, admin *kadm.Client, name string) (map[string]map[int32]int64, error) {
	responses, err := admin.FetchOffsets(ctx, name)
	for ctx.Err() == nil && errors.Is(err, kerr.CoordinatorNotAvailable) { // the first group of a cluster makes its topic
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
		responses, err = admin.FetchOffsets(ctx, name)
	}
	if err != nil {
		return nil, groupError(name, err, "")
	}
	offsets := make(map[string]map[int32]int64)
	for _, o := range responses.Sorted() {
		if o.Err != nil {
			return nil, groupError(name, fmt.Errorf("partition %d of %s: %w", o.Partition, o.Topic, o.Err), "")
		}
		if offsets[o.Topic] == nil {
			offsets[o.Topic] = make(map[int32]int64)
		}
		offsets[o.Topic][o.Partition] = o.At
	}
	return offsets, nil
}

// selection are topics with some of their partitions; nil is all.
type selection map[string][]int32

// parseSelection reads arguments of the form TOPIC or TOPIC:0,3-5.
func parseSelection(args []string) (selection, error) {
	where := selection{}
	for _, arg := range args {
		topic, list, some := strings.Cut(arg, ":")
		if topic == "" || some && list == "" {
			return nil, session.Usagef("%s: must be TOPIC or TOPIC:PARTITION,...", arg)
		}
		before, again := where[topic]
		if !some {
			where[topic] = nil
			continue
		}
		partitions, err := parseNumbers(list)
		if err != nil {
			return nil, session.Usagef("%s: %w", arg, err)
		}
		if again && before == nil {
			continue // all of them already
		}
		partitions = append(before, partitions...)
		slices.Sort(partitions)
		where[topic] = slices.Compact(partitions)
	}
	return where, nil
}

// numbersMost is the most partitions that one argument may name.
const numbersMost = 100_000

// parseNumbers reads "0,3-5".
func parseNumbers(list string) ([]int32, error) {
	var all []int32
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseInt(first, 10, 32)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseInt(last, 10, 32)
		}
		if err != nil || from < 0 || to < from || to-from >= numbersMost {
			return nil, fmt.Errorf("%q is no partition and no range of them such as 3-5", part)
		}
		for p := from; p <= to; p++ {
			all = append(all, int32(p))
		}
	}
	return all, nil
}
