package engine

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Traits are what a statement takes over from what it reads and calls.
type Traits struct {
	Volatile  bool // an equal statement may give another result: none is kept
	Protected bool // a row filter or column mask decides what the caller sees
	Caller    bool // it may give another caller something else: it reads what is protected or personal, or calls ctx or a tool
	Written   bool // statements may change what it reads
	Files     bool // it reads files, which may be replaced at any time, also by some with other columns
}

// With are the traits of what takes over both.
func (t Traits) With(o Traits) Traits {
	return Traits{
		Volatile: t.Volatile || o.Volatile, Protected: t.Protected || o.Protected, Caller: t.Caller || o.Caller,
		Written: t.Written || o.Written, Files: t.Files || o.Files,
	}
}

// closed are the traits with what follows from them.
func (t Traits) closed() Traits {
	t.Caller = t.Caller || t.Protected
	t.Volatile = t.Volatile || t.Written
	return t
}

// SetTraits says what statements take over from relations. Call it before
// Publish.
func (c *Catalog) SetTraits(traits map[Relation]Traits) { c.traits = traits }

// Traits are the relation's.
func (c *Catalog) Traits(r Relation) Traits {
	t := c.traits[r]
	t.Volatile = t.Volatile || r.Schema == System
	t.Written = t.Written || c.Writable(r)
	return t.closed()
}

// traits are those of a call of f: what changes with each evaluation changes
// with each statement.
func (f *Function) traits() Traits {
	t := f.Traits
	t.Volatile = t.Volatile || f.Random
	return t.closed()
}

// traits are those of a statement: of all that it mentions.
func (db *DB) traits(text string, st *sqltree.Statement, cat *Catalog) Traits {
	t := Traits{Volatile: len(st.Shows) > 0 || mentionsVolatile(text)}
	for _, r := range st.Relations {
		if relation, ok := cat.Relation(r.Catalog, r.Schema, r.Name); ok {
			t = t.With(cat.Traits(relation))
		}
	}
	for _, c := range st.Calls {
		f := declared(c, cat)
		if f == nil {
			t = t.With(db.builtins.traits(c.Name, len(c.Args)))
			continue
		}
		t = t.With(f.traits())
		for i, a := range c.Args {
			if i < len(f.Args) && f.Args[position(a, i, f)].Table {
				t = t.With(cat.argTraits(a))
			}
		}
	}
	return t
}

// TextTraits are those of the functions that a text of SQL calls, by its words
// alone: a column of such a name counts as well. declared returns the declared
// function of a name, or nil.
func (db *DB) TextTraits(text string, declared func(name string) *Function) Traits {
	t := Traits{Volatile: mentionsVolatile(text)}
	tokens := sqltree.Scan(text)
	for i := 1; i < len(tokens); i++ {
		if !tokens[i].Is(text, "(") || tokens[i-1].Kind != sqltree.Ident && tokens[i-1].Kind != sqltree.QuotedIdent {
			continue
		}
		name := tokens[i-1].Name(text)
		if f := declared(name); f != nil {
			t = t.With(f.traits())
		}
		t = t.With(db.builtins.traits(name, 0))
	}
	return t
}

// traits are those of a call of a built-in function with so many arguments, 0
// where that is not known.
func (b *Builtins) traits(name string, args int) Traits {
	name = sqltree.Fold(name)
	clock := name == "ago" || name == "age" && args != 2 // of which DuckDB does not say so
	return Traits{Volatile: b.kinds[name].unstable || clock, Caller: name == Ctx}
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

// shown is an error of the statement as its caller may see it. What DuckDB says
// of a value, or of a line of a file, may be of a row that a protected relation
// hides; names of tables, columns and functions are no secret, and it speaks of
// these before the statement runs.
func (p *producer) shown(e *Error) *Error {
	if p.verdict == nil || !p.verdict.traits.Protected {
		return e
	}
	switch e.Code {
	case CodeExecution, CodeInternal:
	case CodeParse, CodeRefused, CodeNotFound, CodeArgument:
		if !e.Ran {
			return e
		}
	default:
		return e
	}
	out := *e
	out.Code = CodeExecution
	out.Message = "the statement failed on a value of a row"
	out.Hint = "the value is not shown, since a table has a row filter or a column mask; TRY_CAST gives NULL instead"
	return &out
}

// volatileWords are what DuckDB's grammar, not a function, makes volatile: in
// quotes too where no column has the name.
var volatileWords = set("sample tablesample current_timestamp current_date current_time localtimestamp localtime current_user session_user user")

func mentionsVolatile(text string) bool {
	for _, t := range sqltree.Scan(text) {
		if isName(t) && volatileWords[sqltree.Fold(t.Name(text))] {
			return true
		}
	}
	return false
}
