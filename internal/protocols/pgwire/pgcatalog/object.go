package pgcatalog

import (
	"sync"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Catalog returns the catalog as a part of a runtime.
func Catalog() *engine.ClientCatalog {
	return &engine.ClientCatalog{
		Schema: Schema, Setup: Setup(), Relations: Relations(), Own: engine.Relation{Schema: Schema, Name: "own_columns"},
		Object: Find,
	}
}

// CreateSchema makes the schema of the objects.
const CreateSchema = "CREATE SCHEMA " + engine.CatalogName + "." + Schema

// Find returns the object of a folded name, which is that of a table, a view or a macro
// in statements after [Rewrite], or nil.
func Find(name string) *engine.ClientObject { return objects()[name] }

// objects are those that Setup makes. The overloads of a macro are one object.
var objects = sync.OnceValue(func() map[string]*engine.ClientObject {
	all := map[string]*engine.ClientObject{}
	for _, sql := range Setup()[1:] {
		names := qualified(sql)
		o := all[names[0].Name]
		if o == nil {
			o = &engine.ClientObject{}
			all[names[0].Name] = o
		}
		o.Create = append(o.Create, sql)
		for _, r := range names[1:] {
			if r != names[0] {
				o.Uses = append(o.Uses, r)
			}
		}
	}
	return all
})

// qualified returns the relations and macros that a statement names with the catalog, in
// the order of their first mention.
func qualified(sql string) []engine.Relation {
	var names []engine.Relation
	seen := map[engine.Relation]bool{}
	tokens := sqltree.Scan(sql)
	name := func(i int) string { return sqltree.Fold(tokens[i].Name(sql)) }
	for i := range len(tokens) - 4 {
		if !tokens[i].IsName() || name(i) != engine.CatalogName || !tokens[i+1].Is(sql, ".") || !tokens[i+3].Is(sql, ".") {
			continue
		}
		if r := (engine.Relation{Schema: name(i + 2), Name: name(i + 4)}); !seen[r] {
			seen[r] = true
			names = append(names, r)
		}
	}
	return names
}
