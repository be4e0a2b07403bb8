package functions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// edits lets the engine judge the body and collects the changes to its text: the
// engine's edits, the qualified names of functions and relations, so that objects of
// the caller cannot replace them, and the calls that DuckDB spells differently.
func (b *builder) edits() error {
	if err := b.noTableQueries(); err != nil {
		return err
	}
	checked, err := b.c.db.Check(b.p.text, b.p.st, b.c)
	if err != nil {
		return b.p.bodyError(err)
	}
	for _, e := range checked {
		b.edit(edit{Span: e.Span, text: e.New})
	}
	for i, call := range b.p.st.Calls {
		if err := b.editCall(call, b.sites[i]); err != nil {
			return err
		}
	}
	if err := b.editRelations(); err != nil {
		return err
	}
	if err := b.renameLambdas(); err != nil {
		return err
	}
	b.castJSON()
	slices.SortStableFunc(b.f.body.edits, func(x, y edit) int { return cmp.Compare(x.Start, y.Start) })
	return nil
}

// edit adds an edit whose span is in the parsed text.
func (b *builder) edit(e edit) {
	e.Start -= b.p.start
	e.End -= b.p.start
	b.f.body.edits = append(b.f.body.edits, e)
}

// noTableQueries refuses subqueries as table arguments: they would have to move out of
// the body.
func (b *builder) noTableQueries() error {
	for i, call := range b.p.st.Calls {
		g := b.c.done[fold(call.Name)]
		if g == nil || !g.IsTable() {
			continue
		}
		for j, a := range call.Args {
			if j >= len(g.Tables) || a.Kind != sqltree.Query {
				continue
			}
			offset := call.Offset
			if s, ok := b.sites[i]; ok {
				offset = s.Args[j].Start
			}
			return at(b.p.offset(offset), "in a body, a subquery cannot be the table argument of "+g.Name,
				"name it first: WITH t AS (SELECT …) SELECT … FROM "+g.Name+"(t, …)")
		}
	}
	return nil
}

func (b *builder) editCall(call sqltree.Call, s site) error {
	key := fold(call.Name)
	switch {
	case s.Path == sqltree.Span{}:
		return nil
	case s.target != nil:
		b.nameCall(s)
		b.nameTables(call, s)
	case key == "named_struct" && call.Schema == "":
		return b.namedStruct(call, s)
	case call.Schema == "" && prelude.Rewrites[key] != "":
		b.edit(edit{Span: s.Path, text: prelude.Rewrites[key]})
	}
	return nil
}

// nameCall writes the qualified name of the called function, or, where the engine has
// written it after arguments that are bound once, marks it.
func (b *builder) nameCall(s site) {
	name, end := engine.Qualified(engine.Public, s.target.Name), s.Whole().End-b.p.start
	for i := range b.f.body.edits {
		e := &b.f.body.edits[i]
		if e.End == end && e.Start < end && strings.Contains(e.text, name) {
			e.function = s.target.Name
			return
		}
	}
	if s.Dot == (sqltree.Span{}) { // a path after a dot would be a field
		b.edit(edit{Span: s.Path, text: name, function: s.target.Name})
	}
}

// nameTables turns datasets passed as table arguments into references to them.
func (b *builder) nameTables(call sqltree.Call, s site) {
	for i := range s.target.Tables {
		if i >= len(call.Args) || call.Args[i].CTE {
			continue
		}
		name := call.Args[i].Text
		if call.Args[i].Kind == sqltree.ColumnRef {
			name = strings.Join(call.Args[i].Parts, ".")
		}
		r, ok := b.relation(name)
		span := sqltree.Span{Start: s.Args[i].Start - b.p.start, End: s.Args[i].End - b.p.start}
		j := slices.IndexFunc(b.f.body.edits, func(e edit) bool { return e.Span == span })
		if ok && j >= 0 {
			b.f.body.edits[j].relation, b.f.body.edits[j].literal = &r, true
			b.useRelation(r)
		}
	}
}

