package pattern

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// names are what patterns are tried on, beside what a pattern is made of.
var names = []string{"", "a", "b", "ab", "ba", "aa", "aab", "a-b", "a.b", "_", "-", "--", "A", "orders-10", "orders.eu", "x_y", strings.Repeat("a", 249)}

// agrees checks that text, if it compiles, matches what package regexp says.
func agrees(t *testing.T, text string, names []string) {
	t.Helper()
	p, perr := Compile(text)
	if errors.Is(perr, ErrTooLarge) {
		return
	}
	_, err := regexp.Compile(text)
	if (err == nil) != (perr == nil) {
		t.Fatalf("%q: %v, package regexp says %v", text, perr, err)
	}
	if err != nil {
		return
	}
	twin, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if p.Match(name) != twin.MatchString(name) {
			t.Errorf("%q on %q: %v, package regexp says otherwise", text, name, p.Match(name))
		}
	}
}

func TestTwin(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a", "a|ab", "^a$", "(?i)A", `\w+-[0-9]{2}`, "a)(b", "a(", `(a)\1`, "a{1001}", "\xff", `\ba\b.*`, `a\B.*`, `.*\b`, "(?m)^a$", "(?s).*", "a*?b",
		"[^a]*", "[[:alpha:]]+", `\pL+`, "a{2,}", "a{0,3}b?", "(a|b)*a(a|b){3}", ".*-.{36}", ".*-[0-9a-f-]{36}", "a^b", "$", `\z`, `\Aa`, "|", "(|a)+", "é", "a{0}", "a{0}b",
	} {
		agrees(t, text, names)
	}
}

// TestRandomTwin: random patterns over few characters, with all operators.
func TestRandomTwin(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "-", ".", "[ab]", "[^a]", `\w`, `\b`, `\B`, "^", "$", "|", "(", ")", "(?:", "*", "+", "?", "{2}", "{1,3}", "(?i)", `\W`}
	var tried []string
	for range 300 {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteByte("abA-_."[r.IntN(6)])
		}
		tried = append(tried, b.String())
	}
	compiled := 0
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		if _, err := regexp.Compile(b.String()); err != nil {
			continue
		}
		compiled++
		agrees(t, b.String(), tried[r.IntN(250):][:50])
	}
	if compiled < 5000 {
		t.Errorf("only %d patterns compiled", compiled)
	}
}

// TestLimits: what is above a limit is refused with its name and number, and what is just below is not.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, text, names string }{
		{"the pattern of the report", strings.Repeat("a{1000}", 2900), "has 20300 bytes, the limit is 2048"},
		{"it within the length", strings.Repeat("a{1000}", 290), "the limit is 4096"},
		{"five of it", strings.Repeat("a{1000}", 5), "instructions, the limit is 4096"},
		{"four of 900", strings.Repeat("(?:a{900})", 4), ""},
		{"nested repetitions", "((a{10}){10}){10}", ""},
		{"alternatives", "(" + strings.Repeat("aaa|", 500) + "b)", ""},
		{"alternatives repeated", "(" + strings.Repeat("a[bc]d|xy?|", 100) + "b){20}", "instructions, the limit is 4096"},
		{"optional ones repeated", strings.Repeat("(a?){400}", 20), "instructions, the limit is 4096"},
		{"length", strings.Repeat("a", TextMax), ""},
		{"a byte more", strings.Repeat("a", TextMax+1), "has 2049 bytes, the limit is 2048"},
		{"classes of letters", "[" + strings.Repeat(`\pL`, 9) + "]", "the limit is 8"},
		{"folded ranges", "(?i)[" + strings.Repeat("\u0100-\U0001e942", 100) + "]", "the limit is 8"},
		{"exponentially many states, small", ".*-.{36}", ""},
		{"exponentially many states", ".*-.{360}", "the limit for such is 128"},
		{"sixty names", strings.Repeat("orders.payments.region-eu.v1-0|", 60) + "x", ""},
		{"deep", strings.Repeat("(", 900) + "a" + strings.Repeat(")", 900), ""},
		{"too deep", strings.Repeat("(", 1020) + "a" + strings.Repeat(")", 1020), "expression nests too deeply"},
	} {
		p, err := Compile(c.text)
		switch {
		case c.names == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.names != "" && (err == nil || !strings.Contains(err.Error(), c.names)):
			t.Errorf("%s: %v, expected %q", c.what, err, c.names)
		case err != nil && len(err.Error()) > 300:
			t.Errorf("%s: an error of %d bytes", c.what, len(err.Error()))
		case p != nil && p.Size() > 2*cellsMax+cellsMax:
			t.Errorf("%s takes %d bytes", c.what, p.Size())
		}
	}
}

// TestSize: size is never below what the syntax package compiles to.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "", "(a)", "a{3}", "a{3,}", "a{0,5}", "a{0}", "(a|b|cd){7,9}", "((a?){3}b*){5}", "[a-c]+?x{1,4}", "^a$", "(?i)abc", "a|b|c|dd", "(|a){4}", "(a{0,10}){0,10}"} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		n := size(tree)
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n < len(prog.Inst)-2 || n > 8*len(prog.Inst)+8 {
			t.Errorf("%q: size %d, compiled %d", text, n, len(prog.Inst))
		}
	}
}

// FuzzCompile: no text costs more than the limits, and what compiles agrees with package regexp.
func FuzzCompile(f *testing.F) {
	f.Add("a{1000}a{1000}", "aaa")
	f.Add(`(?i)[\pL\pN]+`, "x")
	f.Add(`\b(a|b)*a(a|b){9}$`, "aab-b")
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(name) > 249 || strings.Trim(name, alphabet) != "" {
			return
		}
		agrees(t, text, []string{name})
	})
}

func BenchmarkCompile(b *testing.B) {
	for what, text := range map[string]string{
		"prefix": `orders-.*`, "contains": `.*(payments|orders)\.v[0-9]+.*`, "simulated": ".*-.{36}", "refused": ".*-.{360}",
		"repeat": "a{1000}a{1000}a{1000}", "optional": "(a?){1000}", "names": strings.Repeat("orders.payments.region-eu.v1-0|", 60) + "x",
		"letters": "(?i)[" + strings.Repeat(`\pL`, 8) + "]{900}", "folded": "(?i)[" + strings.Repeat("\u0100-\U0001e942", 4) + "]{900}",
		"dots": strings.Repeat(".*", 500), "deep": strings.Repeat("(a?", 500) + strings.Repeat(")*", 500), "words": strings.Repeat(`(\b|\w)`, 250) + "{3}",
		"alternatives": strings.Repeat("a?b|", 500), "classes": strings.Repeat("[^a]?[b-z]?", 180),
	} {
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := Compile(text)
				if err != nil && !errors.Is(err, ErrTooLarge) {
					b.Fatal(err)
				}
				if p != nil {
					b.ReportMetric(float64(p.Size()), "kept-B")
				}
			}
		})
	}
}

// BenchmarkMatch is one name.
func BenchmarkMatch(b *testing.B) {
	for _, c := range []struct{ what, text string }{{"prefix", "orders-.*"}, {"contains", ".*(eu|us).*"}, {"simulated", ".*-.{36}"}, {"worst simulated", ".*" + strings.Repeat("[a-z-]?", 40) + "-.{36}"}} {
		p, err := Compile(c.text)
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range []int{30, 249} {
			name := ("orders-" + strings.Repeat("a-b", 100))[:n]
			b.Run(fmt.Sprint(c.what, "/", n), func(b *testing.B) {
				for b.Loop() {
					p.Match(name)
				}
			})
		}
	}
}
