package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla/internal/cli/logfile"
	"github.com/ottla-io/ottla/internal/cli/session"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

func (a *app) logCommand() *cobra.Command {
	return group("log", "look into a data directory's files, Ottla's or Kafka's, and repair them (no broker needed)", a.logDump(), a.logVerify(), a.logRepair())
}

func (a *app) logDump() *cobra.Command {
	var opts logfile.Options
	cmd := &cobra.Command{
		Use: "dump FILE|DIR...", Short: "print segments and indexes", Args: cobra.MinimumNArgs(1),
		Long:    "Print .log, .index, .timeindex and .txnindex files, much as Kafka's dump tool does. A directory stands for its files.\nWith -o json, each batch, record and entry is a line of JSON.",
		Example: "  ottla log dump --records ottla-data/orders-0/00000000000000000000.log\n  ottla log dump --offsets ottla-data/__consumer_offsets-7",
		RunE: func(_ *cobra.Command, paths []string) error {
			files, err := logfile.Find(paths)
			if err != nil {
				return err
			}
			if a.Output == "json" {
				opts.JSON = jsonOfRecord
			}
			return logfile.Dump(a.Out, files, opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Records, "records", "r", false, "print the records too")
	cmd.Flags().BoolVar(&opts.Offsets, "offsets", false, "print the records too, decoded as those of __consumer_offsets")
	return cmd
}

func (a *app) logVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE|DIR...", Short: "check segments and their indexes", Args: cobra.MinimumNArgs(1),
		Long:    "Check every batch's checksum and offsets, and that each index entry points to what it says. A directory stands for all below it. A broker that\nis running writes while this reads: what it finds at a log's very end then means nothing.",
		Example: "  ottla log verify ottla-data",
		RunE: func(_ *cobra.Command, paths []string) error {
			files, err := logfile.Find(paths)
			if err != nil {
				return err
			}
			return a.verify(files)
		},
	}
}

func (a *app) verify(files []string) error {
	v, err := logfile.Verify(files)
	if err != nil {
		return err
	}
	if a.Output == "json" {
		if err := a.PrintJSON(v); err != nil {
			return err
		}
	} else {
		for _, p := range v.Problems {
			fmt.Fprintln(a.Out, p)
		}
		fmt.Fprintf(a.Out, "%s, %s, %s, %s, %s\n", session.Plural(v.Files, "file"), session.Size(v.Bytes), session.Counted(v.Batches, "batch", "batches"),
			session.Plural(v.Records, "record"), session.Counted(v.Entries, "index entry", "index entries"))
	}
	if len(v.Problems) > 0 {
		return fmt.Errorf("%s found; a broker that starts after a crash cuts off a torn end and makes the indexes anew; what `ottla log repair --dry-run` shows stays", session.Plural(len(v.Problems), "problem"))
	}
	return nil
}

// jsonOfRecord is a record as consume -o json shows it.
func jsonOfRecord(r batch.Record) any {
	offset := int64(r.Offset)
	j := session.JSONRecord{Offset: &offset, Timestamp: time.UnixMilli(r.Timestamp).UTC().Format(session.TimestampLayout)}
	j.Key, j.KeyBase64 = session.TextOrBase64(r.Key)
	j.Value, j.ValueBase64 = session.TextOrBase64(r.Value)
	for key, value := range r.Headers.All() {
		text, encoded := session.TextOrBase64(value)
		j.Headers = append(j.Headers, session.JSONHeader{Key: string(key), Value: text, ValueBase64: encoded})
	}
	return j
}
