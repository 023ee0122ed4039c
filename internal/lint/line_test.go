package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hop is a function that ARCHITECTURE.md names in a table row: `internal/server/reader.go` `conn.drain`.
var hop = regexp.MustCompile("`((?:internal/)?[a-z/_0-9]+\\.go)` `(?:([A-Za-z]+)\\.)?([A-Za-z]+)`")

// TestLine checks that every hop of the straight lines exists where ARCHITECTURE.md says.
func TestLine(t *testing.T) {
	t.Parallel()
	hops := hop.FindAllStringSubmatch(read(t, filepath.Join(root, "ARCHITECTURE.md")), -1)
	if len(hops) < 15 {
		t.Fatalf("ARCHITECTURE.md names %d hops; the lines of a produce and a fetch have more", len(hops))
	}
	for _, h := range hops {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, h[1]), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", h[0], err)
			continue
		}
		if !declares(f, h[2], h[3]) {
			t.Errorf("%s is not declared there", h[0])
		}
	}
}

// TestPackagesAreNamed checks that ARCHITECTURE.md says of every package what it is.
func TestPackagesAreNamed(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join(root, "ARCHITECTURE.md"))
	for _, row := range graph {
		if row.name != "." && !strings.Contains(text, "`"+row.name+"`") {
			t.Errorf("ARCHITECTURE.md has no `%s` among its packages", row.name)
		}
	}
}

func declares(f *ast.File, receiver, name string) bool {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Name.Name == name && receiverName(fn) == receiver {
			return true
		}
	}
	return false
}

func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
