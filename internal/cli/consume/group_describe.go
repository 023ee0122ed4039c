package consume

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// groupArgs are the groups that a command is for: its arguments, or all with --all.
func groupArgs(args []string, all bool) ([]string, error) {
	if all == (len(args) > 0) {
		return nil, session.Usagef("name groups, or give --all")
	}
	return args, nil
}

func (a *commands) groupDescribe() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "describe [GROUP...]", Short: "show groups: their members, offsets and lag", ValidArgsFunction: a.CompleteGroups,
		Long: `Show groups with the partitions they consume. LAG is how many records come after the committed offset, BEHIND how old the first
of them is; - is not known. A partition without a committed offset has no lag: where its consumer starts is the consumer's choice.`,
		Example: "  ottla group describe billing\n  ottla group describe --all -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := groupArgs(args, all)
			if err != nil {
				return err
			}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				groups, err := findGroups(ctx, admin, names...)
				if err != nil || len(groups) == 0 && a.Output != "json" {
					return err
				}
				found, err := lags(ctx, admin, groups)
				if err != nil {
					return err
				}
				if err := a.addAges(ctx, found); err != nil {
					return err
				}
				return a.printGroups(found)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show all groups")
	return cmd
}

func (a *commands) printGroups(groups []groupLag) error {
	if a.Output == "json" {
		return a.PrintJSON(groups)
	}
	for i := range groups {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		if err := a.printGroup(&groups[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *commands) printGroup(g *groupLag) error {
	assignor := session.Plain(g.Assignor)
	if assignor == "" {
		assignor = "-"
	}
	kind := g.Type
	if g.Epoch != nil {
		kind += " (epoch " + strconv.Itoa(int(*g.Epoch)) + ")"
	}
	fmt.Fprintf(a.Out, "Group        %s\nState        %s\nType         %s\nAssignor     %s\nCoordinator  %s (%d)\nMembers      %d\nTotal lag    %d",
		session.Plain(g.Group), g.State, kind, assignor, g.Coordinator, g.Node, len(g.Members), g.Lag)
	if g.LagSeconds != nil && g.Lag > 0 {
		fmt.Fprintf(a.Out, ", %s", behind(g.LagSeconds))
	}
	if n := g.unplaced(); n > 0 {
		fmt.Fprintf(a.Out, ", and %s without an offset", session.Plural(n, "partition"))
	}
	fmt.Fprintln(a.Out)
	if len(g.Partitions) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	t := session.NewTable("TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "BEHIND", "MEMBER", "CLIENT", "HOST")
	for _, p := range g.Partitions {
		t.Row(p.Topic, p.Partition, known(p.Committed), known(p.End), known(p.Lag), behind(p.LagSeconds), p.Member, p.ClientID, p.Host)
	}
	return t.Write(a.Out)
}

// unplaced is how many partitions have records, and no offset to count them from.
func (g *groupLag) unplaced() (n int) {
	for _, p := range g.Partitions {
		if p.Committed == nil && p.End != nil && *p.End > *p.Start {
			n++
		}
	}
	return n
}

// known writes a number, or - for none.
func known(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// behind writes seconds for people: 0s, 350ms, 1h2m3s, 12d4h.
func behind(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	d := time.Duration(min(*seconds*float64(time.Second), math.MaxInt64/2))
	const day = 24 * time.Hour
	switch {
	case d >= 100*day:
		return humanize.Comma(int64(d/day)) + "d"
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Second:
		d = d.Round(time.Second)
	default:
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (a *commands) groupMembers() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "members [GROUP...]", Short: "show the members of groups and what they own", ValidArgsFunction: a.CompleteGroups,
		Long: `Show the members of groups. TARGET is what a member of a consumer group is to own, where that is not what it owns yet.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := groupArgs(args, all)
			if err != nil {
				return err
			}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				groups, err := findGroups(ctx, admin, names...)
				if err != nil {
					return err
				}
				return a.printMembers(groups)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show the members of all groups")
	return cmd
}

func (a *commands) printMembers(groups []groupView) error {
	t := session.NewTable("GROUP", "MEMBER", "INSTANCE", "CLIENT", "HOST", "TYPE", "EPOCH", "PARTITIONS", "ASSIGNED", "TARGET")
	for i := range groups {
		for _, m := range groups[i].Members {
			epoch, n := "-", 0
			if m.Epoch != nil {
				epoch = strconv.Itoa(int(*m.Epoch))
			}
			for _, tp := range m.Assigned {
				n += len(tp.Partitions)
			}
			t.Row(groups[i].Group, m.ID, m.InstanceID, m.ClientID, m.Host, m.Type, epoch, n, showPartitions(m.Assigned), showPartitions(m.Target))
		}
	}
	if groups == nil {
		groups = []groupView{}
	}
	return a.Print(groups, t)
}
