package datasets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/gate"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// mysqlShop is the table that tests write, and its twin that the server's own statements
// write, in place of %s.
const mysqlShop = `CREATE TABLE %[1]s (
	id bigint AUTO_INCREMENT PRIMARY KEY,
	code varchar(20) UNIQUE,
	name varchar(10) NOT NULL DEFAULT 'new',
	price decimal(10,2) CHECK (price >= 0),
	exact decimal(60,20),
	hits int NOT NULL DEFAULT 0,
	data json,
	raw varbinary(20),
	mood enum('sad', 'ok', 'happy'),
	since datetime(6),
	day date,
	span time,
	flag bit(1),
	bits bit(40),
	ratio float,
	place point,
	doubled int AS (hits * 2) STORED,
	parent bigint REFERENCES %[1]s (id))`

// newMySQLWritten returns a world with the table shop, as the dataset of that name, and twin.
func newMySQLWritten(t *testing.T) (*world, *mysqltest.Server) {
	t.Helper()
	t.Setenv("PASS", mysqltest.Password)
	w := newMySQLWorld(t)
	s := mysqltest.Start(t)
	for _, name := range []string{"shop", "twin"} {
		s.Exec(fmt.Sprintf(mysqlShop, name), "GRANT SELECT, INSERT, UPDATE, DELETE ON test."+name+" TO reader",
			"CREATE TRIGGER "+name+"_i BEFORE INSERT ON "+name+" FOR EACH ROW SET NEW.code = UPPER(NEW.code)",
			"CREATE TRIGGER "+name+"_u BEFORE UPDATE ON "+name+" FOR EACH ROW SET NEW.code = UPPER(NEW.code)")
	}
	w.ok(mysqlShopDataset(s))
	return w, s
}

func mysqlShopDataset(s *mysqltest.Server, others ...string) string {
	return "datasets:\n- {name: shop, from: 'mysql:shop', access: read_write, " + mysqlParams(s, others...) + "}\n- {name: same, from: 'mysql:shop', " +
		mysqlParams(s, others...) + "}\n"
}

