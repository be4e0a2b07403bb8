package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/exttest"
)

// TestSQLite reads testdata/shop.sqlite, which SQLite 3.40 wrote.
func TestSQLite(t *testing.T) {
	w := newWorld(t, exttest.Find(t, "sqlite_scanner"))
	file, err := os.ReadFile("testdata/shop.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	w.file("shop.db", string(file))
	w.file("other.db", "not a database")
	w.ok(`datasets:
- {name: orders, from: 'sqlite:shop.db'}
- {name: by_param, from: 'sqlite:orders', params: {sqlite_file: shop.db}}
- {name: large, from: 'sqlite:shop.db/large'}
- {name: fast, from: 'sqlite:shop.db', params: {table: orders}, acceleration: {primary_key: id}}
`)
	const all = "1|Ann|1.5|2026-01-02|1|\\x00\\xFF, 2|Jörg|NULL|NULL|0|NULL, 9007199254740993|☃|-2.0|1970-01-01|NULL|"
	for _, name := range []string{"orders", "by_param", "fast"} {
		w.want("SELECT * FROM "+name+" ORDER BY id", all)
	}
	w.want("SELECT count(*) FROM large", "2")

	// Another process writes.
	path := filepath.Join(w.dir, "shop.db")
	w.exec("ATTACH '" + path + "' AS writer (TYPE sqlite)")
	w.exec("INSERT INTO writer.orders (id, customer) VALUES (3, 'New')")
	w.exec("DETACH writer")
	w.want("SELECT customer FROM orders WHERE id = 3", "New")
	w.want("SELECT count(*) FROM fast", "3")
	if err := w.refresh("fast", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT customer FROM fast WHERE id = 3", "New")

	for _, c := range []struct{ from, message, hint string }{
		{"sqlite:shop.db/order", `has no table "order"`, `did you mean "orders"?`},
		{"sqlite:ship.db", `ship.db" does not exist`, `did you mean "shop.db"?`},
		{"sqlite:other.db", "file is not a database", ""},
		{"sqlite:/etc/passwd/t", "outside of the data roots", "runtime.data_roots"},
	} {
		problems := w.reload("datasets:\n- {name: orders, from: 'sqlite:shop.db'}\n- {name: bad, from: '" + c.from + "'}\n")
		if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
			t.Errorf("%s: got %v", c.from, problems)
		}
		w.want("SELECT count(*) FROM orders", "4")
	}
	problems := w.reload("datasets: [{name: orders, from: 'sqlite:shop.db', access: read_write}]")
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "connector sqlite does not support writes") {
		t.Error(problems)
	}

	// The table goes away while it is served.
	w.ok("datasets: [{name: orders, from: 'sqlite:shop.db'}]")
	w.exec("ATTACH '" + path + "' AS writer (TYPE sqlite)")
	w.exec("DROP VIEW writer.large")
	w.exec("DROP TABLE writer.orders")
	w.exec("DETACH writer")
	if _, err := w.read("FROM orders"); err == nil || !strings.Contains(err.Error(), "orders does not exist") {
		t.Errorf("got %v", err)
	}
	w.want("SELECT 42", "42")
}

// TestSQLiteMixedColumn reads testdata/mixed.sqlite, which has a text in a REAL column.
func TestSQLiteMixedColumn(t *testing.T) {
	w := newWorld(t, exttest.Find(t, "sqlite_scanner"))
	file, err := os.ReadFile("testdata/mixed.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	w.file("mixed.db", string(file))
	w.ok("datasets: [{name: mixed, from: 'sqlite:mixed.db'}]")
	_, err = w.read("SELECT sum(x) FROM mixed")
	if e := engine.AsError(err); err == nil || !strings.HasSuffix(e.Message, `found "abc" of type "text" instead`) ||
		!strings.Contains(e.Hint, "WHERE typeof(x) <> 'real'") {
		t.Errorf("got %v", err)
	}
	w.want("SELECT sum(id) FROM mixed", "3")
}
