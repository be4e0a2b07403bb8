package functions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// builder converts a parsed function to a [Function].
type builder struct {
	c      *compiler
	f      *Function
	p      *parsed
	sites  map[int]site // of calls, by index in st.Calls
	opaque bool         // a call could not be found in the text
}

// site is the position of a call, and how often its arguments are evaluated.
type site struct {
	sqltree.Site
	weight func(i int) int
	target *Function // declared, or nil
}

// build checks the parsed body of u against the functions compiled so far.
func (c *compiler) build(u *unit) (*Function, spicepod.Problems) {
	if !u.read.IsSQL() {
		return c.buildCode(u)
	}
	f := *u.read
	b := &builder{c: c, f: &f, p: f.body.parsed, sites: map[int]site{}}
	problems := slices.Clone(f.warnings)
	for _, check := range []func() error{
		b.callees, b.params, b.columns, b.aggregates, b.perRow, b.locate, b.edits, b.size,
		b.putInPlace, b.findArguments, b.findLookup,
	} {
		if err := check(); err != nil {
			return nil, append(problems, f.bodyProblem(c.pod, err))
		}
	}
	f.Uses.Columns = b.usedColumns()
	f.Checksum = f.checksum()
	f.Engine = f.engineFunction()
	if f.facts.random && f.Volatility != spicepod.Volatile {
		p := c.pod.Problem(u.path+".volatility",
			fmt.Sprintf("declared %s, but the body calls a function that returns a different value each time", f.Volatility),
			"declare volatility: volatile")
		p.Component, p.Severity = f.Component(), spicepod.Warning
		problems = append(problems, p)
	}
	return &f, problems
}

// callees resolves the declared functions that the body calls.
func (b *builder) callees() error {
	b.f.uses = map[string]string{}
	for _, call := range b.p.st.Calls {
		key := fold(call.Name)
		g := b.c.done[key]
		switch {
		case b.argIndex(call.Schema) >= 0 && !call.Object && !b.f.IsTable(), call.Object && g != nil:
			return at(b.p.offset(call.Offset), "method calls are not supported in a body",
				"write "+call.Name+"("+call.Schema+")")
		case g != nil:
			if !slices.Contains(b.f.Uses.Functions, g.Name) {
				b.f.Uses.Functions = append(b.f.Uses.Functions, g.Name)
			}
			b.f.uses[key] = g.Checksum
		case b.c.units[key] != nil:
			return &problemAt{offset: b.p.offset(call.Offset), waits: b.c.units[key].component()}
		}
	}
	return nil
}

func (b *builder) params() error {
	if len(b.p.st.Params) == 0 {
		return nil
	}
	offset := 0
	for _, t := range b.p.tokens {
		if t.Kind == sqltree.Param || t.Kind == sqltree.NamedParam {
			offset = t.Start
			break
		}
	}
	return at(b.p.offset(offset), "a body has no parameters", "name an argument of the function")
}

// valueWords are names of values that are not columns.
var valueWords = map[string]bool{
	"current_date": true, "current_time": true, "current_timestamp": true, "localtime": true, "localtimestamp": true,
}

// columns refuses names that are not arguments. In subqueries DuckDB decides: they
// may be columns of their tables.
func (b *builder) columns() error {
	if b.f.IsTable() {
		return nil
	}
	for _, c := range b.p.st.Columns {
		name := c.Parts[0]
		if c.Inner || b.argIndex(name) >= 0 || len(c.Parts) == 1 && valueWords[fold(name)] {
			continue
		}
		names := make([]string, len(b.f.Args))
		for i, a := range b.f.Args {
			names[i] = a.Name
		}
		hint := nearest.Hint(name, names, "declare it under signature.args")
		return at(b.p.offset(c.Offset),
			fmt.Sprintf("%q is not an argument of %s", strings.Join(c.Parts, "."), b.f.Signature()), hint)
	}
	return nil
}

func (b *builder) argIndex(name string) int {
	return slices.IndexFunc(b.f.Args, func(a Arg) bool { return fold(a.Name) == fold(name) })
}

// aggregates refuses functions that need several rows, outside subqueries.
func (b *builder) aggregates() error {
	if b.f.IsTable() {
		return nil
	}
	for _, call := range b.p.st.Calls {
		if call.Inner || call.Table {
			continue
		}
		what := ""
		switch {
		case call.Window:
			what = "a window function"
		case b.c.done[fold(call.Name)] == nil && b.c.db.Builtins().Aggregate(call.Name):
			what = "an aggregate"
		default:
			continue
		}
		return at(b.p.offset(call.Offset), fmt.Sprintf("%s is %s, and a scalar function sees one row", call.Name, what),
			"read a dataset in a subquery, (SELECT "+call.Name+"(…) FROM …), or use a list function")
	}
	return nil
}

// locate finds the calls that matter in the text: those of declared functions and of
// prelude macros, which may evaluate an argument more than once.
func (b *builder) locate() error {
	for i, call := range b.p.st.Calls {
		g := b.c.done[fold(call.Name)]
		_, rewritten := prelude.Rewrites[fold(call.Name)]
		if g == nil && !prelude.Has(call.Name) && !rewritten {
			continue
		}
		s, ok := sqltree.Locate(b.p.text, b.p.tokens, call)
		if !ok || slices.Contains(s.Args, sqltree.Span{}) {
			b.opaque = true
			continue
		}
		b.sites[i] = site{s, b.weight(call, g, rewritten), g}
	}
	return nil
}

