package datasets

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Dataset is a dataset that is ready to be published. It is safe for
// concurrent use; a refresh replaces what it reads, nothing else changes.
type Dataset struct {
	Relation engine.Relation
	Path     string           // in the Spicepod: datasets[3]; the last Prepare sets it
	Declared spicepod.Dataset // as written
	Hash     string           // of all that decides what it holds

	common
	source   source
	secrets  []string
	settings []setting // when the format is known without a look at the source
	format   *format   // nil: see the source
	types    []string  // DuckDB type of each declared column; "" for the source's
}

// common is what datasets and views share.
type common struct {
	kind         string // dataset or view
	name         string // as declared
	relation     engine.Relation
	description  string
	columns      []spicepod.DatasetColumn
	acceleration *spicepod.Acceleration // nil when there is none or it is off
	policy       *policy                // nil: everybody sees all; of datasets only

	current atomic.Pointer[version] // what the public view reads
	refresh refreshQueue
	state   itemState // with the position in the file
}

// version is one state of a dataset's data. It is immutable.
type version struct {
	query     string   // what the public view selects
	base      string   // the table that writes go to; "" when there are none
	private   bool     // statements may change the file it reads, which no other process can attach
	direct    bool     // query reads files of a user's, not a copy
	columns   []Column // of query
	format    string   // of the files, when there are any
	resources []*resource
	data      *database // of an accelerated version
	stats     Stats
}

// Column is a column of a dataset or view.
type Column struct {
	Name        string
	Type        string // DuckDB's
	Description string
}

// Columns returns the columns as they are now.
func (c *common) Columns() []Column {
	if v := c.current.Load(); v != nil {
		return v.columns
	}
	return nil
}

func (c *common) component() string { return c.kind + " " + c.name }

// reservedSchemas hold what is not the user's.
var reservedSchemas = []string{engine.System, engine.Core, engine.Prelude, "main", "information_schema", "pg_catalog"}

// relationOf returns the relation that a declared name means.
func relationOf(schema, table string) (engine.Relation, error) {
	folded := sqltree.Fold(schema)
	if folded == engine.CatalogName {
		folded = engine.Public
	}
	folded = strings.TrimPrefix(folded, engine.CatalogName+".")
	switch {
	case folded == "":
		folded = engine.Public
	case slices.Contains(reservedSchemas, folded):
		return engine.Relation{}, newFault("name", "take another schema", "schema %q belongs to the runtime", schema)
	case strings.Contains(folded, "."):
		return engine.Relation{}, newFault("name", "write table, schema.table or spice.schema.table", "the name has too many parts")
	}
	return engine.Relation{Schema: folded, Name: table}, nil
}

func relationKey(r engine.Relation) string {
	return sqltree.Fold(r.Schema) + "." + sqltree.Fold(r.Name)
}

// compile checks all of a declared dataset that takes no look at its source.
func (m *Manager) compile(ctx context.Context, pod *spicepod.Pod, index int) (*Dataset, error) {
	decl := pod.Datasets[index]
	path := fmt.Sprintf("datasets[%d]", index)
	d := &Dataset{Path: path, Declared: decl, secrets: collectSecrets(decl.From)}
	d.common = common{
		kind: "dataset", name: decl.Name, description: decl.Description, columns: decl.Columns,
	}
	d.state.position = pod.At(path)
	d.secrets = append(d.secrets, collectSecrets(decl.Params)...)
	var err error
	if d.Relation, err = relationOf(decl.Qualified()); err != nil {
		return d, err
	}
	d.relation = d.Relation
	file := pod.At(path + ".from").File
	if !filepath.IsAbs(file) {
		file = filepath.Join(pod.Dir, file)
	}
	if d.source, err = parseSource(decl.From, filepath.Dir(file)); err != nil {
		return d, err
	}
	if err = d.compileParams(); err != nil {
		return d, err
	}
	if d.types, err = m.columnTypes(decl.Columns); err != nil {
		return d, err
	}
	if a := decl.Acceleration; a != nil && a.Enabled {
		d.acceleration = a
		if err = m.checkAcceleration(ctx, d); err != nil {
			return d, err
		}
	}
	d.policy, err = m.compilePolicy(ctx, d)
	d.Hash = spicepod.Fingerprint([]any{decl, d.source.dir})
	return d, err
}

// compileParams checks the params as far as the format is known already.
func (d *Dataset) compileParams() error {
	params, own := d.Declared.Params, connectors[d.source.connector]
	if d.source.connector == "duckdb" {
		if unknown := params.Unknown("a dataset from duckdb", spicepod.ParamNames(own)); len(unknown) > 0 {
			return unknown[0]
		}
		return nil
	}
	if params.Has("file_format") {
		name, err := params.String("file_format")
		if err != nil {
			return err
		}
		if d.format, err = formatByName(name); err != nil {
			return err
		}
	} else {
		target := d.source.target
		if d.source.remote() {
			target = urlPath(target)
		}
		d.format = formatOf(target)
	}
	if d.format == nil {
		return nil
	}
	var err error
	d.settings, err = d.format.settings(params, own)
	return err
}

