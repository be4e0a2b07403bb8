// Package spiced holds no code; its test checks what the house rules ask of
// every package. See docs/architecture.md.
package spiced

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

const module = "github.com/spiced-sql/spiced/"

// layers orders the groups of packages, from the bottom: a package imports packages of its
// own group and of earlier lines, so that no two groups import each other. A name means the
// folder and everything below it; the longest name that matches a package decides.
var layers = [][]string{
	{"internal/kit", "internal/console"},
	{"spicepod", "internal/sql/sqltree", "internal/sql/value"},
	{"internal/sql/fingerprint"},
	{"internal/access"},
	{"internal/sql"},
	{"functions", "tools"},
	{"udf", "internal/find"},
	{"internal/bodies", "internal/data", "internal/peers", "tools/builtin"},
	{"registry"},
	{"internal/llm"},
	{"internal/runtime", "examples"},
	{"sqlapi", "internal/protocols"},
	{"cmd/spiced", "internal/test"},
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
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goFiles returns the paths of all Go files, of tests, too.
func goFiles() (files []string, err error) {
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(p, ".go") {
			files = append(files, filepath.ToSlash(p))
		}
		return nil
	})
	return files, err
}

// parsed parses the sources once for all tests.
var parsed = sync.OnceValues(func() (all []source, err error) {
	files, err := goFiles()
	for _, p := range files {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		all = append(all, source{path.Dir(p), p, file, fset})
	}
	return all, err
})

// groupOf returns the group of a package and the number of its layer, or -1.
func groupOf(pkg string) (group string, layer int) {
	layer = -1
	for i, groups := range layers {
		for _, g := range groups {
			if (pkg == g || strings.HasPrefix(pkg, g+"/")) && len(g) > len(group) {
				group, layer = g, i
			}
		}
	}
	return group, layer
}

