package datasets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// shop creates a DuckDB file with a table, a view of it and a second table.
func shop(w *world) string {
	w.t.Helper()
	path := filepath.Join(w.dir, "shop.db")
	for _, sql := range []string{
		"ATTACH " + engine.Literal(path) + " AS shop",
		"CREATE TABLE shop.main.orders AS SELECT 1 AS id, 'one' AS name",
		"CREATE VIEW shop.main.v AS SELECT 1 AS id",
		"CREATE SCHEMA shop.sales",
		"CREATE TABLE shop.sales.items (id INT)",
		"DETACH shop",
	} {
		w.exec(sql)
	}
	return path
}

// change runs a statement that may write.
func (w *world) change(sql string) error {
	rows, err := w.db.Query(context.Background(), engine.Request{SQL: sql, Write: true})
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) mustChange(sql string) {
	w.t.Helper()
	if err := w.change(sql); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

const (
	ordersRead  = "{name: orders, from: 'duckdb:shop.db'}"
	ordersWrite = "{name: orders, from: 'duckdb:shop.db', access: read_write}"
	sameRead    = "{name: same, from: 'duckdb:shop.db/orders'}"
)

func list(decls ...string) string { return "datasets: [" + strings.Join(decls, ", ") + "]\n" }

func TestReadWriteDataset(t *testing.T) {
	w := newWorld(t)
	shop(w)
	w.ok(list(ordersWrite, sameRead, "{name: wares, from: 'duckdb:shop.db/sales.items', access: read_write}"))
	if n := w.attached(); n != 1 {
		t.Errorf("the file is attached %d times", n)
	}
	w.mustChange("INSERT INTO orders VALUES (2, 'two')")
	w.mustChange("UPDATE orders SET name = upper(orders.name) WHERE id = 1")
	w.mustChange("INSERT INTO wares SELECT id FROM same")
	w.want("SELECT * FROM orders ORDER BY id", "1|ONE, 2|two")
	w.want("SELECT count(*) FROM same", "2")
	w.want("SELECT sum(id) FROM wares", "3")
	var e *engine.Error
	if err := w.change("DELETE FROM same"); !errors.As(err, &e) || e.Code != errcode.Refused || !strings.Contains(e.Hint, "read_write") {
		t.Errorf("a dataset to read: %v", err)
	}
	before := w.served[0]
	w.ok(list(ordersWrite, sameRead))
	if w.served[0] != before {
		t.Error("a reload made the dataset again")
	}
	w.mustChange("INSERT INTO orders VALUES (3, 'three')")
	w.want("SELECT count(*) FROM same", "3")
}

// Writes are in the file, not in its write-ahead log, when the runtime has ended or
// the dataset is removed.
func TestWrittenRowsAreInTheFile(t *testing.T) {
	for _, end := range []string{"close", "reload"} {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t)
			path := shop(w)
			w.ok(list(ordersWrite))
			w.mustChange("INSERT INTO orders VALUES (2, 'two')")
			if end == "close" {
				w.stop()
			} else {
				w.ok("")
				w.drain()
				if n := w.attached(); n != 0 {
					t.Errorf("%d databases are still attached", n)
				}
			}
			if info, err := os.Stat(path + ".wal"); err == nil && info.Size() > 0 {
				t.Errorf("the log has %d bytes", info.Size())
			}
			if end == "close" {
				w.start()
			}
			w.ok(list(ordersRead))
			w.want("SELECT count(*) FROM orders", "2")
			if err := w.change("DELETE FROM orders"); err == nil {
				t.Error("a dataset to read was written")
			}
		})
	}
}

// A reload can remove write access, but only a restart can add it: DuckDB cannot
// attach a file both read-only and for writing.
func TestChangeOfAccess(t *testing.T) {
	w := newWorld(t)
	shop(w)
	w.ok(list(ordersRead, sameRead))
	problems := w.reload(list(ordersWrite, sameRead))
	if len(problems) != 1 || !problems.HasErrors() || !strings.HasSuffix(problems[0].Path, "datasets[0].access") ||
		!strings.Contains(problems[0].Hint, "restart") {
		t.Fatal(problems)
	}
	w.want("SELECT count(*) FROM orders", "1")
	if err := w.change("DELETE FROM orders"); err == nil {
		t.Error("it was written all the same")
	}
	w.ok("") // detaches the file as a restart does
	w.drain()
	w.ok(list(ordersWrite, sameRead))
	w.mustChange("INSERT INTO orders VALUES (2, 'two')")
	w.ok(list(ordersRead, sameRead))
	if err := w.change("DELETE FROM orders"); err == nil {
		t.Error("it can still be written")
	}
	w.want("SELECT count(*) FROM same", "2")
	w.ok(list(ordersWrite)) // still attached for writing
	w.mustChange("INSERT INTO orders VALUES (3, 'three')")
}

// A running statement completes when the dataset that it reads is removed.
func TestWrittenDatasetLeavesWhileRead(t *testing.T) {
	w := newWorld(t)
	shop(w)
	w.ok(list(ordersWrite))
	w.mustChange("INSERT INTO orders SELECT range, 'x' FROM range(100000)")
	rows, err := w.db.Query(t.Context(), engine.Request{SQL: "SELECT * FROM orders"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	w.ok("")
	for _, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := rows.Read(); n != 100001 {
		t.Errorf("%d rows", n)
	}
	rows.Close()
	w.drain()
	w.ok(list(ordersWrite))
	w.mustChange("DELETE FROM orders")
}

func TestReadWriteThroughALink(t *testing.T) {
	w := newWorld(t)
	path := shop(w)
	if err := os.Symlink(path, filepath.Join(w.dir, "link.db")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	w.ok(list(ordersWrite, "{name: linked, from: 'duckdb:link.db/orders'}"))
	w.mustChange("INSERT INTO orders VALUES (2, 'two')")
	w.want("SELECT count(*) FROM linked", "2")
	if n := w.attached(); n != 1 {
		t.Errorf("the file is attached %d times", n)
	}
}

func TestReadWriteFaults(t *testing.T) {
	w := newWorld(t)
	shop(w)
	w.file("a.csv", "a\n1\n")
	for name, c := range map[string]struct{ decl, path, want string }{
		"file":         {"{name: t, from: 'file:a.csv', access: read_write}", "access", "connector file does not support writes"},
		"http":         {"{name: t, from: 'http://127.0.0.1:1/a.csv', access: read_write}", "access", "connector http does not support writes"},
		"acceleration": {"{name: t, from: 'duckdb:shop.db/orders', access: read_write, acceleration: {}}", "access", "accelerated copy"},
		"view":         {"{name: t, from: 'duckdb:shop.db/v', access: read_write}", "access", `"v" is a view`},
		"type": {
			"{name: t, from: 'duckdb:shop.db/orders', access: read_write, columns: [{name: name}, {name: id, type: int64}]}", "columns[1].type",
			"keep their types",
		},
		"missing": {"{name: t, from: 'duckdb:shop.db/order', access: read_write}", "from", `did you mean "orders"?`},
		"no file": {"{name: t, from: 'duckdb:new.db', access: read_write}", "from", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := w.reload(list(c.decl))
			if len(problems) != 1 || !problems.HasErrors() || problems[0].Path != "datasets[0]."+c.path || !strings.Contains(problems.Error(), c.want) {
				t.Errorf("%+v", problems)
			}
			if len(w.served) != 0 {
				t.Error("it is served")
			}
			w.drain()
		})
	}
	if n := w.attached(); n != 0 {
		t.Errorf("%d databases are still attached", n)
	}
}
