package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

type oneRef struct{ table Table }

func (r oneRef) Ref(_ context.Context, name string) (Table, func(), error) {
	if name != "r_1" {
		return Table{}, nil, &Error{Code: errcode.NotFound, Message: "no result " + name, Offset: -1}
	}
	return r.table, func() {}, nil
}

func TestAStoredResultIsReadByReference(t *testing.T) {
	db := open(t)
	if err := db.Exec(t.Context(), "CREATE TYPE empty AS ENUM (SELECT 'a' WHERE false)"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := db.Lock([]string{dir}); err != nil {
		t.Fatal(err)
	}
	table := Table{Database: "r_1", Path: filepath.Join(dir, "r_1.duckdb")}
	ctx := context.Background()
	const every = `SELECT i, i::VARCHAR AS text, NULL AS "nothing", [i, NULL] AS list, {'a': i, 'b': [i]} AS "struct", MAP {'k': i} AS "map",
		i::DECIMAL(30,3) AS "decimal", i::HUGEINT AS huge, uuid() AS id, now() AS at, INTERVAL 1 DAY AS took, 'x'::ENUM('x','y') AS "enum", '{"a":1}'::JSON AS json, i AS i,
		NULL::empty AS "empty", [NULL::empty] AS empties
		FROM range(5000) t(i)`
	rows, err := db.Query(ctx, Request{SQL: every})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	w, err := db.CreateTable(ctx, table, rows.Columns())
	if err != nil {
		t.Fatal(err)
	}
	for chunk, err := range rows.Chunks() {
		if err == nil {
			err = w.Append(chunk)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db.UseRefs(oneRef{table})
	for sql, want := range map[string]string{
		"SELECT sum(i)::VARCHAR || '/' || sum(list[1])::VARCHAR FROM ref('r_1')":                    "12497500/12497500",
		"SELECT count(*)::VARCHAR FROM ref('r_1') AS r JOIN ref('r_1') AS s USING (i)":              "5000",
		"SELECT typeof(any_value(empties)) || count(\"empty\") FROM ref('r_1')":                     `"NULL"[]0`,
		`WITH r AS (FROM ref('r_1')) SELECT max("decimal")::VARCHAR FROM r WHERE "nothing" IS NULL`: "4999.000",
	} {
		if got := firstText(t, db, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	for sql, code := range map[string]errcode.Code{
		"FROM ref('r_2')":                 errcode.NotFound,
		"FROM ref('r_' || '1')":           errcode.Argument,
		"FROM ref()":                      errcode.Argument,
		`SELECT * FROM "r_1".main.result`: errcode.NotFound,
	} {
		if _, err := db.Query(ctx, Request{SQL: sql}); AsError(err).Code != code {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
	}
	db.DropTable(table)
	if _, err := os.Stat(table.Path); !os.IsNotExist(err) {
		t.Error("the file is still there:", err)
	}
}

// firstText is the first value of a statement's result, which is text.
func firstText(t testing.TB, db *DB, sql string) string {
	t.Helper()
	rows, err := db.Query(context.Background(), Request{SQL: sql})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	for chunk, err := range rows.Chunks() {
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return string(chunk.Column(0).Bytes(0))
	}
	return ""
}

// TestALargeResultTakesLittleMemory stores rows that would take more memory than the writer's
// DuckDB may, with a value that alone does, and reads them.
func TestALargeResultTakesLittleMemory(t *testing.T) {
	db := open(t)
	table := Table{Database: "r_1", Path: filepath.Join(t.TempDir(), "r_1.duckdb")}
	rows, err := db.Query(t.Context(),
		Request{SQL: "SELECT i, repeat('x', CASE WHEN i = 99000 THEN 30000000 ELSE 1000 END) AS s FROM range(100000) t(i)", Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	w, err := db.CreateTable(t.Context(), table, rows.Columns())
	if err != nil {
		t.Fatal(err)
	}
	spilled, most := int64(0), int64(0)
	for chunk, err := range rows.Chunks() {
		if err == nil {
			err = w.Append(chunk)
		}
		if err != nil {
			t.Fatal(err)
		}
		used := int64(0)
		err = w.in.writer.each("SELECT coalesce(sum(memory_usage_bytes), 0)::BIGINT, coalesce(sum(temporary_storage_bytes), 0)::BIGINT "+
			"FROM duckdb_memory()", func(c *Chunk) error {
			used, spilled = Value[int64](c.Column(0), 0), max(spilled, Value[int64](c.Column(1), 0))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, used)
	}
	if spilled == 0 || most > w.memory {
		t.Errorf("%d bytes in memory, %d in files", most, spilled)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db.UseRefs(oneRef{table})
	if _, err := os.Stat(spillOf(table)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the writer is left: %v", err)
	}
	got, err := integer(t.Context(), db, "SELECT (sum(length(s)) + sum(i))::BIGINT FROM ref('r_1')")
	if want := int64(99_999*1000 + 30_000_000 + 4_999_950_000); err != nil || got != want {
		t.Errorf("%d, %v; want %d", got, err, want)
	}
}
