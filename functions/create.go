package functions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/types"
	"github.com/spiced-sql/spiced/spicepod"
)

// Session is where functions are created and described: an [*engine.Tx] or an
// [*engine.Stage].
type Session interface {
	Exec(sql string) error
	Describe(sql string) ([]engine.Column, error)
	Query(sql string, f func(*engine.Chunk) error) error
}

var (
	_ Session = (*engine.Tx)(nil)
	_ Session = (*engine.Stage)(nil)
)

// Create proves the types of f and creates it on s. Everything it uses must exist
// already. A problem has its position in the body.
func (f *Function) Create(s Session, pod *spicepod.Pod, t Target) *spicepod.Problem {
	if !f.proven {
		if p := f.Prove(s, pod, t); p != nil {
			return p
		}
	}
	for _, st := range f.statements(t) {
		err := s.Exec(st.sql)
		if err == nil {
			continue
		}
		p := f.bodyProblem(pod, f.bodyError(err, st.start, st.origin))
		return &p
	}
	return nil
}

// Prove binds the body to typed arguments on s and checks that its type, or columns,
// are the declared ones or convert to them implicitly.
func (f *Function) Prove(s Session, pod *spicepod.Pod, t Target) *spicepod.Problem {
	sql, start, origin := f.probe(t)
	columns, err := s.Describe(sql)
	if err != nil {
		err = f.bodyError(err, start, origin)
	} else {
		f.findNull(s, sql, columns)
		err = f.checkResult(columns)
	}
	if err == nil {
		return nil
	}
	p := f.bodyProblem(pod, err)
	return &p
}

// findNull detects a body of a scalar function that is only NULL, whose type DuckDB
// reports as INTEGER: only NULL binds in a list with a date. In a table function such
// a column needs a CAST.
func (f *Function) findNull(s Session, sql string, columns []engine.Column) {
	if f.IsTable() || columns[0].Type.ID != engine.Integer || coercible(columns[0].Type, f.Returns.duck) {
		return
	}
	if _, err := s.Describe("SELECT [v, CAST(NULL AS DATE)] FROM (" + sql + ") AS t(v)"); err == nil {
		columns[0].Type = &engine.Type{ID: engine.Null}
	}
}

// probe returns a SELECT with the body's type, and the position of the body in it.
func (f *Function) probe(t Target) (sql string, start int, origin func(int) int) {
	text, origin := f.body.render(t)
	var b strings.Builder
	if f.IsTable() {
		f.probeInputs(&b)
		b.WriteString("SELECT * FROM (\n")
		start = b.Len()
		b.WriteString(text + "\n)")
		return b.String(), start, origin
	}
	b.WriteString("SELECT (\n")
	start = b.Len()
	b.WriteString(text + "\n)")
	if len(f.Args) > 0 {
		b.WriteString(" FROM (SELECT " + nulls(f.argColumns()) + ")")
	}
	return b.String(), start, origin
}

func (f *Function) argColumns() []OutputColumn {
	columns := make([]OutputColumn, len(f.Args))
	for i, a := range f.Args {
		columns[i] = OutputColumn{a.Name, a.Type}
	}
	return columns
}

func (f *Function) probeInputs(b *strings.Builder) {
	var ctes []string
	for _, in := range f.Tables {
		ctes = append(ctes, engine.Identifier(in.Name)+" AS (SELECT "+nulls(in.Columns)+")")
	}
	if len(f.Args) > 0 {
		ctes = append(ctes, reservedTable+" AS (SELECT "+nulls(f.argColumns())+")")
	}
	if len(ctes) > 0 {
		b.WriteString("WITH " + strings.Join(ctes, ", ") + " ")
	}
}

// nulls is a select list of typed NULLs.
func nulls(columns []OutputColumn) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = "CAST(NULL AS " + c.Type.SQL() + ") AS " + engine.Identifier(c.Name)
	}
	return strings.Join(parts, ", ") + " WHERE false" // no row: DuckDB skips most of the plan
}

func (f *Function) checkResult(columns []engine.Column) error {
	if f.IsTable() {
		return f.checkColumns(columns)
	}
	got := columns[0].Type
	if coercible(got, f.Returns.duck) {
		return nil
	}
	hint := fmt.Sprintf("write CAST(… AS %s), or declare returns: %s", f.Returns.SQL(), aliasOf(got))
	if aliasOf(got) == "" {
		hint = fmt.Sprintf("write CAST(… AS %s)", f.Returns.SQL())
	}
	return at(f.bodyStart(),
		fmt.Sprintf("body expression evaluates to type %s, which is not coercible to declared return type %s",
			arrowName(got), f.Returns.Arrow()), hint)
}

