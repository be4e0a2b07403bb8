package datasets

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/pgtest"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/spicepod"
)

// pgCatalog declares a catalog of the server.
func pgCatalog(s *pgtest.Server, more string) string {
	return "catalogs: [{from: pg, name: pg, " + pgParams(s) + more + "}]\n"
}

func TestPostgresCatalog(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w, s := newPostgres(t)
	s.Exec("COMMENT ON TABLE orders IS 'what was bought'", "COMMENT ON COLUMN orders.amount IS 'in euros'",
		"CREATE SCHEMA sales", "CREATE TYPE mood AS ENUM ('sad', 'ok')",
		`CREATE TABLE sales.types (a bool, b int2, c int4, d int8, e float4, f float8, g numeric(12,3), h numeric, i text, j varchar(3), k char(2), l date, m time, n timestamp,
			o timestamptz, p interval, q uuid, r bytea, s json, t jsonb, u int[], v text[][], w mood, x inet, y numeric(5,2)[])`,
		"CREATE VIEW sales.big AS SELECT * FROM orders WHERE id > 50", "CREATE TABLE sales.parts (id int) PARTITION BY RANGE (id)",
		"CREATE TABLE sales.part1 PARTITION OF sales.parts FOR VALUES FROM (0) TO (10)", "INSERT INTO sales.parts VALUES (1)",
		`CREATE TABLE sales.twice (a int, "A" int)`, "CREATE TABLE sales.empty ()",
		"GRANT USAGE ON SCHEMA sales TO reader", "GRANT SELECT ON ALL TABLES IN SCHEMA sales TO reader")
	w.clock.hold = true
	problems := w.reload(pgCatalog(s, ""))
	for _, want := range []string{"sales.twice: its columns \"a\" and \"A\" differ in case only", "sales.empty: it has no columns"} {
		name, message, _ := strings.Cut(want, ": ")
		wantProblem(t, problems, "dataset pg."+name, message)
	}
	w.want("SELECT \"schema\", name, state, \"from\" FROM spiced.datasets ORDER BY ALL",
		`pg.big shop|Odd.Name"s|listed|postgres:"Big Shop"."Odd.Name""s", pg.public|orders|listed|postgres:"public"."orders", pg.sales|big|listed|postgres:"sales"."big", `+
			`pg.sales|empty|error|postgres:"sales"."empty", pg.sales|parts|listed|postgres:"sales"."parts", pg.sales|twice|error|postgres:"sales"."twice", pg.sales|types|listed|postgres:"sales"."types"`)
	const columns = "SELECT list(name || ' ' || type ORDER BY position) FROM spiced.dataset_columns WHERE dataset = 'types'"
	listed, _ := w.read(columns)

	w.want("SELECT count(*), sum(amount) FROM pg.public.orders WHERE id <= 2", "2|4.50")
	w.want("SELECT o.id FROM PG.Public.Orders AS o JOIN \"pg.sales\".big b USING (id) ORDER BY 1 LIMIT 1", "51")
	w.want(`FROM pg."Big Shop"."Odd.Name""s"`, "7")
	w.want("SELECT orders.id, (SELECT count(*) FROM pg.sales.parts) FROM pg.public.orders WHERE orders.id = 1", "1|1")
	w.want("SELECT count(*) FROM (DESCRIBE pg.sales.types)", "25")
	w.want("SELECT count(*) FROM pg.sales.types", "0")
	if opened, _ := w.read(columns); listed != opened {
		t.Errorf("the columns are as listed:\n%s\nopened:\n%s", listed, opened)
	}
	w.want("SELECT state, description FROM spiced.datasets WHERE name = 'orders'", "ready|what was bought")
	w.want("SELECT description FROM spiced.dataset_columns WHERE dataset = 'orders' AND name = 'amount'", "in euros")
}

