package datasets

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/laketest"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// TestMySQLCatalog lists the databases of a server, whose tables change.
func TestMySQLCatalog(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	t.Setenv("WRONG", "hunter2")
	w, s := newMySQL(t)
	s.Exec("ALTER TABLE orders COMMENT 'what was bought', MODIFY amount decimal(10,2) COMMENT 'in euros'", "CREATE DATABASE sales",
		"CREATE TABLE sales.types (a tinyint, b smallint unsigned, c mediumint unsigned, d int unsigned, e bigint unsigned, f float, g double, h decimal(12,3), "+
			"i decimal(60,3), j decimal(38,2), k char(2), l date, m time, n datetime(3), o timestamp NULL, p year, q bit(1), r bit(9), s json, t enum('a'), "+
			"u varbinary(3), v longblob, w point, x uuid, y longtext, z mediumint)",
		"CREATE VIEW sales.big AS SELECT * FROM test.orders WHERE id > 50", "GRANT SELECT ON sales.* TO reader")
	w.clock.hold = true
	w.restart(func(o *Options) { o.Loaded = func() { w.retried <- struct{}{} } })
	w.clock.hold = true
	catalog := func(from, more string, others ...string) string {
		return "catalogs: [{from: '" + from + "', name: my, " + mysqlParams(s, others...) + more + "}]\n"
	}
	w.ok(catalog("mysql", "", "mysql_db", ""))
	w.want("SELECT \"schema\", name, state, \"from\" FROM spiced.datasets ORDER BY ALL",
		`my.big shop|Odd.Name's|listed|mysql:"Big Shop"."Odd.Name's", my.sales|big|listed|mysql:"sales"."big", my.sales|types|listed|mysql:"sales"."types", my.test|orders|listed|mysql:"test"."orders"`)
	const columns = "SELECT list(name || ' ' || type ORDER BY position) FROM spiced.dataset_columns WHERE dataset = 'types'"
	listed, _ := w.read(columns)
	w.want("SELECT count(*) FROM my.sales.types", "0")
	if opened, _ := w.read(columns); listed != opened {
		t.Errorf("the columns are as listed:\n%s\nopened:\n%s", listed, opened)
	}
	w.want("SELECT o.id FROM my.test.orders o JOIN my.sales.big USING (id) ORDER BY 1 LIMIT 1", "51")
	w.want(`FROM my."big shop"."Odd.Name's"`, "7")
	w.want("SELECT state, description FROM spiced.datasets WHERE name = 'orders'", "ready|what was bought")
	w.want("SELECT description FROM spiced.dataset_columns WHERE dataset = 'orders' AND name = 'amount'", "in euros")

	sections := catalog("mysql:test", ", include: ['test.*'], refresh_check_interval: 10m, dataset_params: {mysql_db: test}, acceleration: {}", "mysql_db", "")
	w.ok(sections)
	w.want("SELECT \"schema\", name FROM spiced.datasets", "my.test|orders")
	w.want("SELECT count(*) FROM my.test.orders", "100")
	s.Exec("CREATE TABLE late (x int)", "INSERT INTO late VALUES (1)", "GRANT SELECT ON test.late TO reader", "DROP TABLE orders")
	wait.Until(t, "the listing at the interval", func() bool {
		w.clock.advance(10 * time.Minute)
		select {
		case <-w.retried:
			return true
		default:
			return false
		}
	})
	w.ok(sections)
	w.want("FROM my.test.late", "1")
	if _, err := w.read("FROM my.test.orders"); err == nil || !strings.Contains(err.Error(), `table "my.test.orders" is not declared`) {
		t.Errorf("a table that is gone: got %v", err)
	}
	for _, c := range []struct{ name, catalog, message, hint, path string }{
		{
			"password", catalog("mysql", "", "mysql_pass", "${secrets:wrong}"), "Access denied for user 'reader'", "correct params.mysql_user",
			"catalogs[0].params.mysql_user",
		},
		{"database", catalog("mysql:tset", "", "mysql_db", ""), `the server has no database "tset"`, "correct the database", "catalogs[0].from"},
		{"two databases", catalog("mysql:tset", ""), `from names the database "tset", the params name "test"`, "leave the database out", "catalogs[0].from"},
		{
			"param", catalog("mysql", "", "mysql_pas", "x"), `unknown param "mysql_pas" of a catalog from mysql`, `did you mean "mysql_pass"?`,
			"catalogs[0].params.mysql_pas",
		},
		{"pattern", catalog("mysql", ", include: [late, 'test.*']"), `no table matches "late"`, `did you mean "test.late"?`, "catalogs[0].include[0]"},
		{"server", catalog("mysql", "", "mysql_tcp_port", "1"), "cannot connect to the MySQL server 127.0.0.1:1", "", "catalogs[0].params"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload(c.catalog)
			wantProblem(t, problems, "catalog my", c.message, c.hint, c.path)
			if strings.Contains(problems.Error(), "hunter2") {
				t.Errorf("a secret is shown: %s", problems)
			}
		})
	}
}

