package datasets

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// newMySQLWorld returns a world that can read MySQL servers.
func newMySQLWorld(t *testing.T) *world {
	t.Helper()
	proxies := NewProxies(connectors, slog.New(slog.DiscardHandler))
	extension, err := proxies.Attach(exttest.Find(t, "mysql_scanner"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxies.Close)
	return newWorldWith(t, proxies, extension)
}

// newMySQL returns a world with a server that has the table orders.
func newMySQL(t *testing.T) (*world, *mysqltest.Server) {
	t.Helper()
	w := newMySQLWorld(t)
	s := mysqltest.Start(t)
	s.Exec("CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(20), amount decimal(10,2), at timestamp NULL, owner text, KEY customer "+
		"(customer), KEY at (at))",
		"INSERT INTO orders SELECT seq, CONCAT('c', seq % 10), seq * 1.5, '2026-01-01' + INTERVAL seq DAY, IF(seq % 2 = 0, 'ann', 'bob') FROM seq_1_to_100",
		"CREATE DATABASE `Big Shop`", "CREATE TABLE `Big Shop`.`Odd.Name's` (x int)", "INSERT INTO `Big Shop`.`Odd.Name's` VALUES (7)",
		"CREATE TABLE hidden (x int)", "GRANT SELECT ON test.orders TO reader", "GRANT SELECT ON `Big Shop`.* TO reader")
	return w, s
}

// mysqlParams are the params of a dataset of the server, with others in place of some.
func mysqlParams(s *mysqltest.Server, others ...string) string {
	return paramsOf(map[string]string{
		"mysql_host": "127.0.0.1", "mysql_tcp_port": fmt.Sprint(s.Port), "mysql_db": "test", "mysql_user": mysqltest.Reader,
		"mysql_pass": "${secrets:pass}",
	}, others)
}

func TestMySQL(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	t.Setenv("PASS_IN_URL", url.PathEscape(mysqltest.Password))
	w, s := newMySQL(t)
	w.callers()
	sections := `datasets:
- {name: orders, from: 'mysql:orders', ` + mysqlParams(s) + `}
- {name: exact, from: 'mysql:test.orders', ` + mysqlParams(s, "mysql_db", "") + `, columns: [{name: amount, type: float64}]}
- {name: odd, from: 'mysql:"Big Shop"."Odd.Name''s"', ` + mysqlParams(s, "mysql_sslmode", "verify_identity", "mysql_sslrootcert", s.Certificate) + `}
- {name: fast, from: 'mysql:orders', ` + mysqlParams(s) + `, acceleration: {primary_key: id, refresh_sql: "SELECT * FROM fast WHERE id <= 50"}}
- {name: newest, from: 'mysql:orders', time_column: at, ` + mysqlParams(s) + `, acceleration: {refresh_mode: append}}
- {name: own, from: 'mysql:orders', ` + mysqlParams(s) + `, row_filter: "owner = ctx('user_id')", column_mask: {amount: 'NULL'}}
- {name: url, from: 'mysql:orders', params: {mysql_connection_string: 'mysql://reader:${secrets:pass_in_url}@127.0.0.1:` +
		fmt.Sprint(s.Port) + `/test?sslmode=required'}}
`
	w.ok(sections)
	w.want("SELECT count(*), sum(amount), min(\"at\") FROM orders", "100|7575.00|2026-01-02 00:00:00")
	w.want("SELECT typeof(amount), amount FROM exact WHERE id = 3", "DOUBLE|4.5")
	w.want("FROM odd", "7")
	w.want("SELECT count(*), max(id) FROM fast", "50|50")
	w.want("SELECT o.customer, f.customer FROM orders o JOIN fast f USING (id) WHERE id = 12", "c2|c2")
	w.want("SELECT count(*) FROM orders JOIN url USING (id) JOIN odd ON orders.id > odd.x", "93")
	w.want("SELECT max(id) FROM url", "100")
	w.wantAs("ann", "SELECT count(*), count(amount) FROM own", "50|0")
	w.wantAs("carl", "SELECT count(*) FROM own", "0")

	s.Exec("ALTER TABLE orders COMMENT 'what was bought', MODIFY amount decimal(10,2) COMMENT 'in euros', MODIFY owner text COMMENT 'not shown'")
	for _, more := range []string{"", ", acceleration: {}"} {
		w.ok("datasets: [{name: commented, from: 'mysql:orders', " + mysqlParams(s) + more + ", columns: [{name: owner, description: the seller}]}]")
		w.want("SELECT description FROM spiced.datasets WHERE name = 'commented'", "what was bought")
		w.want("SELECT name, description FROM spiced.dataset_columns WHERE dataset = 'commented' AND description IS NOT NULL ORDER BY 1",
			"amount|in euros, owner|the seller")
	}
	w.ok(sections)

	s.Exec("INSERT INTO orders VALUES (101, 'new', 1, '2027-01-01', 'ann')", "UPDATE orders SET customer = 'changed' WHERE id = 1")
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

	for _, text := range []string{mysqltest.Password, "pass\\word"} {
		if strings.Contains(w.log.String(), text) {
			t.Errorf("the log has the password: %s", w.log)
		}
	}
}

// TestMySQLPushDown looks for columns, conditions and orders in the server's log.
func TestMySQLPushDown(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	w, s := newMySQL(t)
	w.ok("datasets: [{name: orders, from: 'mysql:orders', " + mysqlParams(s) + "}]\n")
	for _, c := range []struct{ sql, want, sent, key string }{
		{"SELECT amount FROM orders WHERE id = 3", "4.50", "`amount` FROM (SELECT", "PRIMARY"},
		{"SELECT id FROM orders WHERE id BETWEEN 7 AND 8 ORDER BY id", "7, 8", "`id` >= 7 AND `id` <= 8", "PRIMARY"},
		{"SELECT id FROM orders WHERE customer = 'c3' AND id < 20 ORDER BY id", "3, 13", "`customer` = 'c3' AND `r", "customer"},
		{"SELECT id FROM orders WHERE customer IN ('c3', 'c4') AND id < 5 ORDER BY id", "3, 4", "`customer` IN ('c3', 'c4') AND `r", ""},
		{"SELECT id FROM orders WHERE \"at\" = '2026-01-05 00:00:00'", "4", "`at` = '2026-01-05 00:00:00' AND `r", "at"},
	} {
		before := len(s.Log())
		w.want(c.sql, c.want)
		sent := s.Log()[before:]
		if !strings.Contains(sent, c.sent) {
			t.Errorf("%s: the server got %s; want %s", c.sql, sent, c.sent)
		}
		_, statement, _ := strings.Cut(sent, "Execute\t")
		statement, _, _ = strings.Cut(statement, "\n")
		if plan := s.Value("EXPLAIN " + statement); c.key != "" && !strings.Contains(plan, "\t"+c.key+"\t") || strings.Contains(plan, "DERIVED") {
			t.Errorf("%s: the server reads %s", c.sql, plan)
		}
	}
}

// TestMySQLFaults declares datasets that cannot be read, next to one that can.
func TestMySQLFaults(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	t.Setenv("WRONG", "hunter2")
	w, s := newMySQL(t)
	s.Exec("CREATE VIEW broken AS SELECT * FROM hidden", "DROP TABLE hidden", "GRANT SELECT ON broken TO reader", "CREATE TABLE odd (`a``b` int)",
		"GRANT SELECT ON odd TO reader")
	at := fmt.Sprintf("MySQL server 127.0.0.1:%d", s.Port)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connects, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, silentPort, _ := net.SplitHostPort(silent.Addr().String())
	const good = "mysql:orders"
	for _, c := range []struct{ name, from, params, message, hint string }{
		{
			"password", good, mysqlParams(s, "mysql_pass", "${secrets:wrong}"), "the " + at + ": Access denied for user 'reader'@'127.0.0.1' (using password: YES)",
			"correct params.mysql_user and params.mysql_pass",
		},
		{"no password", good, mysqlParams(s, "mysql_pass", ""), "Access denied for user 'reader'@'127.0.0.1' (using password: NO)", "correct params.mysql_user"},
		{"database", good, mysqlParams(s, "mysql_db", "tset"), "the " + at + ": Access denied for user 'reader'@'%' to database 'tset'", "correct params.mysql_db"},
		{
			"table", "mysql:order", mysqlParams(s), `the database "test" of the ` + at + ` has no table "order" that the user "reader" may read`,
			`did you mean "orders"?`,
		},
		{
			"table of another database", "mysql:nowhere.orders", mysqlParams(s), `the database "nowhere" of the ` + at + ` has no table "orders"`,
			"can read no table there",
		},
		{"privilege", "mysql:hidden", mysqlParams(s), `has no table "hidden" that the user "reader" may read`, "it has broken, odd, orders"},
		{"broken view", "mysql:broken", mysqlParams(s), "references invalid table(s)", ""},
		{"column", "mysql:odd", mysqlParams(s), "the name of the column \"a`b\" has a character", "a view without it"},
		{"host", good, mysqlParams(s, "mysql_host", "nowhere.invalid", "mysql_sslmode", "disabled"), "there is no host of that name", "correct the host"},
		{"port", good, mysqlParams(s, "mysql_tcp_port", "1"), "cannot connect to the MySQL server 127.0.0.1:1: connection refused", ""},
		{"socket", good, mysqlParams(s, "mysql_host", "/nowhere/socket"), "cannot connect to the MySQL server /nowhere/socket: no such file or directory", ""},
		{"silent", good, mysqlParams(s, "mysql_tcp_port", silentPort), "the MySQL server 127.0.0.1:" + silentPort + " does not answer", ""},
		{"port out of range", good, mysqlParams(s, "mysql_tcp_port", "70000"), "70000 is not a port", ""},
		{"certificate", good, mysqlParams(s, "mysql_sslmode", "verify_identity"), "the certificate of the " + at + " is not valid: x509: ", "mysql_sslrootcert"},
		{"authority", good, mysqlParams(s, "mysql_sslmode", "verify_ca"), "the certificate of the " + at + " is not valid: x509: ", "mysql_sslrootcert"},
		{"file of the certificate", good, mysqlParams(s, "mysql_sslmode", "verify_ca", "mysql_sslrootcert", "nothing.crt"), "no certificate can be read from", "PEM"},
		{"mode", good, mysqlParams(s, "mysql_sslmode", "strict"), `"strict" is not a mode`, "verify_identity"},
		{"user", good, mysqlParams(s, "mysql_user", ""), "the user is missing", "set params.mysql_user"},
		{"no database", good, mysqlParams(s, "mysql_db", ""), "the database is missing", "set params.mysql_db"},
		{"parts", "mysql:a.b.c", mysqlParams(s), "has too many parts", "database.table"},
		{"quote", `mysql:"orders`, mysqlParams(s), "has one quote only", "close the quote"},
		{"param", good, mysqlParams(s, "mysql_pas", "x"), `unknown param "mysql_pas"`, `did you mean "mysql_pass"?`},
		{"pool", good, mysqlParams(s, "mysql_pool_max", "1"), "mysql_pool_max must be between 2 and 1000, got 1", "the default is 16"},
		{"string", good, `params: {mysql_connection_string: "${secrets:wrong}"}`, "it is not a connection string", "mysql://user:password@host"},
		{"option", good, `params: {mysql_connection_string: "mysql://u:p@h/d?x=1"}`, `the option "x" is not known`, "sslmode"},
		{"port of a string", good, `params: {mysql_connection_string: "mysql://u:p@h:99999/d"}`, "99999 is not a port", ""},
		{"string and params", good, mysqlParams(s, "mysql_connection_string", "mysql://h/d"), "mysql_connection_string has all of the connection", "write it into"},
		{"access", good, mysqlParams(s) + ", access: read_write", "may not write to the table \"orders\"", "GRANT INSERT, UPDATE, DELETE ON test.orders TO reader"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n- {name: bad, from: '" + strings.ReplaceAll(c.from, "'", "''") + "', " + c.params +
				"}\n- {name: good, from: 'mysql:orders', " + mysqlParams(s) + "}\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v; want %s; %s", problems, c.message, c.hint)
			}
			w.want("SELECT count(*) FROM good", "100")
			for _, text := range []string{"hunter2", mysqltest.Password} {
				if strings.Contains(fmt.Sprint(problems)+w.log.String(), text) {
					t.Errorf("the password is shown: %v", problems)
				}
			}
		})
	}
}