// TestMySQLWrites compares the rows after each write with those after a statement of the
// server's own client, on a twin of the table.
func TestMySQLWrites(t *testing.T) {
	w, s := newMySQLWritten(t)
	const columns = "SELECT id, code, name, price, exact, hits, data, HEX(raw), mood, since, day, span, flag + 0, bits + 0, ratio, ST_AsText(place), " +
		"doubled, parent FROM "
	contents := func() (shop, twin string) {
		shop, twin, _ = strings.Cut(s.Value(columns+"shop ORDER BY id; SELECT '---'; "+columns+"twin ORDER BY id")+"\n", "---\n")
		return shop, twin
	}
	for _, c := range []struct{ sql, server, want string }{ // server: "" is the same, or nothing where want is an SQLSTATE
		{"INSERT INTO %s DEFAULT VALUES RETURNING id, name, hits, doubled", "INSERT INTO %s () VALUES ()", "1|new|0|0"},
		{
			"INSERT INTO %s (code, name, price) VALUES ('a', 'one', 1.25), ('b', 'two', 2.005) RETURNING id, code, CAST(price AS VARCHAR)",
			"INSERT INTO %s (code, name, price) VALUES ('a', 'one', 1.25), ('b', 'two', 2.01)", "2|A|1.25, 3|B|2.01",
		},
		{"INSERT INTO %s (code, exact) VALUES ('c', 12345678901234567890.12345678901234567), ('d', 0.1)", "", "2"},
		{
			"INSERT INTO %s (code, data, raw, mood) VALUES ('e', '{\"k\": [1, 2.50]}', CAST('a''\\x00\\xff' AS BYTEA), 'happy') RETURNING mood, hex(raw), data",
			"INSERT INTO %s (code, data, raw, mood) VALUES ('e', '{\"k\": [1, 2.50]}', x'612700ff', 'happy')", "happy|612700FF|{\"k\": [1, 2.50]}",
		},
		{
			"INSERT INTO %s (code, since, day, span, flag, bits) VALUES ('f', TIMESTAMP '2026-02-28 12:34:56.789012', DATE '2024-02-29', '-100:00:01', true, " +
				"1099511627775) RETURNING flag::VARCHAR, day::VARCHAR, since::VARCHAR, bits::BIGINT",
			"INSERT INTO %s (code, since, day, span, flag, bits) VALUES ('f', '2026-02-28 12:34:56.789012', '2024-02-29', '-100:00:01', b'1', 1099511627775)",
			"true|2024-02-29|2026-02-28 12:34:56.789012|1099511627775",
		},
		{
			"INSERT INTO %s (code, ratio, place) VALUES ('g', 1.1, 'POINT(1 2)') RETURNING ratio::VARCHAR, place",
			"INSERT INTO %s (code, ratio, place) VALUES ('g', 1.1, ST_GeomFromText('POINT(1 2)'))", "1.1|POINT(1 2)",
		},
		{"INSERT INTO %s (code) VALUES ('it''s \\ \"x\" ☃ 🦆'), ('')", "INSERT INTO %s (code) VALUES ('it''s \\\\ \"x\" ☃ 🦆'), ('')", "2"},
		{
			"INSERT INTO %s (id, code) SELECT 100 + id, 'h' || id FROM %s WHERE id <= 3 RETURNING id",
			"INSERT INTO %s (id, code) SELECT 100 + id, CONCAT('h', id) FROM %s WHERE id <= 3", "101, 102, 103",
		},
		{"INSERT INTO %s (id, code) VALUES (0, 'zero') RETURNING id", "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; INSERT INTO %s (id, code) VALUES (0, 'zero')", "0"},
		{"INSERT INTO %s (id, code) VALUES (1, 'zero') ON CONFLICT DO NOTHING RETURNING id", "SELECT 1", ""},
		{"INSERT INTO %s (id, code) VALUES (103, 'A'), (200, 'z') ON CONFLICT (id) DO NOTHING RETURNING id", "INSERT INTO %s (id, code) VALUES (200, 'z')", "200"},
		{"INSERT INTO %s (id, code) VALUES (201, 'A'), (202, 'y') ON CONFLICT (code) DO NOTHING", "INSERT INTO %s (id, code) VALUES (202, 'y')", "1"},
		{
			"INSERT INTO %s AS o (code, name, hits) VALUES ('a', 'again', 5), ('x', 'fresh', 6) ON CONFLICT (code) DO UPDATE SET name = excluded.name, hits = o.hits " +
				"+ excluded.hits + 1 RETURNING code, hits, doubled, name",
			"UPDATE %s SET name = 'again', hits = 6 WHERE code = 'A'; INSERT INTO %s (code, name, hits) VALUES ('x', 'fresh', 6)", "A|6|12|again, X|6|12|fresh",
		},
		{
			"INSERT INTO %s AS o (code, hits) VALUES ('x', 1) ON CONFLICT (code) DO UPDATE SET hits = o.hits * 2 - 1, name = 'up' || excluded.code || o.hits, price " +
				"= 7.129, exact = DEFAULT RETURNING hits, name, price::VARCHAR",
			"UPDATE %s SET hits = 11, name = 'upx6', price = 7.13 WHERE code = 'X'", "11|upx6|7.13",
		},
		{
			"INSERT INTO %s AS o (code, hits, price) VALUES ('A', 1, 2.5), ('X', 100, 0.01) ON CONFLICT (code) DO UPDATE SET hits = excluded.hits, price = o.price " +
				"+ excluded.price, since = NULL WHERE o.hits < excluded.hits AND o.name IS NOT NULL RETURNING code",
			"UPDATE %s SET hits = 100, price = 7.14 WHERE code = 'X'", "X",
		},
		{
			"INSERT INTO %s AS o (code, hits) VALUES ('X', 1) ON CONFLICT (code) DO UPDATE SET hits = greatest(o.hits, excluded.hits, NULL, 3), data " +
				"= coalesce(o.data, " +
				"'{}'), mood = 'sad', day = DATE '2026-01-01', flag = NOT (o.hits = 0 OR o.name IS DISTINCT FROM 'upx6')",
			"UPDATE %s SET data = '{}', mood = 'sad', day = '2026-01-01', flag = 1 WHERE code = 'X'", "1",
		},
		{
			"INSERT INTO %s AS o (id, code, hits) VALUES (1, 'first', 1) ON CONFLICT (id) DO UPDATE SET hits = o.parent, code = excluded.code, parent = o.hits",
			"", "23502",
		},
		{
			"INSERT INTO %s AS o (id, code, hits) VALUES (1, 'first', 1) ON CONFLICT (id) DO UPDATE SET hits = o.hits + 1, code = excluded.code, parent = o.hits + 1",
			"UPDATE %s SET code = 'first', parent = 1, hits = 1 WHERE id = 1", "1",
		},
		{"INSERT INTO %s (id, hits) VALUES (1, 1), (1, 2) ON CONFLICT (id) DO UPDATE SET hits = excluded.hits", "", "21000"},
		{"INSERT INTO %s (code, hits) VALUES ('q', 1), ('Q', 2) ON CONFLICT (code) DO UPDATE SET hits = excluded.hits", "", "21000"},
		{"INSERT INTO %s (id, code) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET code = excluded.code", "", "23505"},
		{"DELETE FROM %s WHERE code = 'X'", "", "1"},
		{"UPDATE %s SET code = NULL, parent = NULL WHERE id = 1", "", "1"},
		{
			"UPDATE %s SET hits = hits + 1, name = upper(name) WHERE id BETWEEN 3 AND 6 AND code IS NOT NULL RETURNING id, hits, name",
			"UPDATE %s SET hits = hits + 1, name = UPPER(name) WHERE id BETWEEN 3 AND 6", "3|1|TWO, 4|1|NEW, 5|1|NEW, 6|1|NEW",
		},
		{
			"UPDATE %s AS o SET price = o.price * 2, exact = exact WHERE o.price > 1 RETURNING o.price::VARCHAR, o.id",
			"UPDATE %s SET price = price * 2 WHERE price > 1", "2.50|2, 4.02|3",
		},
		{"UPDATE %s SET hits = hits WHERE id = 3", "SELECT 1", "1"},
		{
			"UPDATE %s SET name = DEFAULT, hits = DEFAULT WHERE code = 'B' RETURNING name, hits",
			"UPDATE %s SET name = DEFAULT, hits = DEFAULT WHERE code = 'B'", "new|0",
		},
		{
			"UPDATE %s SET id = id + 1000, hits = 5 WHERE id >= 102 AND id <= 103 RETURNING id, hits",
			"UPDATE %s SET id = id + 1000, hits = 5 WHERE id >= 102 AND id <= 103", "1102|5, 1103|5",
		},
		{
			"UPDATE %s SET hits = (SELECT count(*) FROM %s), parent = 1 WHERE id IN (SELECT max(id) FROM %s) RETURNING parent",
			"UPDATE %s SET hits = 16, parent = 1 WHERE id = 1103", "1",
		},
		{
			"UPDATE %s SET raw = NULL, place = NULL, flag = false WHERE code IN ('E', 'F', 'G')",
			"UPDATE %s SET raw = NULL, place = NULL, flag = 0 WHERE code IN ('E', 'F', 'G')", "3",
		},
		{"UPDATE %s SET hits = 0 WHERE false RETURNING id", "SELECT 1", ""},
		{"UPDATE %s SET hits = 0 WHERE false", "SELECT 1", "0"},
		{"DELETE FROM %s WHERE id > 100 AND parent IS NULL RETURNING id, code", "DELETE FROM %s WHERE id > 100 AND parent IS NULL", "101|H1, 200|Z, 202|Y, 1102|H2"},
		{"DELETE FROM %s WHERE code = 'nothing'", "SELECT 1", "0"},
		{"DELETE FROM %s WHERE parent = 1 RETURNING id", "DELETE FROM %s WHERE parent = 1", "1103"},
		{
			"INSERT INTO %s (code, hits) SELECT 'n' || range, range FROM range(1200)",
			"INSERT INTO %s (code, hits) SELECT CONCAT('n', seq), seq FROM seq_0_to_1199", "1200",
		},
		{"UPDATE %s SET hits = hits + 1 WHERE code LIKE 'N%'", "", "1200"},
		{"DELETE FROM %s WHERE code LIKE 'N%'", "", "1200"},
		{"DELETE FROM %s", "", "11"},
	} {
		server := c.server
		if server == "" {
			server = c.sql
		}
		sql, failed := strings.ReplaceAll(c.sql, "%s", "shop"), c.server == "" && len(c.want) == 5
		if !failed {
			s.Exec("SET NAMES utf8mb4", strings.ReplaceAll(server, "%s", "twin"))
		}
		if got, err := w.rowsOf(t.Context(), sql); failed && state(err) != c.want || !failed && (err != nil || got != c.want) {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", sql, got, err, c.want)
		}
		if got, want := contents(); got != want && !strings.Contains(want, "\tN1\t") {
			t.Fatalf("%s: the rows are\n%s\nwant\n%s", sql, got, want)
		}
		if strings.Contains(c.sql, "range(") {
			w.want("SELECT count(*), sum(hits) FROM same", strings.ReplaceAll(s.Value("SELECT COUNT(*), SUM(hits) FROM twin"), "\t", "|"))
		}
	}
	w.want("SELECT count(*) FROM same", "0")
	if log := s.Log(); !strings.Contains(log, "DELETE FROM `test`.`shop`") || !strings.Contains(log, "SIMULTANEOUS_ASSIGNMENT") {
		t.Error("the log of the server does not have the statements")
	}
}