// bodyStart is the offset of the first word of the body.
func (f *Function) bodyStart() int {
	if f.body.parsed == nil || len(f.body.parsed.tokens) == 0 {
		return 0
	}
	for _, t := range f.body.parsed.tokens {
		if t.Start >= f.body.parsed.start {
			return f.body.parsed.offset(t.Start)
		}
	}
	return 0
}

// aliasOf is the Spicepod name of a simple type, or "".
func aliasOf(t *engine.Type) string {
	info := types.Of(t)
	if info == nil || info.Form != "" || t.ID == engine.Decimal || len(info.Names) == 0 {
		return ""
	}
	return info.Names[0]
}

func (f *Function) checkColumns(got []engine.Column) error {
	same := len(got) == len(f.Columns)
	for i := 0; same && i < len(got); i++ {
		same = fold(got[i].Name) == fold(f.Columns[i].Name) && coercible(got[i].Type, f.Columns[i].Type.duck)
	}
	if same {
		return nil
	}
	want := make([]string, len(f.Columns))
	for i, c := range f.Columns {
		want[i] = c.Name + ": " + c.Type.Arrow()
	}
	have := make([]string, len(got))
	for i, c := range got {
		have[i] = c.Name + ": " + arrowName(c.Type)
	}
	for i := range min(len(want), len(have)) {
		if len(want) == len(have) &&
			(fold(got[i].Name) != fold(f.Columns[i].Name) || !coercible(got[i].Type, f.Columns[i].Type.duck)) {
			return at(f.bodyStart(), fmt.Sprintf("SQL table function body schema does not match declared return schema: column "+
				"%d expected '%s', got '%s' for function '%s'",
				i+1, want[i], have[i], f.Name),
				fmt.Sprintf("write CAST(… AS %s) AS %s", f.Columns[i].Type.SQL(), engine.Identifier(f.Columns[i].Name)))
		}
	}
	return at(f.bodyStart(), fmt.Sprintf("SQL table function body schema does not match declared return schema: expected "+
		"%d column(s) [%s], got %d column(s) [%s] for function '%s'",
		len(want), strings.Join(want, ", "), len(have), strings.Join(have, ", "), f.Name),
		"select these columns, in this order")
}

// bodyError moves DuckDB's error about a statement to the declared body.
func (f *Function) bodyError(err error, start int, origin func(int) int) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	p := at(f.bodyStart(), e.Message, e.Hint)
	if start >= 0 && e.Offset >= start {
		p.offset = min(origin(e.Offset-start), len(f.body.text))
	}
	f.explain(p, e)
	return p
}

// explain rewords DuckDB's error in terms of the declaration.
func (f *Function) explain(p *problemAt, e *engine.Error) {
	if name, ok := strings.CutPrefix(p.message, "Conflicting column names for column "); ok {
		name, _, _ = strings.Cut(name, "!")
		p.message = fmt.Sprintf("argument %q has the name of a column of a table in the body's subquery", name)
		p.hint = "rename the argument: inside the subquery the name is ambiguous"
		return
	}
	if e.Code != errcode.NotFound {
		return
	}
	if f.IsTable() {
		for _, c := range f.body.parsed.st.Columns {
			name := c.Parts[0]
			if f.body.parsed.offset(c.Offset) == p.offset && len(c.Parts) == 1 &&
				slices.ContainsFunc(f.Args, func(a Arg) bool { return fold(a.Name) == fold(name) }) {
				p.message = fmt.Sprintf("argument %q is a column of the table args here", name)
				p.hint = fmt.Sprintf("write (SELECT %s FROM args)", name)
				return
			}
		}
	}
	if n := f.lambdaArg(p.offset); n != "" {
		p.message = fmt.Sprintf("argument %q is used in a lambda of a subquery, where DuckDB only resolves columns of the "+
			"subquery's FROM", n)
		p.hint = fmt.Sprintf("add it to the FROM and use that column: FROM t, (SELECT %s AS v)", n)
		return
	}
	for _, c := range f.body.parsed.st.Calls {
		if f.body.parsed.offset(c.Offset) == p.offset && p.hint == "" && strings.Contains(p.message, "Function") {
			p.message, p.missing = fmt.Sprintf("there is no function %q", c.Name), c.Name
		}
	}
}

// lambdaArg returns the argument at an offset of the body in a lambda of a subquery,
// or "".
func (f *Function) lambdaArg(offset int) string {
	for _, c := range f.body.parsed.st.Columns {
		name := c.Parts[0]
		if !f.IsTable() && c.Lambda && c.Inner && f.body.parsed.offset(c.Offset) == offset &&
			slices.ContainsFunc(f.Args, func(a Arg) bool { return fold(a.Name) == fold(name) }) {
			return name
		}
	}
	return ""
}

var preludeNames = func() []string {
	var names []string
	for _, m := range prelude.Macros {
		names = append(names, m.Name)
	}
	return names
}()
