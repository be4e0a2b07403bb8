package mysql

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Statements that write. They have quoted names, and values as literals: numbers, which
// are checked, hexadecimal digits, and quoted texts. The server casts them to the types of
// its columns, and reports values that do not fit: see [writeSettings].

// target is a table that is written.
type target struct {
	engine.OutsideTable
	schema, name string
	columns      []targetColumn // those of OutsideTable
	keys         []key
	returns      bool // an INSERT can return rows
	packet       int  // bytes of the longest statement
}

// targetColumn is a column of a target.
type targetColumn struct {
	column
	form     form
	returned string // the expression that returns the column, as package engine takes it
}

// key is a primary key or unique index.
type key struct {
	name    string
	columns []string
}

// form is how the values of a column are written.
type form int

const (
	plain form = iota
	number
	truth
	blob
	geometry
)

// checkWrites returns a fault if the table cannot be written.
func (t *table) checkWrites(s *server) error {
	at := s.config.address()
	switch {
	case !t.base:
		return fault.New("access", "name a table, or set access: read",
			"%q is no table of the MySQL server %s, but a view, which cannot be written", t.name, at)
	case !t.transactions:
		return fault.New("access", "change it: ALTER TABLE "+t.name+" ENGINE=InnoDB, or set access: read",
			"the table %q of the MySQL server %s is of the engine %s, which has no transactions", t.name, at, t.engine)
	case !t.mayWrite:
		return fault.New("access", "grant it: GRANT INSERT, UPDATE, DELETE ON "+t.schema+"."+t.name+" TO "+s.config.user+
			", or set access: read",
			"the user %q may not write to the table %q of the MySQL server %s", s.config.user, t.name, at).Retryable()
	}
	return nil
}

// target returns what writes must know of the table, whose columns DuckDB reads as these.
func (t *table) target(columns []engine.Column) target {
	out := target{schema: t.schema, name: t.name, keys: t.keys, returns: t.returns, packet: t.packet}
	for i, c := range columns {
		own := t.columns[i]
		target := targetColumn{column: own, form: formOf(own, c.Type)}
		target.returned, _, _ = own.expression(t.collation)
		switch name := identifier(own.name); {
		case target.form == blob:
			target.returned = "HEX(" + name + ")"
		case target.form == truth:
			target.returned = name + " + 0"
		case own.kind == "float": // it is written with six digits only
			target.returned = name + " + 0e0"
		}
		out.columns = append(out.columns, target)
		out.Columns = append(out.Columns, engine.OutsideColumn{
			Column: c, NotNull: own.notNull, Generated: own.generated,
			Exact:   own.kind == "decimal" && c.Type.ID == engine.Double,
			Inexact: own.kind == "float" || target.form == geometry,
		})
	}
	for _, k := range t.keys {
		if k.name == primary {
			out.Primary = k.columns
		} else {
			out.Unique = append(out.Unique, k.columns)
		}
	}
	return out
}

// primary is the name of the primary key.
const primary = "PRIMARY"

func formOf(c column, t *engine.Type) form {
	switch {
	case t.ID == engine.Blob:
		return blob
	case t.ID == engine.Boolean:
		return truth
	case isGeometry(c.kind):
		return geometry
	case slices.Contains(numbers, t.ID):
		return number
	}
	return plain
}

var numbers = []engine.TypeID{
	engine.TinyInt, engine.SmallInt, engine.Integer, engine.BigInt, engine.UTinyInt, engine.USmallInt, engine.UInteger,
	engine.UBigInt,
	engine.Decimal, engine.Float, engine.Double,
}

