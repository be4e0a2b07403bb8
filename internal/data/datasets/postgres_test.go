package datasets

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
)

// newPostgres returns a world with a server that has the table orders.
func newPostgres(t *testing.T) (*world, *pgtest.Server) {
	t.Helper()
	w := newWorld(t, exttest.Find(t, "postgres_scanner"))
	s := pgtest.Start(t)
	s.Exec(`CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2), at timestamptz, owner text)`,
		`INSERT INTO orders SELECT i, 'c' || i % 10, i * 1.5, '2026-01-01Z'::timestamptz + i * interval '1 day', CASE i % 2 WHEN 0 THEN 'ann' ELSE 'bob' END FROM generate_series(1, 100) i`,
		`CREATE SCHEMA "Big Shop"`, `CREATE TABLE "Big Shop"."Odd.Name""s" (x int)`, `INSERT INTO "Big Shop"."Odd.Name""s" VALUES (7)`,
		`CREATE TABLE hidden (x int)`, `GRANT USAGE ON SCHEMA "Big Shop" TO reader`, `GRANT SELECT ON orders, "Big Shop"."Odd.Name""s" TO reader`)
	return w, s
}

// pgParams are the params of a dataset of the server, with others in place of some.
func pgParams(s *pgtest.Server, others ...string) string {
	return paramsOf(map[string]string{
		"pg_host": "127.0.0.1", "pg_port": fmt.Sprint(s.Port), "pg_db": "test", "pg_user": pgtest.Reader,
		"pg_pass": "${secrets:pass}",
	}, others)
}