// TestDuckLakeCatalog lists the tables of a catalog in a file, which change.
func TestDuckLakeCatalog(t *testing.T) {
	w := newLake(t, "ducklake")
	w.clock.hold = true
	laketest.Write(t, "ducklake", "sqlite:"+filepath.Join(w.dir, "meta.sqlite")+","+w.dir+"/a data/")
	outside := filepath.Join(t.TempDir(), "meta.ducklake")
	laketest.Write(t, "ducklake", outside+","+w.dir+"/more/")
	catalog := func(more string) string { return "catalogs: [{name: lake, " + more + "}]\n" }
	sections := catalog("from: 'ducklake:sqlite:meta.sqlite'")
	w.ok(sections)
	w.want("SELECT \"schema\", name, state, \"from\" FROM spiced.datasets ORDER BY ALL",
		`lake.main|orders|listed|ducklake:main.orders, lake.more|v|listed|ducklake:more.v`)
	const columns = "SELECT list(name || ' ' || type ORDER BY position) FROM spiced.dataset_columns WHERE dataset = 'orders'"
	listed, _ := w.read(columns)
	w.want("FROM lake.more.v", "42")
	before, err := w.read("SELECT count(*) FROM lake.main.orders")
	if err != nil {
		t.Fatal(err)
	}
	if opened, _ := w.read(columns); listed != opened || !strings.Contains(listed, "id BIGINT") {
		t.Errorf("the columns are as listed:\n%s\nopened:\n%s", listed, opened)
	}
	laketest.Write(t, "ducklake_append", "sqlite:"+filepath.Join(w.dir, "meta.sqlite")+","+w.dir+"/a data/")
	if after, err := w.read("SELECT count(*) FROM lake.main.orders"); after == before || err != nil {
		t.Errorf("got %s, %v after a commit", after, err)
	}
	laketest.Write(t, "ducklake_more", "sqlite:"+filepath.Join(w.dir, "meta.sqlite")+","+w.dir+"/a data/")
	w.ok(sections)
	w.want("FROM lake.main.late", "7")
	if _, err := w.read("FROM lake.more.v"); err == nil || !strings.Contains(err.Error(), `table "lake.more.v" is not declared`) {
		t.Errorf("a view that is gone: got %v", err)
	}
	w.ok(catalog("from: ducklake, params: {ducklake_connection_string: 'sqlite:meta.sqlite'}, include: ['main.l*'], acceleration: {}"))
	w.want("SELECT name FROM spiced.datasets", "late")
	w.want("FROM lake.main.late", "7")

	for _, c := range []struct{ catalog, message, hint, path string }{
		{"from: ducklake", "the connector needs the catalog of the table", "set params.ducklake_connection_string", "catalogs[0].params"},
		{"from: 'ducklake:mata.sqlite'", "does not exist", "meta.sqlite", "catalogs[0].from"},
		{"from: 'ducklake:" + outside + "'", "outside of the data roots", "runtime.data_roots", "catalogs[0].from"},
		{"from: 'ducklake:postgres:dbname=x'", "catalogs at postgres: are not served", "sqlite: and the path", "catalogs[0].from"},
		{
			"from: 'ducklake:meta.sqlite', params: {ducklake_connection_string: x}", "from names the catalog already", "leave it out",
			"catalogs[0].params.ducklake_connection_string",
		},
		{
			"from: ducklake, params: {ducklake_connection: x}", `unknown param "ducklake_connection" of a catalog from ducklake`, "ducklake_connection_string",
			"catalogs[0].params.ducklake_connection",
		},
		{"from: 'ducklake:sqlite:meta.sqlite', include: [orders]", `no table matches "orders"`, `did you mean "main.orders"?`, "catalogs[0].include[0]"},
	} {
		wantProblem(t, w.reload(catalog(c.catalog)), "catalog lake", c.message, c.hint, c.path)
	}
}
