package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) logCommand() *cobra.Command {
	return group("log", "look into a data directory's files, Ottla's or Kafka's (no broker needed)", a.logDump(), a.logVerify())
}

func (a *app) logDump() *cobra.Command {
	var records bool
	cmd := &cobra.Command{
		Use: "dump FILE|DIR...", Short: "print segments and indexes", Args: cobra.MinimumNArgs(1),
		Long:    "Print .log, .index, .timeindex and .txnindex files, much as Kafka's dump tool does. A directory stands for its files.\nWith -o json, each batch, record and entry is a line of JSON.",
		Example: "  ottla log dump --records ottla-data/orders-0/00000000000000000000.log",
		RunE: func(_ *cobra.Command, paths []string) error {
			files, err := logFiles(paths)
			if err != nil {
				return err
			}
			return a.dump(files, records)
		},
	}
	cmd.Flags().BoolVarP(&records, "records", "r", false, "print the records too")
	return cmd
}

func (a *app) logVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE|DIR...", Short: "check segments and their indexes", Args: cobra.MinimumNArgs(1),
		Long:    "Check every batch's checksum and offsets, and that each index entry points to what it says. A directory stands for all below it. A broker that\nis running writes while this reads: what it finds at a log's very end then means nothing.",
		Example: "  ottla log verify ottla-data",
		RunE: func(_ *cobra.Command, paths []string) error {
			files, err := logFiles(paths)
			if err != nil {
				return err
			}
			return a.verify(files)
		},
	}
}

// verification is what log verify found.
type verification struct {
	Files    int      `json:"files"`
	Batches  int64    `json:"batches"`
	Records  int64    `json:"records"`
	Bytes    int64    `json:"bytes"`
	Entries  int64    `json:"index_entries"`
	Problems []string `json:"problems"`
}

func (a *app) verify(files []string) error {
	v := verification{Problems: []string{}}
	for _, name := range files {
		v.Files++
		if filepath.Ext(name) != ".log" {
			if _, err := os.Stat(strings.TrimSuffix(name, filepath.Ext(name)) + ".log"); errors.Is(err, fs.ErrNotExist) {
				v.Problems = append(v.Problems, name+": has no .log file beside it")
			}
			continue // checked with its log
		}
		if err := v.segment(name); err != nil {
			return err
		}
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

// logFiles finds the files that paths stand for, in order: a segment's log before its indexes.
func logFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if dumpers[filepath.Ext(path)] == nil {
				return nil, fmt.Errorf("%s: must be a .log, .index, .timeindex or .txnindex file", path)
			}
			files = append(files, path)
			continue
		}
		below, err := filesBelow(path)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			return nil, fmt.Errorf("%s: has no segment files", path)
		}
		files = append(files, below...)
	}
	return files, nil
}

func filesBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && dumpers[filepath.Ext(path)] != nil {
			files = append(files, path)
		}
		return err
	})
	slices.SortFunc(files, func(a, b string) int {
		if c := strings.Compare(strings.TrimSuffix(a, filepath.Ext(a)), strings.TrimSuffix(b, filepath.Ext(b))); c != 0 {
			return c
		}
		return slices.Index(extensions, filepath.Ext(a)) - slices.Index(extensions, filepath.Ext(b))
	})
	return files, err
}

var extensions = []string{".log", ".index", ".timeindex", ".txnindex"}
