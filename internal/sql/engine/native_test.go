package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// openNative opens a database with upper(text), whose body is Go.
func openNative(t testing.TB, h Handler) *DB {
	t.Helper()
	db := open(t)
	db.Handle("upper", h)
	upper := &Function{Name: "go_upper", Signature: "go_upper(x utf8) → utf8", Random: true, Args: []FunctionArg{{Name: "x", Type: "VARCHAR"}}}
	publish(t, db, NewCatalog(Contents{Generation: 1, Functions: []*Function{upper}}),
		`CREATE FUNCTION spice.datafusion.go_upper(x VARCHAR) AS `+Native+`('upper', x)`)
	return db
}

func texts(ctx context.Context, db *DB, sql string, params ...any) (string, error) {
	rows, err := db.Query(ctx, Request{SQL: sql, Params: Params{Positional: params}})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var list []string
	for c, err := range rows.Chunks() {
		if err != nil {
			return "", err
		}
		for i := range c.Len() {
			text := "NULL"
			if c.Column(0).Valid(i) {
				text = string(c.Column(0).Bytes(i))
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, " "), nil
}

func upper(_ context.Context, s string) (string, error) { return strings.ToUpper(s), nil }

func TestNativeAnswersEachRow(t *testing.T) {
	db := openNative(t, upper)
	for sql, want := range map[string]string{
		"SELECT go_upper('a')": "A",
		"SELECT go_upper(x) FROM (VALUES ('a'), (NULL), (''), ('größe')) t(x)":                    "A NULL  GRÖSSE",
		"SELECT string_agg(go_upper(chr((97 + i % 26)::INT)), '') FROM range(5000) t(i)":          strings.Repeat("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 193)[:5000],
		"SELECT go_upper(x) || go_upper(x) FROM (SELECT 'b' AS x)":                                "BB",
		"SELECT count(*)::VARCHAR FROM range(4) t(i) WHERE go_upper('k' || i::VARCHAR) LIKE 'K%'": "4",
	} {
		got, err := texts(t.Context(), db, sql)
		if want = strings.ReplaceAll(want, "GRÖSSE", strings.ToUpper("größe")); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", sql, got, err, want)
		}
	}
}

func TestNativeRunsOncePerExecution(t *testing.T) {
	var calls atomic.Int64
	db := openNative(t, func(context.Context, string) (string, error) { calls.Add(1); return "x", nil })
	for _, sql := range []string{"EXPLAIN SELECT go_upper('a')", "SELECT go_upper('a')", "SELECT go_upper('a')"} {
		if _, err := texts(t.Context(), db, sql); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls for two executions and one EXPLAIN", calls.Load())
	}
}

func TestNativeFailures(t *testing.T) {
	for name, h := range map[string]Handler{
		"no such luck": func(context.Context, string) (string, error) { return "", errors.New("no such luck") },
		"boom":         func(context.Context, string) (string, error) { panic("boom") },
		"no handler":   nil,
	} {
		db := openNative(t, h)
		_, err := texts(t.Context(), db, "SELECT go_upper(i::VARCHAR) FROM range(10) t(i)")
		if e := asError(t, err); e.Code != errcode.Execution || !strings.Contains(e.Message, name) {
			t.Errorf("%s: got %s %v", name, e.Code, e)
		}
	}
}

func TestNativeIsRefusedToCallers(t *testing.T) {
	db := openNative(t, upper)
	_, err := texts(t.Context(), db, "SELECT "+Native+"('upper', 'a')")
	if e := asError(t, err); e.Code != errcode.Refused {
		t.Errorf("got %v", e)
	}
}

func TestNativeEndsWithItsStatement(t *testing.T) {
	began := make(chan struct{})
	db := openNative(t, func(ctx context.Context, _ string) (string, error) {
		close(began)
		<-ctx.Done()
		return "", ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	_, err := texts(ctx, db, "SELECT go_upper('a')")
	if e := asError(t, err); e.Code != errcode.Cancelled {
		t.Errorf("got %v", e)
	}
}

// Statements inside statements never wait for those that wait for them.
func TestNestedStatements(t *testing.T) {
	var db *DB
	db = openNative(t, func(ctx context.Context, s string) (string, error) {
		if s == "0" {
			return "end", nil
		}
		return texts(ctx, db, "SELECT go_upper('"+string(s[0]-1)+"')")
	})
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	done := make(chan error)
	const callers = 32
	for range callers {
		go func() {
			got, err := texts(ctx, db, "SELECT go_upper('3')")
			if err == nil && got != "end" {
				err = errors.New(got)
			}
			done <- err
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	_, err := texts(ctx, db, "SELECT go_upper('4')")
	if err == nil || !strings.Contains(err.Error(), "3 deep") {
		t.Errorf("four deep: %v", err)
	}
	wait.Until(t, "all connections back", func() bool { return db.Stats() == Stats{} })
}

func TestAllowLimitsWhatAStatementNames(t *testing.T) {
	db := open(t)
	relations := []Relation{{Public, "mine"}, {Public, "yours"}, {Public, "mixed"}}
	lines := &Function{Name: "lines", Signature: "lines(t table) → table(n)", Table: true, Args: []FunctionArg{{Name: "t", Table: true}}}
	publish(t, db, NewCatalog(Contents{Generation: 1, Relations: relations, Functions: []*Function{lines}}),
		"CREATE TABLE spice.public.mine AS SELECT 1::BIGINT AS n", "CREATE TABLE spice.public.yours AS SELECT 2::BIGINT AS n",
		"CREATE VIEW spice.public.mixed AS SELECT n FROM spice.public.mine UNION ALL SELECT n FROM spice.public.yours",
		"CREATE MACRO spice.public.lines(t) AS TABLE SELECT n FROM query_table(t)")
	allow := func(r Relation) bool { return r.Name != "yours" }
	query := func(sql string, allow func(Relation) bool) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := run(ctx, db, Request{SQL: sql, Allow: allow})
		return err
	}
	for _, sql := range []string{"FROM mine", "FROM mixed", "SELECT * FROM lines(mine)", "WITH yours AS (SELECT 3) FROM yours"} {
		if err := query(sql, allow); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"FROM yours", "FROM public.yours", `FROM "YOURS"`, "SELECT (SELECT n FROM spice.public.yours)", "DESCRIBE yours", "SUMMARIZE yours",
		"WITH x AS (FROM yours) FROM x", "SELECT * FROM lines(yours)", "SELECT * FROM lines('yours')", "SELECT * FROM lines((FROM yours))",
		"SHOW TABLES", "FROM mine UNION ALL FROM yours", "EXPLAIN FROM yours",
	} {
		if err := query(sql, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if err := query(sql, allow); err == nil {
			t.Errorf("%s was allowed", sql)
		}
	}
}

func TestFunctionsOfAStatement(t *testing.T) {
	db := openNative(t, upper)
	rows, err := db.Query(t.Context(), Request{SQL: "SELECT go_upper('a'), abs(1), (SELECT go_upper('b'))"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if got := rows.Functions(); len(got) != 1 || got[0] != "go_upper" {
		t.Errorf("got %v", got)
	}
}

// DuckDB's parser takes no reserved word for the name of an argument.
func TestReservedWordsNameArguments(t *testing.T) {
	db := open(t)
	first := &Function{
		Name: "first_rows", Signature: "first_rows(n int64, limit int64 := 2) → table(n)", Table: true,
		Args: []FunctionArg{{Name: "n", Type: "BIGINT", Numeric: true}, {Name: "limit", Type: "BIGINT", Numeric: true, Optional: true}},
	}
	publish(t, db, NewCatalog(Contents{Generation: 1, Functions: []*Function{first}}),
		`CREATE MACRO spice.public.first_rows(n, "limit" := 2) AS TABLE SELECT range::BIGINT AS n FROM range(n) LIMIT "limit"`)
	for sql, want := range map[string]int64{
		"SELECT count(*) FROM first_rows(9)":                                        2,
		"SELECT count(*) FROM first_rows(9, limit := 3)":                            3,
		"SELECT count(*) FROM first_rows(9, LIMIT => 4) LIMIT 1":                    4,
		`SELECT count(*) FROM first_rows(9, "limit" := '5')`:                        5,
		"SELECT (SELECT count(*) FROM first_rows(limit := 1, n := 9)) + $1::BIGINT": 8,
	} {
		params := []any{}
		if want == 8 {
			params = append(params, int64(7))
		}
		mustInteger(t, db, sql, want, params...)
	}
	_, err := run(t.Context(), db, Request{SQL: "SELECT 1, nope FROM first_rows(9, limit := 3)"})
	if e := asError(t, err); e.Offset != 10 {
		t.Errorf("%v at %d", e, e.Offset)
	}
	_, err = run(t.Context(), db, Request{SQL: "SELECT * FROM first_rows(9, limit := 3) WHERE nope"})
	if e := asError(t, err); e.Offset != 46 {
		t.Errorf("%v at %d", e, e.Offset)
	}
}