// TestMySQLWriteFaults has what is refused, with its reason and what would be right.
func TestMySQLWriteFaults(t *testing.T) {
	w, s := newMySQLWritten(t)
	s.Exec("CREATE TABLE nokey (x int, y text, f float UNIQUE)", "INSERT INTO nokey VALUES (1, 'a', 1)", "GRANT SELECT, INSERT, UPDATE ON test.nokey TO reader",
		"CREATE TABLE days (day date PRIMARY KEY, n int)", "INSERT INTO days VALUES ('2026-00-00', 1), ('2026-01-01', 2)",
		"GRANT SELECT, INSERT, DELETE, UPDATE ON test.days TO reader",
		"CREATE TABLE added (id int PRIMARY KEY)", "INSERT INTO added VALUES (1)", "GRANT SELECT, INSERT ON test.added TO reader",
		"CREATE TABLE moved (id int PRIMARY KEY, n int)", "INSERT INTO moved VALUES (1, 1)", "GRANT SELECT, INSERT, UPDATE ON test.moved TO reader",
		"CREATE TRIGGER moved BEFORE UPDATE ON moved FOR EACH ROW SET NEW.id = NEW.id + 10")
	sections := mysqlShopDataset(s)
	for _, name := range []string{"nokey", "days", "added", "moved"} {
		sections += "- {name: " + name + ", from: 'mysql:" + name + "', access: read_write, " + mysqlParams(s) + "}\n"
	}
	w.ok(sections)
	w.mustChange("INSERT INTO shop (code, hits) VALUES ('a', 1)")
	w.mustChange("INSERT INTO nokey VALUES (2, 'b', 2)")
	for _, c := range []struct{ sql, state, message, hint string }{
		{"INSERT INTO shop (code) VALUES ('x'), ('a')", "23505", "Duplicate entry 'A' for key 'code'", ""},
		{"INSERT INTO shop (id, code) VALUES (1, 'b')", "23505", "Duplicate entry '1' for key 'PRIMARY'", ""},
		{"INSERT INTO shop (id, code) VALUES (1, 'c') ON CONFLICT (code) DO NOTHING", "23505", "Duplicate entry '1' for key 'PRIMARY'", ""},
		{"INSERT INTO shop (parent) VALUES (99)", "23503", "a foreign key constraint fails", ""},
		{"INSERT INTO shop (price) VALUES (-1)", "23514", "CONSTRAINT", ""},
		{"INSERT INTO shop (name) VALUES (NULL)", "23502", "Column 'name' cannot be null", ""},
		{"INSERT INTO shop (name) VALUES ('longer than ten')", "22001", "Data too long for column 'name'", ""},
		{"INSERT INTO shop (mood) VALUES ('angry')", "22P02", "Data truncated for column 'mood'", ""},
		{"INSERT INTO shop (data) VALUES ('{')", "23514", "CONSTRAINT `shop.data` failed", ""},
		{"INSERT INTO shop (day) VALUES (CAST('infinity' AS DATE))", "22007", "Incorrect date value", ""},
		{"INSERT INTO shop (day) VALUES (DATE '0044-03-15 (BC)')", "22007", "Incorrect date value", ""},
		{"INSERT INTO shop (doubled) VALUES (1)", "42804", "generated column", ""},
		{"INSERT INTO shop (cod) VALUES ('a')", "42703", "table \"shop\" has no column \"cod\"", "did you mean \"code\"?"},
		{"INSERT INTO shop (hits) VALUES ('many')", "22P02", "Could not convert string 'many' to INT32", ""},
		{"INSERT INTO shop (code) VALUES ('x') RETURNING CAST(code AS INTEGER)", "22P02", "Could not convert string 'X' to INT32", ""},
		{"DELETE FROM shop RETURNING CAST(code AS INTEGER)", "22P02", "Could not convert string 'A' to INT32", ""},
		{
			"INSERT INTO shop (code) VALUES ('a') ON CONFLICT (code) DO UPDATE SET name = excluded.name", "42501", "excluded.name has no value in this INSERT",
			"add the column",
		},
		{
			"INSERT INTO shop (name) VALUES ('a') ON CONFLICT (code) DO UPDATE SET name = excluded.name", "42501", "needs a value of the column \"code\"",
			"add the column",
		},
		{
			"INSERT INTO shop (code) VALUES ('a') ON CONFLICT (code) DO UPDATE SET code = excluded.code", "42501", "DO UPDATE cannot set the column \"code\"",
			"use UPDATE",
		},
		{
			"INSERT INTO shop AS o (code) VALUES ('a') ON CONFLICT (code) DO UPDATE SET day = o.day + 1", "42501", "DO UPDATE has + of numbers only",
			"in the query of the INSERT",
		},
		{
			"INSERT INTO shop AS o (code) VALUES ('a') ON CONFLICT (code) DO UPDATE SET hits = least(o.hits, 1, 2, 3, 4)", "42501", "least has more than 4 arguments",
			"in the query of the INSERT",
		},
		{
			"INSERT INTO shop AS o (code) VALUES ('a') ON CONFLICT (code) DO UPDATE SET name = upper(o.name)", "42501", "DO UPDATE cannot compute this",
			"in the query of the INSERT",
		},
		{
			"INSERT INTO shop AS o (code) VALUES ('a') ON CONFLICT (code) DO UPDATE SET hits = o.hits + 9000000000", "22003",
			"Out of range value for column 'hits'", "",
		},
		{"INSERT INTO shop (code) VALUES ('q') ON CONFLICT (name) DO NOTHING", "42P10", "not referenced by a UNIQUE", ""},
		{"UPDATE shop SET id = DEFAULT RETURNING id", "42501", "a column of the key gets its default", "leave RETURNING out"},
		{"UPDATE moved SET n = 2 RETURNING id", "42501", "a trigger of the table \"moved\" changed the keys", "leave RETURNING out"},
		{"INSERT INTO shop BY NAME SELECT 'x' AS code", "42501", "INSERT … BY NAME is refused for table \"shop\"", "list the columns"},
		{"UPDATE nokey SET y = 'z'", "42501", "table \"nokey\" has no key by which rows can be changed", "add a primary key"},
		{"DELETE FROM shop WHERE random() < 0.5", "42501", "a condition that changes with each evaluation is refused", "select the keys first"},
		{"UPDATE days SET n = 3", "42501", "a row has a value of the key column \"day\" that DuckDB does not have", "correct the row at the server"},
		{"DELETE FROM added", "42501", "DELETE command denied to user", "grant it to the user reader of the dataset"},
		{"INSERT INTO same (code) VALUES ('b')", "42501", "table \"same\" is read-only", "access: read_write"},
		{"INSERT INTO shop (code) SELECT range::VARCHAR FROM range(100001)", "54000", "writes more than 100000 rows", "write fewer rows at once"},
		{"INSERT INTO shop (data) VALUES ('\"' || repeat('x', 20000000) || '\"')", "54000", "a row takes more than the", "raise max_allowed_packet of the server"},
		{
			"INSERT INTO shop (hits) SELECT range FROM range(16385) RETURNING id", "54000", "RETURNING gives more than 16384 rows; nothing was written",
			"leave RETURNING out",
		},
	} {
		_, err := w.rowsOf(t.Context(), c.sql)
		var e *engine.Error
		if !errors.As(err, &e) || sqlstate.OfError(e) != c.state || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s:\ngot  %s %v\nwant %s %s; %s", c.sql, state(err), err, c.state, c.message, c.hint)
		}
	}
	w.want("SELECT count(*), sum(hits) FROM shop", "1|1")
	w.want("SELECT count(*) FROM nokey", "2")
	if got, err := w.rowsOf(t.Context(), "UPDATE days SET n = 3 WHERE day = DATE '2026-01-01'"); got != "1" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := w.rowsOf(t.Context(), "UPDATE moved SET n = 2"); got != "1" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestMySQLWriteDeclarations has datasets that cannot be written.
