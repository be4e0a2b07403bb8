package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Statements that write. They have quoted names, types as the server names them, and
// parameters: the values of each column are one array of texts, so that any number of
// rows is one statement.

// target is a table that is written.
type target struct {
	engine.OutsideTable
	schema, name string
	columns      []targetColumn // those of OutsideTable
}

// targetColumn is a column as the server describes it.
type targetColumn struct {
	name  string
	typ   string // without modifiers, quoted where needed; of a domain, the type below it
	form  form
	bytes bool // a bytea, or an array of it
}

// checkWrites returns a fault if the table cannot be written.
func (t *table) checkWrites(s *server) error {
	switch {
	case t.kind != "r" && t.kind != "p":
		return fault.New("access", "name a table, or set access: read",
			"%q is no table of the PostgreSQL server %s, but a view or a foreign table, which cannot be written", t.name,
			s.address())
	case !t.mayWrite:
		return fault.New("access", "grant it: GRANT INSERT, UPDATE, DELETE ON "+t.schema+"."+t.name+" TO "+s.config.User+
			", or set access: read",
			"the user %q may not write to the table %q of the PostgreSQL server %s", s.config.User, t.name,
			s.address()).Retryable()
	}
	return nil
}

// target returns what writes must know of the table, whose columns DuckDB reads as these.
func (t *table) target(columns []engine.Column) target {
	out := target{schema: t.schema, name: t.name}
	for _, c := range columns {
		own := t.columns[c.Name]
		out.columns = append(out.columns, targetColumn{c.Name, own.typ, formOf(c.Type), strings.HasPrefix(own.typ, "bytea")})
		out.Columns = append(out.Columns, engine.OutsideColumn{
			Column: c, NotNull: own.notNull, Generated: own.generated,
			Exact: strings.HasPrefix(own.typ, "numeric") && isDouble(c.Type),
		})
	}
	for _, k := range t.keys {
		if k.primary {
			out.Primary = k.columns
		} else {
			out.Unique = append(out.Unique, k.columns)
		}
	}
	return out
}

// isDouble reports whether DuckDB has the numbers of a numeric, or of an array of it,
// as DOUBLE: those without a precision, and those with more than 38 digits.
func isDouble(t *engine.Type) bool {
	for t.ID == engine.List {
		t = t.Elem
	}
	return t.ID == engine.Double
}

// form is how the values of a column are sent and received.
type form int

const (
	plain form = iota
	date       // may be BC, which DuckDB and PostgreSQL write in different ways
	blob
	list
	composite
)

// formOf returns the form of values that DuckDB has as t.
func formOf(t *engine.Type) form {
	switch t.ID {
	case engine.Blob:
		return blob
	case engine.List:
		return list
	case engine.Struct, engine.Map, engine.Union:
		return composite
	case engine.Date, engine.Timestamp, engine.TimestampTZ:
		return date
	}
	return plain
}

// sent returns the text of a value as the server takes it.
func (c *targetColumn) sent(text string) string {
	switch c.form {
	case blob:
		return `\x` + text
	case date:
		return strings.Replace(text, " (BC)", "", 1) + map[bool]string{true: " BC"}[strings.Contains(text, " (BC)")]
	case list:
		var elements []any
		if json.Unmarshal([]byte(text), &elements) == nil {
			var b strings.Builder
			c.appendList(&b, elements)
			return b.String()
		}
	}
	return text
}

