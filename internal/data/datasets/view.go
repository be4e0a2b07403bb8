package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// View is a compiled entry of `views:`, ready to be published once what it
// uses is. It is safe for concurrent use.
type View struct {
	Relation engine.Relation
	Path     string // in the Spicepod: views[1]
	Declared spicepod.View
	Hash     string // of the declaration
	Uses     Uses

	common
	pod    *spicepod.Pod
	query  string        // what DuckDB gets
	origin func(int) int // offset in query → offset in the declared text
}

// Uses is what a query mentions, each once, in the order of the text.
type Uses struct {
	Relations []engine.Relation
	Functions []string
}

// CompileView judges a view by the rules of users' statements and qualifies
// the relations it reads. names are all declared relations and functions.
// reuse is returned, with its new place, when the declaration is the same;
// pass nil when something that it uses has changed.
func CompileView(ctx context.Context, db *engine.DB, pod *spicepod.Pod, index int, names engine.Names, reuse *View) (*View, *spicepod.Problem) {
	decl := pod.Views[index]
	v := &View{Path: fmt.Sprintf("views[%d]", index), Declared: decl, Hash: spicepod.Fingerprint(decl), pod: pod}
	v.common = common{kind: "view", name: decl.Name, description: decl.Description, columns: decl.Columns}
	v.state.position = pod.At(v.Path)
	if reuse != nil && reuse.Hash == v.Hash {
		reuse.Path, reuse.pod = v.Path, pod
		reuse.state.move(v.state.position)
		return reuse, nil
	}
	if err := v.compile(ctx, db, names); err != nil {
		p := asFault(err).problem(pod, v.Path, v.component())
		return nil, &p
	}
	v.current.Store(&version{query: v.query, stats: Stats{Rows: -1, Bytes: -1}})
	return v, nil
}

func (v *View) compile(ctx context.Context, db *engine.DB, names engine.Names) error {
	var err error
	if v.Relation, err = relationOf(v.Declared.Qualified()); err != nil {
		return err
	}
	v.relation = v.Relation
	if a := v.Declared.Acceleration; a != nil && a.Enabled {
		v.acceleration = a
		if a.RefreshMode == spicepod.RefreshAppend || a.RefreshSQL != "" {
			return newFault("acceleration", "leave refresh_mode and refresh_sql out: the view's sql says it all", "a view is refreshed as a whole")
		}
		for column, kind := range a.Indexes {
			if kind != "enabled" && kind != "unique" {
				return newFault("acceleration.indexes", "write enabled or unique", "index on %q is %q", column, kind)
			}
		}
	}
	text := v.Declared.SQL
	st, err := db.Parse(ctx, text)
	if err != nil {
		return viewFault(err, nil)
	}
	switch {
	case len(st.Params) > 0:
		return newFault("sql", "write the value, or make it a function with kind: table", "a view takes no parameters")
	case len(st.Shows) > 0:
		return newFault("sql", "write a SELECT", "a view is one SELECT")
	}
	if _, err := db.Check(text, st, names); err != nil {
		return viewFault(err, nil)
	}
	v.collect(st, names)
	return v.qualify(ctx, db, st, names)
}

// collect notes what the view uses.
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
		for _, a := range c.Args { // a table as an argument
			if rel, ok := namedRelation(a, names); ok && names.Function(c.Name) != nil && !slices.Contains(v.Uses.Relations, rel) {
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

// qualify writes every relation with its schema, so that a name means the
// same wherever the view is read, and makes the edits for calls.
func (v *View) qualify(ctx context.Context, db *engine.DB, st *sqltree.Statement, names engine.Names) error {
	text := v.Declared.SQL
	tokens := sqltree.Scan(text)
	var edits []sqltree.Edit
	for _, r := range st.Relations {
		rel, _ := names.Relation(r.Catalog, r.Schema, r.Name)
		if span, ok := sqltree.LocateRelation(text, tokens, r); ok {
			edits = append(edits, sqltree.Edit{Span: span, New: engine.Qualified(rel.Schema, rel.Name)})
		}
	}
	qualified, first := sqltree.Apply(text, edits)
	again, err := db.Parse(ctx, qualified)
	if err != nil {
		return viewFault(err, first)
	}
	calls, err := db.Check(qualified, again, names)
	if err != nil {
		return viewFault(err, first)
	}
	final, second := sqltree.Apply(qualified, calls)
	query, start := trimStatement(final)
	v.query = query
	v.origin = func(offset int) int { return first(second(offset + start)) }
	return nil
}

// viewFault places an error about a text within the declared one.
func viewFault(err error, origin func(int) int) *fault {
	e := engine.AsError(err)
	f := newFault("sql", e.Hint, "%s", selectMessage(e.Message))
	if e.Offset >= 0 {
		f.offset = e.Offset
		if origin != nil {
			f.offset = origin(e.Offset)
		}
	}
	return f
}

// Query is what the view selects, with qualified relations, accelerated or
// not.
func (v *View) Query() string { return v.query }

// DDL returns the statements that make the view as it is now.
func (v *View) DDL() []string { return v.ddl(v.current.Load()) }

// Drop returns the statements that take it away.
func (v *View) Drop() []string { return v.drop() }

// Install makes the view in a transaction, after what it uses. The error is a
// [*spicepod.Problem] at the place in the view's text; the view is not there
// then.
func (v *View) Install(tx *engine.Tx) error {
	now := v.current.Load()
	create := &version{query: now.query}
	for _, sql := range v.ddl(create) {
		if err := tx.Exec(sql); err != nil {
			return v.problem(sql, err)
		}
	}
	columns, err := tx.Describe("SELECT * FROM " + engine.Qualified(v.Relation.Schema, v.Relation.Name))
	if err != nil {
		return v.problem("", err)
	}
	matched, err := matchColumns(columns, v.columns)
	if err != nil {
		for _, sql := range v.Drop() {
			if dropErr := tx.Exec(sql); dropErr != nil {
				return dropErr
			}
		}
		p := asFault(err).problem(v.pod, v.Path, v.component())
		return &p
	}
	next := *now
	next.columns = matched
	for _, sql := range v.ddl(&next) {
		if strings.HasPrefix(sql, "COMMENT ON COLUMN") {
			if err := tx.Exec(sql); err != nil {
				return v.problem("", err)
			}
		}
	}
	v.current.CompareAndSwap(now, &next) // the columns are right even if the transaction fails
	return nil
}

// problem places DuckDB's error about one of the view's statements.
func (v *View) problem(sql string, err error) error {
	e := engine.AsError(err)
	f := newFault("sql", e.Hint, "%s", firstLines(e.Message))
	if at := strings.Index(sql, v.query); at >= 0 && e.Offset >= at {
		f.offset = v.origin(e.Offset - at)
	}
	p := f.problem(v.pod, v.Path, v.component())
	return &p
}

// loadView materialises what the view selects.
func (m *Manager) loadView(ctx context.Context, v *View) (*version, error) {
	stage, err := m.opts.DB.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	l := &loader{m: m, stage: stage, c: &v.common, name: "view-" + fileStem(v.Relation), rows: v.query}
	var out *version
	err = m.progress(v.name, "load", -1).watch(func() (err error) { out, err = l.fill(ctx); return err })
	return out, err
}
