package duckdb

import (
	"context"
	"maps"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// LakeConnector reads tables of DuckLake, and lists them.
type LakeConnector struct{ *Connector }

var _ source.Lister = LakeConnector{}

// listLake returns the columns of the tables and views of an attached catalog.
const listLake = `SELECT c.schema_name, c.table_name, t.comment, c.column_name, c.data_type, c.comment
FROM duckdb_columns() c JOIN (SELECT database_name, schema_name, table_name, comment FROM duckdb_tables()
	UNION ALL SELECT database_name, schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal) t USING (database_name, schema_name, table_name)
WHERE c.database_name = `

// maxOthers is the most names of tables that no pattern matches.
const maxOthers = 1000

// List returns the tables of a catalog, which the target names, or the params.
func (c LakeConnector) List(ctx context.Context, d source.Declaration, o source.ListOptions) (*source.Listing, error) {
	if err := d.Params.CheckKnown("a catalog from ducklake", spicepod.ParamNames(c.params)); err != nil {
		return nil, err
	}
	if err := source.NeedsExtension(c.db, c.extension); err != nil {
		return nil, err
	}
	var more spicepod.Params // of each table
	if d.From.Target != "" {
		if d.Params.Has(lakeConnection) {
			return nil, fault.OfKey("params."+lakeConnection, "leave it out", "from names the catalog already")
		}
		more = spicepod.Params{lakeConnection: spicepod.Text{Raw: d.From.Target}}
		d.Params = maps.Clone(d.Params)
		if d.Params == nil {
			d.Params = spicepod.Params{}
		}
		d.Params[lakeConnection] = more[lakeConnection]
	}
	s := &duckSource{c.Connector, d}
	t, err := s.findLake()
	if err != nil {
		if f := fault.Of(err); more != nil && f.Path == "params."+lakeConnection {
			moved := *f
			moved.Path = "from"
			return nil, &moved
		}
		return nil, err
	}
	db, err := s.files.attach(ctx, t, false)
	if err != nil {
		return nil, err
	}
	defer resource.Release(db.Resource)
	return s.list(ctx, db, more, o)
}

func (s *duckSource) list(ctx context.Context, db *resource.Database, params spicepod.Params,
	o source.ListOptions,
) (*source.Listing, error) {
	l, columns := &source.Listing{}, 0
	others := map[string]bool{}
	err := tables.Query(ctx, s.db, listLake+engine.Literal(db.Alias)+
		" ORDER BY 1, 2, c.column_index", func(chunk *engine.Chunk) {
		text := func(column, row int) string {
			if v := chunk.Column(column); v.Valid(row) {
				return string(v.Bytes(row))
			}
			return ""
		}
		for i := range chunk.Len() {
			schema, name := text(0, i), text(1, i)
			if !o.Include.Match(schema, name) {
				if full := schema + "." + name; !others[full] && len(l.Others) < maxOthers {
					others[full] = true
					l.Others = append(l.Others, full)
				}
				continue
			}
			last := len(l.Tables) - 1
			if last < 0 || l.Tables[last].Schema != schema || l.Tables[last].Name != name {
				if len(l.Tables) > o.Tables {
					continue
				}
				l.Tables = append(l.Tables, source.ListedTable{
					Schema: schema, Name: name, From: s.name + ":" + schema + "." + name,
					Params: params, Comment: text(2, i),
				})
				last++
			}
			if columns++; columns <= o.Columns {
				l.Tables[last].Columns = append(l.Tables[last].Columns,
					tables.Column{Name: text(3, i), Type: text(4, i), Description: text(5, i)})
			}
		}
	})
	switch {
	case err != nil:
		return nil, fault.FromDuckDB(err)
	case columns > o.Columns:
		return nil, fault.New("include", "name fewer tables", "its tables have more than %d columns", o.Columns)
	}
	return l, nil
}
