package postgres

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// findTable returns the tables and views of a name, those of the right case first, and
// of a schema, or of the search path in its order.
const findTable = `SELECT n.nspname, c.relname, c.oid, obj_description(c.oid, 'pg_class'), has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'), c.relkind,
	has_table_privilege(c.oid, 'UPDATE, DELETE') OR has_any_column_privilege(c.oid, 'INSERT, UPDATE')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND lower(c.relname) = lower($2)
	AND CASE $1 WHEN '' THEN n.nspname = ANY(current_schemas(false)) ELSE lower(n.nspname) = lower($1) END
ORDER BY c.relname = $2 DESC, n.nspname = $1 DESC, array_position(current_schemas(false), n.nspname)
LIMIT 1`

// listTables returns the tables and views that the user can read.
const listTables = `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%'
	AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2 LIMIT 100`

// listColumns returns the columns of a table, with their comments, the names of their
// types, those without and with modifiers, and whether each is NOT NULL and computed. The
// type of a domain is the one below it.
const listColumns = `SELECT a.attname, coalesce(col_description(a.attrelid, a.attnum), ''), t.typname,
	pg_catalog.format_type(coalesce(nullif(t.typbasetype, 0), t.oid), -1), a.attnotnull, a.attgenerated <> '',
	pg_catalog.format_type(coalesce(nullif(t.typbasetype, 0), t.oid), CASE t.typbasetype WHEN 0 THEN a.atttypmod ELSE t.typtypmod END)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped`

// listKeys returns a row for each column of the unique constraints and indexes that hold
// for all rows at any time: the index, whether it is of the primary key, and the column.
const listKeys = `SELECT i.indexrelid, i.indisprimary, a.attname
FROM pg_catalog.pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, at)
	JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND k.at <= i.indnkeyatts
ORDER BY i.indisprimary DESC, i.indexrelid, k.at`

// texts are the types whose values PostgreSQL compares as DuckDB compares texts, if it
// is asked for the collation C.
var texts = []string{"text", "varchar", "name"}

// table is a table or view as the server writes it.
type table struct {
	schema, name string
	comments     tables.Comments
	types        map[string]string // of columns, by name
	kind         string            // relkind: r, p, v, …
	mayWrite     bool
	columns      map[string]serverColumn
	keys         []key
}

// serverColumn is what a write must know about a column.
type serverColumn struct {
	typ                string // without modifiers
	notNull, generated bool
}

// key is a primary key or unique constraint.
type key struct {
	primary bool
	columns []string
}

// find looks a table up, and also its keys for writes.
func (s *server) find(ctx context.Context, schema, name string, write bool) (*table, error) {
	r, err := s.AcquireChecked(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack(r)
	rows, err := query(ctx, r.Value(), findTable, schema, name)
	switch {
	case err != nil:
		return nil, s.fault(err)
	case len(rows) == 0:
		names, _ := query(ctx, r.Value(), listTables)
		return nil, s.missing(schema, name, names)
	case rows[0][4] != "t":
		return nil, fault.New("from", "grant it: GRANT SELECT ON "+rows[0][0]+"."+rows[0][1]+" TO "+s.config.User,
			"the user %q may not read the table %q of the PostgreSQL server %s", s.config.User, rows[0][1],
			s.address()).Retryable()
	}
	t := &table{
		schema: rows[0][0], name: rows[0][1], comments: tables.Comments{Table: rows[0][3], Columns: map[string]string{}},
		types: map[string]string{}, kind: rows[0][5], mayWrite: rows[0][6] == "t", columns: map[string]serverColumn{},
	}
	columns, err := query(ctx, r.Value(), listColumns, rows[0][2])
	if err != nil {
		return nil, s.fault(err)
	}
	for _, c := range columns {
		t.comments.Columns[c[0]], t.types[c[0]] = c[1], c[2]
		t.columns[c[0]] = serverColumn{c[3], c[4] == "t", c[5] == "t"}
		if misread(c[6]) {
			return nil, fault.New("from", "read a view of the server that casts it, for example to numeric(38,10)",
				"column %q of the table %q has the type %s, whose values DuckDB's extension misreads", c[0], t.name, c[6])
		}
	}
	if !write {
		return t, nil
	}
	if rows, err = query(ctx, r.Value(), listKeys, rows[0][2]); err != nil {
		return nil, s.fault(err)
	}
	last := ""
	for _, k := range rows {
		if k[0] != last {
			t.keys = append(t.keys, key{primary: k[1] == "t"})
			last = k[0]
		}
		own := &t.keys[len(t.keys)-1]
		own.columns = append(own.columns, k[2])
	}
	return t, nil
}

// scaled matches a numeric with modifiers, or an array of it.
var scaled = regexp.MustCompile(`^numeric\(([0-9]+),(-?[0-9]+)\)`)

// misread reports whether a type is a numeric with a scale that DECIMAL does not have: less
// than 0, or more than the digits (PostgreSQL 15).
func misread(typ string) bool {
	m := scaled.FindStringSubmatch(typ)
	if m == nil {
		return false
	}
	digits, _ := strconv.Atoi(m[1])
	scale, _ := strconv.Atoi(m[2])
	return scale < 0 || scale > digits
}

// giveBack ends the use of a connection for the connector's own statements.
func giveBack(r *puddle.Resource[*connection]) {
	if r.Value().IsClosed() {
		r.Destroy()
	} else {
		r.Release()
	}
}

// missing reports a missing table, with those that there are: a schema and a name each.
func (s *server) missing(schema, name string, names [][]string) *fault.Fault {
	want := name
	if schema != "" {
		want = schema + "." + name
	}
	hint := "the user " + s.config.User + " can read no table there"
	var all, near []string
	written := map[string]string{} // by name
	for _, parts := range names {
		all = append(all, source.QuoteName(parts...))
		for _, n := range [][]string{parts, parts[1:]} {
			text := strings.Join(n, ".")
			near, written[text] = append(near, text), source.QuoteName(n...)
		}
	}
	if len(names) > 0 {
		hint = "it has " + truncate.Ellipsis(strings.Join(all, ", "), fault.MaxMessage)
	}
	hint = nearest.Hint(want, near, hint)
	if found := nearest.Name(want, near); written[found] != found {
		hint = "write postgres:" + written[found] + ": a name with a dot must be quoted"
	}
	return fault.New("from", hint, "the database %q of the PostgreSQL server %s has no table %q", s.config.Database,
		s.address(), want).Retryable()
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
