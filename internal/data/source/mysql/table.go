package mysql

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/tables"
)

// table is a table or view as the server describes it.
type table struct {
	schema, name string
	collation    string // in which texts are compared
	columns      []column
	comments     tables.Comments

	// What a write must know.
	base         bool   // it is not a view
	engine       string // that stores it
	transactions bool   // that engine has them
	mayWrite     bool   // the user may
	keys         []key
	returns      bool // an INSERT can return rows
	packet       int  // bytes of the longest statement
}

// column is a column of a table.
type column struct {
	name      string
	kind      string // such as varchar
	declared  string // such as varchar(20)
	collation string // "" unless it is a text
	precision string
	scale     string

	notNull, generated bool
}

// expression is the value of the column as DuckDB gets it, and the type of MySQL that it
// has then. DuckDB's extension sends conditions, groups and orders as DuckDB means them:
// by the bytes of a text.
func (c column) expression(collation string) (expression, kind, declared string) {
	name := identifier(c.name)
	switch c.kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "decimal", "year", "binary", "varbinary",
		"tinyblob", "blob", "mediumblob", "longblob":
		return name, c.kind, c.declared
	case "date", "datetime", "timestamp": // 2026-00-00 is no date in DuckDB
		return "IF(MONTH(" + name + ") > 0 AND DAY(" + name + ") > 0, " + name + ", NULL)", c.kind, c.declared
	case "bit":
		if c.declared != "bit(1)" {
			return "CAST(" + name + " AS UNSIGNED)", "bigint", "bigint(20) unsigned"
		}
		return name, c.kind, c.declared
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		if strings.EqualFold(c.collation, collation) {
			return name, "longtext", "longtext"
		}
		if strings.HasPrefix(c.collation, "utf8mb4_") {
			return name + " COLLATE " + collation, "longtext", "longtext"
		}
		return "CONVERT(" + name + " USING utf8mb4) COLLATE " + collation, "longtext", "longtext"
	}
	if isGeometry(c.kind) {
		return "CONVERT(ST_AsText(" + name + ") USING utf8mb4) COLLATE " + collation, "longtext", "longtext"
	}
	// time, enum, set, json, uuid, inet6 and what else there will be.
	return "CAST(" + name + " AS CHAR CHARACTER SET utf8mb4) COLLATE " + collation, "longtext", "longtext"
}

func isGeometry(kind string) bool {
	return slices.Contains([]string{
		"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring",
		"multipolygon", "geometrycollection", "geomcollection",
	}, kind)
}

// comparisons are the operators of conditions that the column itself fulfils, too, if its
// expression does. A server finds rows with an index on the column, not on an expression.
func (c column) comparisons(collation string) []string {
	switch expression, _, _ := c.expression(collation); {
	case expression == identifier(c.name):
	case c.kind == "date", c.kind == "datetime", c.kind == "timestamp":
		return []string{"=", "<", ">", "<=", ">=", "IN"}
	case c.collation != "":
		return []string{"=", "IN"}
	}
	return nil
}

// from is what replaces the table's relation in a statement: the table with the columns as
// DuckDB gets them, and, unless raw is "", with those that have comparisons as they are,
// under the name raw and their index.
func (t *table) from(raw string) string {
	var list []string
	for i, c := range t.columns {
		expression, _, _ := c.expression(t.collation)
		list = append(list, expression+" AS "+identifier(c.name))
		if raw != "" && c.comparisons(t.collation) != nil {
			list = append(list, identifier(c.name)+" AS "+identifier(raw+strconv.Itoa(i)))
		}
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + identifier(t.schema) + "." + identifier(t.name) + ") AS t"
}

// catalog is the answer to what the extension asks for the columns: see catalogColumns.
func (t *table) catalog() (rows [][]string) {
	for _, c := range t.columns {
		_, kind, declared := c.expression(t.collation)
		row := []string{t.name, c.name, kind, declared, null, "YES", orNull(c.precision), orNull(c.scale), "", ""}
		rows = append(rows, row)
	}
	return rows
}

func orNull(s string) string {
	if s == "" {
		return null
	}
	return s
}

// rewrite puts the table into a statement in place of its relation.
func (r *relation) rewrite(sql string) (string, error) {
	name := identifier(r.name) + "." + identifier(r.table.name)
	before, after, ok := strings.Cut(sql, name)
	if !ok || strings.Contains(after, r.name) {
		return "", notSupported(fmt.Sprintf("a statement about another table than %s", r.table.name))
	}
	return before + r.table.from(r.name) + r.table.useIndexes(after, r.name), nil
}

// comparison matches a column, an operator and texts, or a text alone.
var comparison = regexp.MustCompile("`([^`]+)` (=|<=|>=|<|>|IN) ('(?:[^']|'')*'|\\((?:(?:, " +
	")?'(?:[^']|'')*')+\\))|'(?:[^']|'')*'")

// useIndexes adds comparisons of the columns themselves to those of a statement.
func (t *table) useIndexes(sql, raw string) string {
	return comparison.ReplaceAllStringFunc(sql, func(found string) string {
		m := comparison.FindStringSubmatch(found)
		i := slices.IndexFunc(t.columns, func(c column) bool {
			return c.name == m[1] && slices.Contains(c.comparisons(t.collation), m[2])
		})
		if i < 0 {
			return found
		}
		return fmt.Sprintf("(%s AND %s %s %s)", found, identifier(raw+strconv.Itoa(i)), m[2], m[3])
	})
}
