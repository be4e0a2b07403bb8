package functions

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Function is a compiled declaration. It is immutable.
type Function struct {
	Declared   spicepod.Function
	Path       string // "functions[2]"
	Name       string // as declared
	Kind       spicepod.FunctionKind
	Volatility spicepod.Volatility
	Args       []Arg
	Returns    *Type          // of a scalar function
	Columns    []OutputColumn // of a table function
	Tables     []TableInput
	Source     string // the body without common indentation, lines ended by LF
	Checksum   string // 16 hex digits over everything that affects the result of a call
	Uses       Uses
	Engine     *engine.Function // for the guard
	Position   spicepod.Position

	body     body
	code     *engine.BatchFunction // nil: the body is SQL
	tool     string                // that the function calls
	warnings spicepod.Problems     // about the signature
	facts    facts
	proven   bool              // its types are checked: it uses only DuckDB's own functions
	calls    []string          // folded names of everything the body calls
	uses     map[string]string // checksums of the functions it calls, by folded name
}

// Parsed returns the parse tree of the body, which is SQL.
func (f *Function) Parsed() *sqltree.Statement { return f.body.parsed.st }

// Arg is a scalar argument.
type Arg struct {
	Name    string
	Type    *Type
	Default string // the SQL of the value that an omitted one has; "" if callers must pass it
}

// OutputColumn is a column of a table function's result.
type OutputColumn struct {
	Name string
	Type *Type
}

// TableInput is a table argument.
type TableInput struct {
	Name    string
	Columns []OutputColumn
}

// Uses lists what a body refers to.
type Uses struct {
	Functions []string // declared names, direct, in the order of their first use
	Relations []engine.Relation
	Columns   []UsedColumn // best effort
}

// UsedColumn is a dataset's column that a body reads.
type UsedColumn struct {
	Relation engine.Relation
	Column   string
	Offset   int // in the body
}

// facts are the properties of a body that matter to callers.
type facts struct {
	counts   []int // how often a call evaluates each argument; 2 is "more than once"
	random   bool  // the value may change with each evaluation
	draws    bool  // it calls a random function of DuckDB, itself or through others
	writes   bool  // it is declared to do more than read, or calls a function that is
	subquery bool  // the expanded body has a subquery
	inner    bool  // a subquery of the body uses an argument
	costly   bool  // see engine.Function.Costly
	size     int   // calls of declared functions in the expanded body, itself included
}

// many is the count of an argument that is evaluated more than once.
const many = 2

// Signature formats the signature: haversine_km(lat1 float64) → float64.
func (f *Function) Signature() string {
	var b strings.Builder
	b.WriteString(f.Name + "(")
	for i, t := range f.Tables {
		comma(&b, i)
		b.WriteString(t.Name + " " + tableSignature(t.Columns))
	}
	for i, a := range f.Args {
		comma(&b, i+len(f.Tables))
		b.WriteString(a.Name + " " + a.Type.String())
		if a.Default != "" {
			b.WriteString(" := " + shownDefault(f.Declared.Signature.Args[i].Default))
		}
	}
	b.WriteString(") → ")
	if f.IsTable() {
		b.WriteString(tableSignature(f.Columns))
	} else {
		b.WriteString(f.Returns.String())
	}
	return b.String()
}

// shownDefault is a default in a signature.
func shownDefault(given any) string {
	switch v := given.(type) {
	case nil:
		return "NULL"
	case string:
		return engine.Literal(truncate.Ellipsis(v, shownText))
	}
	return describe(given)
}

// shownText is how much of a text a signature shows.
const shownText = 40

func tableSignature(columns []OutputColumn) string {
	var b strings.Builder
	b.WriteString("table(")
	for i, c := range columns {
		comma(&b, i)
		b.WriteString(c.Name + " " + c.Type.String())
	}
	return b.String() + ")"
}

func comma(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// IsTable reports whether the function is used in FROM.
func (f *Function) IsTable() bool { return f.Kind == spicepod.KindTable }

// Deterministic reports whether equal arguments over equal data return equal results,
// judged by what the body calls.
func (f *Function) Deterministic() bool { return !f.facts.random }

// PerCall reports whether the body reads data once for each call, and not once for a
// statement.
func (f *Function) PerCall() bool { return f.facts.inner }

// Component names the function in problems.
func (f *Function) Component() string {
	if f.tool != "" {
		return "tool " + f.Name
	}
	return "function " + f.Name
}

// engineFunction is the function as the guard sees it.
func (f *Function) engineFunction() *engine.Function {
	e := &engine.Function{
		Name: f.Name, Signature: f.Signature(), Table: f.IsTable(), Random: f.facts.random,
		Costly: f.facts.costly,
	}
	for _, t := range f.Tables {
		e.Args = append(e.Args, engine.FunctionArg{Name: t.Name, Type: "VARCHAR", Table: true})
	}
	used, repeated := false, false
	for i, a := range f.Args {
		e.Args = append(e.Args, engine.FunctionArg{
			Name: a.Name, Type: a.Type.SQL(), Numeric: a.Type.Numeric(), Optional: a.Default != "", Default: a.Default,
		})
		if !f.IsTable() {
			used = used || f.facts.counts[i] > 0
			repeated = repeated || f.facts.counts[i] > 1
		}
	}
	switch {
	case f.facts.subquery && used:
		e.NotOnce = "its body has a subquery"
	case repeated:
		e.Once = true
	}
	if f.bound() {
		e.Constant = engine.Qualified(schemas[core], f.nameOf(core))
	}
	if f.body.inPlace != nil {
		name := engine.Qualified(schemas[direct], f.nameOf(direct))
		if f.IsTable() {
			e.Constant = name
		} else {
			e.Alone = name
		}
	}
	return e
}

// dedent removes the indentation that all lines share, and the blank lines at
// both ends.
func dedent(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	shared := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " \t")); n < len(l) && (shared < 0 || n < shared) {
			shared = n
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimRight(l[min(max(shared, 0), len(l)):], " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

func fold(name string) string { return sqltree.Fold(name) }

// FunctionOffset is the byte of the body at which it first calls the declared function
// of that name, or -1.
func (f *Function) FunctionOffset(name string) int { return f.body.callOffset(name) }

// RelationOffset is the byte of the body at which it first names the relation, or -1.
func (f *Function) RelationOffset(r engine.Relation) int {
	for _, e := range f.body.edits {
		if e.relation != nil && *e.relation == r {
			return f.body.inDeclared(e.Start)
		}
	}
	return -1
}
