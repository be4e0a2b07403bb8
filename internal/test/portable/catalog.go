package portable

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// tableColumn is a column of every table, with values that it has as literals.
type tableColumn struct {
	name   string
	kind   Kind
	values []string
}

// tableColumns have few values, so that joins find partners and groups have several rows.
var tableColumns = []tableColumn{
	{"id", Integer, []string{"1", "2", "3", "4", "5", "6", "7", "8"}},
	{"k", Integer, []string{"0", "1", "2", "3", "-1", "-7", "1000", "2147483648"}},
	{"s", Text, []string{"'a'", "'b'", "'a b'", "'cc d e'", "''", "' '", "'B'", "'é漢'", "'it''s'", "'10'", "'a_c%'", "'a text of more than twelve bytes'"}},
	{"b", Boolean, []string{"true", "false"}},
	{"x", Double, []string{"0", "1.5", "-2.25", "0.5", "2.5", "100.125", "1000000", "'NaN'", "'Infinity'", "'-Infinity'"}},
	{"n", Numeric, []string{"0", "1.5", "-2.125", "0.005", "999.999", "-1000", "12"}},
	{"d", Date, []string{"'2024-02-29'", "'1970-01-01'", "'1999-12-31'", "'2024-03-31'", "'2023-02-28'"}},
	{"t", Timestamp, []string{
		"'2024-02-29 13:14:15.5'", "'1970-01-01 00:00:00'", "'1999-12-31 23:59:59.999999'", "'2024-03-31 02:30:00'",
		"'2024-02-29 00:00:00'",
	}},
}

// Table is a table with rows, the same in both databases.
type Table struct {
	Name string
	Rows []string // each a list of expressions, without parentheses
}

// Create is the statement that makes the table without rows, under a name.
func (t Table) Create(name string) string {
	var columns []string
	for _, c := range tableColumns {
		columns = append(columns, c.name+" "+types[c.kind].sql)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", name, strings.Join(columns, ", "))
}

// Insert is the statement that adds the rows, "" if there are none.
func (t Table) Insert(name string) string {
	if len(t.Rows) == 0 {
		return ""
	}
	return fmt.Sprintf("INSERT INTO %s VALUES (%s)", name, strings.Join(t.Rows, "), ("))
}

// Catalog is what statements read and call.
type Catalog struct {
	Tables    []Table
	Functions []Function
}

// The numbers of rows of the tables, and of functions.
var tableRows = []int{9, 14, 5, 0}

const scalarFunctions, tableFunctions = 24, 8

// NewCatalog makes tables with random rows, and random functions over them.
func NewCatalog(r *rand.Rand) *Catalog {
	c := &Catalog{}
	for i, rows := range tableRows {
		t := Table{Name: fmt.Sprintf("t%d", i+1)}
		for len(t.Rows) < rows {
			row := tableRow(r)
			if t.Rows = append(t.Rows, row); r.IntN(6) == 0 {
				t.Rows = append(t.Rows, row)
			}
		}
		c.Tables = append(c.Tables, t)
	}
	for i := range scalarFunctions + tableFunctions {
		f := c.function(r, i, i >= scalarFunctions)
		c.Functions = append(c.Functions, f)
	}
	return c
}

// tableRow is a row with some NULLs.
func tableRow(r *rand.Rand) string {
	var values []string
	for _, c := range tableColumns {
		values = append(values, c.value(r))
	}
	return strings.Join(values, ", ")
}

// value is a random value of the column, or NULL.
func (c tableColumn) value(r *rand.Rand) string {
	value := "NULL"
	if r.IntN(6) > 0 {
		value = c.values[r.IntN(len(c.values))]
	}
	return cast(value, c.kind)
}

// Without returns the catalog without the functions of these names, and those that call
// them.
func (c *Catalog) Without(names map[string]bool) *Catalog {
	out := &Catalog{Tables: c.Tables}
	gone := map[string]bool{}
	for _, f := range c.Functions {
		lost := names[f.Name]
		for _, callee := range f.calls {
			lost = lost || gone[callee]
		}
		if gone[f.Name] = lost; !lost {
			out.Functions = append(out.Functions, f)
		}
	}
	return out
}
