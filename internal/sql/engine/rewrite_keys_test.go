package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/value"
)

// TestConditionsOnKeys judges statements over k, whose key columns are id, code and day.
// One that reads rows by key calls the macro.
func TestConditionsOnKeys(t *testing.T) {
	db := open(t)
	publish(t, db, NewCatalog(Contents{
		Relations: []Relation{{Public, "k"}, {Public, "o"}},
		Keys:      map[Relation][]KeyColumn{{Public, "k"}: {{"Id", "INTEGER"}, {"code", "VARCHAR"}, {"day", "DATE"}, {"num", "DECIMAL(9,2)"}}},
	}))
	c, err := db.pools[0].get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.pools[0].put(c)
	judge := func(sql string, p ...any) string {
		v, err := db.judge(context.Background(), c, db.Current(), Request{SQL: sql, Params: Params{Positional: p}}, &held{})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return v.text
	}
	for _, test := range []struct {
		sql    string
		params []any
		want   string // the call; "" if the view is read
	}{
		{"FROM k WHERE id = 3", nil, `"public.k:id:integer"([3]) AS "k"`},
		{"FROM k o WHERE o.ID = 3 AND o.x = 4", nil, `"public.k:id:integer"([3]) o`},
		{"FROM K WHERE 3 = id", nil, `([3]) AS "K"`},
		{"FROM k WHERE id IN (1, 2)", nil, `([1, 2])`},
		{"FROM k WHERE x = 1 AND (y = 2 AND code = 'a''b')", nil, `"public.k:code:text"(['a''b'])`},
		{"FROM k WHERE day = DATE '2026-01-01'", nil, `"public.k:day:date"([CAST('2026-01-01' AS DATE)])`},
		{"FROM k WHERE id = '3'", nil, `"public.k:id:text"(['3'])`},
		{"FROM k WHERE id = $1", []any{int64(3)}, `"public.k:id:integer"([TRY_CAST($1 AS INTEGER)])`},
		{"FROM k WHERE id = $1", []any{3.0}, ""},
		{"FROM k WHERE id = $1", []any{json.Number("4")}, `"public.k:id:integer"`},
		{"FROM k WHERE id = $1", []any{json.Number("4.5")}, ""},
		{"FROM k WHERE id = $1", []any{"3"}, `"public.k:id:text"([$1])`},
		{"FROM k WHERE id = $1", []any{"3.0"}, ""},
		{"FROM k WHERE id = $1", []any{nil}, ""},
		{"FROM k WHERE day = $1", []any{value.Date(3)}, `"public.k:day:date"`},
		{"FROM k WHERE day = $1", []any{value.Timestamp(3)}, ""},
		{"FROM k WHERE x = ? AND id = ?", []any{"a", int64(3)}, `([TRY_CAST($2 AS INTEGER)]) AS "k" WHERE x = $1 AND id = $2`},
		{"FROM k, o WHERE k.id = 3", nil, `([3]) AS "k", o`},
		{"FROM o LEFT JOIN k ON o.i = k.id WHERE k.id = 3", nil, `([3])`},
		{"SELECT (SELECT x FROM k WHERE id = 3) FROM o", nil, `([3])`},
		{"FROM k, o WHERE id = 3", nil, ""},
		{"FROM k WHERE id = 3 OR x = 1", nil, ""},
		{"FROM k WHERE NOT id = 3", nil, ""},
		{"FROM k WHERE id > 3", nil, ""},
		{"FROM k WHERE id = 3.5", nil, ""},
		{"FROM k WHERE id = 9007199254740993", nil, ""},
		{"FROM k WHERE id = abs(3)", nil, ""},
		{"FROM k WHERE id = x", nil, ""},
		{"FROM k WHERE id + 1 = 3", nil, ""},
		{"FROM k WHERE CAST(id AS VARCHAR) = '3'", nil, ""},
		{"FROM k WHERE id = TRY_CAST('3' AS INTEGER)", nil, ""},
		{"FROM k WHERE code = 3", nil, ""},
		{"FROM k WHERE code = 'a' COLLATE NOCASE", nil, ""},
		{"FROM k WHERE num = 3", nil, ""},
		{"FROM k WHERE x = 3", nil, ""},
		{"FROM k WHERE id IN (1, '2')", nil, ""},
		{"FROM k WHERE id IN (SELECT 3)", nil, ""},
		{"FROM k TABLESAMPLE 10% WHERE id = 3", nil, ""},
		{"SELECT * FROM k WHERE id = 3 USING SAMPLE 1 ROWS", nil, ""},
		{"FROM k a(id) WHERE a.id = 3", nil, ""},
		{"FROM k POSITIONAL JOIN o WHERE k.id = 3", nil, ""},
		{"FROM o ASOF JOIN k ON o.i >= k.id WHERE k.id = 3", nil, ""},
		{"FROM k ANTI JOIN o ON o.i = k.id WHERE k.id = 3", nil, ""},
		{"FROM k JOIN o USING (id) WHERE k.id = 3", nil, ""},
		{"FROM k a, k a WHERE a.id = 3", nil, ""},
		{"SELECT public.k.id FROM k WHERE id = 3", nil, ""},
		{"WITH k AS (FROM o) FROM k WHERE id = 3", nil, ""},
		{"FROM (FROM k) k WHERE k.id = 3", nil, ""},
	} {
		got := judge(test.sql, test.params...)
		if test.want == "" && strings.Contains(got, "core") || !strings.Contains(got, test.want) {
			t.Errorf("%s %v: got %s, want %q", test.sql, test.params, got, test.want)
		}
	}
	for _, sql := range []string{
		`FROM core."public.k:id:integer"([3])`, `FROM spice.core."public.k:id:integer"([3])`,
		`FROM spice."core"."public.k:id:integer"([3]) AS k WHERE id = 3`,
	} {
		if _, err := db.judge(context.Background(), c, db.Current(), Request{SQL: sql}, &held{}); err == nil {
			t.Errorf("%s runs", sql)
		}
	}
}
