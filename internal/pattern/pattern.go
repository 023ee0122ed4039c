package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Limits of one pattern.
const (
	// TextMax is the most bytes of its text: some sixty names of topics with a bar between them.
	TextMax = 2048
	// ForeignMax is the most characters outside ASCII, and escapes that can name them (\p, \P, \x). No topic has such a character, and
	// classes of them are what is slow to parse: a class in which \pL stands 600 times takes 100 ms.
	ForeignMax = 8
	// ProgramMax is the most instructions: about one for each character, multiplied by the repetitions around it.
	ProgramMax = 4096
	// StatesMax is the most states of a pattern that is matched by a table.
	StatesMax = 4096
	// cellsMax is the most entries of the table, of two bytes each.
	cellsMax = 1 << 17
	// stepsMax is the most instructions that are looked at to make the table.
	stepsMax = 1 << 20
	// SimulatedMax is the most instructions of a pattern whose table would be larger.
	SimulatedMax = 128
	// simulatedSize is what a simulated pattern takes at most, in bytes.
	simulatedSize = 16 << 10
)

// ErrTooLarge is the mark of a pattern above a limit.
var ErrTooLarge = errors.New("the regular expression is too large")

// Pattern is a compiled pattern.
type Pattern struct {
	table     table
	simulated *regexp.Regexp // nil: the table matches
}

// Compile compiles text. An error is an ErrTooLarge that names the limit, or the syntax package's.
func Compile(text string) (*Pattern, error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, explained(text, err)
	}
	if t, ok := build(prog); ok {
		return &Pattern{table: t}, nil
	}
	if n := len(prog.Inst); n > SimulatedMax {
		return nil, fmt.Errorf("%w: %q needs too many states (the limit is %d) for a program of %d instructions (the limit for such is %d)",
			ErrTooLarge, excerpt(text), StatesMax, n, SimulatedMax)
	}
	re, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil, explained(text, err)
	}
	return &Pattern{simulated: re}, nil
}

// Check returns what Compile would refuse text for, but for the states that it needs: for a pattern that chooses other things than topics.
func Check(text string) error {
	_, err := parse(text)
	return err
}

// parse parses text, within the limits of the text and of the program.
func parse(text string) (*syntax.Regexp, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, explained(text, err)
	}
	if n := size(tree); n > ProgramMax {
		return nil, fmt.Errorf("%w: %q repeats to %d instructions, the limit is %d", ErrTooLarge, excerpt(text), n, ProgramMax)
	}
	return tree, nil
}

// checkText bounds what parsing costs.
func checkText(text string) error {
	if n := len(text); n > TextMax {
		return fmt.Errorf("%w: %q has %d bytes, the limit is %d", ErrTooLarge, excerpt(text), n, TextMax)
	}
	foreign := strings.Count(text, `\p`) + strings.Count(text, `\P`) + strings.Count(text, `\x`)
	for _, r := range text {
		if r >= utf8.RuneSelf {
			foreign++
		}
	}
	if foreign > ForeignMax {
		return fmt.Errorf(`%w: %q has %d characters outside ASCII and escapes of \p, \P and \x, the limit is %d`, ErrTooLarge, excerpt(text), foreign, ForeignMax)
	}
	return nil
}

// explained is err with no more of the text than an excerpt: the syntax package's errors quote all of it.
func explained(text string, err error) error {
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		err = fmt.Errorf("%s: %q", e.Code, excerpt(e.Expr))
	}
	return fmt.Errorf("the regular expression %q is not one: %w", excerpt(text), err)
}

// excerpt is the beginning of text, for an error.
func excerpt(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// Match reports whether the pattern matches all of name. A name that no topic can have is never matched.
func (p *Pattern) Match(name string) bool {
	if p.simulated != nil {
		return p.simulated.MatchString(name)
	}
	return p.table.match(name)
}

// Size is the memory that the pattern takes, in bytes.
func (p *Pattern) Size() int {
	if p.simulated != nil {
		return simulatedSize
	}
	return p.table.size()
}
