// Package views compiles the entries of `views:` and creates them in the database.
//
//	v, problem := views.Compile(ctx, db, pod, 0, names, nil)
//	…
//	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error { return v.Install(tx) })
package views

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// View is a compiled entry of `views:`. It is safe for concurrent use.
type View struct {
	tables.Table

	Path     string // in the Spicepod: views[1]
	Declared spicepod.View
	Hash     string // of the declaration
	Uses     Uses
	Parsed   *sqltree.Statement // the declared text
	Query    string             // its SELECT with qualified relations; it does not read the copy

	pod    *spicepod.Pod
	origin func(int) int // from an offset in Query to one in the declared text
}

// Uses lists what a query uses, each once, in the order of the text.
type Uses struct {
	Relations []engine.Relation
	Functions []string
}

// Compile checks a view as a statement of a client and qualifies the relations
// that it reads. names are all declared relations and functions. If the
// declaration of reuse is equal, Compile returns reuse with its new position;
// pass nil if something that the view uses has changed.
func Compile(ctx context.Context, db *engine.DB, pod *spicepod.Pod, index int, names engine.Names,
	reuse *View,
) (*View, *spicepod.Problem) {
	decl := pod.Views[index]
	v := &View{Path: fmt.Sprintf("views[%d]", index), Declared: decl, Hash: spicepod.Fingerprint(decl), pod: pod}
	v.Kind, v.Name, v.Description, v.Described = "view", decl.Name, decl.Description, decl.Columns
	v.State.Move(pod.At(v.Path))
	if reuse != nil && reuse.Hash == v.Hash {
		reuse.Path, reuse.pod = v.Path, pod
		reuse.State.Move(pod.At(v.Path))
		return reuse, nil
	}
	if err := v.compile(ctx, db, names); err != nil {
		p := fault.Of(err).Problem(pod, v.Path, v.Component())
		return nil, &p
	}
	v.Serve(&tables.Version{Query: v.Query, Stats: tables.Stats{Rows: -1, Bytes: -1}})
	return v, nil
}

func (v *View) compile(ctx context.Context, db *engine.DB, names engine.Names) error {
	for _, u := range v.pod.Unset(v.Path) {
		return fault.At(strings.TrimPrefix(u.Path, v.Path+"."), u.Offset, u.Hint, "%s", u.Message)
	}
	var err error
	if v.Relation, err = tables.Relation(v.Declared.Qualified()); err != nil {
		return err
	}
	if a := v.Declared.Acceleration; a != nil && a.Enabled {
		v.Acceleration = a
		if a.RefreshMode == spicepod.RefreshAppend || a.RefreshMode == spicepod.RefreshCaching || a.RefreshSQL != "" {
			return fault.New("acceleration", "leave out refresh_mode and refresh_sql",
				"a view is always refreshed as a whole, by its sql")
		}
		if err := v.checkAcceleration(ctx, db); err != nil {
			return err
		}
	}
	text := v.Declared.SQL
	st, err := db.Parse(ctx, text)
	if err != nil {
		return viewFault(err, nil)
	}
	switch {
	case len(st.Params) > 0:
		return fault.New("sql", "write the value, or make it a function with kind: table", "a view takes no parameters")
	case len(st.Shows) > 0:
		return fault.New("sql", "write a SELECT", "a view is one SELECT")
	}
	if _, err := db.Check(text, st, names); err != nil {
		return viewFault(err, nil)
	}
	v.Parsed = st
	v.collect(st, names)
	return v.qualify(ctx, db, st, names)
}

// checkAcceleration checks the keys that a view shares with a dataset.
func (v *View) checkAcceleration(ctx context.Context, db *engine.DB) error {
	a := v.Acceleration
	switch {
	case a.RefreshDataWindow > 0:
		return fault.New("acceleration.refresh_data_window", "write the condition in its sql", "a view has no time_column")
	case a.RetentionPeriod > 0:
		return fault.New("acceleration.retention_period", "write retention_sql", "a view has no time_column")
	case a.Snapshots.Loads() || a.Snapshots.Writes():
		return fault.New("acceleration.snapshots",
			"leave it out: a view is computed of the datasets that it reads, which may have snapshots",
			"a view has no snapshots")
	}
	err := cmp.Or(copies.Check(a), refresh.Check(a))
	if err == nil {
		_, err = copies.OrderBy(ctx, db, &v.Table)
	}
	if err == nil && a.RetentionSQL != "" {
		_, err = copies.RetainedQuery(ctx, db, &v.Table)
	}
	return err
}

