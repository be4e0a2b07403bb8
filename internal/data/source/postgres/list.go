package postgres

import (
	"context"
	"strconv"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// readable are the tables and views that the user can read, without those of the server.
const readable = `FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
	AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
	AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') `

// listCatalog returns the columns of the tables that a regular expression matches: at most
// $2 tables and $3 columns. A table without columns has one row.
const listCatalog = `SELECT t.nspname, t.relname, coalesce(obj_description(t.oid, 'pg_class'), ''), a.attname, coalesce(col_description(t.oid, a.attnum), ''),
	y.typname, a.atttypmod, a.attndims, e.typname
FROM (SELECT n.nspname, c.relname, c.oid ` +
	readable + `AND ($1 = '' OR n.nspname || '.' || c.relname ~ $1) ORDER BY 1, 2 LIMIT $2::bigint) t
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type e ON e.oid = y.typelem AND y.typcategory = 'A'
ORDER BY t.nspname, t.relname, a.attnum LIMIT $3::bigint`

// listOthers returns some of the tables that a regular expression does not match.
const listOthers = `SELECT n.nspname || '.' || c.relname ` + readable +
	`AND NOT (n.nspname || '.' || c.relname ~ $1) ORDER BY 1 LIMIT 1000`

var _ source.Lister = (*Connector)(nil)

// List returns the tables of a database, which the target names, or the params. Partitions
// are read through their table.
func (c *Connector) List(ctx context.Context, d source.Declaration, o source.ListOptions) (*source.Listing, error) {
	if err := d.Params.CheckKnown("a catalog from postgres", spicepod.ParamNames(knownParams)); err != nil {
		return nil, err
	}
	s := &pgSource{Connector: c}
	if err := s.configure(d, d.From.Target); err != nil {
		return nil, err
	}
	if err := source.NeedsExtension(s.db, extension); err != nil {
		return nil, err
	}
	server, held, err := s.serve()
	if err != nil {
		return nil, err
	}
	defer resource.Release(held)
	r, err := server.AcquireChecked(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack(r)
	rows, err := query(ctx, r.Value(), listCatalog, o.Include.Regexp(), strconv.Itoa(o.Tables+1),
		strconv.Itoa(o.Columns+1))
	switch {
	case err != nil:
		return nil, server.fault(err)
	case len(rows) > o.Columns:
		return nil, fault.New("include", "name fewer tables", "its tables have more than %d columns", o.Columns)
	}
	l := &source.Listing{Tables: listed(rows, d.From.Target)}
	if len(o.Include.Unmatched(l)) > 0 {
		others, err := query(ctx, r.Value(), listOthers, o.Include.Regexp())
		if err != nil {
			return nil, server.fault(err)
		}
		for _, row := range others {
			l.Others = append(l.Others, row[0])
		}
	}
	return l, nil
}

// listed makes tables of the rows of listCatalog.
func listed(rows [][]string, database string) (list []source.ListedTable) {
	for _, row := range rows {
		last := len(list) - 1
		if last < 0 || list[last].Schema != row[0] || list[last].Name != row[1] {
			from := "postgres:" + engine.Identifier(row[0]) + "." + engine.Identifier(row[1])
			if database != "" {
				from = "postgres:" + engine.Identifier(database) + "." + engine.Identifier(row[0]) + "." + engine.Identifier(row[1])
			}
			list = append(list, source.ListedTable{Schema: row[0], Name: row[1], From: from, Comment: row[2]})
			last++
		}
		if row[3] == "" {
			continue // it has no columns
		}
		list[last].Columns = append(list[last].Columns,
			tables.Column{Name: row[3], Type: typeOf(row[5], row[6], row[7], row[8]), Description: row[4]})
	}
	return list
}

// duckTypes are those of DuckDB by those of PostgreSQL, as the extension reads them. All others
// are texts.
var duckTypes = map[string]string{
	"bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "oid": "BIGINT", "float4": "FLOAT",
	"float8": "DOUBLE",
	"date":   "DATE", "time": "TIME", "timetz": "TIME WITH TIME ZONE", "timestamp": "TIMESTAMP",
	"timestamptz": "TIMESTAMP WITH TIME ZONE",
	"interval":    "INTERVAL", "uuid": "UUID", "bytea": "BLOB",
}

// typeOf returns the type of DuckDB for a column of PostgreSQL: element is that of an array.
func typeOf(name, modifier, dimensions, element string) string {
	mod, _ := strconv.Atoi(modifier)
	if element != "" {
		t := typeOf(element, modifier, "", "")
		n, _ := strconv.Atoi(dimensions)
		for range min(max(n, 1), maxDimensions) {
			t += "[]"
		}
		return t
	}
	if name == "numeric" {
		width, scale := (mod-4)>>16, (mod-4)&0x7ff
		if mod < 4 || width > 38 || scale > width {
			return "DOUBLE"
		}
		return "DECIMAL(" + strconv.Itoa(width) + "," + strconv.Itoa(scale) + ")"
	}
	if t := duckTypes[name]; t != "" {
		return t
	}
	return "VARCHAR"
}

// maxDimensions is PostgreSQL's limit of the dimensions of an array.
const maxDimensions = 6
