package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// pgDSN is where pgx connects to.
func pgDSN(p *program, key, params string) string {
	return fmt.Sprintf("postgres://ann:%s@%s/spice?%s", key, p.address("postgres"), params)
}

// pgxConnect is a connection of pgx's, until the test ends.
func pgxConnect(t *testing.T, p *program, key, params string) *pgx.Conn {
	t.Helper()
	ctx, cancel := within()
	defer cancel()
	c, err := pgx.Connect(ctx, pgDSN(p, key, params))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := within()
		defer cancel()
		c.Close(ctx) //nolint:errcheck // the server may be gone
	})
	return c
}

// wantState checks the code and the place of an error of PostgreSQL's.
func wantState(t *testing.T, err error, code string, position int32) {
	t.Helper()
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code || e.Position != position {
		t.Errorf("got %v (%+v), want %s at %d", err, e, code, position)
	}
}

// pgxModes are the ways in which pgx sends a statement.
var pgxModes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

func TestPgxParameters(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	for _, mode := range pgxModes {
		c := pgxConnect(t, p, readerKey, "sslmode=disable&default_query_exec_mode="+mode)
		for range 2 { // the second time, what was prepared is at hand
			var (
				twice   int64
				text    string
				nothing *int64
				date    time.Time
			)
			err := c.QueryRow(t.Context(), "SELECT twice($1::BIGINT), $2::VARCHAR, twice($3::BIGINT), $4::DATE", int64(21), "it's", nil, day).Scan(&twice,
				&text, &nothing, &date)
			if err != nil || twice != 42 || text != "it's" || nothing != nil || !date.Equal(day) {
				t.Errorf("%s: %d %q %v %s, %v", mode, twice, text, nothing, date, err)
			}
			rows, err := c.Query(t.Context(), "SELECT name FROM people_in($1::VARCHAR)", "Oslo")
			if err != nil {
				t.Fatal(err)
			}
			if names, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || !slices.Equal(names, []string{"Alice", "Chloë"}) {
				t.Errorf("%s: %v, %v", mode, names, err)
			}
		}
	}
}

// TestPgxTypes reads every type and NULL, as binary and as text, which must
// give the same values.
func TestPgxTypes(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	seen := map[string]string{}
	for _, mode := range pgxModes {
		c := pgxConnect(t, p, readerKey, "sslmode=disable&default_query_exec_mode="+mode)
		seen[mode] = pgxTypes(t, c)
		if seen[mode] != seen[pgxModes[0]] {
			t.Errorf("%s differs from %s:\n%s", mode, pgxModes[0], seen[mode])
		}
	}
	golden.Equal(t, filepath.Join(sqlSessions, "pgx-types.txt"), seen[pgxModes[0]])
}

// pgxTypes describes the columns of every_type: a name, a type, the value of
// the first row and of the second.
func pgxTypes(t *testing.T, c *pgx.Conn) string {
	t.Helper()
	rows, err := c.Query(t.Context(), "SELECT * FROM every_type")
	if err != nil {
		t.Fatal(err)
	}
	fields := slices.Clone(rows.FieldDescriptions())
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
	if err != nil || len(all) != 2 {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	var b strings.Builder
	for i, f := range fields {
		name := "?"
		if known, ok := c.TypeMap().TypeForOID(f.DataTypeOID); ok {
			name = known.Name
		}
		fmt.Fprintf(&b, "%s %s %s %v\n", f.Name, name, pgxText(all[0][i]), all[1][i])
	}
	return b.String()
}

// pgxText is a value with its Go type.
func pgxText(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case pgtype.Numeric:
		exact, err := v.Value()
		return fmt.Sprintf("%T %v %v", v, exact, err)
	}
	return fmt.Sprintf("%T %v", v, v)
}

// TestPgxScans reads into Go's own types and pgx's.
func TestPgxScans(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := pgxConnect(t, p, readerKey, "sslmode=disable")
	var (
		flag     *bool
		small    *int16
		whole    *int64
		huge     pgtype.Numeric
		double   *float64
		text     *string
		blob     []byte
		at       *time.Time
		clock    pgtype.Time
		span     pgtype.Interval
		id       pgtype.UUID
		list     []*int32
		document map[string]any
	)
	query := `SELECT "boolean", "smallint", "bigint", "hugeint", "double", "varchar", "blob", "timestamptz", "time", "interval", "uuid", "list", "struct"
		FROM every_type WHERE ("boolean" IS NULL) = $1`
	into := []any{&flag, &small, &whole, &huge, &double, &text, &blob, &at, &clock, &span, &id, &list, &document}
	if err := c.QueryRow(t.Context(), query, false).Scan(into...); err != nil {
		t.Fatal(err)
	}
	most, _ := new(big.Int).SetString("170141183460469231731687303715884105727", 10)
	if !*flag || *small != -300 || *whole != -9007199254740993 || huge.Exp != 0 || huge.Int.Cmp(most) != 0 || *double != -2.25 || *text != "héllo" ||
		string(blob) != "\x00\xffa" || at.UTC().Format(time.RFC3339Nano) != "2024-02-29T13:14:15.123456Z" ||
		clock.Microseconds != 47655123456 || span != (pgtype.Interval{Months: 1, Days: 2, Microseconds: 3e6, Valid: true}) ||
		id.String() != "0f0e0d0c-0b0a-0908-0706-050403020100" || len(list) != 3 || *list[0] != 1 || list[1] != nil || document["b"] != "x" {
		t.Errorf("got %v", into)
	}
	if err := c.QueryRow(t.Context(), query, true).Scan(into...); err != nil {
		t.Fatal(err)
	}
	if flag != nil || small != nil || whole != nil || huge.Valid || double != nil || text != nil || blob != nil || at != nil ||
		clock.Valid || span.Valid || id.Valid || list != nil || document != nil {
		t.Errorf("NULLs: got %v", into)
	}
}

