package dml_test

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

func TestValueRows(t *testing.T) {
	for text, want := range map[string]string{
		"VALUES (1, f(a, b)), ( (2) , [3, 4])": "1|f(a, b);(2)|[3, 4]",
		"values ('a,)b')":                      "'a,)b'",
		"VALUES (1) LIMIT 1":                   "",
		"VALUES (1) UNION ALL SELECT 2":        "",
		"SELECT 1":                             "",
		"VALUES (1), (2,3), (4)":               "1;2|3;4",
	} {
		var rows []string
		for _, row := range (&dml.Statement{Rows: sqltree.Span{End: len(text)}}).ValueRows(text) {
			var values []string
			for _, v := range row {
				values = append(values, strings.TrimSpace(text[v.Start:v.End]))
			}
			rows = append(rows, strings.Join(values, "|"))
		}
		if got := strings.Join(rows, ";"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
