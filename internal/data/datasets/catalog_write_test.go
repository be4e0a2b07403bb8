package datasets

import (
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
)

// TestPostgresCatalogWrites and TestMySQLCatalogWrites write to tables of catalogs, which the
// statement that writes opens.
func TestPostgresCatalogWrites(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w, s := newPostgres(t)
	s.Exec("CREATE TABLE items (id int PRIMARY KEY, name text NOT NULL UNIQUE, hits int DEFAULT 0)", "CREATE VIEW seen AS SELECT * FROM items",
		"CREATE TABLE closed (x int)",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON items, seen TO reader", "GRANT SELECT ON closed TO reader")
	catalogWrites(t, w, "pg.public", "catalogs: [{from: pg, name: pg, include: [public.*], "+pgParams(s)+", access: ACCESS}]\n", s.Value,
		`"seen" is no table of the PostgreSQL server`, func() { s.Exec("GRANT INSERT, UPDATE, DELETE ON closed TO reader") })
}

func TestMySQLCatalogWrites(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	w, s := newMySQL(t)
	s.Exec("CREATE TABLE items (id int PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, hits int DEFAULT 0)", "CREATE VIEW seen AS SELECT * FROM items",
		"CREATE TABLE closed (x int)",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON items TO reader", "GRANT SELECT, INSERT, UPDATE, DELETE ON seen TO reader", "GRANT SELECT ON closed TO reader")
	catalogWrites(t, w, "my.test", "catalogs: [{from: mysql, name: my, include: [test.*], "+mysqlParams(s)+", access: ACCESS}]\n", s.Value,
		`"seen" is no table of the MySQL server`, func() { s.Exec("GRANT INSERT, UPDATE, DELETE ON closed TO reader") })
}

// catalogWrites writes to the tables items, seen, closed and orders; reader may
// write only the first until grant is called.
func catalogWrites(t *testing.T, w *world, schema, sections string, value func(string) string, view string, grant func()) {
	w.clock.hold = true
	in := strings.NewReplacer("IN.", schema+".", "SCHEMA", schema).Replace
	writes := func(sql, want string) {
		t.Helper()
		if got, err := w.rowsOf(t.Context(), in(sql)); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", sql, got, err, want)
		}
	}
	refused := func(sql, message string) {
		t.Helper()
		var e *engine.Error
		if _, err := w.rowsOf(t.Context(), in(sql)); !errors.As(err, &e) || e.Code != errcode.Refused || !strings.Contains(e.Message, message) {
			t.Errorf("%s: got %v; want %s", sql, err, message)
		}
	}
	readWrite := strings.Replace(sections, "ACCESS", "read_write", 1)
	w.ok(readWrite)
	if _, err := w.read(in("INSERT INTO IN.items VALUES (9, 'x', 1)")); err == nil {
		t.Error("a reader writes")
	}
	w.want("SELECT count(*) FROM spiced.datasets WHERE state <> 'listed'", "0")
	writes("INSERT INTO IN.items (id, name) VALUES (1, 'a'), (2, 'b') RETURNING id, name, hits", "1|a|0, 2|b|0")
	w.want("SELECT name, state FROM spiced.datasets WHERE state <> 'listed'", "items|ready")
	w.want("SELECT kind, columns FROM spiced.dataset_constraints WHERE dataset = 'items' AND kind <> 'NOT NULL' ORDER BY ALL", "PRIMARY KEY|[id], UNIQUE|[name]")
	writes("INSERT INTO IN.items AS i (id, name) VALUES (1, 'c'), (3, 'd') ON CONFLICT (id) DO UPDATE SET hits = i.hits + 1 RETURNING i.id, i.hits", "1|1, 3|0")
	writes("UPDATE IN.items SET hits = hits + 10 WHERE id IN (SELECT id FROM IN.seen WHERE id < 2) RETURNING hits", "11")
	writes("DELETE FROM IN.items WHERE name = 'b'", "1")
	w.want(in("SELECT id, name, hits FROM IN.items ORDER BY id"), "1|a|11, 3|d|0")
	if got := value("SELECT sum(hits) FROM items"); got != "11" {
		t.Errorf("the server has %s", got)
	}
	refused("DELETE FROM IN.seen", `table "seen" is read-only: `+view)
	refused("INSERT INTO IN.closed VALUES (1)", `table "closed" is read-only: the user "reader" may not write to the table "closed"`)
	w.want(in("SELECT count(*) FROM IN.seen, IN.orders"), "200")
	w.want("SELECT name, state FROM spiced.datasets WHERE error LIKE '%cannot be written' OR error LIKE '%may not write to%' ORDER BY 1",
		"closed|ready, orders|ready, seen|ready")
	refused("DELETE FROM IN.orders", `may not write to the table "orders"`)

	// A reload finds new privileges, and the tables that were open are written as before.
	grant()
	w.ok(readWrite + "datasets: [{name: other, from: 'file:" + w.file("o.csv", "a\n1\n") + "'}]\n")
	writes("INSERT INTO IN.closed VALUES (1)", "1")
	writes("UPDATE IN.items SET hits = 0", "2")
	w.want("SELECT error FROM spiced.datasets WHERE name = 'closed'", "NULL")
	w.want("SELECT count(*) FROM spiced.datasets WHERE name = 'seen' AND error LIKE '%cannot be written'", "1")

	w.ok(strings.Replace(sections, "ACCESS", "read", 1))
	refused("UPDATE IN.items SET hits = 0", `table "items" is read-only`)
	w.want(in("SELECT count(*) FROM IN.items"), "2")

	problems := w.reload(strings.Replace(readWrite, "access", "acceleration: {}, access", 1))
	wantProblem(t, problems, "catalog "+schema[:2], "writes would change the source, not the accelerated copy", "leave acceleration out", "catalogs[0].access")
	problems = w.reload("catalogs: [{from: 'flightsql:x', name: f, access: read_write}]\n")
	wantProblem(t, problems, "catalog f", "connector flightsql does not support writes", "leave access out", "catalogs[0].access")
}
