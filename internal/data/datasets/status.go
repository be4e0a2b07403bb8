package datasets

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// State is the state of a dataset or view.
type State string

// States.
const (
	Ready      State = "ready"
	Loading    State = "loading" // the first load runs; only a view is served meanwhile
	Refreshing State = "refreshing"
	Failed     State = "error"  // not served, or its source cannot be read
	Listed     State = "listed" // a table of a catalog that no statement has read yet
)

// Status describes a declared dataset or view. Error may be set in any state,
// because the old rows are served while refreshes fail.
type Status struct {
	Schema, Name string
	Kind         string // dataset or view
	Declared     string // name as written
	From         string // as written; "" for a view
	Description  string
	Format       string // of the files; duckdb for a table
	State        State
	tables.Stats
	Columns      []tables.Column
	Base         string                 // qualified name of the table that writes go to; "" if it cannot be written
	Acceleration *spicepod.Acceleration // nil: none
	Snapshot     time.Time              // when the rows of the last snapshot were read; zero: none was written
	Error        string
	Position     spicepod.Position
	Loading      *load.Progress // of the load or refresh that runs; nil: none, or it has no step yet
}

// Status returns the published datasets and views and the datasets that could not
// be loaded, by schema and name.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	return m.statusOf(live)
}

// StatusOf returns Status as it will be when these are published.
func (m *Manager) StatusOf(datasets []*Dataset, views []*views.View) []Status {
	return m.statusOf(slices.Collect(maps.Values(m.servedOf(datasets, views))))
}

