package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
)

// mysqlPod has a dataset of a MySQL server and, once MORE is filled, others, which a
// reload adds.
const mysqlPod = "version: v1\nkind: Spicepod\nname: sources\n" + `runtime:
  functions: { enabled: true }
  extensions: { directory: EXTENSIONS }
functions:
  - { name: total, from: sql, signature: { args: [{ name: c, type: utf8 }], returns: float64 }, body: (SELECT sum(amount)::DOUBLE FROM orders WHERE customer = c) }
datasets:
  - { name: orders, from: "mysql:orders", params: { mysql_host: 127.0.0.1, mysql_tcp_port: PORT, mysql_db: test, mysql_user: reader, mysql_pass: "${secrets:sources_pass}" } }
  - { name: copied, from: "mysql:test.orders", params: { mysql_host: 127.0.0.1, mysql_tcp_port: PORT, mysql_user: reader, mysql_pass: "${secrets:sources_pass}" }, acceleration: {} }
MORE`

// TestMySQLSource reads a MySQL server over every entrance, in workers too, changes and
// ends the server, and adds and removes datasets of it and of another in reloads, while
// statements run.
func TestMySQLSource(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "mysql_scanner").Path)
	database, other := mysqltest.Start(t), mysqltest.Start(t)
	database.Exec("CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(20), amount decimal(10,2))",
		"INSERT INTO orders SELECT seq, CONCAT('c', seq % 10), seq FROM seq_1_to_100", "GRANT SELECT ON test.* TO reader")
	other.Exec("CREATE TABLE t AS SELECT 42 AS x", "GRANT SELECT ON test.* TO reader")
	pod := func(more string) string {
		return strings.NewReplacer("EXTENSIONS", directory, "PORT", fmt.Sprint(database.Port), "MORE", more).Replace(mysqlPod)
	}
	dir := folder(t, "spicepod.yaml", pod(""), ".env", dotenv("SOURCES_PASS", mysqltest.Password))
	p := startInTemp(t, dir, sqlProtocols()...)
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })

	p.want(p.do("POST", "/v1/sql", "SELECT o.id, o.amount::VARCHAR AS amount FROM orders o JOIN copied USING (id, customer) WHERE id < 3 ORDER BY id"), 200,
		`[{"id":1,"amount":"1.00"},{"id":2,"amount":"2.00"}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT total('c3') AS t"), 200, `[{"t":480.0}]`)
	p.want(p.do("POST", "/v1/tools/total", `{"c":"c3"}`), 200, "480")
	if got := p.sql("SELECT count(*) AS n FROM orders WHERE id > 50"); !strings.Contains(got, "50") {
		t.Errorf("spiced sql: got %s", got)
	}
	// The function is refused where no worker can run the statement.
	const inWorker = "SELECT max(damerau_levenshtein(customer, 'c1')) AS d, count(*) AS n FROM orders"
	p.want(p.do("POST", "/v1/sql", inWorker), 200, `[{"d":1,"n":100}]`)

	secrets := []string{mysqltest.Password, url.PathEscape(mysqltest.Password), "spiced-run-mysql", "mysql.sock", "COLLATE"}
	shown := []string{
		"EXPLAIN ANALYZE FROM orders", "DESCRIBE orders", "SHOW ALL TABLES", "SUMMARIZE orders", "FROM duckdb_views()", "FROM duckdb_secrets()",
		"FROM duckdb_databases()", "FROM duckdb_schemas()",
		"FROM duckdb_tables()", "FROM duckdb_columns()", "FROM information_schema.tables", "FROM information_schema.columns", "FROM spiced.datasets",
		"FROM spiced.functions", "FROM spiced.load_errors",
	}
	refused := []string{
		"ATTACH '' AS x (TYPE mysql)", "ATTACH 'host=127.0.0.1 user=reader' AS x (TYPE mysql)", "LOAD mysql_scanner", "FROM mysql_query('x', 'SELECT 1')",
		"CALL mysql_execute('x', 'SELECT 1')", "CALL mysql_clear_cache()",
		"CREATE SECRET x (TYPE mysql)", "CREATE SCHEMA x.y", "SET mysql_debug_show_queries = true", "SET mysql_session_time_zone = 'x'",
		"INSERT INTO orders VALUES (1)",
		"SELECT error(customer) FROM orders", "SELECT customer::INT FROM orders", "FROM nowhere",
	}
	for _, sql := range slices.Concat(shown, refused) {
		r := p.do("POST", "/v1/sql", sql)
		if slices.Contains(refused, sql) && r.status == 200 {
			t.Errorf("%s is not refused: %.2000s", sql, r.body)
		}
		for _, s := range secrets {
			if strings.Contains(r.body, s) {
				t.Errorf("%s shows %s: %.2000s", sql, s, r.body)
			}
		}
	}

	// Reloads add datasets, of another server too, and remove them.
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if r := p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM orders WHERE id > 50"); r.body != `[{"n":50}]` {
					t.Errorf("during reloads: %d %s", r.status, r.body)
					return
				}
			}
		})
	}
	more := `  - { name: other, from: "mysql:t", params: { mysql_host: 127.0.0.1, mysql_tcp_port: ` + fmt.Sprint(other.Port) +
		`, mysql_db: test, mysql_user: reader, mysql_pass: "${secrets:sources_pass}" } }` + "\n"
	for range 3 {
		write(t, filepath.Join(dir, "spicepod.yaml"), pod(more))
		p.eventually("to serve what the reload added", func() bool {
			return p.do("POST", "/v1/sql", "SELECT x, count(*) AS n FROM other, orders GROUP BY x").body == `[{"x":42,"n":100}]`
		})
		write(t, filepath.Join(dir, "spicepod.yaml"), pod(""))
		p.eventually("to remove it again", func() bool { return p.do("POST", "/v1/sql", "FROM other").status != 200 })
	}
	close(stop)
	load.Wait()

	// The server's table changes, and the server ends and comes back.
	database.Exec("ALTER TABLE orders CHANGE customer client varchar(20)")
	p.eventually("to notice the column", func() bool {
		return strings.Contains(p.do("POST", "/v1/sql", "SELECT client FROM orders WHERE id = 1").body, "c1")
	})
	p.want(p.do("POST", "/v1/sql", "SELECT max(damerau_levenshtein(client, 'c1')) AS d FROM orders"), 200, `[{"d":1}]`)
	database.Exec("ALTER TABLE orders CHANGE client customer varchar(20)")
	p.eventually("to notice the column again", func() bool { return p.do("POST", "/v1/sql", "SELECT total('c3')").status == 200 })
	p.want(p.do("POST", "/v1/sql", inWorker), 200, `[{"d":1,"n":100}]`)
	database.Stop()
	for _, sql := range []string{"SELECT count(*) AS n FROM orders", inWorker} {
		p.wantAway(sql, secrets)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM copied"), 200, `[{"n":100}]`)
	database.Start()
	p.eventually("to read the server again", func() bool {
		return p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM orders").body == `[{"n":100}]`
	})
	p.wantNotLogged(secrets...)
	p.wantNothingLeft("spiced-run-mysql-*")
}
