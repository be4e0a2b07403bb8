package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
)

const catalogPod = "version: v1\nkind: Spicepod\nname: catalogs\n" + `runtime:
  functions: { enabled: true }
  extensions: { directory: EXTENSIONS }
dependencies: [acme/rates]
catalogs:
  - { name: pg, from: pg, params: { pg_host: 127.0.0.1, pg_port: PORT, pg_db: test, pg_user: reader, pg_pass: "${secrets:sources_pass}" }, refresh_check_interval: 1s }
views:
  - { name: big, sql: "SELECT id, amount * euro AS euros FROM pg.public.orders, rates WHERE id > 98" }
functions:
  - { name: total, from: sql, signature: { args: [{ name: c, type: utf8 }], returns: float64 }, body: (SELECT sum(amount)::DOUBLE FROM pg.public.orders WHERE customer = c) }
`

// TestCatalogs serves the tables of a PostgreSQL server over every entrance, and those of
// that runtime through another one.
func TestCatalogs(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "postgres_scanner").Path)
	database := pgtest.Start(t)
	database.Exec("CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2))", "COMMENT ON TABLE orders IS 'what was bought'",
		"INSERT INTO orders SELECT i, 'c' || i % 10, i FROM generate_series(1, 100) i", "CREATE TABLE unread (x int)",
		"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	pod := strings.NewReplacer("EXTENSIONS", directory, "PORT", fmt.Sprint(database.Port)).Replace(catalogPod)
	dir := folder(t, "spicepod.yaml", pod, ".env", dotenv("SOURCES_PASS", pgtest.Password))
	rates := filepath.Join(dir, "spicepods/acme/rates")
	if err := os.MkdirAll(rates, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(rates, "rates.csv"), "euro\n2\n")
	write(t, filepath.Join(rates, "spicepod.yaml"), "version: v1\nkind: Spicepod\nname: rates\ndatasets: [{name: rates, from: 'file:rates.csv'}]\n")
	if status, out := spiced(t, "validate", dir); status != 0 {
		t.Errorf("validate: %d\n%s", status, out)
	}
	p := startProcess(t, dir, sqlProtocols()...)
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })
	p.want(p.do("POST", "/v1/sql", "SELECT * FROM big ORDER BY id"), 200, `[{"id":99,"euros":198.00},{"id":100,"euros":200.00}]`)
	p.want(p.do("POST", "/v1/tools/total", `{"c":"c3"}`), 200, "480")
	if body := p.do("GET", "/v1/datasets", "").body; !strings.Contains(body, `"name":"pg.public.orders"`) {
		t.Errorf("/v1/datasets: %s", body)
	}
	if body := p.do("POST", "/v1/tools/list_datasets", "{}").body; !strings.Contains(body,
		`{"table":"pg.public.orders","can_search_documents":false,"description":"what was bought"`) {
		t.Errorf("list_datasets: %s", body)
	}
	if body := p.do("POST", "/v1/tools/table_schema", `{"tables":["pg.public.orders"]}`).body; !strings.Contains(body, "DECIMAL(10,2)") {
		t.Errorf("table_schema: %s", body)
	}
	q := newPSQL(t, p, "")
	q.want(`\dt "pg.public".*`, "orders", "unread")
	q.want(`SELECT count(*) FROM pg.public.orders`, "100")
	q.want(`SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'pg.%'`, "pg.public", "unread")
	q.want(`\d "pg.public".orders`, "customer", "numeric(10,2)")

	client, err := flightTo(p.address("flight"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got := flightTables(t, client); !strings.Contains(got, "spice.pg.public.orders") || !strings.Contains(got, "spice.pg.public.unread") {
		t.Errorf("Flight SQL has the tables %s", got)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT name FROM spiced.datasets WHERE state = 'listed'"), 200, `[{"name":"unread"}]`)

	second := startProcess(t, folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: second\ncatalogs: [{name: first, from: 'spice.ai:http://"+
		p.address("flight")+"', include: ['{public,pg.*}.*']}]\n"))
	second.eventually("to be ready", func() bool { return second.do("GET", "/v1/ready", "").status == 200 })
	second.want(second.do("POST", "/v1/sql", "SELECT sum(euros)::DOUBLE AS s FROM first.public.big"), 200, `[{"s":398.0}]`)
	second.want(second.do("POST", "/v1/sql", `SELECT count(*) AS n FROM first."pg.public".orders`), 200, `[{"n":100}]`)
	second.want(second.do("POST", "/v1/sql", "SELECT name, state FROM spiced.datasets ORDER BY ALL"), 200,
		`[{"name":"big","state":"ready"},{"name":"orders","state":"ready"},{"name":"rates","state":"listed"},{"name":"unread","state":"listed"}]`)

	database.Exec("CREATE TABLE late AS SELECT 7 AS x", "GRANT SELECT ON late TO reader", "DROP TABLE unread")
	p.eventually("to list the new table", func() bool {
		return p.do("POST", "/v1/sql", "SELECT x FROM pg.public.late").body == `[{"x":7}]`
	})
	if r := p.do("POST", "/v1/sql", "FROM pg.public.unread"); r.status != 404 && r.status != 400 || !strings.Contains(r.body, "is not declared") {
		t.Errorf("a table that is gone: %d %s", r.status, r.body)
	}
	database.Stop()
	p.eventually("to say that the server is away", func() bool {
		return strings.Contains(p.do("POST", "/v1/sql", "FROM spiced.load_errors").body, "its tables may have changed since it was last listed")
	})
	p.want(p.do("POST", "/v1/sql", "SELECT euro FROM rates"), 200, `[{"euro":2}]`)
	database.Start()
	p.eventually("to read the server again", func() bool {
		return p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM pg.public.orders").body == `[{"n":100}]`
	})
	write(t, filepath.Join(rates, "spicepod.yaml"),
		"version: v1\nkind: Spicepod\nname: rates\ndatasets: [{name: rates, from: 'file:rates.csv'}, {name: more, from: 'file:rates.csv'}]\n")
	p.eventually("to serve what the dependency adds", func() bool {
		return p.do("POST", "/v1/sql", "SELECT euro FROM more").body == `[{"euro":2}]`
	})
	p.wantNotLogged(pgtest.Password)
}

// flightTables are the tables that a server names, with their columns.
func flightTables(t *testing.T, c *flightsql.Client) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	info, err := c.GetTables(ctx, &flightsql.GetTablesOpts{IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var names []string
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			var parts []string
			for j := range 3 {
				parts = append(parts, b.Column(j).(*array.String).Value(i))
			}
			names = append(names, strings.Join(parts, "."))
		}
	}
	return strings.Join(names, " ")
}
