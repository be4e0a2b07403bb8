package runtime

import (
	"context"
	"slices"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// script makes, in another process, what g's statements reach: the runtime's
// own objects, the data files of this moment attached read-only, and every
// dataset, function and view. Tables of the runtime are copied.
func (d *Runtime) script(g *Generation) []string {
	ctx := context.Background()
	list := slices.Clone(d.setupScript)
	attached, err := d.db.Attached(ctx, engine.Hidden+"data_", engine.Hidden+"source_")
	if err != nil {
		d.log.Error("workers lack the data", "error", err)
	}
	list = append(list, attached...)
	for _, s := range g.Datasets {
		list = append(list, s.Script()...)
	}
	for _, c := range g.order {
		if c.view != nil {
			list = append(list, c.view.DDL()...)
			continue
		}
		list = append(list, c.function.DDL(functions.Published())...)
	}
	for _, f := range g.toolFunctions {
		list = append(list, f.DDL())
	}
	for _, table := range d.tables {
		rows, err := d.db.Dump(ctx, engine.System, table)
		if err != nil {
			d.log.Error("workers lack a table", "table", table, "error", err)
			continue
		}
		list = append(list, rows...)
	}
	return list
}

// findTables lists the runtime's own tables, once they are made.
func (d *Runtime) findTables(ctx context.Context) error {
	s, err := d.db.Stage(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx, func() error {
		return s.Query("SELECT table_name FROM duckdb_tables() WHERE database_name = "+engine.Literal(engine.CatalogName)+
			" AND schema_name = "+engine.Literal(engine.System)+" ORDER BY 1", func(c *engine.Chunk) error {
			for i := range c.Len() {
				d.tables = append(d.tables, string(c.Column(0).Bytes(i)))
			}
			return nil
		})
	})
}
