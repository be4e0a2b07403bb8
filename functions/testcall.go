package functions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// testCall is a test as SQL: every value is returned as DuckDB's own text.
type testCall struct {
	got, want, args string
	list            []string // the scalar arguments
	width           int
	table           bool
	types           []*Type
}

// prepare makes the statements of a test and the views it reads.
func (r *testRun) prepare(f *Function, test spicepod.FunctionTest) (*testCall, error) {
	args, err := testArgs(f, test.Args)
	if err != nil {
		return nil, err
	}
	c := &testCall{table: f.IsTable(), width: 1, args: "SELECT 1", list: args}
	if len(args) > 0 {
		c.args = "SELECT " + strings.Join(args, ", ")
	}
	name := r.target.function(public, f.Name, fold(f.Name))
	if !c.table {
		return c, c.scalar(f, name, args, test)
	}
	tables, err := r.testTables(f, test.Tables)
	if err != nil {
		return nil, err
	}
	return c, c.tableFunction(f, name, append(tables, args...), test)
}

// testArgs are the arguments as typed literals, in the order of the signature.
func testArgs(f *Function, given map[string]any) ([]string, error) {
	names := make([]string, len(f.Args))
	for i, a := range f.Args {
		names[i] = a.Name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("args: %s has no argument %q%s", f.Signature(), name, nearest.Clause(name, names))
		}
	}
	args := make([]string, len(f.Args))
	for i, a := range f.Args {
		value, ok := given[a.Name]
		d := f.Declared.Signature.Args[i]
		switch {
		case ok:
		case d.HasDefault:
			value = d.Default
		case d.IsRequired():
			return nil, fmt.Errorf("args: %q is missing", a.Name)
		}
		text, err := a.Type.Literal(value)
		if err != nil {
			return nil, fmt.Errorf("args: %s: %w", a.Name, err)
		}
		args[i] = text
	}
	return args, nil
}

func (c *testCall) scalar(f *Function, name string, args []string, test spicepod.FunctionTest) error {
	c.types = []*Type{f.Returns}
	names, values := make([]string, len(args)), make([]string, len(args))
	for i, a := range args {
		names[i] = fmt.Sprintf("a%d", i+1)
		values[i] = a + " AS " + names[i]
	}
	c.got = fmt.Sprintf("SELECT CAST(%s(%s) AS VARCHAR)", name, strings.Join(names, ", "))
	if len(args) > 0 {
		c.got += " FROM (SELECT " + strings.Join(values, ", ") + ")"
	}
	switch test.Expects() {
	case spicepod.ExpectRows:
		return errors.New("rows: a scalar function returns one value; write returns instead")
	case spicepod.ExpectReturns:
		want, err := f.Returns.Literal(test.Returns)
		if err != nil {
			return fmt.Errorf("returns: %w", err)
		}
		c.want = "SELECT CAST(" + want + " AS VARCHAR)"
	}
	return nil
}

func (c *testCall) tableFunction(f *Function, name string, args []string, test spicepod.FunctionTest) error {
	c.width = len(f.Columns)
	columns := make([]string, len(f.Columns))
	for i, o := range f.Columns {
		c.types = append(c.types, o.Type)
		columns[i] = "CAST(" + engine.Identifier(o.Name) + " AS VARCHAR)"
	}
	c.got = fmt.Sprintf("SELECT %s FROM %s(%s) LIMIT %d", strings.Join(columns, ", "), name, strings.Join(args, ", "),
		MaxTestRows+1)
	switch test.Expects() {
	case spicepod.ExpectReturns:
		return errors.New("returns: a table function returns rows; write rows instead")
	case spicepod.ExpectRows:
		rows, err := literalRows(f.Columns, test.Rows, "rows")
		if err != nil {
			return err
		}
		c.want = "SELECT " + strings.Join(columns, ", ") + " FROM (" + rows + ")"
	}
	return nil
}

