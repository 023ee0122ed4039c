package consume

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// seekFlags are the flags of group seek.
type seekFlags struct {
	to             string
	shift          int64
	file           string
	dryRun, export bool
}

func (a *commands) groupSeek() *cobra.Command {
	var f seekFlags
	cmd := &cobra.Command{
		Use: "seek GROUP [TOPIC[:PARTITION,...]...]", Short: "move a group's committed offsets", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.CompleteGroupThenTopics,
		Long: `Move the committed offsets of a group that has no members: in the topics and partitions that are named, or else wherever it has one.
Offsets are kept within the log. --dry-run first shows what would be.

--file reads lines of topic,partition,offset, as --export and kafka-consumer-groups --export write them.`,
		Example: `  ottla group seek billing --to start --dry-run
  ottla group seek billing --to @2026-11-29T16:50:00Z orders
  ottla group seek billing --to 1h orders:0,3-5            (what came in the last hour)
  ottla group seek billing --shift -100
  ottla group seek billing --to current --export > offsets.csv
  ottla group seek billing --file offsets.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := seekOne(cmd.Flags()); err != nil {
				return err
			}
			want, err := a.target(f, cmd.Flags().Changed("shift"), args[0])
			if err != nil {
				return err
			}
			where, err := parseSelection(args[1:])
			if err != nil {
				return err
			}
			if len(where) > 0 && f.file != "" {
				return session.Usagef("--file names the partitions itself; leave out %s", strings.Join(args[1:], " "))
			}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				return a.seek(ctx, admin, args[0], where, want, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "start, end, current, OFFSET, -N (before the end), @TIME (RFC 3339, a date, ms) or a duration back (1h)")
	flags.Int64Var(&f.shift, "shift", 0, "move by `N` records, back if negative")
	flags.StringVar(&f.file, "file", "", "move to the offsets of a CSV `FILE`; - is stdin")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be, and change nothing")
	flags.BoolVar(&f.export, "export", false, "write what would be as CSV, or JSON with -o json, and change nothing")
	return cmd
}

// seekOne checks that one flag says where to go to.
func seekOne(flags *pflag.FlagSet) error {
	var given []string
	for _, name := range []string{"to", "shift", "file"} {
		if flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	switch len(given) {
	case 0:
		return session.Usagef("where to is missing; give --to, --shift or --file")
	case 1:
		return nil
	}
	return session.Usagef("%s do not go together; give one of them", strings.Join(given, " and "))
}

// target is where a seek goes to: an offset of each partition that is in file, so many records from where it is, or a place.
type target struct {
	file    map[string]map[int32]int64
	shift   *int64
	current bool
	place   session.Place
}

func (a *commands) target(f seekFlags, shifts bool, group string) (target, error) {
	switch {
	case shifts:
		return target{shift: &f.shift}, nil
	case f.file != "":
		rows, err := a.readOffsets(f.file, group)
		return target{file: rows}, err
	case f.to == "current":
		return target{current: true}, nil
	}
	at, err := session.ParsePlace(f.to)
	if err != nil && !strings.HasPrefix(f.to, "@") {
		if t, timeErr := session.ParseTime(f.to, time.Now()); timeErr == nil {
			return target{place: session.Place{Kind: session.AtTime, Time: t}}, nil
		}
		err = session.Usagef("--to %q: must be start, end, current, OFFSET, -N (before the end), @TIME or a duration such as 1h", f.to)
	}
	return target{place: at}, err
}

// seekRow is a line of group seek.
type seekRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Before    *int64 `json:"before"`
	After     int64  `json:"after"`
	Lag       int64  `json:"lag"` // after
}

func (a *commands) seek(ctx context.Context, admin *kadm.Client, name string, where selection, want target, f seekFlags) error {
	changes := !f.dryRun && !f.export
	if err := a.checkIdle(ctx, admin, name, len(where) > 0 || want.file != nil, changes); err != nil {
		return err
	}
	plan, err := a.planSeek(ctx, admin, name, where, want)
	if err != nil {
		return err
	}
	if changes {
		if err := commitPlan(ctx, admin, name, plan); err != nil {
			return err
		}
	}
	if f.export {
		return a.exportPlan(plan)
	}
	t := session.NewTable("TOPIC", "PARTITION", "BEFORE", "AFTER", "LAG")
	for _, row := range plan {
		t.Row(row.Topic, row.Partition, known(row.Before), row.After, row.Lag)
	}
	if err := a.Print(plan, t); err != nil {
		return err
	}
	if f.dryRun {
		a.NothingChanged()
	}
	return nil
}

// checkIdle refuses a group whose members hold their offsets. A group that is not there may be made, by offsets for named topics.
func (a *commands) checkIdle(ctx context.Context, admin *kadm.Client, name string, named, changes bool) error {
	groups, err := findGroups(ctx, admin, name)
	if errors.Is(err, kerr.GroupIDNotFound) && named {
		return nil
	}
	if err != nil || !groups[0].live() {
		return err
	}
	busy := fmt.Sprintf("group %s has %s, and offsets move only while it has none", name, session.Plural(len(groups[0].Members), "live member"))
	if changes {
		return fmt.Errorf("%s; stop them first (`ottla group members %s` shows them)", busy, name)
	}
	fmt.Fprintln(a.ErrOut, "note: "+busy)
	return nil
}

func commitPlan(ctx context.Context, admin *kadm.Client, name string, plan []seekRow) error {
	var offsets kadm.Offsets
	for _, row := range plan {
		offsets.AddOffset(row.Topic, row.Partition, row.After, -1)
	}
	responses, err := admin.CommitOffsets(ctx, name, offsets)
	if err != nil {
		return groupError(name, err, "")
	}
	for _, o := range responses.Sorted() {
		if errors.Is(o.Err, kerr.UnknownMemberID) {
			return fmt.Errorf("group %s has live members now; stop them first (`ottla group members %s` shows them)", name, name)
		}
		if o.Err != nil {
			return fmt.Errorf("group %s, partition %d of %s: %w", name, o.Partition, o.Topic, o.Err)
		}
	}
	return nil
}

// exportedRow is a line of group seek --export -o json.
type exportedRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (a *commands) exportPlan(plan []seekRow) error {
	if a.Output == "json" {
		rows := make([]exportedRow, len(plan))
		for i, row := range plan {
			rows[i] = exportedRow{row.Topic, row.Partition, row.After}
		}
		return a.PrintJSON(rows)
	}
	w := csv.NewWriter(a.Out)
	for _, row := range plan {
		if err := w.Write([]string{row.Topic, strconv.Itoa(int(row.Partition)), strconv.FormatInt(row.After, 10)}); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// planSeek finds where to each partition goes.
func (a *commands) planSeek(ctx context.Context, admin *kadm.Client, name string, where selection, want target) ([]seekRow, error) {
	committed, err := fetchOffsets(ctx, admin, name)
	if err != nil {
		return nil, err
	}
	if where, err = a.complete(ctx, admin, name, where, want, committed); err != nil {
		return nil, err
	}
	s := &seeker{commands: a, want: want, committed: committed}
	names := slices.Sorted(maps.Keys(where))
	if s.starts, err = session.Listed(admin.ListStartOffsets(ctx, names...)); err != nil {
		return nil, err
	}
	if s.ends, err = session.Listed(admin.ListEndOffsets(ctx, names...)); err != nil {
		return nil, err
	}
	if want.place.Kind == session.AtTime {
		if s.times, err = session.Listed(admin.ListOffsetsAfterMilli(ctx, want.place.Time.UnixMilli(), names...)); err != nil {
			return nil, err
		}
	}
	plan := []seekRow{}
	for _, topic := range names {
		partitions := where[topic]
		if partitions == nil {
			partitions = slices.Sorted(maps.Keys(s.ends[topic]))
		}
		for _, p := range partitions {
			row, ok, err := s.row(topic, p)
			if err != nil {
				return nil, err
			}
			if ok {
				plan = append(plan, row)
			}
		}
	}
	if len(plan) == 0 {
		return nil, fmt.Errorf("group %s has no offsets there; name the topics it shall have some in: `ottla group seek %s --to ... TOPIC`", name, name)
	}
	return plan, nil
}
