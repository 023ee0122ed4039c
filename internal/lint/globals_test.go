package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestGlobals checks that no function changes a package's variables: they are tables, pools and sentinels, made once.
func TestGlobals(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		fset := token.NewFileSet()
		globals := make(map[string]bool)
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
			for name, obj := range f.Scope.Objects {
				globals[name] = globals[name] || obj.Kind == ast.Var
			}
		}
		for _, f := range files {
			checkGlobals(t, fset, f, globals)
		}
	}
}

func checkGlobals(t *testing.T, fset *token.FileSet, f *ast.File, globals map[string]bool) {
	t.Helper()
	changed := func(e ast.Expr) {
		id, ok := e.(*ast.Ident)
		if ix, index := e.(*ast.IndexExpr); index {
			id, ok = ix.X.(*ast.Ident)
		}
		// An identifier without an object in this file, or with the package's own, is no local variable.
		if ok && globals[id.Name] && (id.Obj == nil || f.Scope.Lookup(id.Name) == id.Obj) {
			t.Errorf("%s: the package's variable %s is changed", fset.Position(e.Pos()), id.Name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				t.Errorf("%s: init", fset.Position(n.Pos()))
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					changed(e)
				}
			}
		case *ast.IncDecStmt:
			changed(n.X)
		}
		return true
	})
}
