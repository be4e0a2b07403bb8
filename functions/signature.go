package functions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

func itoa(n int) string { return strconv.Itoa(n) }

// reservedTable is the table that holds the scalar arguments in the body of a
// table function.
const reservedTable = "args"

// reader reads one declaration and collects its problems.
type reader struct {
	pod      *spicepod.Pod
	path     string
	name     string
	problems spicepod.Problems
	warnings spicepod.Problems
}

func (r *reader) fail(path, hint, format string, args ...any) {
	p := r.pod.Problem(r.path+path, fmt.Sprintf(format, args...), hint)
	p.Component = "function " + r.name
	r.problems = append(r.problems, p)
}

// signature reads the types and names of d into f.
func (r *reader) signature(f *Function, d *spicepod.Function) {
	s := &d.Signature
	if n := len(s.Args); n > MaxArgs {
		r.fail(".signature.args", "pass a struct or a list", "%d arguments are too many; the limit is %d", n, MaxArgs)
		return
	}
	if n := len(s.Tables); n > MaxTables {
		r.fail(".signature.tables", "", "%d table inputs are too many; the limit is %d", n, MaxTables)
		return
	}
	seen := map[string]bool{}
	for i, t := range s.Tables {
		r.table(f, i, t, seen)
	}
	for i, a := range s.Args {
		path := fmt.Sprintf(".signature.args[%d]", i)
		if seen[fold(a.Name)] {
			r.fail(path+".name", "rename one of them", "duplicate argument '%s' in SQL function signature", a.Name)
		}
		seen[fold(a.Name)] = true
		typ := r.typ(path+".type", a.Type)
		f.Args = append(f.Args, Arg{a.Name, typ, r.fallback(path, a, typ)})
	}
	f.warnings = r.warnings
	r.returns(f, d)
}

// fallback is the value of an omitted argument in SQL. A default that the type does not
// take is reported; callers must pass the argument then.
func (r *reader) fallback(path string, a spicepod.Arg, t *Type) string {
	if t == nil || a.IsRequired() {
		return ""
	}
	text, err := t.Literal(a.Default)
	if err == nil {
		_, err = t.Value(a.Default)
	}
	if err == nil {
		return text
	}
	p := r.pod.Problem(r.path+path+".default",
		fmt.Sprintf("the default of argument '%s' is of no use: %s", a.Name, err), "")
	p.Component, p.Severity = "function "+r.name, spicepod.Warning
	r.warnings = append(r.warnings, p)
	return ""
}

func (r *reader) table(f *Function, i int, t spicepod.TableInput, seen map[string]bool) {
	path := fmt.Sprintf(".signature.tables[%d]", i)
	switch {
	case fold(t.Name) == reservedTable:
		r.fail(path+".name", "",
			"SQL function input table name '%s' conflicts with reserved scalar argument table name 'args'", t.Name)
	case seen[fold(t.Name)]:
		r.fail(path+".name", "rename one of them", "duplicate input table '%s' in SQL function signature", t.Name)
	}
	seen[fold(t.Name)] = true
	f.Tables = append(f.Tables, TableInput{t.Name, r.columns(path+".columns", t.Columns, "input table '"+t.Name+"'")})
}

func (r *reader) columns(path string, declared []spicepod.Column, of string) []OutputColumn {
	if n := len(declared); n > MaxColumns {
		r.fail(path, "", "%d columns are too many; the limit is %d", n, MaxColumns)
		return nil
	}
	if len(declared) == 0 {
		r.fail(path, "list at least one column", "%s has no columns", of)
	}
	seen := map[string]bool{}
	columns := make([]OutputColumn, len(declared))
	for i, c := range declared {
		at := fmt.Sprintf("%s[%d]", path, i)
		if seen[fold(c.Name)] {
			r.fail(at+".name", "rename one of them", "duplicate output column '%s' in SQL %s", c.Name, of)
		}
		seen[fold(c.Name)] = true
		columns[i] = OutputColumn{c.Name, r.typ(at+".type", c.Type)}
	}
	return columns
}

func (r *reader) typ(path, text string) *Type {
	t, err := ParseType(text)
	if err != nil {
		var wrong *TypeError
		errors.As(err, &wrong)
		r.fail(path, wrong.Hint, "%s", wrong.Message)
	}
	return t
}

