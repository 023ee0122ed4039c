package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"
)

// Table is text in columns under upper-case headings.
type Table struct {
	rows [][]string
}

// NewTable is a table with these headings.
func NewTable(headings ...string) *Table { return &Table{rows: [][]string{headings}} }

// Row adds a row; a cell is written as fmt.Print would.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Plain(fmt.Sprint(c))
	}
	t.rows = append(t.rows, row)
}

// Plain is text as a terminal may have it: ids of groups, members and clients are anybody's, and may hold line ends and escape sequences.
func Plain(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	return strconv.Quote(text)
}

// Write writes the table.
func (t *Table) Write(w io.Writer) error {
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

// PrintJSON writes v as JSON for people and programs.
func (s *Session) PrintJSON(v any) error {
	e := json.NewEncoder(s.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Print writes v as JSON, or t.
func (s *Session) Print(v any, t *Table) error {
	if s.Output == "json" {
		return s.PrintJSON(v)
	}
	return t.Write(s.Out)
}

// Say tells a person something, unless a program is to read the output.
func (s *Session) Say(format string, args ...any) {
	if s.Output != "json" {
		fmt.Fprintf(s.Out, format+"\n", args...)
	}
}

// Printer writes to w until that fails, so that a command need not look at each line that it prints: run reports the error at the end.
// It is for one goroutine.
type Printer struct {
	W   io.Writer
	Err error // the first; nothing is written after it
}

func (p *Printer) Write(b []byte) (n int, err error) {
	if p.Err == nil {
		n, p.Err = p.W.Write(b)
	}
	return n, p.Err
}

// Shared writes to W for several goroutines, one write at a time.
type Shared struct {
	W  io.Writer
	mu sync.Mutex
}

func (w *Shared) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.W.Write(b)
}

// fileOf is the file that w writes to, or nil.
func fileOf(w any) *os.File {
	switch w := w.(type) {
	case *os.File:
		return w
	case *Shared:
		return fileOf(w.W)
	case *Printer:
		return fileOf(w.W)
	}
	return nil
}

// IsTerminal reports whether w is one.
func IsTerminal(w any) bool {
	f := fileOf(w)
	return f != nil && isatty.IsTerminal(f.Fd())
}

// ErrReaderGone ends a command whose output has no reader any more.
var ErrReaderGone = errors.New("the reader of the output is gone")

// ReaderGone returns ErrReaderGone where whatever reads the output has closed it. A command that waits in silence asks now and then: it
// would learn of it only from its next write.
func (s *Session) ReaderGone() error {
	f := fileOf(s.Out)
	if f == nil || !readerGone(f.Fd()) {
		return nil
	}
	return ErrReaderGone
}

type integer interface {
	int | int16 | int32 | int64
}

// Plural is "1 one" or "n ones".
func Plural[N integer](n N, one string) string { return Counted(n, one, one+"s") }

// Counted is Plural for words whose plural is not made by an s.
func Counted[N integer](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}

// Size writes bytes for people: 12 MiB.
func Size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// JoinInts writes ids as 1,2,3.
func JoinInts(ids []int32) string {
	text := make([]string, len(ids))
	for i, id := range ids {
		text[i] = strconv.Itoa(int(id))
	}
	return strings.Join(text, ",")
}