// relation finds a relation by a name such as t, public.t or spice.public.t.
func (b *builder) relation(name string) (engine.Relation, bool) {
	parts := strings.SplitN(name, ".", 3)
	for len(parts) < 3 {
		parts = append([]string{""}, parts...)
	}
	return b.c.Relation(parts[0], parts[1], parts[2])
}

func (b *builder) useRelation(r engine.Relation) {
	if !slices.Contains(b.f.Uses.Relations, r) {
		b.f.Uses.Relations = append(b.f.Uses.Relations, r)
	}
}

// namedStruct turns named_struct('a', x) into struct_pack("a" := x).
func (b *builder) namedStruct(call sqltree.Call, s site) error {
	if len(call.Args)%2 != 0 || len(call.Args) == 0 {
		return at(b.p.offset(call.Offset), "named_struct takes alternating names and values",
			"write named_struct('a', 1, 'b', 2)")
	}
	b.edit(edit{Span: s.Path, text: prelude.Rewrites["named_struct"]})
	for i := 0; i < len(call.Args); i += 2 {
		if call.Args[i].Kind != sqltree.StringLiteral {
			return at(b.p.offset(s.Args[i].Start), "a field name in named_struct must be a text literal",
				"write named_struct('a', 1, 'b', 2)")
		}
		b.edit(edit{
			Span: sqltree.Span{Start: s.Args[i].Start, End: s.Args[i+1].Start},
			text: engine.Identifier(call.Args[i].Text) + " := ",
		})
	}
	return nil
}

// renameLambdas gives the parameters of lambdas and list comprehensions names that are
// unique to this function. A macro's arguments are text: in list_transform(l,
// lambda e: e + n), a column e of the caller passed for n would be read as the
// lambda's e. A table e of the caller would be read as the e of e.field.
//
// The new name contains the function's name, which cannot have a colon, and the number
// of the lambda. So it differs from every other lambda's, and a statement can only
// write it in quotes, deliberately.
//
// Where a derived table binds the arguments, and in table functions, they are read by a
// qualified name, which no lambda captures.
func (b *builder) renameLambdas() error {
	if b.f.IsTable() || b.p.st.Subquery {
		return nil
	}
	for i, l := range b.p.st.Lambdas {
		sites, ok := sqltree.LocateLambda(b.p.text, b.p.tokens, l)
		if !ok {
			return at(b.p.offset(l.Offset), "this form of a lambda is not supported", "write lambda x: …")
		}
		for _, s := range sites {
			name := engine.Identifier(fmt.Sprintf("%s:%s:%d", l.Params[s.Param].Name, b.f.Name, i+1))
			if s.Names {
				name = engine.Identifier(s.Name) + " := " + name
			}
			b.edit(edit{Span: s.Span, text: name})
		}
	}
	return nil
}

// castJSON casts the arguments on the left of JSON's -> to their own type: DuckDB
// expands no argument there, since it reads it as a lambda's parameter.
func (b *builder) castJSON() {
	for _, c := range b.p.st.Columns {
		i := b.argIndex(c.Parts[0])
		if !c.JSON || len(c.Parts) > 1 || i < 0 || b.f.IsTable() {
			continue
		}
		if span, ok := sqltree.LocateColumn(b.p.text, b.p.tokens, c); ok {
			b.edit(edit{Span: span, text: "CAST(" + engine.Identifier(c.Parts[0]) + " AS " + b.f.Args[i].Type.SQL() + ")"})
		}
	}
}

// editRelations writes the qualified name of every dataset.
func (b *builder) editRelations() error {
	for _, ref := range b.p.st.Relations {
		r, ok := b.c.Relation(ref.Catalog, ref.Schema, ref.Name)
		span, found := sqltree.LocateRelation(b.p.text, b.p.tokens, ref)
		if !ok || !found {
			return at(b.p.offset(ref.Offset), "this form of the name of table \""+ref.Name+"\" is not supported",
				"write FROM "+ref.Name)
		}
		b.useRelation(r)
		e := edit{Span: span, relation: &r}
		if b.plainNames() {
			e.reference = &ref
		}
		b.edit(e)
	}
	return nil
}
