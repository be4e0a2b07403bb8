package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Table is a dataset or view that is served or will be. It is safe for
// concurrent use: only its version and state change.
type Table struct {
	Kind         string // dataset or view
	Name         string // as declared
	Relation     engine.Relation
	Description  string
	Described    []spicepod.DatasetColumn // declared columns
	Acceleration *spicepod.Acceleration   // nil if absent or disabled
	Protected    bool                     // has a row filter or column masks
	Keys         []string                 // columns by which rows are selected below a policy; see [engine.ByKey]
	State        State

	current atomic.Pointer[Version] // that the public view reads
}

// Version is one state of a table's data. It is immutable.
type Version struct {
	Query     string               // of the public view
	Unguarded string               // Query without the row filter and the masks of the dataset; "" if it has none
	ByKey     map[string]string    // queries of the macros for Keys, by name; of those that are not here, Query
	Rows      string               // qualified name of the table of an accelerated version
	Base      string               // qualified name of the table that writes are bound to; "" if it cannot be written
	Writer    engine.Writer        // that writes to a table that is not DuckDB's; nil if there is none
	ReadOnly  error                // why it cannot be written although it is declared writable
	Written   bool                 // it reads a file that is attached for writing; other processes cannot attach it
	Changing  bool                 // statements may change what it reads
	Files     bool                 // it reads the user's files, which may change at any time
	Columns   []Column             // of Query
	Comment   string               // of the source, for tables without a description
	Format    string               // of the source
	Resources []*resource.Resource // released when no statement reads the version
	Copy      *resource.Database   // of an accelerated version
	Changed   time.Time            // when the rows of Copy last changed; zero without a copy
	Stats     Stats
	Stale     error   // why an older copy is read instead of the source
	Remarks   []error // warnings about the values of the source
	Restored  bool    // the rows are those of an earlier run, or of a snapshot
	Unopened  bool    // Query only has the columns, and fails: see [Unopened]
}

// Source returns the query of all rows, with what the policy of the dataset hides from callers.
func (v *Version) Source() string { return cmp.Or(v.Unguarded, v.Query) }

// Lost reports whether something that it reads is gone: see [resource.Attacher.Restore].
func (v *Version) Lost() bool {
	return v != nil && slices.ContainsFunc(v.Resources, (*resource.Resource).Lost)
}

// Unopened returns a version with columns and no rows, which is served until a statement
// first reads the table.
func Unopened(columns []Column, comment string) *Version {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "CAST(NULL AS " + c.Type + ") AS " + engine.Identifier(c.Name)
	}
	return &Version{
		Query: "SELECT " + strings.Join(list, ", ") +
			" FROM range(1) AS t(i) WHERE error('the table is not open' || i) IS NOT NULL",
		Columns: columns, Comment: comment, Stats: Stats{Rows: -1, Bytes: -1}, Unopened: true,
	}
}

// Target returns what statements that change the table write to.
func (v *Version) Target() engine.Target {
	t := engine.Target{Table: v.Base, Writer: v.Writer}
	if v.ReadOnly != nil {
		t.ReadOnly = v.ReadOnly.Error()
	}
	return t
}

// Pruned reports whether rows were removed since the version was loaded.
func (v *Version) Pruned() bool { return v.Changed.After(v.Stats.Refreshed) }

// Stats describes the data of a version; -1 means unknown.
type Stats struct {
	Rows, Bytes int64
	Refreshed   time.Time
	Took        time.Duration
}

// reservedSchemas cannot have datasets and views.
var reservedSchemas = []string{engine.System, engine.Core, engine.Prelude, "main", "information_schema", "pg_catalog"}

// Relation returns the relation of a declared name, or of a table of a catalog, whose schema
// is catalog.schema.
func Relation(schema, table string) (engine.Relation, error) {
	folded := sqltree.Fold(schema)
	if folded == engine.CatalogName {
		folded = engine.Public
	}
	folded = strings.TrimPrefix(folded, engine.CatalogName+".")
	switch {
	case folded == "":
		folded = engine.Public
	case slices.Contains(reservedSchemas, folded):
		return engine.Relation{}, fault.New("name", "use another schema", "schema %q is reserved", schema)
	}
	return engine.Relation{Schema: folded, Name: table}, nil
}

// Key returns a key that all spellings of a relation share.
func Key(r engine.Relation) string { return sqltree.Fold(r.Schema) + "." + sqltree.Fold(r.Name) }

// Component returns the name of the table in problems.
func (t *Table) Component() string { return t.Kind + " " + t.Name }

// Current returns the version that is served. It is nil before the first.
func (t *Table) Current() *Version { return t.current.Load() }

