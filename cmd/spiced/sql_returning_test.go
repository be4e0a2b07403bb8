package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/apache/arrow-go/v18/arrow"
)

// TestReturningOverPostgres has the statements of ORMs: qualified names, several rows,
// pipelines and upserts.
func TestReturningOverPostgres(t *testing.T) {
	t.Parallel()
	p := start(t, shop(t), sqlProtocols()...)
	c := pgxConnect(t, p, writerKey, "sslmode=disable")
	for _, change := range []struct {
		sql  string
		args []any
		rows string
		tag  string
	}{
		{
			`INSERT INTO "public"."orders" ("id", "name") VALUES ($1, $2), ($3, $4) RETURNING "public"."orders"."id"`,
			[]any{2, "two", 3, "three"},
			"2, 3",
			"INSERT 0 2",
		},
		{
			"INSERT INTO orders (id, name) VALUES ($1, 'TWO') ON CONFLICT (id) DO UPDATE SET name = excluded.name || orders.name RETURNING name",
			[]any{2},
			"TWOtwo",
			"INSERT 0 1",
		},
		{"INSERT INTO orders (id) VALUES (2) ON CONFLICT DO NOTHING RETURNING id::VARCHAR", nil, "", "INSERT 0 0"},
		{"UPDATE orders SET name = $1 WHERE orders.id = $2 RETURNING orders.name || '!'", []any{"x", 3}, "x!", "UPDATE 1"},
		{"DELETE FROM orders WHERE id > 1 RETURNING id + twice(id)", nil, "6, 9", "DELETE 2"},
	} {
		mode := pgx.QueryExecModeCacheStatement
		if change.args == nil {
			mode = pgx.QueryExecModeSimpleProtocol
		}
		rows, err := c.Query(t.Context(), change.sql, append([]any{mode}, change.args...)...)
		if err != nil {
			t.Fatalf("%s: %v", change.sql, err)
		}
		got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			values, err := row.Values()
			return fmt.Sprint(values...), err
		})
		if err != nil || strings.Join(got, ", ") != change.rows || rows.CommandTag().String() != change.tag {
			t.Errorf("%s: got %q, %s, %v", change.sql, got, rows.CommandTag(), err)
		}
	}
	if got := orders(t, c); got != "1 one" {
		t.Errorf("at the end: %s", got)
	}
	reader := pgxConnect(t, p, readerKey, "sslmode=disable")
	_, err := reader.Exec(t.Context(), "DELETE FROM orders RETURNING id")
	wantState(t, err, "42501", 1)
	_, err = c.Exec(t.Context(), "DELETE FROM orders RETURNING nam")
	wantState(t, err, "42703", 30)
	_, err = c.Exec(t.Context(), "INSERT INTO orders (id) VALUES (1) ON CONFLICT (name) DO NOTHING")
	wantState(t, err, "42P10", 0)
}

func TestReturningOverFlight(t *testing.T) {
	t.Parallel()
	p := start(t, shop(t), sqlProtocols()...)
	c := flightConnect(t, p, writerKey, insecure.NewCredentials())
	got, err := c.query("INSERT INTO orders (id, name) VALUES (2, 'two'), (3, 'three') RETURNING id, orders.name")
	if want := "id int32 | 2 | 3\nname utf8 | two | three\n"; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if n, err := c.ExecuteUpdate(c.ctx, "UPDATE orders SET name = 'x' WHERE id > 1 RETURNING id AS \"Count\""); err != nil || n != 2 {
		t.Errorf("as an update: got %d, %v", n, err)
	}
	insert, err := c.Prepare(c.ctx, "INSERT INTO orders (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING name")
	if err != nil {
		t.Fatal(err)
	}
	if schema := insert.DatasetSchema(); schema.NumFields() != 1 || schema.Field(0).Name != "name" {
		t.Errorf("the schema of a prepared INSERT with RETURNING: %s", schema)
	}
	insert.SetParameters(row(t, `[{"1": 3, "2": "THREE"}]`, nullable("1", arrow.PrimitiveTypes.Int32), nullable("2", arrow.BinaryTypes.String)))
	got, err = c.read(insert.Execute(c.ctx))
	if want := "name utf8 | THREE\n"; err != nil || got != want {
		t.Errorf("prepared: got %s, %v; want %s", got, err, want)
	}
	_, err = c.query("INSERT INTO orders (id) VALUES (1) RETURNING id")
	wantStatus(t, err, codes.FailedPrecondition, "Duplicate key")
	reader := flightConnect(t, p, readerKey, insecure.NewCredentials())
	_, err = reader.query("DELETE FROM orders RETURNING id")
	wantStatus(t, err, codes.PermissionDenied, "DELETE")
}

func TestReturningOverHTTP(t *testing.T) {
	t.Parallel()
	p := start(t, shop(t), sqlProtocols()...)
	sql := func(key, statement string, status int, parts ...string) {
		t.Helper()
		p.want(p.do("POST", "/v1/sql", statement, "X-API-Key", key), status, parts...)
	}
	sql(writerKey, "INSERT INTO orders VALUES (2, 'two', DATE '2024-02-29') RETURNING *", 200, `[{"id":2,"name":"two","day":"2024-02-29"}]`)
	sql(writerKey, "INSERT INTO orders (id) SELECT 10 + range FROM range(20000) RETURNING id", 413, "RETURNING gives more than 16384 rows; nothing was written",
		"change fewer rows at once, or leave RETURNING out")
	sql(writerKey, "DELETE FROM orders WHERE id > 2 RETURNING id", 200, `[]`)
	sql(writerKey, "DELETE FROM orders WHERE id = 2 RETURNING nme", 400, `"nme"`, `did you mean "name"?`)
	sql(writerKey, "INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET name = (SELECT 'x')", 400, "DO UPDATE SET", "subquery")
	sql(writerKey, "INSERT OR REPLACE INTO orders VALUES (1, 'x', NULL)", 400, "write ON CONFLICT DO NOTHING or DO UPDATE")
	sql(readerKey, "DELETE FROM orders RETURNING id", 400, "DELETE statements are refused")
	sql(readerKey, "SELECT id, name FROM orders ORDER BY id", 200, `[{"id":1,"name":"one"},{"id":2,"name":"two"}]`)
}
