package spicepod

import (
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// RowValues returns the values of a row that a test expects, in the order of columns. The row is a
// mapping by column, in which a column that is left out is NULL, or a list with a value for each column.
func RowValues(columns []string, row any) ([]any, error) {
	switch row := row.(type) {
	case []any:
		if len(row) != len(columns) {
			return nil, fmt.Errorf("has %s for %s", plural.Of(len(row), "value"), plural.Of(len(columns), "column"))
		}
		return row, nil
	case map[string]any:
		values := make([]any, len(columns))
		for i, name := range columns {
			values[i] = row[name]
		}
		for name := range row {
			if !slices.Contains(columns, name) {
				return nil, fmt.Errorf("there is no column %q", name)
			}
		}
		return values, nil
	}
	return nil, fmt.Errorf("%s is neither a mapping nor a list", truncate.Ellipsis(fmt.Sprint(row), 60))
}