func TestMySQLWriteDeclarations(t *testing.T) {
	w, s := newMySQLWritten(t)
	s.Exec("CREATE VIEW seen AS SELECT * FROM shop", "CREATE TABLE closed (x int)", "CREATE TABLE plain (x int) ENGINE=MyISAM",
		"GRANT SELECT ON test.seen TO reader", "GRANT SELECT ON test.closed TO reader", "GRANT SELECT, INSERT ON test.plain TO reader")
	for _, c := range []struct{ decl, path, message, hint string }{
		{"from: 'mysql:seen'", "access", "\"seen\" is no table of the MySQL server", "name a table, or set access: read"},
		{"from: 'mysql:closed'", "access", "the user \"reader\" may not write to the table \"closed\"", "GRANT INSERT, UPDATE, DELETE ON test.closed TO reader"},
		{"from: 'mysql:plain'", "access", "is of the engine MyISAM, which has no transactions", "ALTER TABLE plain ENGINE=InnoDB"},
		{"from: 'mysql:shop', row_filter: 'true'", "access", "a dataset with a row_filter or column_mask can only be read", "leave access out"},
		{"from: 'mysql:shop', acceleration: {}", "access", "accelerated copy", "leave acceleration out"},
	} {
		problems := w.reload("datasets: [{name: bad, access: read_write, " + c.decl + ", " + mysqlParams(s) + "}]")
		if len(problems) != 1 || problems[0].Path != "datasets[0]."+c.path || !strings.Contains(problems[0].Message, c.message) ||
			!strings.Contains(problems[0].Hint, c.hint) {
			t.Errorf("%s: got %v", c.decl, problems)
		}
	}
}

