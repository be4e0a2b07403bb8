package diff

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/pgtest"
	"github.com/spiced-sql/spiced/internal/test/portable"
)

// againstDuckDB is a cycle whose target is plain DuckDB, without functions.
func againstDuckDB(t *testing.T, seed uint64) (*versus, *bytes.Buffer) {
	t.Helper()
	server := pgtest.Start(t)
	server.On("postgres", CreateDatabase)
	ctx, out := t.Context(), &bytes.Buffer{}
	v := &versus{Options: Options{Out: out, Seed: seed}, report: &PostgresReport{Known: map[string]int{}}, r: rand.New(rand.NewPCG(seed, 0))}
	v.catalog = portable.NewCatalog(v.r)
	all := map[string]bool{}
	for _, f := range v.catalog.Functions {
		all[f.Name] = true
	}
	v.catalog = v.catalog.Without(all)
	var err error
	if v.plain, err = newOracle(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.plain.db.Close() })
	if err := v.fill(ctx, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if v.postgres, err = v.connect(ctx, server.Superuser("portable")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.postgres.Close(context.Background()) })
	v.targets = []target{v.duckDB()}
	return v, out
}

// DuckDB 1.5 gives other rows' values where a WITH of a correlated subquery is read through
// a subquery in FROM.
func TestDifferencesAreFound(t *testing.T) {
	v, _ := againstDuckDB(t, 1)
	integer := []portable.Column{{Kind: portable.Integer}}
	for _, test := range []struct{ sql, kind, known string }{
		{"SELECT (WITH w1 (c1) AS (SELECT length(t.s)) SELECT (SELECT count(*) FROM (SELECT c1 AS i FROM w1) AS q WHERE t.s = 'b')) AS c1 FROM (VALUES " +
			"('a'), ('b'), " +
			"('cc')) AS t (s)", values, "a correlated WITH that a subquery reads"},
		{
			"SELECT count(*) AS c1 FROM t1 AS o WHERE (SELECT CASE WHEN o.id > 0 THEN 7 ELSE 9 END) NOT BETWEEN o.d - DATE '2000-01-01' AND 5", values,
			"NOT BETWEEN of a subquery, or of a call whose body has one",
		},
		{"SELECT 7 / 2 AS c1", values, ""},
		{"SELECT nosuch(1) AS c1", accepts, ""},
		{"SELECT CAST(ascii('a') AS bigint) AS c1", "", ""},
		{"SELECT c1 FROM (VALUES (2), (1), (NULL)) AS t (c1)", "", ""},
		{"SELECT n AS c1 FROM generate_series(1, 3) AS g (n) WHERE to_char(DATE '2024-02-29', 'YYYY') = '2024'", refused, ""},
	} {
		s := portable.Statement{SQL: test.sql, Columns: integer}
		d := v.compare(t.Context(), v.targets[0], s)
		switch {
		case d == nil && test.kind != "":
			t.Errorf("%s: no difference, want %s", test.sql, test.kind)
		case d == nil:
		case d.kind != test.kind:
			t.Errorf("%s: %s (%s), want %q", test.sql, d.kind, d.message, test.kind)
		default:
			name := ""
			if k := v.targets[0].match(s.SQL, *d); k != nil {
				name = k.name
			}
			if name != test.known {
				t.Errorf("%s: known as %q, want %q", test.sql, name, test.known)
			}
		}
	}
}

// The order of rows counts where a statement has one, floats differ a little where they may,
// and numbers are equal whatever their scale is.
func TestRowsAreCompared(t *testing.T) {
	columns := []portable.Column{{Kind: portable.Numeric}, {Kind: portable.Double, Rounded: true}, {Kind: portable.Interval}, {Kind: portable.Timestamp}}
	rows := func(rows ...[]any) [][]any {
		if err := canonical(rows, columns); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	a := rows([]any{"1.50", "0.1", "1 mon 02:00:00", "2024-02-29T13:14:15.500"}, []any{nil, nil, nil, nil})
	b := rows([]any{"1.5", "0.10000000000000001", "30 days 02:00:00", "2024-02-29 13:14:15.5"}, []any{nil, nil, nil, nil})
	if !equalRows(a, b, columns, true) {
		t.Errorf("different: %v and %v", a, b)
	}
	b[0], b[1] = b[1], b[0]
	if equalRows(a, b, columns, true) || !equalRows(a, b, columns, false) {
		t.Error("the order counts only where there is one")
	}
	for _, other := range []([]any){
		{"1.5001", "0.1", "1 mon 02:00:00", "2024-02-29 13:14:15.5"},
		{"1.5", "0.11", "1 mon 02:00:00", "2024-02-29 13:14:15.5"},
		{"1.5", "0.1", "1 mon -02:00:00", "2024-02-29 13:14:15.5"},
		{"1.5", "0.1", "1 mon 02:00:00", nil},
		{"1.5", "NaN", "1 mon 02:00:00", "2024-02-29 13:14:15.5"},
	} {
		if c := rows(other, []any{nil, nil, nil, nil}); equalRows(a, c, columns, true) {
			t.Errorf("equal: %v and %v", a, c)
		}
	}
	columns[1].Rounded = false
	if c := rows([]any{"1.5", "0.1000000000001", "1 mon 02:00:00", "2024-02-29 13:14:15.5"}, []any{nil, nil, nil, nil}); equalRows(a, c, columns, true) {
		t.Error("floats that are exact differ")
	}
}

// TestGeneratedStatementsFindAKnownFault generates until plain DuckDB shows its fault.
func TestGeneratedStatementsFindAKnownFault(t *testing.T) {
	v, out := againstDuckDB(t, 1)
	for n := range uint64(20_000) {
		s := v.catalog.Statement(portable.Random(rand.New(rand.NewPCG(n, 1))))
		if !slices.Contains(s.Features, "WITH read through FROM") {
			continue
		}
		if d := v.compare(t.Context(), v.targets[0], s); d != nil && d.kind == values {
			v.judge(t.Context(), v.targets[0], s, d)
			if v.report.Known["a correlated WITH that a subquery reads"] > 0 {
				t.Logf("found by statement %d", n)
				return
			}
		}
		if v.report.Unknown > 5 {
			break
		}
	}
	t.Errorf("not found; %s\n%s", v.report, out)
}
