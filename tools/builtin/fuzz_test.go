package builtin

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/tools"
)

// FuzzOrderBy checks that nothing but a declared column gets into the SQL.
func FuzzOrderBy(f *testing.F) {
	for _, text := range []string{"id", "id DESC", `"id"ASC`, `a"b`, `"a""b" desc`, "order day DESC", "id; DROP TABLE t", "id DESC, id", "\x00", "DESC"} {
		f.Add(text)
	}
	columns := []Column{{Name: "id"}, {Name: `a"b`}, {Name: "order day"}, {Name: "DESC"}}
	var allowed []string
	for _, c := range columns {
		for _, direction := range []string{"", " ASC", " DESC"} {
			allowed = append(allowed, engine.Identifier(c.Name)+direction)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		order, err := orderBy(text, columns)
		if err == nil && !slices.Contains(allowed, order) {
			t.Errorf("%q became %q", text, order)
		}
	})
}

// FuzzWhere checks that what is accepted as a condition stays within the
// brackets it is put in: what stands behind them is still read as ours.
func FuzzWhere(f *testing.F) {
	for _, text := range []string{
		"1=1", "true) UNION SELECT (1", "1=1) -- ", "true /* ", "'", "a IN (1, 2)", "$$)$$ = 'x'", "{'a': 1}.a = 1", "x[1:2] = y",
		"(SELECT true)", "e'\\') OR (' = ''", "\u00a0true", "true\r-- )", "CASE WHEN true THEN 1 END = 1", "COLUMNS(*) = 1", "list_filter(x, y -> y > 1)",
	} {
		f.Add(text)
	}
	db, err := engine.Open(f.Context(), engine.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(db.Close)
	f.Fuzz(func(t *testing.T, where string) {
		r := reader{db: db, where: where}
		err := r.checkWhere(t.Context())
		if err != nil {
			if e := tools.AsError(err); e.Code == errcode.Internal || e.Cause == err {
				t.Fatalf("%q: %v", where, err)
			}
			return
		}
		if where == "" {
			return
		}
		statement := func(condition string) (*sqltree.Statement, error) {
			return db.Parse(t.Context(), "SELECT 1 AS one, 2 AS two FROM probe_a WHERE (\n"+condition+"\n) LIMIT 1")
		}
		st, err := statement(where)
		if err != nil {
			t.Fatalf("%q is accepted but %v", where, err)
		}
		plain, err := statement("true")
		if err != nil {
			t.Fatal(err)
		}
		if st.Shape != plain.Shape {
			t.Errorf("%q changes the statement around it: %+v", where, st.Shape)
		}
	})
}

// FuzzCutStrings checks that cut JSON is JSON, with short strings.
func FuzzCutStrings(f *testing.F) {
	for _, text := range []string{"", strings.Repeat("x", 513), strings.Repeat("\"", 600), strings.Repeat("é\n", 300), strings.Repeat("\\", 513), "\x00\u2028"} {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, times int) {
		if len(text) > 1<<10 || !utf8.ValidString(text) {
			return
		}
		text = strings.Repeat(text, clamp(times, 1, 1000))
		line, err := tools.Encode(map[string]any{"k": []any{text, 1.5, nil}, "short": "s"})
		if err != nil {
			t.Fatal(err)
		}
		value, err := tools.Decode(cutStrings(line))
		if err != nil {
			t.Fatalf("%v in %s", err, cutStrings(line))
		}
		got := value.(map[string]any)["k"].([]any)[0].(string)
		want := text
		if runes := []rune(text); len(runes) > MaxText {
			want = string(runes[:MaxText]) + "…"
		}
		if got != want {
			t.Errorf("%q became %q", text, got)
		}
	})
}
