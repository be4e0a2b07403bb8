package datasets

import (
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// The introspection tables that [Fill] fills, in schema spiced.
const (
	DatasetsTable = "datasets"
	ColumnsTable  = "dataset_columns"
)

// Tables returns the statements that create the introspection tables.
func Tables() []string {
	return []string{
		"CREATE OR REPLACE TABLE " + engine.Qualified(engine.System, DatasetsTable) + ` ("schema" VARCHAR, "name" VARCHAR, ` +
			`kind VARCHAR, "from" VARCHAR, description VARCHAR, file_format VARCHAR, accelerated BOOLEAN, mode VARCHAR, ` +
			`state VARCHAR, "rows" BIGINT, "columns" INTEGER, last_refresh TIMESTAMP, error VARCHAR, "file" VARCHAR, line INTEGER)`,
		"CREATE OR REPLACE TABLE " + engine.Qualified(engine.System, ColumnsTable) + ` ("schema" VARCHAR, dataset VARCHAR, ` +
			`position INTEGER, "name" VARCHAR, type VARCHAR, description VARCHAR)`,
	}
}

// Fill creates and fills the introspection tables, spiced.datasets and
// spiced.dataset_columns, in a transaction.
func Fill(tx *engine.Tx, statuses []Status) error {
	for _, sql := range Tables() {
		if err := tx.Exec(sql); err != nil {
			return err
		}
	}
	var datasets, columns [][]any
	for _, s := range statuses {
		mode := any(nil)
		if s.Acceleration != nil {
			mode = string(s.Acceleration.Mode)
		}
		var refreshed any
		if !s.Refreshed.IsZero() {
			refreshed = s.Refreshed
		}
		datasets = append(datasets, []any{
			s.Schema, s.Name, s.Kind, orNull(s.From), orNull(s.Description), orNull(s.Format),
			s.Acceleration != nil, mode, string(s.State), known(s.Rows), len(s.Columns), refreshed,
			orNull(s.Error), s.Position.File, s.Position.Line,
		})
		for i, c := range s.Columns {
			columns = append(columns, []any{s.Schema, s.Name, i + 1, c.Name, c.Type, orNull(c.Description)})
		}
	}
	if err := tx.Insert(engine.System, DatasetsTable, datasets); err != nil {
		return err
	}
	return tx.Insert(engine.System, ColumnsTable, columns)
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
