package tables

import (
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

// Table is a dataset or view that is served, or about to be. It is safe for
// concurrent use: a refresh replaces its version, nothing else changes.
type Table struct {
	Kind         string // dataset or view
	Name         string // as declared
	Relation     engine.Relation
	Description  string
	Described    []spicepod.DatasetColumn // declared columns
	Acceleration *spicepod.Acceleration   // nil if absent or disabled
	Protected    bool                     // a policy hides rows or values
	State        State

	current atomic.Pointer[Version] // what the public view reads
}

// Version is one state of a table's data. It is immutable.
type Version struct {
	Query     string               // what the public view selects
	Base      string               // the table that writes go to; "" if it cannot be written
	Private   bool                 // statements may change the file it reads, which no other process can attach
	Direct    bool                 // Query reads files of the user, not a copy
	Columns   []Column             // of Query
	Format    string               // of the files, if there are any
	Resources []*resource.Resource // held until no statement reads the version
	Copy      *resource.Database   // of an accelerated version
	Stats     Stats
	Stale     error // why an older copy is read in place of the source
}

// Stats are numbers of what a table holds. -1 is unknown.
type Stats struct {
	Rows, Bytes int64
	Refreshed   time.Time
	Took        time.Duration
}

// reservedSchemas are not for datasets and views.
var reservedSchemas = []string{engine.System, engine.Core, engine.Prelude, "main", "information_schema", "pg_catalog"}

// Relation returns the relation that a declared name means.
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
		return engine.Relation{}, fault.New("name", "take another schema", "schema %q belongs to the runtime", schema)
	case strings.Contains(folded, "."):
		return engine.Relation{}, fault.New("name", "write table, schema.table or spice.schema.table", "the name has too many parts")
	}
	return engine.Relation{Schema: folded, Name: table}, nil
}

// Key is equal for all spellings of a relation.
func Key(r engine.Relation) string { return sqltree.Fold(r.Schema) + "." + sqltree.Fold(r.Name) }

// Component names the table in problems.
func (t *Table) Component() string { return t.Kind + " " + t.Name }

// Current is the version that is served; nil before there is one.
func (t *Table) Current() *Version { return t.current.Load() }

// Serve sets the version that is served.
func (t *Table) Serve(v *Version) { t.current.Store(v) }

// Amend replaces a version, unless another is served by now.
func (t *Table) Amend(v, by *Version) { t.current.CompareAndSwap(v, by) }

// Columns returns the columns as they are now.
func (t *Table) Columns() []Column {
	if v := t.Current(); v != nil {
		return v.Columns
	}
	return nil
}

// Version names the state of the data that is served: it changes whenever the
// rows may have.
func (t *Table) Version() string {
	v := t.Current()
	if v == nil {
		return ""
	}
	return strconv.FormatInt(v.Stats.Refreshed.UnixNano(), 36)
}

// DDL returns the statements that make the public view as it is now.
func (t *Table) DDL() []string { return t.DDLOf(t.Current()) }

// DDLOf returns the statements that make the public view over a version.
// Comments hold no secrets: they are as declared.
func (t *Table) DDLOf(v *Version) []string {
	name := engine.Qualified(t.Relation.Schema, t.Relation.Name)
	var out []string
	if t.Relation.Schema != engine.Public {
		out = append(out, "CREATE SCHEMA IF NOT EXISTS "+engine.CatalogName+"."+engine.Identifier(t.Relation.Schema))
	}
	out = append(out, "CREATE OR REPLACE VIEW "+name+" AS "+v.Query)
	if t.Description != "" {
		out = append(out, "COMMENT ON VIEW "+name+" IS "+engine.Literal(t.Description))
	}
	for _, column := range v.Columns {
		if column.Description != "" {
			out = append(out, "COMMENT ON COLUMN "+name+"."+engine.Identifier(column.Name)+" IS "+engine.Literal(column.Description))
		}
	}
	return out
}

// Drop returns the statements that take the view away.
func (t *Table) Drop() []string {
	return []string{"DROP VIEW IF EXISTS " + engine.Qualified(t.Relation.Schema, t.Relation.Name)}
}
