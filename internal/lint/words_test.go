package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// parsers are functions whose errors speak of Go's functions ("strconv.ParseInt: parsing "x": invalid syntax") and not of what a user gave.
var parsers = map[string][]string{
	"strconv": {"Atoi", "ParseBool", "ParseFloat", "ParseInt", "ParseUint", "Unquote", "UnquoteChar"},
	"fmt":     {"Sscan", "Sscanf", "Sscanln"},
}

// TestParseErrors: an error of such a function is judged and dropped. An error of ours names the subject, the value and what is allowed.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					bad, parses := toldParseErrors(fn.Body)
					found += parses
					for _, pos := range bad {
						t.Errorf("%s: the words of strconv are told: say what the value must be", fset.Position(pos))
					}
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d calls that parse were found", found)
	}
}

// toldParseErrors finds where an error of parsers is returned or given to another function, before its variable has another value.
func toldParseErrors(body *ast.BlockStmt) (told []token.Pos, parses int) {
	parsed := map[string]bool{} // variables that hold such an error
	tell := func(all []ast.Expr) {
		for _, e := range all {
			if id, ok := e.(*ast.Ident); ok && parsed[id.Name] {
				told = append(told, id.Pos())
			}
			if call, ok := e.(*ast.CallExpr); ok && isParser(call) {
				told = append(told, call.Pos())
			}
		}
	}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt: // a variable of its head is gone after it
			if init, ok := n.Init.(*ast.AssignStmt); ok && init.Tok == token.DEFINE {
				outer := maps.Clone(parsed)
				ast.Inspect(init, visit)
				ast.Inspect(n.Cond, visit)
				ast.Inspect(n.Body, visit)
				if n.Else != nil {
					ast.Inspect(n.Else, visit)
				}
				parsed = outer
				return false
			}
		case *ast.AssignStmt:
			last, ok := n.Lhs[len(n.Lhs)-1].(*ast.Ident)
			if !ok || last.Name == "_" {
				break
			}
			call, isCall := n.Rhs[len(n.Rhs)-1].(*ast.CallExpr)
			parsed[last.Name] = isCall && isParser(call)
			if parsed[last.Name] {
				parses++
			}
		case *ast.ReturnStmt:
			tell(n.Results)
		case *ast.CallExpr:
			tell(n.Args)
		}
		return true
	}
	ast.Inspect(body, visit)
	return told, parses
}

func isParser(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains(parsers[pkg.Name], sel.Sel.Name)
}

// TestParseErrorsAreFound: the check sees what it is for.
func TestParseErrorsAreFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		`n, err := strconv.Atoi(s); if err != nil { return 0, err }; return n, nil`:                      1,
		`n, err := strconv.Atoi(s); if err != nil { return 0, fmt.Errorf("x: %w", err) }; return n, nil`: 1,
		`if _, err := strconv.ParseInt(s, 10, 64); err != nil { log.Error("x", slog.Any("err", err)) }`:  1,
		`return strconv.Atoi(s)`: 1,
		`n, err := strconv.Atoi(s); if err != nil { return 0, fmt.Errorf("%q is no number", s) }; return n, nil`: 0,
		`err := other(); if _, err := strconv.Atoi(s); err == nil { return nil }; return err`:                    0,
		`n, err := strconv.Atoi(s); if err == nil { _, err = other(n) }; return n, err`:                          0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+code+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if told, _ := toldParseErrors(f.Decls[0].(*ast.FuncDecl).Body); len(told) != want {
			t.Errorf("%s: %d found, expected %d", code, len(told), want)
		}
	}
}