// TestPgxBatch sends several statements at once; one that fails ends it.
func TestPgxBatch(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := pgxConnect(t, p, readerKey, "sslmode=disable")
	var batch pgx.Batch
	sum := int64(0)
	add := func(row pgx.Row) error {
		var n int64
		err := row.Scan(&n)
		sum += n
		return err
	}
	for i := range int64(10) {
		batch.Queue("SELECT twice($1)", i).QueryRow(add)
	}
	if err := c.SendBatch(t.Context(), &batch).Close(); err != nil || sum != 90 {
		t.Errorf("got %d, %v", sum, err)
	}
	var broken pgx.Batch
	broken.Queue("SELECT 1")
	broken.Queue("SELECT error('the ferry is late')")
	broken.Queue("SELECT 2")
	results := c.SendBatch(t.Context(), &broken)
	_, first := results.Exec()
	_, second := results.Exec()
	_, third := results.Exec()
	results.Close() //nolint:errcheck // it is the second's
	if first != nil || third == nil {
		t.Errorf("got %v, %v", first, third)
	}
	wantState(t, second, "22000", 0)
}

// TestPgxCursors reads a result in pieces, with another statement between.
func TestPgxCursors(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := pgxConnect(t, p, readerKey, "sslmode=disable")
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "DECLARE c CURSOR FOR SELECT range FROM range(2500)"); err != nil {
		t.Fatal(err)
	}
	n, fetched := 0, 1000
	for fetched == 1000 {
		rows, err := tx.Query(t.Context(), "FETCH 1000 FROM c")
		if err != nil {
			t.Fatal(err)
		}
		piece, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			t.Fatal(err)
		}
		fetched = len(piece)
		n += fetched
		var other int64
		if err := tx.QueryRow(t.Context(), "SELECT twice($1)", 21).Scan(&other); err != nil || other != 42 {
			t.Fatalf("got %d, %v", other, err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil || n != 2500 {
		t.Errorf("got %d rows, %v", n, err)
	}
}

func TestPgxErrors(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	for _, mode := range pgxModes {
		c := pgxConnect(t, p, readerKey, "sslmode=disable&default_query_exec_mode="+mode)
		for _, e := range []struct {
			sql, code string
			position  int32
		}{
			{"SELECT 'é', nosuch FROM people", "42703", 13},
			{"SELEKT 1", "42601", 1},
			{"SELECT * FROM nosuch", "42P01", 15},
			{"SELECT nosuch(1)", "42883", 8},
			{"SELECT * FROM read_csv('/etc/passwd')", "42501", 15},
			{"DELETE FROM people", "42501", 1},
			{"SELECT error('the ferry is late')", "22000", 0},
		} {
			_, err := c.Exec(t.Context(), e.sql)
			wantState(t, err, e.code, e.position)
		}
		var n int
		if err := c.QueryRow(t.Context(), "SELECT 1").Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: after the errors: %d, %v", mode, n, err)
		}
	}
}

// TestPgxCancels a statement by its context, and by its connection's key.
func TestPgxCancels(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := pgxConnect(t, p, readerKey, "sslmode=disable")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := c.Exec(ctx, endless)
		failed <- err
	}()
	p.active(1)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	p.active(0)

	c = pgxConnect(t, p, readerKey, "sslmode=disable")
	go func() {
		_, err := c.Exec(t.Context(), endless)
		failed <- err
	}()
	p.active(1)
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Error(err)
	}
	wantState(t, <-failed, "57014", 0)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPgxOverTLS proves itself by SCRAM. A protocol with a certificate takes no
// connection without.
func TestPgxOverTLS(t *testing.T) {
	t.Parallel()
	p := startEncrypted(t)
	c := pgxConnect(t, p.program, readerKey, "sslmode=verify-full&sslrootcert="+p.root)
	var twice int64
	if err := c.QueryRow(t.Context(), "SELECT twice($1)", 21).Scan(&twice); err != nil || twice != 42 {
		t.Errorf("got %d, %v", twice, err)
	}
	for params, code := range map[string]string{
		"sslmode=disable": "28000",
		"sslmode=verify-full&sslrootcert=" + p.root: "28P01",
	} {
		key := readerKey
		if code == "28P01" {
			key += "0"
		}
		ctx, cancel := within()
		_, err := pgx.Connect(ctx, pgDSN(p.program, key, params))
		cancel()
		wantState(t, err, code, 0)
	}
}
