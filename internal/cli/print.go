package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"
)

// table is text in columns under upper-case headings.
type table struct {
	rows [][]string
}

func newTable(headings ...string) *table { return &table{rows: [][]string{headings}} }

func (t *table) row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range t.rows {
		for i, cell := range row {
			if cell == "" {
				row[i] = "-" // an empty cell would make columns hard to split
			}
		}
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// print writes v as JSON, or t.
func (a *app) print(v any, t *table) error {
	if a.output == "json" {
		return a.printJSON(v)
	}
	return t.write(a.out)
}

// say tells a person something, unless a program is to read the output.
func (a *app) say(format string, args ...any) {
	if a.output != "json" {
		fmt.Fprintf(a.out, format+"\n", args...)
	}
}

// printer writes to w until that fails, so that a command need not look at each line that it prints: run reports the error at the end.
// It is for one goroutine.
type printer struct {
	w   io.Writer
	err error // the first; nothing is written after it
}

func (p *printer) Write(b []byte) (n int, err error) {
	if p.err == nil {
		n, p.err = p.w.Write(b)
	}
	return n, p.err
}

// isTerminal reports whether w is one.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

type integer interface {
	int | int16 | int32 | int64
}

func plural[N integer](n N, one string) string { return counted(n, one, one+"s") }

func counted[N integer](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}

func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func joinInts(ids []int32) string {
	text := make([]string, len(ids))
	for i, id := range ids {
		text[i] = strconv.Itoa(int(id))
	}
	return strings.Join(text, ",")
}
