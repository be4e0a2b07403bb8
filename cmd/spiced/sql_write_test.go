package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// shopPod is a Spicepod with a table that may be written, and one that may not.
const shopPod = "version: v1\nkind: Spicepod\nname: shop\n" + `runtime:
  functions: { enabled: true }
  auth: { api-key: { keys: ["` + readerKey + `", "` + writerKey + `:rw"] } }
functions:
  - { name: twice, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x * 2 }
  - name: greeting
    from: sql
    signature: { args: [{ name: greeted, type: utf8, default: all }, { name: mark, type: utf8, default: "!" }], returns: utf8 }
    body: "'hello ' || greeted || mark"
datasets:
  - { name: orders, from: "duckdb:shop.db", access: read_write }
  - { name: wares, from: "duckdb:shop.db" }
`

// shop makes a folder with shopPod and the file of the tables.
func shop(t *testing.T) string {
	t.Helper()
	return shopOf(t, shopPod, "orders (id INTEGER UNIQUE, name VARCHAR, day DATE)", "wares AS SELECT 7 AS id")
}

// shopOf makes a folder with a Spicepod and the file of its tables; the table orders gets a row.
func shopOf(t *testing.T, pod string, tables ...string) string {
	t.Helper()
	dir := folder(t, "spicepod.yaml", pod)
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	statements := []string{"ATTACH '" + filepath.Join(dir, "shop.db") + "' AS shop"}
	for _, table := range tables {
		statements = append(statements, "CREATE TABLE shop.main."+table)
		if strings.HasPrefix(table, "orders ") {
			statements = append(statements, "INSERT INTO shop.main.orders VALUES (1, 'one', NULL)")
		}
	}
	for _, sql := range append(statements, "DETACH shop") {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return dir
}

// orders are the rows of the table that is written.
func orders(t *testing.T, c *pgx.Conn) string {
	t.Helper()
	rows, err := c.Query(t.Context(), "SELECT id || ' ' || name FROM orders ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, ", ")
}

func TestSQLWritesOverPostgres(t *testing.T) {
	t.Parallel()
	p := start(t, shop(t), sqlProtocols()...)
	c := pgxConnect(t, p, writerKey, "sslmode=disable")
	for _, change := range []struct {
		sql  string
		args []any
		tag  string
		want string
	}{
		{"INSERT INTO orders VALUES ($1, $2, $3)", []any{2, "two", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}, "INSERT 0 1", "1 one, 2 two"},
		{"INSERT INTO orders (id, name) VALUES (3, 'three'), (4, 'four')", nil, "INSERT 0 2", "1 one, 2 two, 3 three, 4 four"},
		{"UPDATE orders SET name = upper(name), id = twice(id) WHERE id >= $1", []any{3}, "UPDATE 2", "1 one, 2 two, 6 THREE, 8 FOUR"},
		{"DELETE FROM orders WHERE id > $1", []any{1}, "DELETE 3", "1 one"},
	} {
		tag, err := c.Exec(t.Context(), change.sql, change.args...)
		if err != nil || tag.String() != change.tag {
			t.Errorf("%s: got %s, %v", change.sql, tag, err)
		}
		if got := orders(t, c); got != change.want {
			t.Errorf("%s: got %s, want %s", change.sql, got, change.want)
		}
	}
	for _, sql := range []string{"INSERT INTO wares VALUES (8)", "DROP TABLE orders", "CREATE TABLE other (i INTEGER)"} {
		_, err := c.Exec(t.Context(), sql)
		if err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: got %v", sql, err)
		}
	}
	for sql, want := range map[string]string{ // the first is a macro of the prelude
		"DELETE FROM orders RETURNING array_join([id], ',')": "array_join is refused here",
		"DELETE FROM orders RETURNING nosuch(id)":            `there is no function "nosuch"`,
		"DELETE FROM orders RETURNING id.nosuch()":           `there is no function "nosuch"`,
	} {
		if _, err := c.Exec(t.Context(), sql); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), want) {
			t.Errorf("%s: got %+v, want %s", sql, err, want)
		}
	}
	reader := pgxConnect(t, p, readerKey, "sslmode=disable")
	for _, sql := range []string{"INSERT INTO orders VALUES (9, 'x', NULL)", "UPDATE orders SET id = 9", "DELETE FROM orders"} {
		_, err := reader.Exec(t.Context(), sql)
		wantState(t, err, "42501", 1)
	}
	if got := orders(t, reader); got != "1 one" {
		t.Errorf("a reader wrote: %s", got)
	}
	q := newPSQL(t, p, writerKey)
	q.want("INSERT INTO orders VALUES (2, 'two', NULL)", "INSERT 0 1")
	q.want("TABLE orders", "2 | two")
}

