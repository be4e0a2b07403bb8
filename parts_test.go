package spiced

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// part is what a Spicepod declares and what comes in kinds. Each kind is a variable of a package,
// with its names.
type part struct {
	title  string
	pkg    string   // in or below which the kinds are
	typ    string   // of the variable
	names  []string // its fields that have names
	common []string // names that are words of other things, too
	lists  []string // files that name each kind
	inFile bool     // a kind is known in its file, not in its package
	// groups are the packages that ask for properties of a kind and must not know its names;
	// elsewhere has their files that may have an equal text, with what it is there.
	groups    []string
	elsewhere map[string]string
}

const partsFile = "internal/runtime/parts.go"

var parts = []part{
	{
		title: "kind of bodies", pkg: "internal/bodies/", typ: "body.Kind", names: []string{"Schemes"},
		lists:  []string{partsFile},
		groups: []string{"spicepod", "functions", "udf", "tools", "registry", "internal/bodies", "internal/runtime"},
		elsewhere: map[string]string{
			"internal/runtime/state.go": "a folder",
			"spicepod/entry.go":         "the scheme of a URL",
			"spicepod/sandbox.go":       "the runtime of a sandbox",
		},
	},
	{
		title: "connector", pkg: "internal/data/source/", typ: "source.Kind", names: []string{"Names", "Aliases"},
		common: []string{"file", "http", "https"},
		lists:  []string{partsFile, "internal/data/datasets/main_test.go"},
		groups: []string{"spicepod", "internal/data", "internal/runtime"},
		elsewhere: map[string]string{
			"internal/data/snapshots/location.go":       "the scheme of a URL",
			"internal/data/source/duckdb/ducklake.go":   "the scheme of a URL",
			"internal/data/source/lake/lake.go":         "the scheme of a URL",
			"internal/data/source/objectstore/proxy.go": "the scheme of a URL",
			"internal/data/source/objectstore/table.go": "the scheme of a URL",
			"spicepod/dataset.go":                       "the engine of a copy",
		},
	},
	{
		title: "model provider", pkg: "internal/llm/models", typ: "provider", names: []string{"name"}, inFile: true,
		lists:  []string{"internal/llm/models/open.go"},
		groups: []string{"spicepod", "internal/llm/models", "internal/llm/toolloop", "internal/runtime", "registry"},
	},
}

// TestKindsAreKnownInTheirPackages: a kind is named in the lists of its part, and nowhere else.
// What reads, compiles, publishes and runs what is declared asks for a property of the kind.
func TestKindsAreKnownInTheirPackages(t *testing.T) {
	for _, p := range parts {
		owners, used := map[string]string{}, map[string]bool{} // by name, by file
		for _, s := range sources(t) {
			if strings.HasPrefix(s.pkg, p.pkg) {
				for _, name := range p.kinds(s, owners) {
					if !p.inFile {
						name = path.Base(s.pkg) + "." + name
					}
					for _, list := range p.lists {
						if text, err := os.ReadFile(list); err != nil || !strings.Contains(string(text), name) {
							t.Errorf("%s: %s does not list the %s %s", s.path, list, p.title, name)
						}
					}
				}
			}
		}
		if len(owners) < 2 {
			t.Errorf("the names of each %s: %v", p.title, owners)
		}
		for _, s := range sources(t) {
			if !slices.ContainsFunc(p.groups, func(g string) bool { return s.pkg == g || strings.HasPrefix(s.pkg, g+"/") }) {
				continue
			}
			texts(s.file, func(at token.Pos, text string) {
				owner := owners[text]
				if owner == "" || owner == s.pkg || owner == s.path || slices.Contains(p.common, text) {
					return
				}
				if used[s.path] = true; p.elsewhere[s.path] == "" {
					t.Errorf("%s: %q is a %s of %s; ask for a property of %s", s.fset.Position(at), text, p.title, owner, p.typ)
				}
			})
		}
		for file := range p.elsewhere {
			if !used[file] {
				t.Errorf("parts: %s has no name of a %s, or is gone", file, p.title)
			}
		}
	}
}

// kinds returns the variables of a file that are kinds, and adds their names to owners.
func (p part) kinds(s source, owners map[string]string) (found []string) {
	for _, d := range s.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			spec := spec.(*ast.ValueSpec)
			if len(spec.Values) != 1 {
				continue
			}
			lit, ok := spec.Values[0].(*ast.CompositeLit)
			if !ok || typeName(lit.Type) != p.typ {
				continue
			}
			found = append(found, spec.Names[0].Name)
			for _, value := range fieldsOf(lit, p.names) {
				texts(value, func(_ token.Pos, name string) {
					if owners[name] = s.pkg; p.inFile {
						owners[name] = s.path
					}
				})
			}
		}
	}
	return found
}

// fieldsOf returns the values of fields of a struct, and of structs in it.
func fieldsOf(lit *ast.CompositeLit, names []string) (values []ast.Expr) {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && slices.Contains(names, key.Name) {
			values = append(values, kv.Value)
		} else if inner, ok := kv.Value.(*ast.CompositeLit); ok {
			values = append(values, fieldsOf(inner, names)...)
		}
	}
	return values
}

// typeName returns the name of a type: kind, or source.Kind.
func typeName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.SelectorExpr:
		return typeName(expr.X) + "." + expr.Sel.Name
	}
	return ""
}

// texts calls f for each text below a node.
func texts(node ast.Node, f func(at token.Pos, text string)) {
	ast.Inspect(node, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			f(lit.Pos(), text)
		}
		return true
	})
}