// numeral matches a number as DuckDB writes it.
var numeral = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?$`)

func (c *targetColumn) literal(value *string) string {
	switch {
	case value == nil:
		return "NULL"
	case c.form == blob:
		return "x" + text(*value)
	case c.form == number && numeral.MatchString(*value), c.form == truth && (*value == "true" || *value == "false"):
		return *value
	case c.form == geometry:
		return "ST_GeomFromText(" + text(*value) + ")"
	}
	return text(*value)
}

// compared writes a value of a key, with the type of the column: a number that is compared
// with a text would be compared as DOUBLE.
func (c *targetColumn) compared(value string) string {
	literal := c.literal(&value)
	switch c.kind {
	case "decimal":
		return "CAST(" + literal + " AS DECIMAL(65,30))"
	case "double":
		return "CAST(" + literal + " AS DOUBLE)"
	case "date":
		return "CAST(" + literal + " AS DATE)"
	case "datetime", "timestamp":
		return "CAST(" + literal + " AS DATETIME(6))"
	case "time":
		return "CAST(" + literal + " AS TIME(6))"
	}
	return literal
}

func (t *target) table() string { return identifier(t.schema) + "." + identifier(t.name) }

func (t *target) column(name string) *targetColumn {
	return &t.columns[slices.IndexFunc(t.columns, func(c targetColumn) bool { return c.name == name })]
}

// values are those of a row, for columns whose values begin at first.
func (t *target) values(columns []string, values [][]*string, first, row int) []string {
	out := make([]string, len(columns))
	for i, name := range columns {
		out[i] = t.column(name).literal(values[first+i][row])
	}
	return out
}

// byKey is the condition that a row has the key of a row of the values, which begin with
// those of the key.
func (t *target) byKey(key []string, values [][]*string, row int) string {
	parts := make([]string, len(key))
	for i, name := range key {
		parts[i] = identifier(name) + " = " + t.column(name).compared(*values[i][row])
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

func names(columns []string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = identifier(c)
	}
	return strings.Join(quoted, ", ")
}

// returning is what returns a row.
func (t *target) returning() string {
	list := make([]string, len(t.columns))
	for i := range t.columns {
		list[i] = t.columns[i].returned
	}
	return strings.Join(list, ", ")
}

// Limits of one of the statements that a change consists of.
const (
	batchRows  = 500
	batchBytes = 1 << 20
)

// batches joins parts, one for each of n rows, to statements of several rows.
func (t *target) batches(n int, before string, part func(row int) string, separator, after string,
	each func(sql string) error,
) error {
	var b strings.Builder
	rows := 0
	flush := func() error {
		if rows == 0 {
			return nil
		}
		sql := before + b.String() + after
		b.Reset()
		rows = 0
		return each(sql)
	}
	for row := range n {
		p := part(row)
		if len(before)+len(p)+len(after) > t.packet {
			return engine.NewError(errcode.Limit, "raise max_allowed_packet of the server",
				"a row takes more than the %d bytes of the server's max_allowed_packet; nothing was written", t.packet)
		}
		if rows == batchRows || rows > 0 && len(before)+b.Len()+len(separator)+len(p)+len(after) > min(batchBytes, t.packet) {
			if err := flush(); err != nil {
				return err
			}
		}
		if rows > 0 {
			b.WriteString(separator)
		}
		b.WriteString(p)
		rows++
	}
	return flush()
}

// insert returns the beginning of an INSERT and, for each row, the rest.
func (t *target) insert(r *engine.RowChange) (before string, row func(int) string) {
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES ", t.table(), names(r.Columns)), func(row int) string {
		return "(" + strings.Join(t.values(r.Columns, r.Values, 0, row), ", ") + ")"
	}
}

// update returns the statement that updates a row.
func (t *target) update(r *engine.RowChange, row int) string {
	var sets []string
	for i, value := range t.values(r.Columns, r.Values, len(r.Key), row) {
		sets = append(sets, identifier(r.Columns[i])+" = "+value)
	}
	for _, name := range r.Default {
		sets = append(sets, identifier(name)+" = DEFAULT")
	}
	return "UPDATE " + t.table() + " SET " + strings.Join(sets, ", ") + " WHERE " + t.byKey(r.Key, r.Values, row)
}
