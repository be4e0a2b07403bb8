package engine

import (
	"strings"

	"github.com/spiced-sql/spiced/sqltree"
)

// Traits are what a statement takes over from what it reads and calls.
type Traits struct {
	Volatile  bool // an equal statement may give another result: none is kept
	Protected bool // a row filter or column mask decides what the caller sees
}

func (t Traits) with(o Traits) Traits {
	return Traits{t.Volatile || o.Volatile, t.Protected || o.Protected}
}

// SetTraits says what statements take over from relations. Call it before
// Publish.
func (c *Catalog) SetTraits(traits map[Relation]Traits) { c.traits = traits }

// Traits are the relation's.
func (c *Catalog) Traits(r Relation) Traits {
	t := c.traits[r]
	t.Volatile = t.Volatile || r.Schema == System
	return t
}

// traits are those of a statement: of all that it mentions.
func (db *DB) traits(text string, st *sqltree.Statement, cat *Catalog) Traits {
	t := Traits{Volatile: len(st.Shows) > 0 || mentionsVolatile(text)}
	for _, r := range st.Relations {
		if relation, ok := cat.Relation(r.Catalog, r.Schema, r.Name); ok {
			t = t.with(cat.Traits(relation))
		}
	}
	for _, c := range st.Calls {
		f := declared(c, cat)
		if f == nil {
			t.Volatile = t.Volatile || db.builtins.kinds[sqltree.Fold(c.Name)].unstable
			continue
		}
		t = t.with(f.Traits)
		for i, a := range c.Args {
			if i < len(f.Args) && f.Args[position(a, i, f)].Table {
				t = t.with(cat.argTraits(a))
			}
		}
	}
	return t
}

// argTraits are those of the relation that an argument names.
func (c *Catalog) argTraits(a sqltree.Arg) Traits {
	parts := a.Parts
	if a.Kind == sqltree.StringLiteral {
		parts = strings.SplitN(a.Text, ".", 3)
	}
	if len(parts) == 0 || a.CTE {
		return Traits{}
	}
	catalog, schema, table := pathOf(parts)
	relation, ok := c.Relation(catalog, schema, table)
	if !ok {
		return Traits{}
	}
	return c.Traits(relation)
}

// volatileWords are what DuckDB's grammar, not a function, makes volatile.
var volatileWords = set("sample tablesample current_timestamp current_date current_time localtimestamp localtime current_user session_user user")

func mentionsVolatile(text string) bool {
	for _, t := range sqltree.Scan(text) {
		if t.Kind == sqltree.Ident && volatileWords[sqltree.Fold(t.Text(text))] {
			return true
		}
	}
	return false
}