// preludeWeight is the assumed number of evaluations of an argument by a macro of
// the prelude.
const preludeWeight = 4

func (b *builder) weight(call sqltree.Call, g *Function, rewritten bool) func(int) int {
	return func(i int) int {
		switch {
		case g != nil && !g.IsTable():
			if name := call.Args[i].Name; name != "" {
				i = slices.IndexFunc(g.Args, func(a Arg) bool { return fold(a.Name) == fold(name) })
			}
			if i < 0 || i >= len(g.facts.counts) {
				return 1
			}
			return g.facts.counts[i]
		case g == nil && !rewritten:
			return preludeWeight
		}
		return 1
	}
}

// multiplicity is how often the expression at an offset of the text is evaluated by
// one evaluation of the body.
func (b *builder) multiplicity(offset int, lambda bool) int {
	n := 1
	for _, s := range b.sites {
		for i, span := range s.Args {
			if offset >= span.Start && offset < span.End {
				n = min(n*s.weight(i), MaxExpansion+1)
			}
		}
	}
	if lambda || b.opaque {
		n = max(n, 1) * many
	}
	return n
}

// size counts how often each argument is evaluated, and the size of a call when all
// functions in it are expanded.
func (b *builder) size() error {
	st, facts := b.p.st, &b.f.facts
	facts.counts, facts.size, facts.subquery = make([]int, len(b.f.Args)), 1, st.Subquery
	facts.writes = b.f.Declared.Risk.Writes()
	facts.costly = slices.ContainsFunc(st.Costly, func(c sqltree.Costly) bool {
		return c.What != "" && b.c.done[fold(c.What)] == nil
	})
	for _, c := range st.Columns {
		if i := b.argIndex(c.Parts[0]); i >= 0 {
			facts.inner = facts.inner || c.Inner
			facts.counts[i] = min(facts.counts[i]+b.multiplicity(c.Offset, c.Lambda), MaxExpansion+1)
		}
	}
	for _, call := range st.Calls {
		g := b.c.done[fold(call.Name)]
		if g == nil {
			facts.draws = facts.draws || b.draws(call, nil)
			facts.random = facts.random || facts.draws
			continue
		}
		facts.draws = facts.draws || g.facts.draws
		facts.random = facts.random || g.facts.random
		facts.writes = facts.writes || g.facts.writes
		facts.costly = facts.costly || g.facts.costly
		facts.subquery = facts.subquery || g.facts.subquery
		facts.inner = facts.inner || g.facts.inner
		facts.size += g.facts.size * max(1, b.multiplicity(call.Offset, false))
		if facts.size > MaxExpansion {
			return at(b.p.offset(call.Offset),
				fmt.Sprintf("a call of %s expands to more than %d calls of declared functions", b.f.Name, MaxExpansion),
				"a function that uses its argument several times multiplies the calls inside it; compute them once in "+
					"a subquery or a lambda")
		}
	}
	b.f.body.subquery = st.Subquery
	return nil
}

// usedColumns are the columns of datasets that the body reads, judged by name: all of
// them if there is one dataset, else those that a dataset or its alias qualifies.
func (b *builder) usedColumns() []UsedColumn {
	var used []UsedColumn
	for _, c := range b.p.st.Columns {
		if len(b.f.Uses.Relations) == 0 || b.argIndex(c.Parts[0]) >= 0 && !b.f.IsTable() {
			continue
		}
		for _, r := range b.f.Uses.Relations {
			qualified := len(c.Parts) > 1 && b.names(c.Parts[len(c.Parts)-2], r)
			alone := len(b.f.Uses.Relations) == 1 && len(b.f.Tables) == 0 && len(c.Parts) == 1 &&
				fold(c.Parts[0]) != reservedTable
			u := UsedColumn{r, c.Parts[len(c.Parts)-1], b.f.body.inDeclared(b.p.offset(c.Offset))}
			if (qualified || alone && !b.isArgsColumn(c)) && !slices.ContainsFunc(used, func(v UsedColumn) bool {
				return v.Relation == r && fold(v.Column) == fold(u.Column)
			}) {
				used = append(used, u)
				break
			}
		}
	}
	return used
}

// names reports whether a qualifier of a column is the name of r or, somewhere in the body,
// its alias.
func (b *builder) names(qualifier string, r engine.Relation) bool {
	return slices.ContainsFunc(b.p.st.Relations, func(ref sqltree.Relation) bool {
		found, ok := b.c.Relation(ref.Catalog, ref.Schema, ref.Name)
		return ok && found == r && fold(cmp.Or(ref.Alias, ref.Name)) == fold(qualifier)
	})
}

// isArgsColumn reports whether a bare name in a table function is likely one
// of the table args.
func (b *builder) isArgsColumn(c sqltree.Column) bool {
	return b.f.IsTable() && b.argIndex(c.Parts[0]) >= 0
}

// checksum covers everything that affects the result of a call.
func (f *Function) checksum() string {
	h := sha256.New()
	add := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	add(f.Signature(), string(f.Kind), string(f.Volatility), f.Declared.Body)
	for _, a := range f.Args {
		if a.Default != "" {
			add(a.Default)
		}
	}
	for _, name := range f.Uses.Functions {
		add(fold(name), f.uses[fold(name)])
	}
	for _, r := range f.Uses.Relations {
		add(r.Schema, r.Name)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
