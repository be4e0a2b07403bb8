package sqltree_test

import (
	"fmt"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

func TestOpenPivot(t *testing.T) {
	for sql, want := range map[string]string{
		"PIVOT t ON year USING sum(v)":                            "| t |year@15",
		"pivot (FROM t WHERE a IN (1)) ON \"a b\", c;":            `| (FROM t WHERE a IN (1)) |"a b"@38 c@41`,
		"WITH w AS (FROM a) PIVOT w ON x IN (1, 2), y ORDER BY 1": "WITH w AS (FROM a) | w |y@44",
		"PIVOT t ON year IN (2020)":                               "",
		"PIVOT t ON t.year, f(x), x % 2":                          "",
		"SELECT * FROM (PIVOT t ON year)":                         "",
		"INSERT INTO o PIVOT t ON year":                           "",
		"PIVOT t ON year; DROP TABLE t":                           "",
		"PIVOT t":                                                 "",
		"PIVOT t ON":                                              "",
		"PIVOT t ON ;":                                            "",
		"PIVOT t ON , ,":                                          "",
		"SELECT 'PIVOT t ON year'":                                "",
		"":                                                        "",
	} {
		got := ""
		if p := sqltree.OpenPivot(sql); p != nil {
			got = p.With + "|" + p.Source + "|"
			for i, c := range p.Columns {
				got += fmt.Sprintf("%.*s%s@%d", i, " ", c.Name, c.End)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