func TestPostgres(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	t.Setenv("PASS_IN_URL", url.PathEscape(pgtest.Password))
	w, s := newPostgres(t)
	w.callers()
	sections := `datasets:
- {name: orders, from: 'postgres:orders', ` + pgParams(s) + `}
- {name: exact, from: 'postgres:test.public.Orders', ` + pgParams(s, "pg_db", "") + `, columns: [{name: amount, type: float64}]}
- {name: odd, from: 'postgres:"Big Shop"."Odd.Name""s"', ` + pgParams(s, "pg_sslmode", "verify-full", "pg_sslrootcert", s.Certificate) + `}
- {name: fast, from: 'postgres:orders', ` + pgParams(s) + `, acceleration: {primary_key: id, refresh_sql: "SELECT * FROM fast WHERE id <= 50"}}
- {name: newest, from: 'postgres:orders', time_column: at, ` + pgParams(s) + `, acceleration: {refresh_mode: append}}
- {name: own, from: 'postgres:orders', ` + pgParams(s) + `, row_filter: "owner = ctx('user_id')", column_mask: {amount: 'NULL'}}
- {name: url, from: 'postgres:orders', params: {pg_connection_string: 'postgres://reader:${secrets:pass_in_url}@127.0.0.1:` + fmt.Sprint(s.Port) + `/test'}}
`
	w.ok(sections)
	w.want("SELECT count(*), sum(amount), min(\"at\") FROM orders", "100|7575.00|2026-01-02 00:00:00+00")
	w.want("SELECT typeof(amount), amount FROM exact WHERE id = 3", "DOUBLE|4.5")
	w.want("FROM odd", "7")
	w.want("SELECT count(*), max(id) FROM fast", "50|50")
	w.want("SELECT o.customer, f.customer FROM orders o JOIN fast f USING (id) WHERE id = 12", "c2|c2")
	w.want("SELECT max(id) FROM url", "100")
	w.wantAs("ann", "SELECT count(*), count(amount) FROM own", "50|0")
	w.wantAs("carl", "SELECT count(*) FROM own", "0")

	s.Exec("COMMENT ON TABLE orders IS 'what was bought'", "COMMENT ON COLUMN orders.amount IS 'in euros'", "COMMENT ON COLUMN orders.owner IS 'not shown'")
	for _, more := range []string{"", ", acceleration: {}"} {
		w.ok("datasets: [{name: commented, from: 'postgres:orders', " + pgParams(s) + more + ", columns: [{name: owner, description: the seller}]}]")
		w.want("SELECT description FROM spiced.datasets WHERE name = 'commented'", "what was bought")
		w.want("SELECT name, description FROM spiced.dataset_columns WHERE dataset = 'commented' AND description IS NOT NULL ORDER BY 1",
			"amount|in euros, owner|the seller")
	}
	w.ok(sections)

	s.Exec("INSERT INTO orders VALUES (101, 'new', 1, '2027-01-01Z', 'ann')", "UPDATE orders SET customer = 'changed' WHERE id = 1")
	w.want("SELECT customer FROM orders WHERE id IN (1, 101) ORDER BY id", "changed, new")
	w.want("SELECT count(*) FROM newest", "100")
	if err := w.refresh("newest", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT count(*), max(customer) FILTER (id = 1) FROM newest", "101|c1")
	if err := w.refresh("fast", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT customer FROM fast WHERE id = 1", "changed")

	for _, text := range []string{pgtest.Password, "pass\\word"} {
		if strings.Contains(w.log.String(), text) {
			t.Errorf("the log has the password: %s", w.log)
		}
	}
}

// TestPostgresFaults declares datasets that cannot be read, next to one that can.
func TestPostgresFaults(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	t.Setenv("WRONG", "hunter2")
	w, s := newPostgres(t)
	s.Exec("CREATE DOMAIN thousands AS numeric(2,-3)", "CREATE TABLE rounded (id int, n numeric(10,-2))", "CREATE TABLE small (n numeric(3,5)[])",
		"CREATE TABLE domains (n thousands)", "GRANT SELECT ON rounded, small, domains TO reader")
	s.Exec(`CREATE TABLE "We Ird.T" (x int)`, `GRANT SELECT ON "We Ird.T" TO reader`)
	at := fmt.Sprintf("PostgreSQL server 127.0.0.1:%d", s.Port)
	const good = "postgres:orders"
	for _, c := range []struct{ name, from, params, message, hint string }{
		{
			"password", good, pgParams(s, "pg_pass", "${secrets:wrong}"), `password authentication failed for user "reader"`,
			"correct params.pg_user and params.pg_pass",
		},
		{"database", good, pgParams(s, "pg_db", "tset"), `the ` + at + `: database "tset" does not exist`, "correct params.pg_db"},
		{"table", "postgres:order", pgParams(s), `the database "test" of the ` + at + ` has no table "order"`, `did you mean "orders"?`},
		{"table in a schema", "postgres:nowhere.orders", pgParams(s), `has no table "nowhere.orders"`, `it has Big Shop."Odd.Name""s", `},
		{"privilege", "postgres:hidden", pgParams(s), `the user "reader" may not read the table "hidden"`, "GRANT SELECT ON public.hidden TO reader"},
		{"host", good, pgParams(s, "pg_host", "nowhere.invalid", "pg_sslmode", "disable"), "there is no host of that name", "correct the host"},
		{"port", good, pgParams(s, "pg_port", "1"), "cannot connect to the PostgreSQL server 127.0.0.1:1: connection refused", ""},
		{"port out of range", good, pgParams(s, "pg_port", "70000"), "70000 is not a port", ""},
		{"certificate", good, pgParams(s, "pg_sslmode", "verify-full"), "the certificate of the " + at + " is not valid: x509: ", "pg_sslrootcert"},
		{"file of the certificate", good, pgParams(s, "pg_sslmode", "verify-full", "pg_sslrootcert", "nothing.crt"), "unable to read CA file", ""},
		{
			"negative scale", "postgres:rounded", pgParams(s), `column "n" of the table "rounded" has the type numeric(10,-2), whose values DuckDB's extension misreads`,
			"read a view of the server that casts it",
		},
		{"scale beyond the digits", "postgres:small", pgParams(s), `has the type numeric(3,5)[], whose`, "read a view"},
		{"domain", "postgres:domains", pgParams(s), `has the type numeric(2,-3), whose`, "read a view"},
		{"mode", good, pgParams(s, "pg_sslmode", "strict"), `"strict" is not a mode`, "verify-full"},
		{"user", good, pgParams(s, "pg_user", ""), "the user is missing", "set params.pg_user"},
		{"two databases", "postgres:other.public.orders", pgParams(s), `from names the database "other", the params name "test"`, "leave the database out of from"},
		{"parts", "postgres:a.b.c.d", pgParams(s), "has too many parts", "database.schema.table"},
		{"dot in a name", "postgres:We Ird.T", pgParams(s), `has no table "We Ird.T"`, `write postgres:"We Ird.T"`},
		{"dot in a wrong name", `postgres:"We Ird.X"`, pgParams(s), `has no table "We Ird.X"`, `write postgres:"We Ird.T"`},
		{"quote", `postgres:"orders`, pgParams(s), "has one quote only", "close the quote"},
		{"nothing", "postgres:.orders", pgParams(s), "is not the name of a table", "schema.table"},
		{"param", good, pgParams(s, "pg_pas", "x"), `unknown param "pg_pas"`, `did you mean "pg_pass"?`},
		{"pool", good, pgParams(s, "connection_pool_size", "1"), "connection_pool_size must be between 4 and 1000, got 1", "the default is 16"},
		{"string", good, `params: {pg_connection_string: "${secrets:wrong}"}`, "the connection cannot be configured", "postgres://user:password@host"},
		{"string and params", good, pgParams(s, "pg_connection_string", "host=x"), "pg_connection_string has all of the connection", "write it into"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n- {name: good, from: 'postgres:orders', " + pgParams(s) + "}\n- {name: bad, from: '" + c.from + "', " + c.params + "}\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v\nwant %s; %s", problems, c.message, c.hint)
			}
			if text := problems.Error() + w.status("bad").Error; strings.Contains(text, "hunter2") || strings.Contains(text, "pass\\word") {
				t.Errorf("a secret is shown: %s", text)
			}
			w.want("SELECT count(*) FROM good", "100")
		})
	}
}