// Query is what the dataset's view selects now: its source, or its copy, with
// its policy.
func (d *Dataset) Query() string { return d.policy.over(d.current.Load()) }

// Base returns the qualified name of the table that writes to the dataset go
// to. It reports false when the dataset may only be read.
func (d *Dataset) Base() (string, bool) {
	v := d.current.Load()
	return v.base, v.base != ""
}

// Written reports whether statements may change what the dataset reads: through
// it or through another dataset of the same file.
func (d *Dataset) Written() bool { return d.current.Load().private }

// ReadsFiles reports whether statements read the files themselves, which may be
// replaced at any time.
func (d *Dataset) ReadsFiles() bool { return d.current.Load().direct }

// DDL returns the statements that make the dataset's view as it is now.
func (d *Dataset) DDL() []string { return d.ddl(d.current.Load()) }

// Script returns the statements that make the dataset in another process, where
// the runtime's data files are attached read-only. What that process cannot
// reach is a view whose reading says so.
func (d *Dataset) Script() []string {
	v := d.current.Load()
	if !v.private {
		return d.ddl(v)
	}
	columns := make([]string, len(v.columns))
	for i, c := range v.columns {
		columns[i] = fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type, engine.Identifier(c.Name))
	}
	why := fmt.Sprintf("dataset %q may be written, and isolated statements do not reach it", d.name)
	stub := *v
	stub.query = fmt.Sprintf("SELECT %s FROM (SELECT error(%s) AS why) WHERE why IS NULL", strings.Join(columns, ", "), literal(why))
	return d.ddl(&stub)
}

// Drop returns the statements that take it away.
func (d *Dataset) Drop() []string { return d.drop() }

// Install makes the view in a transaction. The error is a [*spicepod.Problem]
// at the dataset. After an error of the source's, such as a file
// that vanished, DuckDB has aborted the transaction.
func (d *Dataset) Install(tx *engine.Tx) error {
	for _, sql := range d.DDL() {
		if err := tx.Exec(sql); err != nil {
			f := d.redacted(err)
			return &spicepod.Problem{Position: d.state.place(), Path: d.Path, Component: d.component(), Message: f.message, Hint: f.hint}
		}
	}
	return nil
}

// ddl makes the public view over a version. Comments never hold what a secret
// stands for: they are as declared.
func (c *common) ddl(v *version) []string {
	name := engine.Qualified(c.relation.Schema, c.relation.Name)
	var out []string
	if c.relation.Schema != engine.Public {
		out = append(out, "CREATE SCHEMA IF NOT EXISTS "+engine.CatalogName+"."+engine.Identifier(c.relation.Schema))
	}
	out = append(out, "CREATE OR REPLACE VIEW "+name+" AS "+c.policy.over(v))
	if c.description != "" {
		out = append(out, "COMMENT ON VIEW "+name+" IS "+literal(c.description))
	}
	for _, column := range v.columns {
		if column.Description != "" {
			out = append(out, "COMMENT ON COLUMN "+name+"."+engine.Identifier(column.Name)+" IS "+literal(column.Description))
		}
	}
	return out
}

func (c *common) drop() []string {
	return []string{"DROP VIEW IF EXISTS " + engine.Qualified(c.relation.Schema, c.relation.Name)}
}

// matchColumns gives the columns of a source their declared descriptions; a
// declared column that is not there is a fault.
func matchColumns(have []engine.Column, declared []spicepod.DatasetColumn) ([]Column, error) {
	columns := make([]Column, len(have))
	at := make(map[string]int, len(have))
	for i, h := range have {
		columns[i] = Column{Name: h.Name, Type: h.Type.String()}
		at[sqltree.Fold(h.Name)] = i
	}
	for i, d := range declared {
		j, ok := at[sqltree.Fold(d.Name)]
		if !ok {
			names := make([]string, len(columns))
			for k, c := range columns {
				names[k] = c.Name
			}
			hint := "it has " + truncate.Ellipsis(strings.Join(names, ", "), MaxMessage)
			if near := nearest.Name(d.Name, names); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, newFault(fmt.Sprintf("columns[%d].name", i), hint, "the source has no column %q", d.Name)
		}
		columns[j].Description = d.Description
	}
	return columns, nil
}

// Version names the state of the data that serves: it changes whenever the
// rows may have.
func (c *common) Version() string {
	v := c.current.Load()
	if v == nil {
		return ""
	}
	return strconv.FormatInt(v.stats.Refreshed.UnixNano(), 36)
}
