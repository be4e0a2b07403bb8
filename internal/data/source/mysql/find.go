package mysql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// findTable returns the tables and views of a name, those of the right case first. A
// server may list only those that the user can read something of.
const findTable = `SELECT TABLE_SCHEMA, TABLE_NAME, IF(TABLE_TYPE = 'VIEW', '', TABLE_COMMENT), TABLE_TYPE, ENGINE FROM information_schema.TABLES
WHERE TABLE_SCHEMA = %s AND LOWER(TABLE_NAME) = LOWER(%s) ORDER BY BINARY TABLE_NAME = %[2]s DESC LIMIT 1`

// listTables returns the tables and views of a database that the user can read.
const listTables = `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s ORDER BY 1 LIMIT 100`

// listColumns returns the columns of a table.
const listColumns = `SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COLLATION_NAME, NUMERIC_PRECISION, NUMERIC_SCALE, COLUMN_COMMENT, IS_NULLABLE, EXTRA FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION`

// generated matches what the server says of a column that it computes.
var generated = regexp.MustCompile(`(?i)\b(?:VIRTUAL|STORED|PERSISTENT)\b`)

// exactCollations returns the collations that compare texts by their bytes, as DuckDB
// does, and do not ignore spaces at the end, if the server has one: MySQL 8 and MariaDB.
const exactCollations = `SELECT COLLATION_NAME FROM information_schema.COLLATIONS WHERE COLLATION_NAME IN ('utf8mb4_0900_bin', 'utf8mb4_nopad_bin')`

// bytewise is the collation of other servers. It ignores spaces at the end.
const bytewise = "utf8mb4_bin"

// find looks a table up, and also what a write must know of it.
func (s *server) find(ctx context.Context, schema, name string, write bool) (*table, error) {
	r, err := s.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	c := r.Value()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(past) })
	t, err := c.find(schema, name, s)
	if err == nil && write && t.base {
		err = c.findKeys(t)
	}
	if !stop() {
		r.Destroy()
		return nil, ctx.Err()
	}
	if err == nil {
		r.Release()
		return t, nil
	}
	r.Destroy() // it may be broken
	return nil, s.fault(err)
}

func (c *connection) find(schema, name string, s *server) (*table, error) {
	found, err := c.query(fmt.Sprintf(findTable, text(schema), text(name)), 5)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		names, _ := c.query(fmt.Sprintf(listTables, text(schema)), 1)
		return nil, s.missing(schema, name, slices.Concat(names...))
	}
	t := &table{
		schema: found[0][0], name: found[0][1],
		comments: tables.Comments{Table: found[0][2], Columns: map[string]string{}}, collation: bytewise,
		base:   strings.HasPrefix(found[0][3], "BASE") || strings.HasPrefix(found[0][3], "SYSTEM VERSIONED"),
		engine: found[0][4],
	}
	exact, err := c.query(exactCollations, 1)
	if err != nil {
		return nil, err
	}
	if len(exact) > 0 {
		t.collation = exact[0][0]
	}
	rows, err := c.query(fmt.Sprintf(listColumns, text(t.schema), text(t.name)), 9)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if strings.ContainsAny(r[0], "`\x00") {
			return nil, fault.New("from", "read a view without it",
				"the name of the column %q has a character that DuckDB's extension cannot write", r[0])
		}
		t.columns = append(t.columns, column{
			name: r[0], kind: strings.ToLower(r[1]), declared: strings.ToLower(r[2]),
			collation: r[3], precision: r[4], scale: r[5], notNull: r[7] == "NO", generated: generated.MatchString(r[8]),
		})
		t.comments.Columns[r[0]] = r[6]
	}
	// What the user may not read has its error here, and so has a view that is broken,
	// which has no columns.
	from := t.from("")
	if len(t.columns) == 0 {
		from = identifier(t.schema) + "." + identifier(t.name)
	}
	_, err = c.query("SELECT * FROM "+from+" LIMIT 0", max(len(t.columns), 1))
	return t, err
}

// listKeys returns the columns of the keys of a table; NULL for a
// prefix of a column and for an expression.
const listKeys = `SELECT INDEX_NAME, IF(SUB_PART IS NULL, COLUMN_NAME, NULL) FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND NON_UNIQUE = 0 ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`

// serverTraits returns the version of the server, its longest statement, and whether an
// engine has transactions.
const serverTraits = `SELECT VERSION(), @@max_allowed_packet, (SELECT TRANSACTIONS FROM information_schema.ENGINES WHERE ENGINE = %s)`

// findKeys looks up what a write must know of a table.
func (c *connection) findKeys(t *table) error {
	traits, err := c.query(fmt.Sprintf(serverTraits, text(t.engine)), 3)
	if err != nil {
		return err
	}
	t.returns, t.transactions = returnsRows(traits[0][0]), traits[0][2] == "YES"
	packet, err := strconv.Atoi(traits[0][1])
	if err != nil {
		return errPacket
	}
	t.packet = min(packet, maxPayload) - 1024 // for the rest of the packet
	rows, err := c.query(fmt.Sprintf(listKeys, text(t.schema), text(t.name)), 2)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if len(t.keys) == 0 || t.keys[len(t.keys)-1].name != r[0] {
			t.keys = append(t.keys, key{name: r[0]})
		}
		own := &t.keys[len(t.keys)-1]
		own.columns = append(own.columns, r[1])
	}
	t.keys = slices.DeleteFunc(t.keys, func(k key) bool { return slices.Contains(k.columns, "") })
	return c.findPrivileges(t)
}

// returnsRows reports whether an INSERT of a server of a version can return rows: MariaDB
// since 10.5.
func returnsRows(version string) bool {
	var major, minor int
	version, isMariaDB := strings.TrimPrefix(version, "5.5.5-"), strings.Contains(version, "MariaDB")
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return isMariaDB && n == 2 && (major > 10 || major == 10 && minor >= 5)
}

// findPrivileges finds whether the user may write the table: a server prepares only what
// may be run.
func (c *connection) findPrivileges(t *table) error {
	name, column := identifier(t.schema)+"."+identifier(t.name), identifier(t.columns[0].name)
	for _, sql := range []string{
		"INSERT INTO " + name + " () VALUES ()", "UPDATE " + name + " SET " + column + " = DEFAULT LIMIT 0",
		"DELETE FROM " + name + " LIMIT 0",
	} {
		err := c.do(commandQuery, "PREPARE spiced FROM "+text(sql))
		var refusal *serverError
		if err != nil && !errors.As(err, &refusal) {
			return err
		}
		t.mayWrite = t.mayWrite || err == nil
	}
	return nil
}

// missing reports a missing table, with those that there are.
func (s *server) missing(schema, name string, names []string) *fault.Fault {
	hint := "the user " + s.config.user + " can read no table there"
	if len(names) > 0 {
		hint = "it has " + truncate.Ellipsis(strings.Join(names, ", "), fault.MaxMessage)
	}
	return fault.New("from", nearest.Hint(name, names, hint),
		"the database %q of the MySQL server %s has no table %q that the user %q may read", schema, s.config.address(),
		name, s.config.user).Retryable()
}

// text writes a text for a connection with [settings].
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// identifier writes a name.
func identifier(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