// LoadFault returns the error of the last load of an accelerated view that has no copy yet.
// Such a view is not served.
func (t *Table) LoadFault() error {
	if t.Kind != "view" || t.Acceleration == nil || t.Current().Copy != nil {
		return nil
	}
	return t.State.Err()
}

// About returns the declared description, or the comment of the source.
func (t *Table) About() string {
	if v := t.Current(); t.Description == "" && v != nil {
		return v.Comment
	}
	return t.Description
}

// Serve sets the version that is served.
func (t *Table) Serve(v *Version) { t.current.Store(v) }

// Amend replaces the version v if it is still served.
func (t *Table) Amend(v, by *Version) { t.current.CompareAndSwap(v, by) }

// Columns returns the columns of the version that is served.
func (t *Table) Columns() []Column { return t.Current().Columns }

// Stats returns the statistics of the version that is served. The size of a
// protected table is unknown, because it includes hidden rows.
func (t *Table) Stats() Stats {
	stats := t.Current().Stats
	if t.Protected {
		stats.Rows, stats.Bytes = -1, -1
	}
	return stats
}

// Version returns a name for the data that is served. It changes whenever the
// rows may change.
func (t *Table) Version() string {
	v := t.Current()
	changed := v.Changed
	if v.Copy == nil {
		changed = v.Stats.Refreshed
	}
	return strconv.FormatInt(changed.UnixNano(), 36)
}

// DDL returns the statements that create the public view.
func (t *Table) DDL() []string { return t.DDLOf(t.Current()) }

// DDLOf returns the statements that create the public view over a version.
func (t *Table) DDLOf(v *Version) []string {
	name := engine.Qualified(t.Relation.Schema, t.Relation.Name)
	var out []string
	if t.Relation.Schema != engine.Public {
		out = append(out, "CREATE SCHEMA IF NOT EXISTS "+engine.CatalogName+"."+engine.Identifier(t.Relation.Schema))
	}
	out = append(out, "CREATE OR REPLACE VIEW "+name+" AS "+v.Query)
	for _, macro := range t.macros() {
		query, ok := v.ByKey[macro]
		if !ok {
			query = v.Query
		}
		out = append(out, fmt.Sprintf("CREATE OR REPLACE MACRO %s(%s) AS TABLE %s", engine.Qualified(engine.Core, macro),
			KeysParam, query))
	}
	if v.Writer != nil {
		out = append(out, v.Writer.Table().DDL(t.Relation)...)
	}
	if about := cmp.Or(t.Description, v.Comment); about != "" {
		out = append(out, "COMMENT ON VIEW "+name+" IS "+engine.Literal(about))
	}
	for _, column := range v.Columns {
		if column.Description != "" {
			out = append(out, "COMMENT ON COLUMN "+name+"."+engine.Identifier(column.Name)+" IS "+
				engine.Literal(column.Description))
		}
	}
	return out
}

// KeysParam is the parameter of the macros for keys. No column may have this name.
const KeysParam = "__spiced_keys"

// SameWriter reports whether a version is written as the one that is served.
func (t *Table) SameWriter(v *Version) bool {
	w := t.Current().Writer
	if w == nil || v.Writer == nil {
		return w == nil && v.Writer == nil
	}
	return slices.Equal(w.Table().DDL(t.Relation), v.Writer.Table().DDL(t.Relation))
}

// macros returns the names of the macros for keys. There is one for each kind of key,
// because a refresh may change the type of a column.
func (t *Table) macros() []string {
	var names []string
	for _, column := range t.Keys {
		for _, kind := range engine.KeyKinds {
			names = append(names, engine.ByKey(t.Relation, column, kind))
		}
	}
	return names
}

// KeyColumns returns the columns for which there are macros.
func (t *Table) KeyColumns() []engine.KeyColumn {
	var columns []engine.KeyColumn
	for _, key := range t.Keys {
		for _, c := range t.Columns() {
			if sqltree.Fold(c.Name) == sqltree.Fold(key) {
				columns = append(columns, engine.KeyColumn{Name: c.Name, Type: c.Type})
			}
		}
	}
	return columns
}

// Drop returns the statements that drop the public view.
func (t *Table) Drop() []string {
	out := []string{"DROP VIEW IF EXISTS " + engine.Qualified(t.Relation.Schema, t.Relation.Name)}
	if v := t.Current(); v != nil && v.Writer != nil {
		out = append(out, v.Writer.Table().Drop(t.Relation)...)
	}
	for _, macro := range t.macros() {
		out = append(out, "DROP MACRO TABLE IF EXISTS "+engine.Qualified(engine.Core, macro))
	}
	return out
}