// appendList appends an array as the server writes it.
func (c *targetColumn) appendList(b *strings.Builder, elements []any) {
	b.WriteByte('{')
	for i, e := range elements {
		if i > 0 {
			b.WriteByte(',')
		}
		switch e := e.(type) {
		case nil:
			b.WriteString("NULL")
		case []any:
			c.appendList(b, e)
		case string:
			if c.bytes {
				e = `\x` + e
			}
			appendElement(b, e)
		}
	}
	b.WriteByte('}')
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// appendElement appends an element of an array, quoted.
func appendElement(b *strings.Builder, text string) {
	b.WriteByte('"')
	escapes.WriteString(b, text) //nolint:errcheck // a Builder has no errors
	b.WriteByte('"')
}

// returned is the expression that returns the column, in a form that received reads.
func (c *targetColumn) returned() string {
	name := "t." + engine.Identifier(c.name)
	switch c.form {
	case blob:
		return "encode(" + name + ", 'hex')"
	case list:
		return "array_to_json(CAST(" + name + " AS text[]))"
	case composite:
		return "to_json(" + name + ")"
	}
	if c.typ == "bpchar" { // DuckDB's extension reads it without the blanks at the end
		return "CAST(" + name + " AS text)"
	}
	return name
}

// received returns a value of the server as package engine takes it.
func (c *targetColumn) received(text string) string {
	switch {
	case c.form == date && strings.HasSuffix(text, " BC"):
		day, clock, _ := strings.Cut(strings.TrimSuffix(text, " BC"), " ")
		if clock != "" {
			clock = " " + clock
		}
		return day + " (BC)" + clock
	case c.form == list && c.bytes:
		return strings.ReplaceAll(text, `"\\x`, `"`)
	}
	return text
}

// statement is a statement of a write.
type statement struct {
	sql    strings.Builder
	params [][]byte
	size   int
}

// param adds a parameter and returns how the statement names it.
func (s *statement) param(text string) string {
	s.params = append(s.params, []byte(text))
	s.size += len(text)
	return fmt.Sprintf("$%d", len(s.params))
}

func (s *statement) printf(format string, args ...any) { fmt.Fprintf(&s.sql, format, args...) }

func (t *target) column(name string) *targetColumn {
	return &t.columns[slices.IndexFunc(t.columns, func(c targetColumn) bool { return c.name == name })]
}

func (t *target) table() string {
	return engine.Identifier(t.schema) + "." + engine.Identifier(t.name)
}

// rows adds the values of columns as a table r with the columns c0, c1 and so on.
func (t *target) rows(s *statement, columns []string, values [][]*string) {
	s.printf("unnest(")
	for i, name := range columns {
		c := t.column(name)
		var b strings.Builder
		b.WriteByte('{')
		for row, v := range values[i] {
			if row > 0 {
				b.WriteByte(',')
			}
			if v == nil {
				b.WriteString("NULL")
			} else {
				appendElement(&b, c.sent(*v))
			}
		}
		b.WriteByte('}')
		s.printf("%sCAST(%s AS text[])", comma(i), s.param(b.String()))
	}
	s.printf(") AS r(")
	for i := range columns {
		s.printf("%sc%d", comma(i), i)
	}
	s.printf(")")
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// value is the i-th column of rows, as a value of the column of a name.
func (t *target) value(name string, i int) string {
	return fmt.Sprintf("CAST(r.c%d AS %s)", i, t.column(name).typ)
}

// byKey adds the condition that rows have the keys.
func (t *target) byKey(s *statement, key []string) {
	for i, name := range key {
		s.printf("%st.%s = %s", []string{" WHERE ", " AND "}[min(i, 1)], engine.Identifier(name), t.value(name, i))
	}
}

// lock returns the statement that locks the rows of an UPDATE or DELETE, in the order of
// their keys, so that two of them do not wait for each other.
func (t *target) lock(r *engine.RowChange) *statement {
	s := &statement{}
	s.printf("SELECT 1 FROM %s AS t, ", t.table())
	t.rows(s, r.Key, r.Values[:len(r.Key)])
	t.byKey(s, r.Key)
	for i, name := range r.Key {
		s.printf("%st.%s", []string{" ORDER BY ", ", "}[min(i, 1)], engine.Identifier(name))
	}
	strength := "NO KEY UPDATE"
	if r.Verb == dml.VerbDelete || slices.ContainsFunc(r.Columns, t.isKey) || slices.ContainsFunc(r.Default, t.isKey) {
		strength = "UPDATE"
	}
	s.printf(" FOR %s OF t", strength)
	return s
}

func (t *target) isKey(column string) bool {
	return slices.Contains(t.Primary, column) ||
		slices.ContainsFunc(t.Unique, func(u []string) bool { return slices.Contains(u, column) })
}

func (t *target) statement(r *engine.RowChange) *statement {
	s := &statement{}
	switch r.Verb {
	case dml.VerbInsert:
		t.insert(s, r)
	case dml.VerbUpdate:
		t.update(s, r)
	case dml.VerbDelete:
		s.printf("DELETE FROM %s AS t USING ", t.table())
		t.rows(s, r.Key, r.Values)
		t.byKey(s, r.Key)
	}
	if r.Returning {
		s.printf(" RETURNING ")
		for i := range t.columns {
			s.printf("%s%s", comma(i), t.columns[i].returned())
		}
	}
	return s
}

func (t *target) insert(s *statement, r *engine.RowChange) {
	s.printf("INSERT INTO %s AS t", t.table())
	if len(r.Values) == 0 {
		s.printf(" DEFAULT VALUES")
	} else {
		s.printf(" %s SELECT ", names(r.Columns))
		for i, name := range r.Columns {
			s.printf("%s%s", comma(i), t.value(name, i))
		}
		s.printf(" FROM ")
		t.rows(s, r.Columns, r.Values)
	}
	if r.Conflict == dml.ConflictFails {
		return
	}
	s.printf(" ON CONFLICT")
	if len(r.Target) > 0 {
		s.printf(" %s", names(r.Target))
	}
	s.printf(" %s", r.Conflict)
	for i, a := range r.Set {
		value := "DEFAULT"
		if a.Value != nil {
			value = t.expression(s, a.Value)
		}
		s.printf("%s%s = %s", []string{" SET ", ", "}[min(i, 1)], engine.Identifier(a.Column), value)
	}
	if r.Where != nil {
		s.printf(" WHERE %s", t.expression(s, r.Where))
	}
}

// names returns a list of columns.
func names(columns []string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = engine.Identifier(c)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

func (t *target) update(s *statement, r *engine.RowChange) {
	s.printf("UPDATE %s AS t SET ", t.table())
	for i, name := range r.Columns {
		s.printf("%s%s = %s", comma(i), engine.Identifier(name), t.value(name, len(r.Key)+i))
	}
	for i, name := range r.Default {
		s.printf("%s%s = DEFAULT", comma(i+len(r.Columns)), engine.Identifier(name))
	}
	s.printf(" FROM ")
	t.rows(s, slices.Concat(r.Key, r.Columns), r.Values)
	t.byKey(s, r.Key)
}

// expression returns an expression of DO UPDATE.
func (t *target) expression(s *statement, e *dml.Expr) string {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = t.expression(s, a)
	}
	switch e.Op {
	case dml.OpColumn:
		return "t." + engine.Identifier(e.Column)
	case dml.OpExcluded:
		return "excluded." + engine.Identifier(e.Column)
	case dml.OpValue:
		return t.constant(s, e)
	case dml.OpNot:
		return "(NOT " + args[0] + ")"
	case dml.OpIsNull, dml.OpIsNotNull:
		return "(" + args[0] + " " + string(e.Op) + ")"
	}
	if e.Op.Function() {
		return string(e.Op) + "(" + strings.Join(args, ", ") + ")"
	}
	return "(" + args[0] + " " + string(e.Op) + " " + args[1] + ")"
}

// types are the server's types for constants of DuckDB's.
var types = map[string]string{
	"BOOLEAN": "boolean", "TINYINT": "smallint", "SMALLINT": "smallint", "INTEGER": "integer", "BIGINT": "bigint",
	"HUGEINT":  "numeric",
	"UTINYINT": "smallint", "USMALLINT": "integer", "UINTEGER": "bigint", "UBIGINT": "numeric", "UHUGEINT": "numeric",
	"FLOAT": "real", "DOUBLE": "double precision", "VARCHAR": "text", "UUID": "uuid", "DATE": "date", "TIME": "time",
	"TIMESTAMP":                "timestamp",
	"TIMESTAMP WITH TIME ZONE": "timestamptz", "INTERVAL": "interval", "JSON": "json",
}

// constant returns a constant as a parameter.
func (t *target) constant(s *statement, e *dml.Expr) string {
	typ, text := types[e.Type], e.Text
	switch {
	case e.Column != "" && (e.Type == "" || e.Type == "VARCHAR" || e.Type == `"NULL"`):
		c := t.column(e.Column)
		typ = c.typ
		if text != nil && e.Type == "" {
			sent := c.sent(*text)
			text = &sent
		}
	case strings.HasPrefix(e.Type, "DECIMAL"):
		typ = "numeric"
	}
	switch {
	case text == nil && typ == "":
		return "NULL"
	case text == nil:
		return "CAST(NULL AS " + typ + ")"
	case typ == "":
		typ = "text"
	}
	return "CAST(CAST(" + s.param(*text) + " AS text) AS " + typ + ")"
}