// TestMySQLWritesAtOnce and TestMySQLWriteWaits are tests of [writesAtOnce] and [writeWaits].
func TestMySQLWritesAtOnce(t *testing.T) {
	w, _ := newMySQLWritten(t)
	writesAtOnce(t, w)
}

func TestMySQLWriteWaits(t *testing.T) {
	w, s := newMySQLWritten(t)
	writeWaits(t, w, func() transaction { return s.Begin() }, // INNODB_TRX is a cache that does not change while it is read often
		"SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'", s.Value,
		"INSERT INTO shop (id) VALUES (1) ON CONFLICT DO NOTHING")
}

// TestMySQLServerEndsDuringWrites ends the server, and the connection after each of its
// answers, also to COMMIT.
func TestMySQLServerEndsDuringWrites(t *testing.T) {
	w, s := newMySQLWritten(t)
	s.Exec("CREATE TRIGGER slow AFTER UPDATE ON shop FOR EACH ROW SET @x = SLEEP(60)")
	w.mustChange("INSERT INTO shop (code, hits) VALUES ('a', 1), ('b', 1)")
	failed := make(chan error)
	go func() {
		_, err := w.rowsOf(context.Background(), "UPDATE shop SET hits = 2")
		failed <- err
	}()
	wait.Until(t, "the server works on the statement", func() bool {
		return s.Value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'") != "0"
	})
	s.Stop()
	at := fmt.Sprintf("MySQL server 127.0.0.1:%d", s.Port)
	if err := <-failed; state(err) != "08006" || !strings.Contains(err.Error(), "the connection to the "+at+" ended; nothing was written") {
		t.Errorf("got %s %v", state(err), err)
	}
	if _, err := w.rowsOf(t.Context(), "INSERT INTO shop (code) VALUES ('x')"); state(err) != "08006" ||
		!strings.Contains(err.Error(), "connection refused; nothing was written") {
		t.Errorf("without the server: got %s %v", state(err), err)
	}
	s.Start()
	s.Exec("DROP TRIGGER slow")
	w.want("SELECT count(*), sum(hits) FROM shop", "2|2")

	g := gate.Open(t, fmt.Sprintf("127.0.0.1:%d", s.Port))
	_, port, _ := strings.Cut(g.Address, ":")
	w.ok(mysqlShopDataset(s, "mysql_tcp_port", port, "mysql_sslmode", "disabled"))
	states := map[string]int{}
	before := s.Value("SELECT COUNT(*) FROM shop")
	for bytes := int64(0); states[""] == 0; bytes += 10 { // an answer has 11 at least
		if bytes > 2000 {
			t.Fatalf("no INSERT succeeds: %v", states)
		}
		g.CloseAfter(bytes)
		_, err := w.rowsOf(t.Context(), "INSERT INTO shop (hits) VALUES (1)")
		states[state(err)]++
		g.Close()
		g.Reopen()
		if after := s.Value("SELECT COUNT(*) FROM shop"); state(err) == "08006" && after != before {
			t.Fatalf("%v, but the row is there", err)
		} else {
			before = after
		}
	}
	if states["08006"] == 0 || states["08007"] == 0 || len(states) != 3 {
		t.Errorf("got %v", states)
	}
}