func (m *Manager) statusOf(live []*served) []Status {
	m.mu.Lock()
	failed := maps.Clone(m.failed)
	loading := map[string]*Load{}
	for _, l := range m.loading {
		loading[l.Dataset.Name] = l
	}
	m.mu.Unlock()
	out := make([]Status, 0, len(live)+len(failed))
	for _, s := range live {
		st := s.status()
		if f, ok := failed[s.Name]; ok && s.dataset != nil {
			st.Error = f.Error // an older version is served
			if s.Acceleration == nil {
				st.State = Failed // its source is read by each statement
			}
			delete(failed, s.Name)
		}
		if l := loading[s.Name]; l != nil && s.dataset != nil {
			p := l.Progress()
			st.State, st.Loading = Refreshing, &p // an older version is served
			delete(loading, s.Name)
		}
		out = append(out, st)
	}
	out = slices.AppendSeq(out, maps.Values(failed))
	for _, l := range loading {
		out = append(out, l.status())
	}
	for i := range out {
		out[i].Error = fault.WithoutRoots(out[i].Error, m.opts.Roots)
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// declared is the status of a dataset that is not served.
func declared(d spicepod.Dataset, at spicepod.Position) Status {
	schema, table := d.Qualified()
	return Status{
		Schema: cmp.Or(schema, engine.Public), Name: table, Kind: "dataset", Declared: d.Name, From: d.From.String(),
		Description: d.Description, Stats: tables.Stats{Rows: -1, Bytes: -1}, Position: at,
	}
}

func (l *Load) status() Status {
	d := l.Dataset
	st := declared(d.Declared, d.State.Position())
	st.State, st.Acceleration, st.From = Loading, d.Acceleration, d.from.Shown
	p := l.Progress()
	st.Loading = &p
	for _, c := range d.Described {
		st.Columns = append(st.Columns,
			tables.Column{Name: c.Name, Type: cmp.Or(c.Type, "VARCHAR"), Description: c.Description})
	}
	return st
}

func (s *served) status() Status {
	v := s.Current()
	st := Status{
		Schema: s.Relation.Schema, Name: s.Relation.Name, Kind: s.Kind, Declared: s.Name, Description: s.About(),
		Format: v.Format, State: Ready, Stats: s.Stats(), Columns: v.Columns, Base: v.Base, Acceleration: s.Acceleration,
		Position: s.State.Position(), Snapshot: s.State.LastSnapshot(),
	}
	if s.dataset != nil {
		st.From = s.dataset.from.Shown
	}
	var busy bool
	busy, st.Error = s.State.Snapshot()
	switch {
	case v.Unopened && busy:
		st.State = Loading
	case v.Unopened:
		st.State = Listed
	case s.LoadFault() != nil:
		st.State = Failed
	case s.Acceleration != nil && v.Copy == nil && st.Error == "":
		st.State = Loading
	case busy:
		st.State = Refreshing
	}
	if st.State == Loading || st.State == Refreshing {
		if p, ok := s.m.progress.Progress(s.Name); ok {
			st.Loading = &p
		}
	}
	return st
}

// The introspection tables in schema spiced.
const (
	DatasetsTable    = "datasets"
	ColumnsTable     = "dataset_columns"
	ConstraintsTable = "dataset_constraints" // of datasets that can be written
)

// Tables returns the statements that create the introspection tables.
func Tables() []string {
	return []string{
		"CREATE OR REPLACE TABLE " + engine.Qualified(engine.System, DatasetsTable) + ` ("schema" VARCHAR, "name" VARCHAR, ` +
			`kind VARCHAR, "from" VARCHAR, description VARCHAR, file_format VARCHAR, accelerated BOOLEAN, mode VARCHAR, ` +
			`state VARCHAR, "rows" BIGINT, "columns" INTEGER, last_refresh TIMESTAMP, last_snapshot TIMESTAMP, error VARCHAR, "file" VARCHAR, line INTEGER)`,
		"CREATE OR REPLACE TABLE " + engine.Qualified(engine.System, ColumnsTable) + ` ("schema" VARCHAR, dataset VARCHAR, ` +
			`position INTEGER, "name" VARCHAR, type VARCHAR, description VARCHAR)`,
		"CREATE OR REPLACE TABLE " + engine.Qualified(engine.System, ConstraintsTable) +
			` ("schema" VARCHAR, dataset VARCHAR, ` +
			`"name" VARCHAR, kind VARCHAR, "columns" VARCHAR[])`,
	}
}

// Fill creates and fills the introspection tables in a transaction.
func Fill(tx *engine.Tx, statuses []Status) error {
	for _, sql := range Tables() {
		if err := tx.Exec(sql); err != nil {
			return err
		}
	}
	var datasets, columns [][]any
	var bases []string
	for _, s := range statuses {
		var mode, refreshed, snapshot any
		if s.Acceleration != nil {
			mode = string(s.Acceleration.Mode)
		}
		if !s.Refreshed.IsZero() {
			refreshed = s.Refreshed
		}
		if !s.Snapshot.IsZero() {
			snapshot = s.Snapshot
		}
		datasets = append(datasets, []any{
			s.Schema, s.Name, s.Kind, orNull(s.From), orNull(s.Description), orNull(s.Format),
			s.Acceleration != nil, mode, string(s.State), known(s.Rows), len(s.Columns), refreshed, snapshot,
			orNull(s.Error), s.Position.File, s.Position.Line,
		})
		if s.Base != "" {
			bases = append(bases, base(s.Schema, s.Name, s.Base))
		}
		for i, c := range s.Columns {
			columns = append(columns, []any{s.Schema, s.Name, i + 1, c.Name, c.Type, orNull(c.Description)})
		}
	}
	if err := tx.Insert(engine.System, DatasetsTable, datasets); err != nil {
		return err
	}
	if err := tx.Insert(engine.System, ColumnsTable, columns); err != nil {
		return err
	}
	if len(bases) == 0 {
		return nil
	}
	return tx.Exec(constraintsOf(bases))
}

// Refreshed records a refresh in the table of datasets: the version that it made, or why
// it failed; with neither, the error of another task. It does nothing if a reload has
// replaced the table meanwhile.
func (m *Manager) Refreshed(tx *engine.Tx, t *tables.Table, v *tables.Version, failed error) error {
	m.mu.Lock()
	s := m.live[tables.Key(t.Relation)]
	m.mu.Unlock()
	if s == nil || s.Table != t {
		return nil
	}
	message := ""
	switch {
	case failed != nil:
		message = failed.Error()
	case v == nil || v.Pruned():
		_, message = t.State.Snapshot()
	case cmp.Or(v.Stale, v.ReadOnly) != nil:
		message = cmp.Or(v.Stale, v.ReadOnly).Error()
	}
	set := "error = NULL"
	if message != "" {
		set = "error = " + engine.Literal(fault.WithoutRoots(message, m.opts.Roots))
	}
	if v != nil {
		set += ", state = " + engine.Literal(string(Ready)) // it may have been listed only
		rows := "NULL"
		if v.Stats.Rows >= 0 && !t.Protected {
			rows = strconv.FormatInt(v.Stats.Rows, 10)
		}
		set += `, "rows" = ` + rows
		if !v.Stats.Refreshed.IsZero() {
			set += ", last_refresh = " + timestamp(v.Stats.Refreshed)
		}
	}
	if at := t.State.LastSnapshot(); !at.IsZero() {
		set += ", last_snapshot = " + timestamp(at)
	}
	if v != nil && v.Base != "" && t.Current().Unopened {
		if err := tx.Exec(constraintsOf([]string{base(t.Relation.Schema, t.Relation.Name, v.Base)})); err != nil {
			return err
		}
	}
	return tx.Exec("UPDATE " + engine.Qualified(engine.System, DatasetsTable) + " SET " + set +
		` WHERE "schema" = ` + engine.Literal(t.Relation.Schema) + ` AND "name" = ` + engine.Literal(t.Relation.Name))
}

// base is a row for constraintsOf: a dataset, and the qualified name of its table.
func base(schema, name, table string) string {
	return "(" + engine.Literal(schema) + ", " + engine.Literal(name) + ", " + engine.Literal(table) + ")"
}

// constraintsOf returns the statement that fills the table of constraints.
func constraintsOf(bases []string) string {
	quoted := func(column string) string { return `'"' || replace(` + column + `, '"', '""') || '"'` }
	return "INSERT INTO " + engine.Qualified(engine.System, ConstraintsTable) +
		" SELECT b.s, b.n, CASE c.database_name WHEN '" + engine.CatalogName +
		"' THEN b.n || substr(c.constraint_name, length(c.table_name) + 1) ELSE c.constraint_name END, c.constraint_type, " +
		"c.constraint_column_names FROM (VALUES " + strings.Join(bases, ", ") + ") AS b(s, n, base)" +
		" JOIN duckdb_constraints() AS c ON b.base = " + quoted("c.database_name") + " || '.' || " + quoted("c.schema_name") +
		" || '.' || " + quoted("c.table_name") +
		" WHERE c.constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'NOT NULL')"
}

func timestamp(t time.Time) string {
	return "TIMESTAMP " + engine.Literal(t.UTC().Format("2006-01-02 15:04:05.999999"))
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func known(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}
