package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Traits are properties that a statement inherits from what it reads and calls.
type Traits struct {
	Volatile  bool   // an equal statement may give another result, which must not be cached
	Protected bool   // a row filter or column mask decides what the caller sees
	Caller    bool   // its result depends on the caller: it reads protected or personal data, or calls ctx or a tool
	Written   bool   // statements may change what it reads
	Live      bool   // it reads what may change without a publication, see [DB.Version]
	Stable    bool   // it calls a function that is declared stable
	Fetches   bool   // rows are fetched for it, see [Asks]
	Files     bool   // it reads files, which may be replaced at any time, even by files with other columns
	Unsafe    string // a built-in function or type that can end the process; "": none
}

// With returns the union of both.
func (t Traits) With(o Traits) Traits {
	return Traits{
		Volatile: t.Volatile || o.Volatile, Protected: t.Protected || o.Protected, Caller: t.Caller || o.Caller,
		Written: t.Written || o.Written, Live: t.Live || o.Live, Stable: t.Stable || o.Stable, Files: t.Files || o.Files,
		Fetches: t.Fetches || o.Fetches, Unsafe: cmp.Or(t.Unsafe, o.Unsafe),
	}
}

// closed adds the traits that follow from t.
func (t Traits) closed() Traits {
	t.Caller = t.Caller || t.Protected
	t.Volatile = t.Volatile || t.Written
	return t
}

// Traits returns the traits of the relation.
func (c *Catalog) Traits(r Relation) Traits {
	t := c.contents.Traits[r]
	t.Volatile = t.Volatile || r.Schema == System
	t.Written = t.Written || c.Writable(r)
	return t.closed()
}

// traits returns the traits of a call of f: what changes with each evaluation also
// changes with each statement.
func (f *Function) traits() Traits {
	t := f.Traits
	t.Volatile = t.Volatile || f.Random
	return t.closed()
}

// traits returns the traits of a statement: of all that it names.
func (db *DB) traits(text string, st *sqltree.Statement, cat *Catalog) Traits {
	t := Traits{Volatile: len(st.Shows) > 0 || mentionsVolatile(text), Unsafe: unsafeType(st)}
	relations, functions := cat.named(st)
	for _, r := range relations {
		t = t.With(cat.Traits(r))
	}
	for _, f := range functions {
		t = t.With(f.traits())
	}
	for _, c := range st.Calls {
		if declared(c, cat) == nil {
			t = t.With(db.builtins.traits(c.Name, len(c.Args)))
		}
	}
	return t
}

// reads returns the relations that a statement reads, also through views and functions.
func (c *Catalog) reads(st *sqltree.Statement) []Relation {
	relations, functions := c.named(st)
	all := slices.Clone(relations)
	for _, r := range relations {
		all = append(all, c.contents.Reads[r]...)
	}
	for _, f := range functions {
		all = append(all, f.Reads...)
	}
	return all
}

// named returns the declared relations and functions that a statement names, also
// as arguments.
func (c *Catalog) named(st *sqltree.Statement) (relations []Relation, functions []*Function) {
	for _, r := range st.Relations {
		if relation, ok := c.Relation(r.Catalog, r.Schema, r.Name); ok {
			relations = append(relations, relation)
		}
	}
	for _, call := range st.Calls {
		f := declared(call, c)
		if f == nil {
			if readsTable(call) && len(call.Args) > 0 {
				if relation, ok := c.argRelation(call.Args[0]); ok {
					relations = append(relations, relation)
				}
			}
			continue
		}
		functions = append(functions, f)
		for i, a := range call.Args {
			if i >= len(f.Args) || !f.Args[position(a, i, f)].Table {
				continue
			}
			if relation, ok := c.argRelation(a); ok {
				relations = append(relations, relation)
			}
		}
	}
	return relations, functions
}

// TextTraits returns the traits of the functions that a SQL text calls, by
// its words, without parsing it: a column with the name of a function counts as well. declared
// returns the declared function of a name, or nil.
func (db *DB) TextTraits(text string, declared func(name string) *Function) Traits {
	t := Traits{Volatile: mentionsVolatile(text), Unsafe: unsafeCast(text)}
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

// traits returns the traits of a call of a built-in function with args arguments,
// or 0 if the number is unknown.
func (b *Builtins) traits(name string, args int) Traits {
	name = sqltree.Fold(name)
	// DuckDB does not mark them as volatile
	clock := name == "ago" || name == "pg_timezone_names" || name == "age" && args != 2
	t := Traits{Volatile: b.kinds[name].unstable || clock, Caller: name == Ctx}
	if classes := unsafeFunctions[name]; slices.Contains(classes, UnsafeCrash) ||
		slices.Contains(classes, UnsafeInvalidates) {
		t.Unsafe = name
	}
	return t
}

// argRelation returns the relation that an argument names.
func (c *Catalog) argRelation(a sqltree.Arg) (Relation, bool) {
	parts := a.Parts
	if a.Kind == sqltree.StringLiteral {
		parts = strings.SplitN(a.Text, ".", 3)
	}
	if len(parts) == 0 || a.CTE {
		return Relation{}, false
	}
	return c.Relation(pathOf(parts))
}

// redact hides values in an error of the statement. DuckDB's message about a value,
// or about a line of a file, may show a row that a protected relation hides. Names
// of tables, columns and functions are not secret, and errors about them come
// before the statement runs.
func (p *producer) redact(e *Error) *Error {
	if p.verdict != nil && p.verdict.failed != nil {
		e = p.verdict.failed(e)
	}
	if p.verdict == nil || !p.verdict.traits.Protected {
		return e
	}
	switch e.Code {
	case errcode.Execution, errcode.Internal:
	case errcode.Parse, errcode.Refused, errcode.NotFound, errcode.Argument:
		if !e.Ran {
			return e
		}
	default:
		return e
	}
	out := *e
	out.Code, out.Class = errcode.Execution, ""
	out.Message = "the statement failed on a value in a row"
	out.Hint = "the value is hidden because a table has a row filter or a column mask; TRY_CAST returns NULL instead"
	return &out
}

// volatileWords are volatile by DuckDB's grammar rather than as functions: even in
// quotes if no column has the name.
var volatileWords = set("sample tablesample current_timestamp current_date current_time localtimestamp localtime " +
	"current_user session_user user")

func mentionsVolatile(text string) bool {
	for _, t := range sqltree.Scan(text) {
		if t.IsName() && volatileWords[sqltree.Fold(t.Name(text))] {
			return true
		}
	}
	return false
}
