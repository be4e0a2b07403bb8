package udf

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Fill updates the introspection tables from the functions of prev to those of next: it
// rewrites the rows of functions that are new, removed or changed, even if only their
// position in the file changed. prev is nil at start. It also rewrites the rows of those
// that wait for data.
func Fill(tx *engine.Tx, pod *spicepod.Pod, next, prev *functions.Set, loading Loading) error {
	var stale []string
	for _, old := range loading.Before {
		stale = append(stale, old.Name)
	}
	var fresh []*functions.Function
	for _, old := range prev.All() {
		if now := next.Get(old.Name); now != old {
			stale = append(stale, old.Name)
		}
	}
	for _, f := range next.Declared() {
		if prev.Get(f.Name) != f {
			fresh = append(fresh, f)
		}
	}
	if err := forget(tx, stale); err != nil {
		return err
	}
	var rows [4][][]any
	for i, f := range append(fresh, loading.Now...) {
		state := "ready"
		if i >= len(fresh) {
			state = "loading"
		}
		rows[0] = append(rows[0], udfRow(f, "user"))
		rows[1] = append(rows[1], append(functionRow(f), state, len(f.Declared.Tests)))
		rows[2] = append(rows[2], argRows(f)...)
		rows[3] = append(rows[3], lineageRows(pod, f)...)
	}
	for _, f := range next.Tools() {
		if prev.Get(f.Name) != f {
			rows[0] = append(rows[0], udfRow(f, "tool"))
		}
	}
	for n, t := range columns {
		if len(rows[n]) == 0 {
			continue
		}
		if err := tx.Insert(engine.Core, rowsOf(t.table), rows[n]); err != nil {
			return err
		}
	}
	return nil
}

// udfRow is the row of list_udfs.
func udfRow(f *functions.Function, source string) []any {
	return listingRow(map[string]any{
		"name": f.Name, "source": source, "kind": string(f.Kind), "volatility": string(f.Volatility),
		"from": f.Declared.From, "description": textOrNull(f.Declared.Description),
	})
}

// Loading are the functions that wait for data, now and in the generation before.
type Loading struct{ Now, Before []*functions.Function }

// forget deletes the rows of functions.
func forget(tx *engine.Tx, names []string) error {
	if len(names) == 0 {
		return nil
	}
	quoted := make([]string, len(names))
	for n, name := range names {
		quoted[n] = engine.Literal(name)
	}
	list := " IN (" + strings.Join(quoted, ", ") + ")"
	for _, t := range columns {
		key := `"function"`
		switch t.table {
		case tableUDFs:
			key = `"source" IN ('user', 'tool') AND "name"`
		case tableFunctions:
			key = `"name"`
		}
		if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.Core, rowsOf(t.table)) + " WHERE " + key +
			list); err != nil {
			return fmt.Errorf("delete rows of %s: %w", t.table, err)
		}
	}
	return nil
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func functionRow(f *functions.Function) []any {
	var names, types, duck []string
	for _, t := range f.Tables {
		names, types, duck = append(names, t.Name), append(types, "table"), append(duck, "table")
	}
	for _, a := range f.Args {
		names, types, duck = append(names, a.Name), append(types, a.Type.String()), append(duck, a.Type.SQL())
	}
	var returns, returnsDuck any
	if f.Returns != nil {
		returns, returnsDuck = f.Returns.String(), f.Returns.SQL()
	}
	return []any{
		f.Name, string(f.Kind), string(f.Volatility), f.Declared.From, textOrNull(f.Declared.Description),
		len(names), names, types, duck, returns, returnsDuck, f.Signature(), f.Declared.AsToolEffective(), f.Deterministic(),
		f.Checksum, f.Position.File, f.Position.Line, execution(f), f.Source,
	}
}

// execution says how calls with constant arguments, as those of a tool are, run.
func execution(f *functions.Function) string {
	if f.Code() != nil {
		return "called for batches of rows"
	}
	if f.HasCachedForms() {
		return placed(f) + "; a tool call keeps its plan if that is measured to be faster"
	}
	return placed(f)
}

// placed says where the arguments are.
func placed(f *functions.Function) string {
	relation, key, _, keyed := f.Key()
	switch {
	case keyed:
		return fmt.Sprintf("%s; tool calls may share a look-up of %s in %s", direct(f), key, RelationName(relation))
	case f.Engine.Constant != "":
		return direct(f)
	case f.IsTable():
		return "arguments bound as a table"
	}
	return "expression"
}

func direct(f *functions.Function) string {
	if f.IsTable() || f.Engine.Alone != "" {
		return "arguments in place; alone, its query is the statement"
	}
	return "arguments in place"
}

func argRows(f *functions.Function) [][]any {
	var rows [][]any
	for _, t := range f.Tables {
		rows = append(rows, []any{f.Name, len(rows) + 1, t.Name, "table", "table", nil, true, nil})
	}
	for n, a := range f.Args {
		d := f.Declared.Signature.Args[n]
		rows = append(rows, []any{
			f.Name, len(rows) + 1, a.Name, a.Type.String(), a.Type.SQL(), textOrNull(d.Description), d.IsRequired(),
			defaultText(d),
		})
	}
	return rows
}

// defaultText is the default as JSON, NULL if there is no default.
func defaultText(a spicepod.Arg) any {
	if !a.HasDefault {
		return nil
	}
	b, err := json.Marshal(a.Default)
	if err != nil { // JSON has no .inf and .nan
		return fmt.Sprint(a.Default)
	}
	return string(b)
}

// lineageRows are the dependencies of a function, each with the position of the reference.
func lineageRows(pod *spicepod.Pod, f *functions.Function) [][]any {
	var rows [][]any
	add := func(kind, name string, column any, offset int) {
		at := f.Position
		if offset >= 0 {
			at = pod.TextAt(f.Path+".body", offset)
		}
		rows = append(rows, []any{f.Name, kind, name, column, at.File, at.Line})
	}
	for _, name := range f.Uses.Functions {
		add("function", name, nil, f.FunctionOffset(name))
	}
	for _, r := range f.Uses.Relations {
		add("dataset", RelationName(r), nil, f.RelationOffset(r))
	}
	for _, c := range f.Uses.Columns {
		add("column", RelationName(c.Relation), c.Column, c.Offset)
	}
	return rows
}

// RelationName is the name of a relation in the tables of schema spiced: without the default schema.
func RelationName(r engine.Relation) string {
	if r.Schema == engine.Public {
		return r.Name
	}
	return r.Schema + "." + r.Name
}