// collect sets what the view uses.
func (v *View) collect(st *sqltree.Statement, names engine.Names) {
	for _, r := range st.Relations {
		if rel, ok := names.Relation(r.Catalog, r.Schema, r.Name); ok && !slices.Contains(v.Uses.Relations, rel) {
			v.Uses.Relations = append(v.Uses.Relations, rel)
		}
	}
	for _, c := range st.Calls {
		if f := names.Function(c.Name); f != nil && !slices.Contains(v.Uses.Functions, f.Name) {
			v.Uses.Functions = append(v.Uses.Functions, f.Name)
		}
		for _, a := range c.Args { // a table argument
			if rel, ok := namedRelation(a, names); ok && names.Function(c.Name) != nil &&
				!slices.Contains(v.Uses.Relations, rel) {
				v.Uses.Relations = append(v.Uses.Relations, rel)
			}
		}
	}
}

// namedRelation returns the relation that an argument names.
func namedRelation(a sqltree.Arg, names engine.Names) (engine.Relation, bool) {
	parts := a.Parts
	if a.Kind == sqltree.StringLiteral {
		parts = strings.Split(a.Text, ".")
	}
	if a.CTE || len(parts) == 0 || len(parts) > 3 {
		return engine.Relation{}, false
	}
	full := append(make([]string, 3-len(parts)), parts...)
	return names.Relation(full[0], full[1], full[2])
}

// qualify sets the query: relations get their schema, so that names have one
// meaning wherever the view is read, and calls are rewritten.
func (v *View) qualify(ctx context.Context, db *engine.DB, st *sqltree.Statement, names engine.Names) error {
	text, written, err := db.InlineCTEs(v.Declared.SQL, st, names)
	if err != nil {
		return viewFault(err, nil)
	}
	if text != v.Declared.SQL {
		if st, err = db.Parse(ctx, text); err != nil {
			return viewFault(err, written)
		}
	}
	tokens := sqltree.Scan(text)
	var edits []sqltree.Edit
	for _, r := range st.Relations {
		rel, _ := names.Relation(r.Catalog, r.Schema, r.Name)
		if span, ok := sqltree.LocateRelation(text, tokens, r); ok {
			edits = append(edits, sqltree.Edit{Span: span, New: engine.Qualified(rel.Schema, rel.Name)})
		}
	}
	qualified, inText := sqltree.Apply(text, edits)
	first := func(offset int) int { return written(inText(offset)) }
	again, err := db.Parse(ctx, qualified)
	if err != nil {
		return viewFault(err, first)
	}
	calls, err := db.Check(qualified, again, names)
	if err != nil {
		return viewFault(err, first)
	}
	final, second := sqltree.Apply(qualified, calls)
	query, start := tables.TrimStatement(final)
	v.Query = query
	v.origin = func(offset int) int { return first(second(offset + start)) }
	return nil
}

// viewFault returns an error about a text with its offset in the declared text.
func viewFault(err error, origin func(int) int) *fault.Fault {
	e := engine.AsError(err)
	f := fault.New("sql", e.Hint, "%s", fault.SelectMessage(e.Message))
	if e.Offset >= 0 {
		f.Offset = e.Offset
		if origin != nil {
			f.Offset = origin(e.Offset)
		}
	}
	return f
}

// Install creates the view in a transaction, after what it uses. The error is a
// [*spicepod.Problem] with the position in the text of the view, which does not
// exist then.
func (v *View) Install(tx *engine.Tx) error {
	now := v.Current()
	for _, sql := range v.DDLOf(&tables.Version{Query: now.Query}) {
		if err := tx.Exec(sql); err != nil {
			return v.problem(sql, err)
		}
	}
	columns, err := tx.Describe("SELECT * FROM " + engine.Qualified(v.Relation.Schema, v.Relation.Name))
	if err != nil {
		return v.problem("", err)
	}
	matched, err := tables.Match(columns, v.Described)
	if err == nil {
		err = copies.CheckKeys(v.Acceleration, columns)
	}
	if err != nil {
		for _, sql := range v.Drop() {
			if dropErr := tx.Exec(sql); dropErr != nil {
				return dropErr
			}
		}
		p := v.Problem(err)
		return &p
	}
	next := *now
	next.Columns = matched
	for _, sql := range v.DDLOf(&next) {
		if strings.HasPrefix(sql, "COMMENT ON COLUMN") {
			if err := tx.Exec(sql); err != nil {
				return v.problem("", err)
			}
		}
	}
	v.Amend(now, &next) // they are the same if the transaction fails
	return nil
}

// Problem returns an error about the view's data at its position in the Spicepod.
func (v *View) Problem(err error) spicepod.Problem {
	f := *fault.FromDuckDB(err)
	if f.Path == "from" { // a view is from its query
		f.Path = "sql"
	}
	return f.Problem(v.pod, v.Path, v.Component())
}

// problem returns DuckDB's error about a statement of the DDL.
func (v *View) problem(sql string, err error) error {
	e := engine.AsError(err)
	f := fault.New("sql", e.Hint, "%s", fault.FirstLines(e.Message))
	if at := strings.Index(sql, v.Query); at >= 0 && e.Offset >= at {
		f.Offset = v.origin(e.Offset - at)
	}
	p := f.Problem(v.pod, v.Path, v.Component())
	return &p
}
