package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// The limits, in lines.
const (
	funcLinesMax    = 70
	fileLinesMax    = 500
	testLinesMax    = 800
	testFuncMax     = 100 // tables are long
	packageLinesMax = 4000
)

// long names what is over a limit, and how far. Entries may shrink or go, never grow or come.
var long = map[string]int{}

func TestSize(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		total := 0
		for _, name := range p.GoFiles {
			total += checkFile(t, p, name, fileLinesMax, funcLinesMax)
		}
		for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
			checkFile(t, p, name, testLinesMax, testFuncMax)
		}
		checkSize(t, p.name(), total, packageLinesMax)
	}
}

// checkFile checks a file and its functions, and returns its lines (0 if it is generated).
func checkFile(t *testing.T, p pkg, name string, limit, funcLimit int) int {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(f) {
		return 0
	}
	key := p.name() + "/" + name
	lines := fset.File(f.FileStart).LineCount()
	checkSize(t, key, lines, limit)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			checkSize(t, key+":"+fn.Name.Name, n, funcLimit)
		}
	}
	return lines
}

func checkSize(t *testing.T, key string, got, limit int) {
	t.Helper()
	allowed, listed := long[key]
	switch {
	case got <= limit && listed:
		t.Errorf("%s is %d lines now: take it off the list", key, got)
	case got > max(limit, allowed):
		t.Errorf("%s is %d lines; the limit is %d", key, got, max(limit, allowed))
	case listed && got < allowed:
		t.Errorf("%s shrank to %d lines: lower its entry from %d", key, got, allowed)
	}
}
