package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla/internal/cli/session"
	"github.com/ottla-io/ottla/internal/storage/repair"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// logRepair is the flags of log repair.
type logRepair struct {
	session.Change
	data string
}

func (a *app) logRepair() *cobra.Command {
	var f logRepair
	cmd := &cobra.Command{
		Use: "repair [PARTITION...]", Short: "make damaged logs readable again, without a broker",
		Long: `Find the batches of partitions that cannot be read (all partitions, or those named, such as orders-0), show what they held, and
after a yes put batches without records in their place. All other batches stay as they are, offsets too, and readers go on behind the
hole. The damaged segment is kept beside the new one, with .damaged at the end of its name. The broker must be stopped.`,
		Example: "  ottla log repair --data ottla-data --dry-run\n  ottla log repair --data ottla-data orders-0\n  ottla log repair --data ottla-data --yes",
		RunE: func(cmd *cobra.Command, partitions []string) error {
			return a.UntilInterrupt(cmd.Context(), func(ctx context.Context) error { return a.repair(ctx, f, partitions) })
		},
	}
	cmd.Flags().StringVarP(&f.data, "data", "d", "ottla-data", "data directory")
	f.FinalFlags(cmd)
	cmd.Flags().Lookup("yes").Usage = "do not ask first (a script must say so)"
	return cmd
}

// repaired is what log repair -o json prints.
type repaired struct {
	*repair.Plan
	Repaired bool     `json:"repaired"`
	Kept     []string `json:"kept,omitempty"` // the damaged segments
}

func (a *app) repair(ctx context.Context, f logRepair, partitions []string) (err error) {
	if _, err := os.Stat(filepath.Join(f.data, "meta.properties")); err != nil {
		return fmt.Errorf("--data %s: no data directory is there: %w", f.data, err)
	}
	files, err := vfs.OS(f.data)
	if err != nil {
		return err
	}
	lock, err := vfs.Lock(f.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	dir, waits, err := repair.Open(files, !f.DryRun)
	if err != nil {
		return err
	}
	if waits {
		fmt.Fprintln(a.ErrOut, "an unclean stop left records in the journal; a repair puts them in their place first, which may change what is shown here")
	}
	plans, err := a.plans(ctx, dir, partitions)
	if err != nil {
		return err
	}
	results, offsets := make([]repaired, len(plans)), int64(0)
	for i, p := range plans {
		results[i].Plan = p
		offsets += p.Offsets()
		a.showPlan(p)
	}
	if len(plans) == 0 {
		a.Say("nothing is damaged")
	} else if err := a.agreed(ctx, f, offsets); err != nil {
		return err
	}
	for i, p := range plans {
		if f.DryRun || ctx.Err() != nil {
			break
		}
		if results[i].Kept, err = dir.Apply(p); err != nil {
			return err
		}
		results[i].Repaired = true
		a.Say("repaired %s; kept %s", p.Partition, strings.Join(results[i].Kept, ", "))
	}
	if a.Output == "json" {
		return a.PrintJSON(results)
	}
	return ctx.Err()
}

// plans are those of the partitions that need a repair.
func (a *app) plans(ctx context.Context, dir *repair.Directory, partitions []string) (plans []*repair.Plan, err error) {
	if len(partitions) == 0 {
		if partitions, err = dir.Partitions(); err != nil {
			return nil, err
		}
	}
	for _, name := range partitions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := dir.Plan(name)
		if err != nil {
			return nil, err
		}
		if p.Torn > 0 && !p.Needed() {
			fmt.Fprintf(a.ErrOut, "%s: the last %s are what a crash left; the next start cuts them off\n", name, session.Size(p.Torn))
		}
		if p.Needed() {
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// lostMax is how many damaged places of a partition are shown.
const lostMax = 20

func (a *app) showPlan(p *repair.Plan) {
	a.Say("%s: %s to write anew: %s", p.Partition, session.Plural(len(p.Files()), "segment"), strings.Join(p.Files(), ", "))
	for i, l := range p.Lost {
		if i == lostMax {
			a.Say("  and %s more", session.Plural(len(p.Lost)-i, "place"))
			break
		}
		a.Say("  lost: offsets %d to %d (%s at position %d of %s): %s", l.First, l.Last, session.Size(l.Bytes), l.Position, l.File, l.Why)
	}
	if n := len(p.Mended); n > 0 {
		a.Say("  put right without loss: the header of %s, the first at offset %d", session.Counted(n, "batch", "batches"), p.Mended[0])
	}
}

// errUnconfirmed ends a repair without a terminal to ask at.
var errUnconfirmed = errors.New("nothing was repaired: there is no terminal to ask at; give --yes")

// agreed is nil if the plans shown are to be carried out, or nothing is to be.
func (a *app) agreed(ctx context.Context, f logRepair, offsets int64) error {
	a.Say("at most %s cannot be read and will be passed over; the damaged segments are kept", session.Plural(offsets, "record"))
	if f.DryRun {
		a.NothingChanged()
		return nil
	}
	if f.Yes {
		return nil
	}
	if !a.CanAsk() {
		return errUnconfirmed
	}
	return a.Confirm(ctx)
}
