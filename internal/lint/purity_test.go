package lint

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// A machine decides; it does not do. So it may not reach a clock, a lock, a goroutine, a logger or the operating
// system. What it may import is listed; a new line needs a reason.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "hash", "hash/crc32", "io", "iter", "maps", "math",
	"math/bits", "slices", "sort", "strconv", "strings", "time", "unicode/utf8", "unsafe",
	"github.com/twmb/franz-go/pkg/kbin", "github.com/twmb/franz-go/pkg/kerr", "github.com/twmb/franz-go/pkg/kmsg",
}

// purityExceptions lets a machine import more, with the reason.
var purityExceptions = map[string]string{
	"pattern regexp":                                      "a regular expression is a pure function of text",
	"pattern regexp/syntax":                               "a regular expression is a pure function of text",
	"protocol/batch compress/gzip":                        "codecs are pure functions of bytes",
	"protocol/batch github.com/klauspost/compress/gzip":   "codecs are pure functions of bytes",
	"protocol/batch github.com/klauspost/compress/s2":     "codecs are pure functions of bytes",
	"protocol/batch github.com/klauspost/compress/snappy": "codecs are pure functions of bytes",
	"protocol/batch github.com/klauspost/compress/zstd":   "codecs are pure functions of bytes",
	"protocol/batch github.com/pierrec/lz4/v4":            "codecs are pure functions of bytes",
	"protocol/batch sync":                                 "pools of encoders and decoders, which hold no state between uses",
	"protocol/wire reflect":                               "sizes of types, for the cost of decoding",
	"storage/compact crypto/sha256":                       "a hash is a pure function of bytes",
	"protocol/wire sync":                                  "a pool of request structs, which hold no state between uses",
}

var impureCalls = " time.Now time.Since time.Until time.Sleep time.After time.AfterFunc time.NewTimer time.NewTicker time.Tick "

func TestPurity(t *testing.T) {
	t.Parallel()
	allowed := make(map[string]bool)
	for _, imp := range pureImports {
		allowed[imp] = true
	}
	for _, p := range packages(t) {
		if kind(p.name()) != machine {
			continue
		}
		for _, imp := range p.Imports {
			_, excepted := purityExceptions[p.name()+" "+imp]
			if !strings.HasPrefix(imp, module) && !allowed[imp] && !excepted {
				t.Errorf("%s is a machine and must not import %s", p.name(), imp)
			}
		}
		for _, f := range p.GoFiles {
			checkPure(t, filepath.Join(p.Dir, f))
		}
	}
}

func checkPure(t *testing.T, path string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	bad := func(n ast.Node, what string) { t.Errorf("%s: %s in a machine", fset.Position(n.Pos()), what) }
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			bad(n, "go statement")
		case *ast.SelectStmt:
			bad(n, "select")
		case *ast.ChanType:
			bad(n, "channel")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && strings.Contains(impureCalls, " "+x.Name+"."+n.Sel.Name+" ") {
				bad(n, x.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
}

// unordered names functions of machines that walk over a map although its order is random, with the reason.
var unordered = map[string]string{
	"cluster/cow/map.go:All":              "promises no order to its callers, who sort",
	"cluster/meta/alter_configs.go:diff":  "collects keys and sorts them",
	"cluster/meta/placement.go:brokerIDs": "collects ids and sorts them",
}

// TestOrder checks that no machine depends on the order of a map.
func TestOrder(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	for _, p := range packages(t) {
		if kind(p.name()) != machine {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
		if _, err := conf.Check(p.ImportPath, fset, files, &info); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			checkOrder(t, fset, p.name()+"/"+filepath.Base(fset.Position(f.Pos()).Filename), f, info)
		}
	}
}

func checkOrder(t *testing.T, fset *token.FileSet, key string, f *ast.File, info types.Info) {
	t.Helper()
	ast.Inspect(f, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncDecl); ok && unordered[key+":"+fn.Name.Name] != "" {
			return false
		}
		r, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		if _, ok := info.Types[r.X].Type.Underlying().(*types.Map); ok {
			t.Errorf("%s: range over a map in a machine", fset.Position(r.Pos()))
		}
		return true
	})
}
