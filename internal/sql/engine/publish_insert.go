package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// insertBatch is how many rows one INSERT carries.
const insertBatch = 1024

// Insert adds rows to a table, in column order. Values are nil, bool,
// int, int64, float64, string, []string or time.Time. They are passed as one JSON
// text, which DuckDB reads many times faster than a list of literals.
func (tx *Tx) Insert(schema, table string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	columns, err := tx.Describe("SELECT * FROM " + Qualified(schema, table))
	if err != nil {
		return fmt.Errorf("insert into %s.%s: %w", schema, table, err)
	}
	for batch := range slices.Chunk(rows, insertBatch) {
		text, err := rowsJSON(batch)
		if err != nil {
			return fmt.Errorf("insert into %s.%s: %w", schema, table, err)
		}
		if err = tx.Exec(insertJSON(schema, table, columns, text)); err != nil {
			return fmt.Errorf("insert into %s.%s: %w", schema, table, err)
		}
	}
	return nil
}

func columnKey(i int) string { return "c" + strconv.Itoa(i) }

// rowsJSON returns rows as a JSON array of objects with the keys of columnKey.
func rowsJSON(rows [][]any) (string, error) {
	list := make([]map[string]any, len(rows))
	for i, row := range rows {
		list[i] = make(map[string]any, len(row))
		for j, v := range row {
			if t, ok := v.(time.Time); ok {
				v = t.UTC().Format("2006-01-02 15:04:05.999999")
			}
			if v != nil {
				list[i][columnKey(j)] = v
			}
		}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// insertJSON returns the statement that inserts the output of rowsJSON.
func insertJSON(schema, table string, columns []Column, rows string) string {
	types, fields := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		types[i] = fmt.Sprintf("%q:%q", columnKey(i), c.Type)
		if c.Type.ID == List {
			types[i] = fmt.Sprintf("%q:[%q]", columnKey(i), c.Type.Elem)
		}
		fields[i] = "r." + columnKey(i)
	}
	return "INSERT INTO " + Qualified(schema, table) + " SELECT " + strings.Join(fields, ", ") +
		" FROM (SELECT unnest(from_json(" + Literal(rows) + ", " + Literal("[{"+strings.Join(types, ",")+"}]") + ")) AS r)"
}
