package udf

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/sqltree"
)

// Failed are the functions that could not be made, each with its problem. The
// transaction that met them must not be committed: publish again with the set
// that [Failed.Rest] returns.
type Failed struct {
	Names    []string
	Problems spicepod.Problems
}

// Rest is the set without the functions that failed and without their callers,
// and every problem, those of the callers too.
func (f *Failed) Rest(pod *spicepod.Pod, set *functions.Set) (*functions.Set, spicepod.Problems) {
	rest, more := set.Without(pod, f.Names...)
	return rest, append(f.Problems, more...)
}

// Install brings DuckDB from the functions of prev to those of next: it makes
// what changed, callees first, and what again names besides, drops what is
// gone, and rewrites the catalogue's rows of those functions. prev is nil at
// start.
//
// A function that cannot be made, or that calls one, is in the returned Failed;
// nil is success. An error means that the transaction is of no use any more.
func Install(tx *engine.Tx, pod *spicepod.Pod, next, prev *functions.Set, again ...*functions.Function) (*Failed, error) {
	i := installer{tx: tx, pod: pod, next: next, prev: prev, failed: map[string]bool{}}
	if failed, err := i.create(again); failed != nil || err != nil {
		return failed, err
	}
	if err := i.drop(); err != nil {
		return nil, err
	}
	return nil, i.rows()
}

type installer struct {
	tx         *engine.Tx
	pod        *spicepod.Pod
	next, prev *functions.Set
	failed     map[string]bool
}

func (i *installer) create(again []*functions.Function) (*Failed, error) {
	must := map[*functions.Function]bool{}
	for _, f := range append(i.next.Changed(i.prev), again...) {
		must[f] = true
	}
	if len(must) >= bulk {
		if err := i.exec(prelude.Plain(false)); err != nil {
			return nil, err
		}
	}
	failed := i.createAll(must)
	if len(must) >= bulk && failed == nil {
		return nil, i.exec(prelude.Restore())
	}
	return failed, nil
}

// bulk is how many functions are worth [prelude.Plain].
const bulk = 16

func (i *installer) exec(list []string) error {
	for _, sql := range list {
		if err := i.tx.Exec(sql); err != nil {
			return fmt.Errorf("install functions: %w", err)
		}
	}
	return nil
}

func (i *installer) createAll(must map[*functions.Function]bool) *Failed {
	var failed Failed
	for _, f := range i.next.All() {
		if !must[f] || i.callsFailed(f) {
			continue
		}
		p := f.Create(i.tx, i.pod, functions.Published())
		if p == nil {
			continue
		}
		failed.Names, failed.Problems = append(failed.Names, f.Name), append(failed.Problems, *p)
		i.failed[sqltree.Fold(f.Name)] = true
		if i.tx.Exec("SELECT 1") != nil {
			return &failed // the fault ended the transaction; the rest is tried with the next
		}
	}
	if failed.Names == nil {
		return nil
	}
	return &failed
}

func (i *installer) callsFailed(f *functions.Function) bool {
	for _, name := range f.Uses.Functions {
		if i.failed[sqltree.Fold(name)] {
			i.failed[sqltree.Fold(f.Name)] = true
			return true
		}
	}
	return false
}

// drop removes functions that are gone and forms that a new version lacks.
func (i *installer) drop() error {
	var list []string
	for _, old := range i.prev.All() {
		switch now := i.next.Get(old.Name); {
		case now == nil:
			list = append(list, old.Drop()...)
		case now != old:
			list = append(list, now.DropStale(old)...)
		}
	}
	return i.exec(list)
}

// rows rewrites the catalogue's rows of functions that are new, gone or other
// than they were, be it only their place in the file.
func (i *installer) rows() error {
	var stale []string
	var fresh []*functions.Function
	for _, old := range i.prev.All() {
		if now := i.next.Get(old.Name); now != old {
			stale = append(stale, old.Name)
		}
	}
	for _, f := range i.next.Declared() {
		if i.prev.Get(f.Name) != f {
			fresh = append(fresh, f)
		}
	}
	if err := i.forget(stale); err != nil {
		return err
	}
	var rows [4][][]any
	for _, f := range fresh {
		rows[0] = append(rows[0], []any{f.Name, "user", string(f.Kind), string(f.Volatility), f.Declared.From, textOrNull(f.Declared.Description)})
		rows[1] = append(rows[1], functionRow(f))
		rows[2] = append(rows[2], argRows(f)...)
		rows[3] = append(rows[3], i.lineageRows(f)...)
	}
	for n, t := range columns {
		if len(rows[n]) == 0 {
			continue
		}
		if err := i.tx.Insert(engine.System, t.table, rows[n]); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes the rows of functions.
func (i *installer) forget(names []string) error {
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
			key = `"source" = 'user' AND "name"`
		case tableFunctions:
			key = `"name"`
		}
		if err := i.tx.Exec("DELETE FROM " + engine.Qualified(engine.System, t.table) + " WHERE " + key + list); err != nil {
			return fmt.Errorf("forget rows of %s: %w", t.table, err)
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
		f.Checksum, f.Position.File, f.Position.Line,
	}
}

func argRows(f *functions.Function) [][]any {
	var rows [][]any
	for _, t := range f.Tables {
		rows = append(rows, []any{f.Name, len(rows) + 1, t.Name, "table", "table", nil, true, nil})
	}
	for n, a := range f.Args {
		d := f.Declared.Signature.Args[n]
		rows = append(rows, []any{
			f.Name, len(rows) + 1, a.Name, a.Type.String(), a.Type.SQL(), textOrNull(d.Description), d.IsRequired(), defaultText(d),
		})
	}
	return rows
}

// defaultText is the default as JSON, NULL when there is none.
func defaultText(a spicepod.Arg) any {
	if !a.HasDefault {
		return nil
	}
	b, err := json.Marshal(a.Default)
	if err != nil { // .inf and .nan, which JSON has not
		return fmt.Sprint(a.Default)
	}
	return string(b)
}

// lineageRows are what a function depends on, each with the place where it
// says so.
func (i *installer) lineageRows(f *functions.Function) [][]any {
	var rows [][]any
	add := func(kind, name string, column any, offset int) {
		at := f.Position
		if offset >= 0 {
			at = i.pod.TextAt(f.Path+".body", offset)
		}
		rows = append(rows, []any{f.Name, kind, name, column, at.File, at.Line})
	}
	for _, name := range f.Uses.Functions {
		add("function", name, nil, f.FunctionOffset(name))
	}
	for _, r := range f.Uses.Relations {
		add("dataset", relationName(r), nil, f.RelationOffset(r))
	}
	for _, c := range f.Uses.Columns {
		add("column", relationName(c.Relation), c.Column, c.Offset)
	}
	return rows
}

func relationName(r engine.Relation) string {
	if r.Schema == engine.Public {
		return r.Name
	}
	return r.Schema + "." + r.Name
}
