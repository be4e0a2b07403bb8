package runtime

import (
	"fmt"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/udf"
)

// tableViewLineage is the introspection table of what views read and call, as spiced.lineage
// is that of functions.
const tableViewLineage = "view_lineage"

// viewLineageTables are the statements that create spiced.view_lineage, which leaves out the
// functions that are hidden from the caller.
func viewLineageTables() []string {
	rows := engine.Qualified(engine.Core, rowsOf(tableViewLineage))
	return []string{
		"CREATE TABLE " + rows + ` ("view" VARCHAR, depends_on_kind VARCHAR, depends_on VARCHAR)`,
		"CREATE VIEW " + engine.Qualified(engine.System, tableViewLineage) + " AS SELECT * FROM " + rows +
			" WHERE depends_on_kind <> 'function' OR " + udf.Shows("depends_on"),
	}
}

// fillViewLineage fills spiced.view_lineage with the views of g.
func fillViewLineage(tx *engine.Tx, g *Generation) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.Core, rowsOf(tableViewLineage))); err != nil {
		return err
	}
	var rows [][]any
	for _, v := range g.Views {
		name := udf.RelationName(v.Relation)
		for _, f := range v.Uses.Functions {
			rows = append(rows, []any{name, "function", f})
		}
		for _, r := range v.Uses.Relations {
			rows = append(rows, []any{name, "dataset", udf.RelationName(r)})
		}
	}
	if err := tx.Insert(engine.Core, rowsOf(tableViewLineage), rows); err != nil {
		return fmt.Errorf("fill spiced.%s: %w", tableViewLineage, err)
	}
	return nil
}