// TestCatalogFaults declares catalogs that cannot be listed, next to a dataset that serves.
func TestCatalogFaults(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	t.Setenv("WRONG", "hunter2")
	w, s := newPostgres(t)
	w.clock.hold = true
	at := fmt.Sprintf("PostgreSQL server 127.0.0.1:%d", s.Port)
	for _, c := range []struct{ name, catalog, message, hint, path string }{
		{
			"password", "from: pg, " + pgParams(s, "pg_pass", "${secrets:wrong}"), `the ` + at + `: password authentication failed for user "reader"`,
			"correct params.pg_user", "catalogs[0].params.pg_user",
		},
		{
			"unset", "from: pg, " + pgParams(s, "pg_pass", "${secrets:nothing}"), "the variable NOTHING is not set", "set it in the environment",
			"catalogs[0].params.pg_pass",
		},
		{"server", "from: pg, " + pgParams(s, "pg_port", "1"), "cannot connect to the PostgreSQL server 127.0.0.1:1: connection refused", "", "catalogs[0].params"},
		{"database", "from: 'postgres:tset', " + pgParams(s, "pg_db", ""), `database "tset" does not exist`, "correct params.pg_db", "catalogs[0].params"},
		{
			"two databases", "from: 'postgres:tset', " + pgParams(s), `from names the database "tset", the params name "test"`, "leave the database out",
			"catalogs[0].from",
		},
		{
			"param", "from: pg, " + pgParams(s, "pg_pas", "x"), `unknown param "pg_pas" of a catalog from postgres`, `did you mean "pg_pass"?`,
			"catalogs[0].params.pg_pas",
		},
		{
			"connector", "from: 'file:x'", `connector "file" has no catalogs in this build`, "there are catalogs of ducklake, flightsql, mysql, postgres, spice.ai",
			"catalogs[0].from",
		},
		{"pattern", "from: pg, include: [public.*, 'a[b'], " + pgParams(s), `"a[b" is not a pattern`, "for example public.*", "catalogs[0].include[1]"},
		{
			"nothing matches", "from: pg, include: ['public.*', orders, 'sales.*', pubic.*, 'public.order'], " + pgParams(s), `no table matches "orders"`,
			`did you mean "public.orders"?`, "catalogs[0].include[1]",
		},
		{
			"nothing is near", "from: pg, include: ['public.*', 'sales.*'], " + pgParams(s), `no table matches "sales.*"`, `it has Big Shop.Odd.Name"s, public.orders`,
			"catalogs[0].include[1]",
		},
		{"a schema is near", "from: pg, include: ['pubic.*'], " + pgParams(s), `no table matches "pubic.*"`, `did you mean "public.*"?`, "catalogs[0].include[0]"},
		{
			"too many", "from: pg, include: ['{public,Big Shop}.*'], " + pgParams(s), "the catalog has more than 1 tables", "name fewer, for example public.*",
			"catalogs[0].include",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			if w.m.catalogs.opts.Limits.Tables = 10; c.name == "too many" {
				w.m.catalogs.opts.Limits.Tables = 1
			}
			problems := w.reload("catalogs: [{name: pg, " + c.catalog + "}]\ndatasets:\n- {name: good, from: 'postgres:orders', " + pgParams(s) + "}\n")
			wantProblem(t, problems, "catalog pg", c.message, c.hint, c.path)
			if text := problems.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "pass\\word") {
				t.Errorf("a secret is shown: %s", text)
			}
			w.want("SELECT count(*) FROM good", "100")
		})
	}
	w.t = t
	problems := w.reload(pgCatalog(s, ", include: [public.orders]") + `datasets: [{name: '"pg.public".orders', from: 'postgres:orders', ` + pgParams(s) + "}]")
	wantProblem(t, problems, "dataset pg.public.orders", "the dataset at spicepod.yaml:5:12 has the same name", "rename one of them", "catalogs[0].name")
	w.want("SELECT count(*) FROM pg.public.orders", "100")
}

