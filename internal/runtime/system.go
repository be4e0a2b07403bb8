package runtime

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/udf"
)

// generationsKept bounds the rows of spiced.generations.
const generationsKept = 1000

// The runtime's own introspection tables.
const (
	tableLoadErrors  = "load_errors"
	tableGenerations = "generations"
)

// systemRelations are the introspection tables beside those of package udf.
var systemRelations = []engine.Relation{
	{Schema: engine.System, Name: datasets.DatasetsTable},
	{Schema: engine.System, Name: datasets.ColumnsTable},
	{Schema: engine.System, Name: tableLoadErrors},
	{Schema: engine.System, Name: tableGenerations},
	{Schema: engine.System, Name: tableModels},
}

// SystemRelations are the introspection tables.
func SystemRelations() []engine.Relation {
	return slices.Concat(udf.Relations(), registry.Relations(), systemRelations)
}

// setup makes the introspection tables and the prelude, once.
func (d *Runtime) setup(tx *engine.Tx) error {
	tx.Record(func(sql string) { d.setupScript = append(d.setupScript, sql) })
	ddl := append(datasets.Tables(),
		"CREATE TABLE "+engine.Qualified(engine.System, tableLoadErrors)+` (generation BIGINT, component VARCHAR, severity VARCHAR,
			"path" VARCHAR, "file" VARCHAR, line INTEGER, "column" INTEGER, message VARCHAR, hint VARCHAR)`,
		"CREATE TABLE "+engine.Qualified(engine.System, tableGenerations)+` (generation BIGINT, published TIMESTAMP, "trigger" VARCHAR,
			changed VARCHAR[], functions BIGINT, datasets BIGINT, views BIGINT, problems BIGINT)`,
		"CREATE TABLE "+engine.Qualified(engine.System, tableModels)+modelsDDL)
	for _, sql := range ddl {
		if err := tx.Exec(sql); err != nil {
			return err
		}
	}
	if err := udf.Setup(tx, d.db.Builtins()); err != nil {
		return err
	}
	if err := registry.Setup(tx); err != nil || !d.pgcatalog {
		return err
	}
	for _, sql := range pgcatalog.Setup() { // last: it takes note of the tables above
		if err := tx.Exec(sql); err != nil {
			return fmt.Errorf("the catalog of PostgreSQL: %w", err)
		}
	}
	return nil
}

// fillLoadErrors makes spiced.load_errors the problems of one load.
func fillLoadErrors(tx *engine.Tx, report *Report) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.System, tableLoadErrors)); err != nil {
		return err
	}
	rows := make([][]any, 0, len(report.Problems))
	for _, p := range report.Problems {
		rows = append(rows, []any{
			int64(report.Generation), orNull(p.Component), p.Severity.String(), orNull(p.Path),
			p.File, p.Line, p.Column, p.Message, orNull(p.Hint),
		})
	}
	return tx.Insert(engine.System, tableLoadErrors, rows)
}

// fillGeneration adds the generation to spiced.generations.
func fillGeneration(tx *engine.Tx, g *Generation, report *Report) error {
	table := engine.Qualified(engine.System, tableGenerations)
	if g.Number > generationsKept {
		if err := tx.Exec("DELETE FROM " + table + " WHERE generation <= " + strconv.FormatUint(g.Number-generationsKept, 10)); err != nil {
			return err
		}
	}
	return tx.Insert(engine.System, tableGenerations, [][]any{{
		int64(g.Number), g.Published, report.Trigger, report.Changed,
		g.Functions.Len(), len(g.Datasets), len(g.Views), len(report.Problems),
	}})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// publishRefresh publishes what a refresh changes within a generation.
func (d *Runtime) publishRefresh(ctx context.Context, what string, build func(*engine.Tx) error) error {
	err := d.republish(ctx, build)
	if d.opts.Metrics != nil {
		d.countRefresh(what, err)
	}
	return err
}

// countRefresh keeps the metrics of the dataset that was refreshed.
func (d *Runtime) countRefresh(what string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	for _, s := range d.data.Status() {
		if what == "refresh of "+s.Kind+" "+s.Declared {
			d.opts.Metrics.Refreshed(s.Declared, outcome, s.Rows, s.Refreshed)
		}
	}
}

// duckdbType is the DuckDB type of a declared type.
func duckdbType(declared string) (string, error) {
	t, err := functions.ParseType(declared)
	if err != nil {
		return "", err
	}
	return t.SQL(), nil
}