func TestImportsRunDownwards(t *testing.T) {
	for _, s := range sources(t) {
		group, here := groupOf(s.pkg)
		if here < 0 {
			t.Errorf("package %s is in no layer of policy_test.go", s.pkg)
			continue
		}
		for _, imp := range s.file.Imports {
			target, _ := strconv.Unquote(imp.Path.Value)
			if s.pkg != "internal/sql/engine" && s.pkg != "internal/test/lab/bench" &&
				slices.ContainsFunc(drivers, func(d string) bool { return target == d || strings.HasPrefix(target, d+"/") }) {
				t.Errorf("%s imports the driver; only package engine may", s.path)
			}
			inner, ours := strings.CutPrefix(target, module)
			if to, layer := groupOf(inner); ours && to != group && layer >= here {
				t.Errorf("%s imports %s, which is not in a lower layer", s.path, inner)
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

func exportedReceiver(d *ast.FuncDecl) bool { return d.Recv == nil || ast.IsExported(receiver(d)) }

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch index := typ.(type) {
	case *ast.IndexExpr:
		typ = index.X
	case *ast.IndexListExpr:
		typ = index.X
	}
	id, ok := typ.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
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
	longestFunction = 100
	longestFile     = 800
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

const (
	longestLine     = 120
	longestTestLine = 160 // of tests, and of the rows of a table
)

// TestLines counts the characters of each line, of tests, too. What raw strings hold does not
// count: struct tags, regular expressions and SQL cannot be broken everywhere.
func TestLines(t *testing.T) {
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		longest := longestLine
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/test/") {
			longest = longestTestLine
		}
		for i, line := range strings.Split(withoutRawStrings(text), "\n") {
			row := strings.HasPrefix(strings.TrimSpace(line), "{") || strings.HasPrefix(strings.TrimSpace(line), `"`)
			if n := utf8.RuneCountInString(line); n > longest && (!row || n > longestTestLine) {
				t.Errorf("%s:%d: %d characters; at most %d", name, i+1, n, longest)
			}
		}
	}
}

// withoutRawStrings returns the text of a Go file in which raw strings are empty, with as many
// lines as before.
func withoutRawStrings(text []byte) string {
	var (
		code scanner.Scanner
		out  strings.Builder
		from int
		file = token.NewFileSet().AddFile("", -1, len(text))
	)
	code.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, kind, literal := code.Scan()
		if kind == token.EOF {
			return out.String() + string(text[from:])
		}
		if kind == token.STRING && literal[0] == '`' {
			at := file.Offset(pos)
			out.Write(text[from:at])
			out.WriteString(strings.Repeat("\n", strings.Count(literal, "\n")))
			from = at + len(literal)
		}
	}
}

func TestEveryDependencyHasAReason(t *testing.T) {
	reasons, err := os.ReadFile(path.Join("docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", "internal/test/lab/go.mod"} {
		mod, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(mod)) {
			fields := strings.Fields(line)
			if len(fields) != 2 || !strings.Contains(fields[0], "/") || !strings.HasPrefix(fields[1], "v") {
				continue
			}
			if !strings.Contains(string(reasons), fields[0]) {
				t.Errorf("docs/dependencies.md gives no reason for %s of %s", fields[0], file)
			}
		}
	}
}

func TestEveryPackageOfTheConsoleHasAReason(t *testing.T) {
	reasons, err := os.ReadFile(path.Join("docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("internal/console/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var packages struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(text, &packages); err != nil {
		t.Fatal(err)
	}
	for _, list := range []map[string]string{packages.Dependencies, packages.DevDependencies} {
		for name := range list {
			if !strings.Contains(string(reasons), "`"+name+"`") {
				t.Errorf("docs/dependencies.md gives no reason for %s of the console", name)
			}
		}
	}
}

// storedContexts are the structs with a field of type [context.Context], with the reason.
var storedContexts = map[string]string{
	"internal/peers/mcpclient.Manager":        "its own life, until Close",
	"internal/peers/mcpclient.link":           "its own life: of a connection",
	"internal/peers/mcpclient.session":        "its own life: of a connection's session",
	"internal/peers/mcpclient.web":            "the life of the connection whose requests it sends",
	"internal/protocols/flightsql.callStream": "a stream whose life is the request",
	"internal/protocols/mcpserver.session":    "its own life, until the client leaves",
	"internal/protocols/mcpserver.sessions":   "its own life, until Close",
	"internal/sql/engine.DB":                  "its own life, until Close",
	"internal/sql/engine.Rows":                "a stream whose life is the request",
	"internal/sql/engine.Snapshot":            "a transaction whose life is the statement",
	"internal/sql/engine.nativeCalls":         "a callback of DuckDB during a statement",
	"internal/sql/isolate.Pool":               "its own life, until Close",
	"internal/sql/isolate.rows":               "a stream whose life is the request",
	"internal/sql/isolate.tableReader":        "a callback of DuckDB during a statement",
	"internal/sql/isolate.statement":          "a statement of a worker, which ends with it",
	"internal/sql/query.Rows":                 "a stream whose life is the request",
	"internal/test/program.outside":           "its own life: of a command's servers",
	"internal/test/chattest.exchange":         "an HTTP exchange, whose life is the request",
	"sqlapi.resultCache":                      "its own life, until close",
}

func TestNoStoredContext(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		structs(s, func(name string, fields *ast.FieldList) {
			for _, field := range fields.List {
				sel, ok := field.Type.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Context" {
					continue
				}
				if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "context" {
					continue
				}
				if found[name] = true; storedContexts[name] == "" {
					t.Errorf("%s: %s stores a context; pass it instead", s.fset.Position(field.Pos()), name)
				}
			}
		})
	}
	for name := range storedContexts {
		if !found[name] {
			t.Errorf("storedContexts: %s stores none, or is gone", name)
		}
	}
}

// structs calls f for each struct type that has a name.
func structs(s source, f func(name string, fields *ast.FieldList)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if typ, ok := spec.Type.(*ast.StructType); ok {
				f(s.pkg+"."+spec.Name.Name, typ.Fields)
			}
		}
		return true
	})
}

// mostFolders limits the folders at the top that have Go.
const mostFolders = 12

func TestFewFoldersAtTheTop(t *testing.T) {
	folders := map[string]bool{}
	for _, s := range sources(t) {
		folder, _, _ := strings.Cut(s.pkg, "/")
		folders[folder] = true
	}
	if len(folders) > mostFolders {
		t.Errorf("%d folders with Go at the top; at most %d", len(folders), mostFolders)
	}
}