// TestCatalogChanges changes the tables of a server, and ends it.
func TestCatalogChanges(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w, s := newPostgres(t)
	w.clock.hold = true
	w.restart(func(o *Options) { o.Loaded = func() { w.retried <- struct{}{} } })
	sections := pgCatalog(s, ", include: ['public.*'], refresh_check_interval: 10m")
	w.clock.hold = true
	w.ok(sections)
	w.want("SELECT count(*) FROM pg.public.orders", "100")
	opened := w.served[0]

	s.Exec("CREATE TABLE late (x int)", "INSERT INTO late VALUES (1)", "GRANT SELECT ON late TO reader")
	w.ok(sections)
	w.want("SELECT x FROM pg.public.late", "1")
	if !slices.Contains(w.served, opened) {
		t.Error("an open table that has not changed was replaced")
	}
	s.Exec("ALTER TABLE late ADD y text DEFAULT 'new'", "COMMENT ON COLUMN late.y IS 'noted'", "DROP TABLE orders")
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
	w.want("FROM pg.public.late", "1|new")
	w.want("SELECT description FROM spiced.dataset_columns WHERE dataset = 'late' AND name = 'y'", "noted")
	if _, err := w.read("FROM pg.public.orders"); err == nil || !strings.Contains(err.Error(), `table "pg.public.orders" is not declared`) {
		t.Errorf("a table that is gone: got %v", err)
	}

	s.Exec("CREATE TABLE other (x int)", "GRANT SELECT ON other TO reader")
	w.ok(sections)
	s.Exec("DROP TABLE other")
	if _, err := w.read("FROM pg.public.other"); err == nil ||
		!strings.Contains(err.Error(), `dataset "pg.public.other" cannot be read: the database "test" of the PostgreSQL server`) ||
		!strings.Contains(err.Error(), `has no table "public.other"`) {
		t.Errorf("a table that is gone since it was listed: got %v", err)
	}
	s.Stop()
	problems := w.reload(sections)
	wantProblem(t, problems, "catalog pg", "its tables may have changed since it was last listed: ", "PostgreSQL server", "catalogs[0].params")
	s.Start()
	w.ok(sections)
	w.want("FROM pg.public.late", "1|new")
	w.ok("metadata: {}")
	w.drain()
	w.want("SELECT count(*) FROM spiced.datasets", "0")
}

// TestCatalogIsAwaited begins to serve while a server is slow.
func TestCatalogIsAwaited(t *testing.T) {
	w := newWorld(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	enough := make(chan struct{})
	close(enough)
	w.clock.hold = true
	pod := w.load("catalogs: [{from: flightsql, name: slow, params: {flightsql_endpoint: 'http://" + silent.Addr().String() + "'}}]")
	p := w.m.Prepare(t.Context(), Request{Pod: pod, Enough: enough})
	if want := (CatalogState{"slow", true}); len(p.Problems) > 0 || !slices.Equal(p.Catalogs, []CatalogState{want}) {
		t.Errorf("got %v, %v", p.Catalogs, p.Problems)
	}
}

// TestManyTables lists 1,000 tables with one question, and opens one.
func TestManyTables(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w, s := newPostgres(t)
	w.clock.hold = true
	var sql strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&sql, "CREATE TABLE t%d (id bigint PRIMARY KEY, a text, b numeric(10,2), c timestamptz, d int[]);", i)
	}
	s.Exec(sql.String(), "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	began := time.Now()
	w.ok(pgCatalog(s, ", include: ['public.t*']"))
	t.Logf("1,000 tables were listed and published in %s", time.Since(began))
	w.want("SELECT count(*) FROM spiced.datasets WHERE state = 'listed'", "1000")
	w.want("SELECT count(*) FROM pg.public.t7", "0")
	w.want("SELECT list(name) FROM spiced.datasets WHERE state = 'ready'", "[t7]")
}

// wantProblem checks that there is a problem of a component with a message and a hint.
func wantProblem(t *testing.T, problems spicepod.Problems, component string, parts ...string) {
	t.Helper()
	for _, p := range problems {
		found := p.Component == component
		for _, part := range parts {
			found = found && strings.Contains(p.Message+"; "+p.Hint+"; "+p.Path, part)
		}
		if found {
			return
		}
	}
	t.Errorf("%s has no problem %q:\n%s", component, parts, problems.Error())
}