func (r *reader) returns(f *Function, d *spicepod.Function) {
	returns := d.Signature.Returns
	table := d.Kind == spicepod.KindTable
	switch {
	case !table && len(d.Signature.Tables) > 0:
		r.fail(".signature.tables", "set kind: table, or read a dataset in a subquery",
			"a scalar function takes no table inputs")
	case table && returns.IsZero():
		r.fail(".signature", "",
			"table return schema is required for a SQL table function — set `signature.returns` to a list of output columns, "+
				"e.g. `returns: [{ name: value, type: int64 }]`")
	case table && returns.Columns == nil:
		r.fail(".signature.returns", "",
			"table return schema is required for a SQL table function — set `signature.returns` to a list of output columns, "+
				"not a scalar Arrow type string")
	case table:
		f.Columns = r.columns(".signature.returns", returns.Columns, "table function return schema")
	case returns.IsZero():
		r.fail(".signature", "",
			"return type is required for a scalar SQL function — add `signature.returns: <arrow-type>` (e.g. `float64`)")
	case returns.Columns != nil:
		r.fail(".signature.returns", "",
			"scalar return type is required for a scalar SQL function — add `signature.returns: <arrow-type>` "+
				"(e.g. `float64`), "+
				"not a table column list")
	default:
		f.Returns = r.typ(".signature.returns", returns.Type)
	}
}

// unused refuses keys that have no effect where the body runs.
func (r *reader) unused(d *spicepod.Function) {
	for _, key := range []struct {
		name    string
		written bool
	}{
		{"sandbox", d.Sandbox != ""},
		{"dependencies", len(d.Dependencies) > 0},
		{"secrets", len(d.Secrets) > 0},
		{"entrypoint", d.Entrypoint != ""},
		{"body", d.Body != "" && d.BodyRef == ""},
		{"body_ref", d.BodyRef != ""},
	} {
		if key.written && d.BodyKind != nil && !d.BodyKind.Takes(key.name) {
			r.fail("."+key.name, "remove it", "%s has no effect on a function from %s", key.name, d.Scheme())
		}
	}
}

// async checks that calls can run as jobs, and warns of jobs that end before a call would.
func (r *reader) async(d *spicepod.Function) {
	most := r.pod.Runtime.Query.Timeout
	switch {
	case !d.Async:
	case len(d.Signature.Tables) > 0:
		r.fail(".async", "remove it; POST /v1/queries runs any statement as a job",
			"async has no effect on a function that is not a tool")
	case !d.AsToolEffective():
		r.fail(".async", "add as_tool: true, or remove async", "async has no effect on a function that is not a tool")
	case most > 0 && d.Limits.Timeout > most:
		p := r.pod.Problem(r.path+".limits.timeout",
			fmt.Sprintf("a job of the function ends after %s, before limits.timeout", most), "raise runtime.query.timeout")
		p.Component, p.Severity = "function "+r.name, spicepod.Warning
		r.warnings = append(r.warnings, p)
	}
}

// source checks the source of the body and that there is one.
func (r *reader) source(d *spicepod.Function) {
	for _, u := range r.pod.Unset(r.path) {
		p := r.pod.TextProblem(u.Path, u.Offset, u.Message, u.Hint)
		p.Component = "function " + r.name
		r.problems = append(r.problems, p)
	}
	switch {
	case d.BodyKind == nil:
		r.fail(".from", "set from: sql and give a body",
			"the `from` scheme '%s' is unsupported. Supported schemes in this build: {`%s`}.", d.Scheme(),
			strings.Join(r.pod.BodySchemes(), "`, `"))
	case !d.IsSQL(): // what runs it checks it
	case d.Body == "" && d.BodyRef == "":
		r.fail("", "add body: with one SQL expression",
			"one of `body:` or `body_ref:` is required when `from: sql` but neither was provided.")
	case len(d.Body) > MaxBody:
		r.fail(".body", "", "the body has %d bytes; the limit is %d", len(d.Body), MaxBody)
	}
	r.unused(d)
	r.async(d)
	if n := len(d.Tests); n > MaxTests {
		r.fail(".tests", "", "%d tests are too many; the limit is %d", n, MaxTests)
	}
}
