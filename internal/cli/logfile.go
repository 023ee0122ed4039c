package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla/internal/cli/logfile"
	"github.com/ottla-io/ottla/internal/protocol/batch"
)

func (a *app) logCommand() *cobra.Command {
	return group("log", "look into a data directory's files, Ottla's or Kafka's (no broker needed)", a.logDump(), a.logVerify())
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
			if a.output == "json" {
				opts.JSON = jsonOfRecord
			}
			return logfile.Dump(a.out, files, opts)
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
	if a.output == "json" {
		if err := a.printJSON(v); err != nil {
			return err
		}
	} else {
		for _, p := range v.Problems {
			fmt.Fprintln(a.out, p)
		}
		fmt.Fprintf(a.out, "%s, %s, %s, %s, %s\n", plural(v.Files, "file"), size(v.Bytes), counted(v.Batches, "batch", "batches"),
			plural(v.Records, "record"), counted(v.Entries, "index entry", "index entries"))
	}
	if len(v.Problems) > 0 {
		return fmt.Errorf("%s found; a broker that starts after a crash cuts off a torn end and makes the indexes anew, but repairs no batch", plural(len(v.Problems), "problem"))
	}
	return nil
}

// jsonOfRecord is a record as consume -o json shows it.
func jsonOfRecord(r batch.Record) any {
	offset := int64(r.Offset)
	j := jsonRecord{Offset: &offset, Timestamp: time.UnixMilli(r.Timestamp).UTC().Format(timestampLayout)}
	j.Key, j.KeyBase64 = textOrBase64(r.Key)
	j.Value, j.ValueBase64 = textOrBase64(r.Value)
	for key, value := range r.Headers.All() {
		text, encoded := textOrBase64(value)
		j.Headers = append(j.Headers, jsonHeader{string(key), text, encoded})
	}
	return j
}
