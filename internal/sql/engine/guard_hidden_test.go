package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

type hidesKey struct{}

// hiding publishes the fixture with functions that are hidden from some contexts.
func hiding(t *testing.T) *DB {
	t.Helper()
	db, _ := writing(t, Options{})
	contents := writingCatalog(3).contents
	conditional := *twice
	conditional.Conditional = true
	contents.Functions = []*Function{&conditional, same, tab}
	contents.Relations = append(contents.Relations, Relation{Public, "seen"})
	contents.Hides = func(ctx context.Context) func(string) bool {
		if names, ok := ctx.Value(hidesKey{}).(string); ok {
			return func(name string) bool { return strings.Contains(names, " "+sqltree.Fold(name)+" ") }
		}
		return nil
	}
	contents.Unserved = func(o Object, r Relation) *Error {
		if o == ObjectFunction && r.Name == "waits" {
			return NewError("loading", "", "function waits is loading")
		}
		return nil
	}
	publish(t, db, NewCatalog(contents), "CREATE VIEW spice.public.seen AS SELECT twice(21) AS n")
	return db
}

// What a statement gets for a hidden function is what it gets for one that is not there,
// whatever else is wrong with it.
func TestHiddenFunctions(t *testing.T) {
	db := hiding(t)
	hidden := context.WithValue(t.Context(), hidesKey{}, " twice tab waits ")
	run := func(sql string, unknown string, allow func(Relation) bool) string {
		for from, to := range map[string]string{"twice": unknown, "tab(": unknown + "t(", "waits": unknown + "w"} {
			if unknown != "" {
				sql = strings.ReplaceAll(sql, from, to)
			}
		}
		rows, err := db.Query(hidden, Request{SQL: sql, Write: true, Allow: allow})
		if err == nil {
			rows.Close()
			return "runs"
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", sql, err)
		}
		if strings.Contains(e.Hint, "twice") || strings.Contains(e.Hint, `"tab"`) {
			t.Errorf("%s: hint %s", sql, e.Hint)
		}
		text := fmt.Sprint(e.Code, e.Message, e.Missing, e.Offset, e.Line, e.Hint != "" && !strings.HasPrefix(e.Hint, "did you mean"))
		for from, to := range map[string]string{unknown + "t": "tab", unknown + "w": "waits", unknown: "twice"} {
			if unknown != "" {
				text = strings.ReplaceAll(text, `"`+from+`"`, `"`+to+`"`)
			}
		}
		return text
	}
	all := func(Relation) bool { return true }
	for _, sql := range []string{
		"SELECT twice(1)", "SELECT twice(1, 2)", "SELECT twice(y := 1)", "SELECT twice('x')", "FROM tab(k, 1)", "FROM tab(k)", "SELECT nosuch, twice(1)",
		"SELECT k.i.twice() FROM k",
		"SELECT i.twice() FROM k", "SELECT (SELECT twice(i)) FROM k", "SELECT twice(random())", "SELECT twice(same(1, 'x'))", "SELECT same(twice(1), 'x')",
		"SELECT waits(1)",
		"SELECT list_transform([1], lambda x: twice(x))", "SELECT main.twice(1)", "SELECT public.twice(1)", "SELECT spice.public.TWICE(1)", "EXPLAIN SELECT twice(1)",
		"INSERT INTO orders SELECT 9, 'x', twice(1)", "UPDATE orders SET price = twice(price)", "DELETE FROM orders WHERE twice(id) > 2",
		"INSERT INTO orders VALUES (9, 'x', twice(1)) RETURNING twice(id)",
		"WITH t AS (FROM tab(k, 1)) FROM t", "SELECT twice(1) FROM private", "SELECT twice FROM k", "SELECT twice(*) FROM k", "SELECT twice(DISTINCT i) FROM k",
		"FROM twice(1)", "SELECT tab(1)",
	} {
		for _, allow := range []func(Relation) bool{nil, all} {
			if got, want := run(sql, "", allow), run(sql, "qwixe", allow); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") || got == "runs" {
				t.Errorf("%s\nhidden:  %s\nunknown: %s", sql, got, want)
			}
		}
	}
}

// Verdicts are shared by callers who see different functions, and each gets its own.
func TestHiddenFunctionsOfOthers(t *testing.T) {
	db := hiding(t)
	hidden := context.WithValue(t.Context(), hidesKey{}, " twice ")
	runs := func(ctx context.Context, req Request) bool {
		rows, err := db.Query(ctx, req)
		if err == nil {
			rows.Close()
		}
		return err == nil
	}
	for range 3 {
		for _, sql := range []string{"SELECT twice(i) FROM k", "SELECT same(1, 'x')", "FROM seen"} {
			calls := strings.Contains(sql, "twice")
			if !runs(t.Context(), Request{SQL: sql}) || runs(hidden, Request{SQL: sql}) == calls || !runs(hidden, Request{SQL: sql, Internal: true}) {
				t.Errorf("%s: the wrong callers can run it", sql)
			}
			if _, err := db.Describe(hidden, Request{SQL: sql}); (err != nil) != calls {
				t.Errorf("describe %s: %v", sql, err)
			}
		}
	}
	rows, err := db.Query(t.Context(), Request{SQL: "SELECT twice(1)"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Traits().Volatile || !rows.Traits().Caller {
		t.Error("a result that not everyone may have can be cached")
	}
}