// TestMySQLWithoutExtension says how to get it.
func TestMySQLWithoutExtension(t *testing.T) {
	w := newWorld(t)
	problems := w.reload("datasets: [{name: t, from: 'mysql:t', params: {mysql_user: u, mysql_db: d}}]\n")
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "extension mysql_scanner, which is only loaded at a start") ||
		problems[0].Hint != "restart spiced" {
		t.Error(problems)
	}
}

// TestMySQLServerEnds ends the server between and during statements.
func TestMySQLServerEnds(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	w, s := newMySQL(t)
	s.Exec("CREATE SQL SECURITY DEFINER VIEW slow AS SELECT id, SLEEP(0.05) + id AS x FROM orders", "GRANT SELECT ON slow TO reader")
	sections := "datasets:\n- {name: orders, from: 'mysql:orders', " + mysqlParams(s) + "}\n- {name: slow, from: 'mysql:slow', " + mysqlParams(s) + "}\n" +
		"- {name: fast, from: 'mysql:orders', " + mysqlParams(s) + ", acceleration: {}}\n"
	w.ok(sections)
	failed := make(chan error)
	go func() {
		_, err := w.read("SELECT sum(x) FROM slow")
		failed <- err
	}()
	wait.Until(t, "the server reads the view", func() bool { return s.Value(busy) != "0" })
	s.Stop()
	if err := <-failed; err == nil || err.Error() != "the MySQL server ended the connection" {
		t.Errorf("during a statement: got %v", err)
	}
	_, err := w.read("FROM orders")
	if err == nil || err.Error() != fmt.Sprintf("cannot connect to the MySQL server 127.0.0.1:%d: connection refused", s.Port) {
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
	s.Exec("ALTER TABLE orders DROP COLUMN owner, MODIFY amount double")
	if _, err := w.read("SELECT owner FROM orders"); err == nil || err.Error() != "Unknown column 'owner' in 'SELECT'" {
		t.Errorf("a dropped column: got %v", err)
	}
	w.ok("datasets: [{name: other, from: 'mysql:orders', " + mysqlParams(s) + "}]\n")
	w.want("SELECT count(COLUMNS(*)), typeof(max(amount)) FROM other", "100|100|100|100|DOUBLE")
	w.ok("datasets: [{name: none, from: 'mysql:orders', " + mysqlParams(s) + "}]\n")
	w.drain()
	w.ok("metadata: {}\n")
}

// busy counts the statements that read the view slow.
const busy = "SELECT count(*) FROM information_schema.PROCESSLIST WHERE USER = 'reader' AND INFO LIKE '%slow%'"

// TestMySQLCancelled cancels statements before the server has answered, and between rows:
// the server ends them.
func TestMySQLCancelled(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	w, s := newMySQL(t)
	s.Exec("CREATE SQL SECURITY DEFINER VIEW slow AS SELECT id, SLEEP(IF(id = 50, 3600, 0)) + id AS x FROM orders", "GRANT SELECT ON slow TO reader",
		"CREATE SQL SECURITY DEFINER VIEW first_slow AS SELECT id, SLEEP(3600) + id AS x FROM orders", "GRANT SELECT ON first_slow TO reader")
	w.ok("datasets:\n- {name: slow, from: 'mysql:slow', " + mysqlParams(s) + "}\n- {name: first_slow, from: 'mysql:first_slow', " + mysqlParams(s) + "}\n")
	for _, table := range []string{"slow", "first_slow"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := w.readIn(ctx, "SELECT sum(x) FROM "+table)
			done <- err
		}()
		wait.Until(t, "the server reads the view", func() bool { return s.Value(busy) != "0" })
		cancel()
		if err := <-done; err == nil {
			t.Errorf("%s: no error", table)
		}
		wait.Until(t, "the server has ended it", func() bool { return s.Value(busy) == "0" })
	}
	w.want("SELECT 1", "1")
}
