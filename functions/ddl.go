package functions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// form is one of the DuckDB functions that implement a declared function.
type form uint8

const (
	public form = iota // what callers name
	core               // the body without bound arguments
	direct             // a table macro for constant arguments, see direct.go
)

var schemas = [...]string{public: engine.Public, core: engine.Core, direct: engine.Core}

// nameOf is the name of a form of f in its schema. A declared function has no colon in
// its name.
func (f *Function) nameOf(of form) string {
	if of == direct {
		return f.Name + ":direct"
	}
	return f.Name
}

// Target is where functions are created: published, or as temporary functions of one
// connection. The zero Target is [Published].
type Target struct {
	staged    map[string]bool // folded names of the functions that are temporary
	relations map[engine.Relation]string
	keys      map[engine.Relation][]engine.KeyColumn // by folded name
}

// Published is the target of [engine.DB.Publish].
func Published() Target { return Target{} }

// WithKeys returns the target for relations with the key columns of [engine.Contents].
func (t Target) WithKeys(keys map[engine.Relation][]engine.KeyColumn) Target {
	t.keys = keys
	return t
}

// Staged is the target of an [engine.Stage]: the given functions are created there as
// temporary functions, and call each other as such. relations maps datasets that
// bodies read to other names, such as temp.main."new"; it may be nil.
func Staged(functions []*Function, relations map[engine.Relation]string) Target {
	t := Target{staged: make(map[string]bool, len(functions)), relations: relations}
	for _, f := range functions {
		t.staged[fold(f.Name)] = true
	}
	return t
}

// function returns the name of a form of a declared function; key is the folded name.
func (t Target) function(of form, name, key string) string {
	if t.staged[key] {
		return "temp.main." + engine.Identifier(tempName(of, name))
	}
	return engine.Qualified(schemas[of], name)
}

// tempName is the name of a form among temporary functions, which share one schema. A
// declared function has no colon in its name.
func tempName(of form, name string) string {
	if of == public {
		return name
	}
	return schemas[of] + ":" + name
}

func (t Target) relation(r engine.Relation) string {
	if name, ok := t.relations[r]; ok {
		return name
	}
	return engine.Qualified(r.Schema, r.Name)
}

// statement is a CREATE statement with the position of the body in it.
type statement struct {
	sql    string
	start  int           // of the body; -1: no body
	origin func(int) int // offset in the rendered body → in the declared one
}

// DDL returns the statements that create, or replace, every form of f, in order.
func (f *Function) DDL(t Target) []string {
	statements := f.statements(t)
	list := make([]string, len(statements))
	for i, s := range statements {
		list[i] = s.sql
	}
	return list
}

// Drop returns the statements that remove f from the published functions.
func (f *Function) Drop() []string {
	var list []string
	for _, of := range f.forms() {
		list = append(list, f.drop(of))
	}
	return list
}

// DropStale returns the statements that remove the published forms of old that its
// replacement f does not have.
func (f *Function) DropStale(old *Function) []string {
	var list []string
	for _, of := range old.forms() {
		if f.IsTable() != old.IsTable() || !slices.Contains(f.forms(), of) {
			list = append(list, old.drop(of))
		}
	}
	return list
}

func (f *Function) drop(of form) string {
	return "DROP MACRO " + f.tableWord(of) + "IF EXISTS " + engine.Qualified(schemas[of], f.nameOf(of))
}

// tableWord is the keyword for table macros, which have a separate namespace.
func (f *Function) tableWord(of form) string {
	if f.IsTable() || of == direct {
		return "TABLE "
	}
	return ""
}

// forms are the forms that f has.
func (f *Function) forms() []form {
	list := []form{public}
	if f.IsTable() || f.bound() {
		list = []form{core, public}
	}
	if f.body.inPlace != nil {
		list = append(list, direct)
	}
	return list
}

// bound reports whether a derived table binds the body's arguments: otherwise a
// subquery in the body would capture the caller's columns.
func (f *Function) bound() bool { return !f.IsTable() && f.body.subquery && len(f.Args) > 0 }

func (f *Function) statements(t Target) []statement {
	var list []statement
	if f.IsTable() {
		list = []statement{f.stub(t), f.create(t, public), f.create(t, core)}
	}
	for _, of := range f.forms() {
		if !f.IsTable() && of != direct || of == direct && len(t.staged) == 0 {
			list = append(list, f.create(t, of))
		}
	}
	return list
}

// create is the statement of one form.
func (f *Function) create(t Target, of form) statement {
	var b strings.Builder
	b.WriteString(f.createName(t, of))
	s := statement{start: -1}
	switch {
	case of == direct:
		f.directForm(&b, t, &s)
	case f.IsTable() && of == core:
		f.tableCore(&b, t, &s)
	case f.IsTable():
		f.tablePublic(&b, t)
	case of == public && f.bound():
		f.binding(&b, t)
	default:
		b.WriteString(f.params() + " AS CAST((\n")
		f.writeBody(&b, t, &s)
		b.WriteString("\n) AS " + f.Returns.SQL() + ")")
	}
	s.sql = b.String()
	return s
}

