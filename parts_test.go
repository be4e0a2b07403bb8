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

// part is what a Spicepod declares and what comes in kinds. Each kind is a package-level variable
// of its package, with its names.
type part struct {
	title  string
	pkg    string   // below which the kinds are
	typ    string   // of the variable
	names  []string // its fields that have names
	common []string // names that are words of other things, too
	lists  []string // files that name each kind
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
}

// TestKindsAreKnownInTheirPackages: a kind is named in the lists of its part, and nowhere else.
// What reads, compiles, publishes and runs what is declared asks for a property of the kind.
func TestKindsAreKnownInTheirPackages(t *testing.T) {
	for _, p := range parts {
		owners, used := map[string]string{}, map[string]bool{} // by name, by file
		for _, s := range sources(t) {
			if strings.HasPrefix(s.pkg, p.pkg) {
				for _, name := range p.kinds(s, owners) {
					for _, list := range p.lists {
						if text, err := os.ReadFile(list); err != nil || !strings.Contains(string(text), path.Base(s.pkg)+"."+name) {
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
				if owner == "" || owner == s.pkg || slices.Contains(p.common, text) {
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
			if lit, ok := spec.Values[0].(*ast.CompositeLit); !ok || typeName(lit.Type) != p.typ {
				continue
			}
			found = append(found, spec.Names[0].Name)
			ast.Inspect(spec, func(n ast.Node) bool {
				if kv, ok := n.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok && slices.Contains(p.names, key.Name) {
						texts(kv.Value, func(_ token.Pos, name string) { owners[name] = s.pkg })
					}
				}
				return true
			})
		}
	}
	return found
}

// typeName returns the name of a type of another package, as source.Kind.
func typeName(expr ast.Expr) string {
	if sel, ok := expr.(*ast.SelectorExpr); ok {
		if pkg, ok := sel.X.(*ast.Ident); ok {
			return pkg.Name + "." + sel.Sel.Name
		}
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
