package rowsearch

import (
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

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
		if err := CheckWhere(t.Context(), db, where); err != nil {
			if e := engine.AsError(err); e.Code == errcode.Internal {
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
