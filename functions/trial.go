package functions

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// HasWith is [sqltree.HasWith] for the body, in which some CTEs are inlined.
func (f *Function) HasWith() bool { return f.IsSQL() && sqltree.HasWith(f.body.text) }

// Trial returns statements that make DuckDB plan what it plans when f is published and
// called: the body alone, which needs only what f uses, and calls, which need f.
func (f *Function) Trial(t Target) (body string, calls []string) {
	body, _, _ = f.probe(t)
	if f.IsTable() && len(f.Tables) > 0 {
		return body, nil // each caller has other tables
	}
	values := f.list(func(_ int, a Arg) string { return "CAST(NULL AS " + a.Type.SQL() + ")" })
	name := t.function(public, f.Name, fold(f.Name))
	switch {
	case f.IsTable():
		calls = []string{"SELECT * FROM " + name + values}
	default:
		calls = []string{"SELECT " + name + values}
		if len(f.Args) > 0 {
			columns := f.list(func(_ int, a Arg) string { return engine.Identifier(a.Name) })
			calls = append(calls, "SELECT "+name+columns+" FROM (SELECT "+
				strings.TrimSuffix(nulls(f.argColumns()), " WHERE false")+")")
		}
	}
	if slices.Contains(f.forms(), direct) {
		calls = append(calls, "SELECT * FROM "+t.function(direct, f.nameOf(direct), "")+values)
	}
	return body, calls
}