// literalRows is a SELECT of rows, each a mapping by column or a list.
func literalRows(columns []OutputColumn, rows []any, path string) (string, error) {
	if len(rows) > MaxTestRows {
		return "", fmt.Errorf("%s: %d are too many; the limit is %d", path, len(rows), MaxTestRows)
	}
	if len(rows) == 0 {
		return "SELECT " + nulls(columns), nil
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	selects := make([]string, len(rows))
	for i, row := range rows {
		values, err := spicepod.RowValues(names, row)
		if err != nil {
			return "", fmt.Errorf("%s[%d]: %w", path, i, err)
		}
		parts := make([]string, len(columns))
		for j, c := range columns {
			text, err := c.Type.Literal(values[j])
			if err != nil {
				return "", fmt.Errorf("%s[%d].%s: %w", path, i, c.Name, err)
			}
			parts[j] = text + " AS " + engine.Identifier(c.Name)
		}
		selects[i] = "SELECT " + strings.Join(parts, ", ")
	}
	return strings.Join(selects, " UNION ALL "), nil
}

// testTables makes a temporary view for each table input and returns their
// names as arguments.
func (r *testRun) testTables(f *Function, given map[string][]map[string]any) ([]string, error) {
	for name := range given {
		if !slices.ContainsFunc(f.Tables, func(t TableInput) bool { return t.Name == name }) {
			return nil, fmt.Errorf("tables: %s has no table input %q", f.Signature(), name)
		}
	}
	args := make([]string, len(f.Tables))
	for i, t := range f.Tables {
		rows := make([]any, len(given[t.Name]))
		for j, row := range given[t.Name] {
			rows[j] = row
		}
		sql, err := literalRows(t.Columns, rows, "tables."+t.Name)
		if err != nil {
			return nil, err
		}
		if err := r.stage.Exec("CREATE OR REPLACE TEMP VIEW " + testTableName(i) + " AS " + sql); err != nil {
			return nil, fmt.Errorf("tables.%s: %w", t.Name, err)
		}
		args[i] = testTable(i)
	}
	return args, nil
}

// testTable is the argument for table input i of a test.
func testTable(i int) string { return engine.Literal("temp.main." + testTableName(i)) }

func testTableName(i int) string { return fmt.Sprintf("__spiced_test_%d", i+1) }

// compare reports how the result differs from the expected one. Rows are compared as a
// multiset: their order does not matter.
func (c *testCall) compare(want, got [][]cellText, tolerance float64) error {
	rest := slices.Clone(got)
	slices.SortFunc(rest, compareRows)
	expected := slices.Clone(want)
	slices.SortFunc(expected, compareRows)
	for _, row := range expected {
		i := slices.IndexFunc(rest, func(r []cellText) bool { return c.sameRow(row, r, tolerance) })
		if i < 0 {
			break
		}
		rest = slices.Delete(rest, i, i+1)
		want = want[:len(want)-1]
	}
	if len(want) == 0 && len(rest) == 0 {
		return nil
	}
	within := ""
	if tolerance > 0 {
		within = fmt.Sprintf(" within %g", tolerance)
	}
	return fmt.Errorf("want %s%s, got %s", showRows(expected, c.table), within, showRows(got, c.table))
}

func compareRows(a, b []cellText) int {
	return slices.CompareFunc(a, b, func(x, y cellText) int { return cmp.Compare(x.text, y.text) })
}

func (c *testCall) sameRow(a, b []cellText, tolerance float64) bool {
	for i := range a {
		if !sameCell(a[i], b[i], c.types[i], tolerance) {
			return false
		}
	}
	return true
}

// sameCell compares numbers by value, so that 0 and -0 are equal, and all else by text.
func sameCell(a, b cellText, t *Type, tolerance float64) bool {
	if a == b {
		return true
	}
	if t.kind == kindJSON && !a.null && !b.null {
		return sameJSON(a.text, b.text)
	}
	if a.null || b.null || !t.Numeric() || t.kind != kindFloat && tolerance == 0 {
		return false
	}
	x, err1 := strconv.ParseFloat(a.text, 64)
	y, err2 := strconv.ParseFloat(b.text, 64)
	return err1 == nil && err2 == nil && (x == y || math.Abs(x-y) <= tolerance)
}

// sameJSON compares without white space and the order of members.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// shownRows is how many rows a message shows.
const shownRows = 5

func showRows(rows [][]cellText, table bool) string {
	if !table && len(rows) == 1 {
		return showCell(rows[0][0])
	}
	parts := make([]string, 0, shownRows)
	for _, row := range rows[:min(len(rows), shownRows)] {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = showCell(c)
		}
		parts = append(parts, "("+strings.Join(cells, ", ")+")")
	}
	if more := len(rows) - shownRows; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	if len(parts) == 0 {
		return "no rows"
	}
	return strings.Join(parts, ", ")
}

func showCell(c cellText) string {
	if c.null {
		return "NULL"
	}
	return truncate.Ellipsis(c.text, 200)
}
