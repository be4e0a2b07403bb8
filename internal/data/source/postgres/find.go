package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// findTable returns the tables and views of a name, those of the right case first, and
// of a schema, or of the search path in its order.
const findTable = `SELECT n.nspname, c.relname, c.oid, obj_description(c.oid, 'pg_class'), has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND lower(c.relname) = lower($2)
	AND CASE $1 WHEN '' THEN n.nspname = ANY(current_schemas(false)) ELSE lower(n.nspname) = lower($1) END
ORDER BY c.relname = $2 DESC, n.nspname = $1 DESC, array_position(current_schemas(false), n.nspname)
LIMIT 1`

// listTables returns the tables and views that the user can read.
const listTables = `SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%'
	AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1 LIMIT 100`

// listColumns returns the columns of a table, with their comments and their types.
const listColumns = `SELECT a.attname, coalesce(col_description(a.attrelid, a.attnum), ''), t.typname
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped`

// texts are the types whose values PostgreSQL compares as DuckDB compares texts, if it
// is asked for the collation C.
var texts = []string{"text", "varchar", "name"}

// table is a table or view as the server writes it.
type table struct {
	schema, name string
	comments     tables.Comments
	types        map[string]string // of columns, by name
}

// find looks a table up.
func (s *server) find(ctx context.Context, schema, name string) (*table, error) {
	r, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r.Value().IsClosed() {
			r.Destroy()
		} else {
			r.Release()
		}
	}()
	rows, err := query(ctx, r.Value(), findTable, schema, name)
	switch {
	case err != nil:
		return nil, s.fault(err)
	case len(rows) == 0:
		names, _ := query(ctx, r.Value(), listTables)
		return nil, s.missing(schema, name, slices.Concat(names...))
	case rows[0][4] != "t":
		return nil, fault.New("from", "grant it: GRANT SELECT ON "+rows[0][0]+"."+rows[0][1]+" TO "+s.config.User,
			"the user %q may not read the table %q of the PostgreSQL server %s", s.config.User, rows[0][1], s.address()).Retryable()
	}
	t := &table{schema: rows[0][0], name: rows[0][1], comments: tables.Comments{Table: rows[0][3], Columns: map[string]string{}}, types: map[string]string{}}
	columns, err := query(ctx, r.Value(), listColumns, rows[0][2])
	if err != nil {
		return nil, s.fault(err)
	}
	for _, c := range columns {
		t.comments.Columns[c[0]], t.types[c[0]] = c[1], c[2]
	}
	return t, nil
}

// missing reports a missing table, with those that there are.
func (s *server) missing(schema, name string, names []string) *fault.Fault {
	want, near := name, []string{}
	if schema != "" {
		want = schema + "." + name
	}
	for _, n := range names {
		near = append(near, n, n[strings.IndexByte(n, '.')+1:])
	}
	hint := "the user " + s.config.User + " can read no table there"
	if len(names) > 0 {
		hint = "it has " + truncate.Ellipsis(strings.Join(names, ", "), fault.MaxMessage)
	}
	return fault.New("from", nearest.Hint(want, near, hint), "the database %q of the PostgreSQL server %s has no table %q", s.config.Database, s.address(), want).Retryable()
}

// query returns the rows of a statement.
func query(ctx context.Context, c *connection, sql string, args ...string) (rows [][]string, err error) {
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	r := c.ExecParams(ctx, sql, params, nil, nil, nil).Read()
	for _, values := range r.Rows {
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = string(v)
		}
		rows = append(rows, row)
	}
	return rows, r.Err
}