// TestPostgresWithoutExtension says how to get it.
func TestPostgresWithoutExtension(t *testing.T) {
	w := newWorld(t)
	problems := w.reload("datasets: [{name: t, from: 'postgres:t', params: {pg_user: u}}]")
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "postgres_scanner, which is only loaded at a start") || problems[0].Hint != "restart spiced" {
		t.Error(problems)
	}
}

// TestPostgresServerEnds ends the server between and during statements.
func TestPostgresServerEnds(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w, s := newPostgres(t)
	s.Exec(`CREATE VIEW slow AS SELECT id, CASE WHEN pg_sleep(0.05) IS NULL THEN 0 ELSE 1 END AS x FROM orders`, `GRANT SELECT ON slow TO reader`)
	sections := "datasets:\n- {name: orders, from: 'postgres:orders', " + pgParams(s) + "}\n- {name: slow, from: 'postgres:slow', " + pgParams(s) + "}\n" +
		"- {name: fast, from: 'postgres:orders', " + pgParams(s) + ", acceleration: {}}\n"
	w.ok(sections)
	failed := make(chan error)
	go func() {
		_, err := w.read("SELECT sum(x) FROM slow")
		failed <- err
	}()
	for s.Value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%slow%' AND state = 'active'") == "0" {
	}
	s.Stop()
	const gone = "the PostgreSQL server ended the connection, terminating connection due to administrator command"
	if err := <-failed; err == nil || !strings.Contains(gone, err.Error()) {
		t.Errorf("during a statement: got %v", err)
	}
	w.read("FROM orders") //nolint:errcheck // it may find a connection that was used just now
	_, err := w.read("FROM orders")
	if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("cannot connect to the PostgreSQL server 127.0.0.1:%d: connection refused", s.Port)) {
		t.Errorf("after it: got %v", err)
	}
	w.want("SELECT count(*) FROM fast", "100")
	if err := w.refresh("fast", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a refresh: got %v", err)
	}
	s.Start()
	w.want("SELECT count(*) FROM orders", "100")
	if err := w.refresh("fast", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.ok("datasets: [{name: none, from: 'postgres:orders', " + pgParams(s) + "}]\n")
	w.drain()
	w.ok("metadata: {}\n")
}
