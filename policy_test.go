// Package spiced holds no code; its test checks what the house rules ask of
// every package. See docs/architecture.md.
package spiced

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/spiced-sql/spiced/"

// layers orders the groups of packages: a package imports packages of its own
// line and of earlier lines. A name means the folder and everything below it; the
// longest name that matches a package decides.
var layers = [][]string{
	{"internal/kit"},
	{"spicepod", "internal/sql/sqltree", "internal/sql/fingerprint", "internal/sql/value"},
	{"internal/access"},
	{"internal/sql"},
	{"functions", "udf", "tools", "internal/data", "internal/find", "internal/peers"},
	{"registry"},
	{"internal/llm"},
	{"sqlapi", "internal/protocols"},
	{"internal/runtime"},
	{"cmd/spiced", "examples", "internal/test"},
}

// drivers may be imported by package engine alone, and by bench, which measures
// against them.
var drivers = []string{"github.com/duckdb/duckdb-go/v2", "github.com/duckdb/duckdb-go-bindings"}

// source is one Go file that is no test.
type source struct {
	pkg, path string
	file      *ast.File
	fset      *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		all = append(all, source{filepath.ToSlash(filepath.Dir(p)), p, file, fset})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// layerOf returns the layer of a package, or -1.
func layerOf(pkg string) int {
	layer, group := -1, ""
	for i, groups := range layers {
		for _, g := range groups {
			if (pkg == g || strings.HasPrefix(pkg, g+"/")) && len(g) > len(group) {
				layer, group = i, g
			}
		}
	}
	return layer
}

func TestImportsRunDownwards(t *testing.T) {
	for _, s := range sources(t) {
		here := layerOf(s.pkg)
		if here < 0 {
			t.Errorf("package %s is in no layer of policy_test.go", s.pkg)
			continue
		}
		for _, imp := range s.file.Imports {
			target, _ := strconv.Unquote(imp.Path.Value)
			if s.pkg != "internal/sql/engine" && s.pkg != "internal/test/bench" && slices.ContainsFunc(drivers, func(d string) bool { return target == d || strings.HasPrefix(target, d+"/") }) {
				t.Errorf("%s imports the driver; only package engine may", s.path)
			}
			inner, ours := strings.CutPrefix(target, module)
			if ours && layerOf(inner) > here {
				t.Errorf("%s imports %s, which is in a higher layer", s.path, inner)
			}
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no comment", s.fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				undocumented(t, s, d)
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

func undocumented(t *testing.T, s source, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && spec.Doc == nil && d.Doc == nil {
				t.Errorf("%s: type %s has no comment", s.fset.Position(spec.Pos()), spec.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
					t.Errorf("%s: %s has no comment", s.fset.Position(spec.Pos()), name.Name)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.pkg] = documented[s.pkg] || s.file.Doc != nil
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

func TestNoPanicOutsideMust(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || strings.HasPrefix(strings.ToLower(f.Name.Name), "must") {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" && !abortsHandler(call) {
					t.Errorf("%s: panic in %s", s.fset.Position(call.Pos()), f.Name.Name)
				}
				return true
			})
		}
	}
}

// abortsHandler reports panic(http.ErrAbortHandler), which net/http defines as
// the way to cut a response short.
func abortsHandler(call *ast.CallExpr) bool {
	sel, ok := call.Args[0].(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "ErrAbortHandler"
}

func TestNoInitFunctions(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init function", s.fset.Position(f.Pos()))
			}
		}
	}
}

const (
	longestFunction = 70
	longestFile     = 500
)

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.fset.Position(s.file.End()).Line; n > longestFile {
			t.Errorf("%s has %d lines; at most %d", s.path, n, longestFile)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1; n > longestFunction {
				t.Errorf("%s: %s has %d lines; at most %d", s.fset.Position(f.Pos()), f.Name.Name, n, longestFunction)
			}
		}
	}
}

func TestEveryDependencyHasAReason(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile(path.Join("docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.Contains(fields[0], "/") || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		if !strings.Contains(string(reasons), fields[0]) {
			t.Errorf("docs/dependencies.md gives no reason for %s", fields[0])
		}
	}
}