func (f *Function) createName(t Target, of form) string {
	if t.staged[fold(f.Name)] {
		return "CREATE OR REPLACE TEMP MACRO " + engine.Identifier(tempName(of, f.Name))
	}
	return "CREATE OR REPLACE MACRO " + engine.Qualified(schemas[of], f.nameOf(of))
}

func (f *Function) writeBody(b *strings.Builder, t Target, s *statement) {
	text, origin := f.body.render(t)
	s.start, s.origin = b.Len(), origin
	b.WriteString(text)
}

// params is the parameter list of a scalar function.
func (f *Function) params() string {
	return f.list(func(_ int, a Arg) string { return engine.Identifier(a.Name) + " " + a.Type.SQL() })
}

// list renders the arguments in parentheses.
func (f *Function) list(render func(i int, a Arg) string) string {
	parts := make([]string, len(f.Args))
	for i, a := range f.Args {
		parts[i] = render(i, a)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// unused returns a name that neither the body nor the arguments contain.
func (f *Function) unused(name string) string {
	text := fold(f.body.text)
	for _, a := range f.Args {
		text += "\x00" + fold(a.Name)
	}
	for strings.Contains(text, name) {
		name += "_"
	}
	return name
}

// binding binds the arguments outside the body's own tables.
func (f *Function) binding(b *strings.Builder, t Target) {
	row := engine.Identifier(f.unused("__spiced_row"))
	args := f.list(func(_ int, a Arg) string { return row + "." + engine.Identifier(a.Name) })
	names := f.list(func(_ int, a Arg) string { return engine.Identifier(a.Name) })
	fmt.Fprintf(b, "%s AS (SELECT %s%s FROM (SELECT %s) %s%s)",
		f.params(), t.function(core, f.Name, fold(f.Name)), args, names[1:len(names)-1], row, names)
}

// tablePublic passes the arguments on: the body must not see their names.
func (f *Function) tablePublic(b *strings.Builder, t Target) {
	var params, args []string
	for _, in := range f.Tables {
		params = append(params, engine.Identifier(in.Name))
		args = append(args, engine.Identifier(in.Name))
	}
	for _, a := range f.Args {
		params = append(params, engine.Identifier(a.Name)+" "+a.Type.SQL())
		args = append(args, engine.Identifier(a.Name))
	}
	fmt.Fprintf(b, "(%s) AS TABLE SELECT * FROM %s(%s)", strings.Join(params, ", "),
		t.function(core, f.Name, fold(f.Name)), strings.Join(args, ", "))
}

// stub is the core of a table function without the body, for creating the public
// form: binding the body then would resolve the public form's parameters as columns.
func (f *Function) stub(t Target) statement {
	params := make([]string, 0, len(f.Tables)+len(f.Args))
	for i := range cap(params) {
		params = append(params, directParam(i))
	}
	return statement{sql: f.createName(t, core) + "(" + strings.Join(params, ", ") + ") AS TABLE SELECT 1", start: -1}
}

// tableCore is the body over its inputs. Every input is read under an internal name
// before any gets its own, so that no input hides a table of the caller that another
// input refers to.
func (f *Function) tableCore(b *strings.Builder, t Target, s *statement) {
	var params, reads, names []string
	for i, in := range f.Tables {
		param, read := fmt.Sprintf("__spiced_table_arg_%d", i+1), fmt.Sprintf("__spiced_input_%d", i+1)
		params = append(params, param)
		reads = append(reads, fmt.Sprintf("%s AS (SELECT %s FROM query_table(%s) AS %s)", read,
			castColumns(in.Columns, engine.Source(i+1)), param, engine.Source(i+1)))
		names = append(names, engine.Identifier(in.Name)+" AS (FROM "+read+")")
	}
	var args, argNames []string
	for i, a := range f.Args {
		param := directParam(i)
		params = append(params, param+" "+a.Type.SQL())
		args = append(args, param)
		argNames = append(argNames, engine.Identifier(a.Name))
	}
	if len(args) > 0 {
		names = append(names, fmt.Sprintf("%s(%s) AS (SELECT %s)", reservedTable, strings.Join(argNames, ", "),
			strings.Join(args, ", ")))
	}
	b.WriteString("(" + strings.Join(params, ", ") + ") AS TABLE ")
	if ctes := append(reads, names...); len(ctes) > 0 {
		b.WriteString("WITH " + strings.Join(ctes, ", ") + " ")
	}
	f.outputs(b, func() { f.writeBody(b, t, s) })
}

// outputs writes a SELECT of the declared columns from the body that write writes.
func (f *Function) outputs(b *strings.Builder, write func()) {
	aliases := make([]string, len(f.Columns))
	outputs := make([]string, len(f.Columns))
	for i, c := range f.Columns {
		aliases[i] = fmt.Sprintf("__spiced_out_%d", i+1)
		outputs[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", aliases[i], c.Type.SQL(), engine.Identifier(c.Name))
	}
	b.WriteString("SELECT " + strings.Join(outputs, ", ") + " FROM (\n")
	write()
	b.WriteString("\n) AS __spiced_body(" + strings.Join(aliases, ", ") + ")")
}

func castColumns(columns []OutputColumn, source string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		name := engine.Identifier(c.Name)
		parts[i] = fmt.Sprintf("CAST(%s.%s AS %s) AS %s", source, name, c.Type.SQL(), name)
	}
	return strings.Join(parts, ", ")
}