func TestSQLWritesOverFlight(t *testing.T) {
	t.Parallel()
	p := start(t, shop(t), sqlProtocols()...)
	c := flightConnect(t, p, writerKey, insecure.NewCredentials())
	for _, change := range []struct {
		sql  string
		rows int64
	}{
		{"INSERT INTO orders VALUES (2, 'two', DATE '2024-02-29'), (3, 'three', NULL)", 2},
		{"UPDATE orders SET name = upper(name) WHERE id >= 2", 2},
		{"DELETE FROM orders WHERE id = 3", 1},
	} {
		if n, err := c.ExecuteUpdate(c.ctx, change.sql); err != nil || n != change.rows {
			t.Errorf("%s: got %d, %v", change.sql, n, err)
		}
	}
	insert, err := c.Prepare(c.ctx, "INSERT INTO orders VALUES ($1, $2, $3)")
	if err != nil {
		t.Fatal(err)
	}
	insert.SetParameters(row(t, `[{"1": 4, "2": "four", "3": "2024-03-01"}]`,
		nullable("1", arrow.PrimitiveTypes.Int32), nullable("2", arrow.BinaryTypes.String), nullable("3", arrow.FixedWidthTypes.Date32)))
	if n, err := insert.ExecuteUpdate(c.ctx); err != nil || n != 1 {
		t.Errorf("a prepared INSERT: got %d, %v", n, err)
	}
	insert.SetParameters(row(t, `[{"1": 5, "2": "five", "3": "2024-03-01"}, {"1": 6, "2": null, "3": null}]`,
		nullable("1", arrow.PrimitiveTypes.Int32), nullable("2", arrow.BinaryTypes.String), nullable("3", arrow.FixedWidthTypes.Date32)))
	if n, err := insert.ExecuteUpdate(c.ctx); err != nil || n != 2 {
		t.Errorf("an INSERT of two rows of parameters: got %d, %v", n, err)
	}
	named, err := c.query("SELECT greeting(greeted := 'ann') AS a, greeting() AS b, greeting('bob', mark => '?') AS c")
	if want := "a utf8 | hello ann!\nb utf8 | hello all!\nc utf8 | hello bob?\n"; err != nil || named != want {
		t.Errorf("named and omitted arguments: %s, %v", named, err)
	}
	insert.SetParameters(row(t, `[{"1": "7"}, {"1": "x"}, {"1": "8"}]`, nullable("1", arrow.BinaryTypes.String)))
	_, err = insert.ExecuteUpdate(c.ctx)
	wantStatus(t, err, codes.InvalidArgument, "row 1 of 3 of the parameters: the statement has 3 parameters, got 1")
	if n, err := c.ExecuteUpdate(c.ctx, "DELETE FROM orders WHERE id >= 5"); err != nil || n != 2 {
		t.Errorf("a DELETE: got %d, %v", n, err)
	}
	text, err := c.query("SELECT * FROM orders ORDER BY id")
	if want := "id int32 | 1 | 2 | 4\nname utf8 | one | TWO | four\nday date32 | (null) | 2024-02-29 | 2024-03-01\n"; err != nil || text != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
	reader := flightConnect(t, p, readerKey, insecure.NewCredentials())
	_, err = reader.ExecuteUpdate(reader.ctx, "DELETE FROM orders")
	wantStatus(t, err, codes.PermissionDenied, "DELETE")
	_, err = c.ExecuteUpdate(c.ctx, "DELETE FROM wares")
	wantStatus(t, err, codes.PermissionDenied, "wares")
}