// TestMySQLWrittenTypes writes values of each type, and finds rows by keys of it.
func TestMySQLWrittenTypes(t *testing.T) {
	t.Setenv("PASS", mysqltest.Password)
	w := newMySQLWorld(t)
	s := mysqltest.Start(t)
	cases := []struct {
		typ, sql, other, want string // two values, and the text of the first one
		param                 any
	}{
		{"tinyint", "-128", "5", "-128", int64(-128)},
		{"bigint", "9007199254740993", "9007199254740992", "9007199254740993", int64(9007199254740993)},
		{"bigint unsigned", "18446744073709551615", "18446744073709551614", "18446744073709551615", nil},
		{
			"decimal(38,10)", "1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456788", "1234567890123456789012345678.0123456789",
			"1234567890123456789012345678.0123456789",
		},
		{"double", "0.1", "CAST('1e300' AS DOUBLE)", "0.1", 0.1},
		{"year", "0", "2026", "0000", int64(0)},
		{"bit(1)", "true", "false", "1", true},
		{"bit(64)", "9007199254740993", "9007199254740992", "9007199254740993", nil},
		{"char(5)", "'ab'", "'AC'", "ab", "ab"},
		{"varchar(20)", "'it''s \\ \"☃\"'", "''", `it's \ "☃"`, `it's \ "☃"`},
		{"varchar(20) CHARACTER SET latin1", "'Grüße'", "'x'", "Grüße", "Grüße"},
		{"varchar(20) COLLATE utf8mb4_bin", "'A'", "'a'", "A", "A"},
		{"varbinary(10)", "CAST('\\x00''\\xff' AS BLOB)", "CAST('' AS BLOB)", "0027FF", []byte{0, '\'', 255}},
		{"date", "DATE '2024-02-29'", "DATE '0001-01-01'", "2024-02-29", "2024-02-29"},
		{"datetime(6)", "TIMESTAMP '2026-02-28 12:34:56.789012'", "TIMESTAMP '1000-01-01 00:00:00'", "2026-02-28 12:34:56.789012", "2026-02-28 12:34:56.789012"},
		{"timestamp(3)", "TIMESTAMP '2026-02-28 12:34:56.789'", "TIMESTAMP '1970-01-01 00:00:01'", "2026-02-28 12:34:56.789", "2026-02-28 12:34:56.789"},
		{"time(6)", "'-838:59:59.000000'", "'23:59:59.999999'", "-838:59:59.000000", "-838:59:59.000000"},
		{"enum('sad','ok')", "'ok'", "'sad'", "ok", "ok"},
		{"set('a','b','c')", "'a,c'", "''", "a,c", "a,c"},
		{
			"uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
			"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
		},
		{"inet6", "'2001:db8::1'", "'::1'", "2001:db8::1", "2001:db8::1"},
	}
	sections := "datasets:\n"
	var statements []string
	for i, c := range cases {
		statements = append(statements, fmt.Sprintf("CREATE TABLE v%d (v %s PRIMARY KEY, w %[2]s NULL, n int)", i, c.typ),
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON test.v%d TO reader", i))
		sections += fmt.Sprintf("- {name: v%d, from: 'mysql:v%[1]d', access: read_write, %s}\n", i, mysqlParams(s))
	}
	s.Exec(statements...)
	w.ok(sections)
	for i, c := range cases {
		table := fmt.Sprintf("v%d", i)
		for _, step := range []struct {
			sql, want string
			params    []any
		}{
			{"INSERT INTO $t VALUES ($a, $a, 1), ($b, NULL, 1) RETURNING n", "1, 1", nil},
			{"UPDATE $t SET n = n + 1 WHERE v = $a RETURNING n", "2", nil},
			{"UPDATE $t SET w = v, n = 5 WHERE v = $b", "1", nil},
			{"UPDATE $t SET w = ? WHERE v = $a", "1", []any{c.param}},
			{"INSERT INTO $t (v) VALUES ($a) ON CONFLICT (v) DO NOTHING RETURNING n", "", nil},
			{"DELETE FROM $t WHERE v = w AND n = 5 RETURNING n", "5", nil},
			{"UPDATE $t SET v = $b WHERE v = $a AND w = $a RETURNING n", "2", nil},
			{"UPDATE $t SET v = $a, n = 3", "1", nil},
		} {
			sql := strings.NewReplacer("$t", table, "$a", c.sql, "$b", c.other).Replace(step.sql)
			if step.params != nil && c.param == nil {
				continue
			}
			if got, err := w.rowsOf(t.Context(), sql, step.params...); err != nil || got != step.want {
				t.Errorf("%s: %s: got %q, %v; want %q", c.typ, sql, got, err, step.want)
			}
		}
		shown := map[string]string{"bit(1)": "v + 0", "bit(64)": "v + 0", "varbinary(10)": "HEX(v)"}[c.typ]
		if shown == "" {
			shown = "v"
		}
		if got := s.Value("SELECT " + shown + ", v = w, n FROM " + table); got != c.want+"\t1\t3" {
			t.Errorf("%s: the server has %q, want %s", c.typ, got, c.want)
		}
	}
}
