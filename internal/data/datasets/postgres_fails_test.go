package datasets

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
)

// TestPostgresConnectionsInUse: a statement that needs more connections than there are fails
// after 10 seconds. The error names the limit.
func TestPostgresConnectionsInUse(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	w, s := newPostgres(t)
	w.ok("datasets: [{name: b, from: 'postgres:orders', " + pgParams(s, "connection_pool_size", "4") + "}]")
	w.want("SELECT count(*) FROM b JOIN b AS c USING (id)", "100")
	_, err := w.read("SELECT count(*) FROM b JOIN b AS c USING (id) JOIN b AS d USING (id) JOIN b AS e USING (id) JOIN b AS f USING (id) JOIN b AS g USING (id) " +
		"JOIN b AS h USING (id)")
	if e := engine.AsError(err); err == nil || e.Code != errcode.Busy || !strings.HasPrefix(e.Message, "all 4 connections to 127.0.0.1:") ||
		e.Hint != "try again later, or raise params.connection_pool_size" {
		t.Errorf("got %v", err)
	}
}

// TestRecursionOverServers: the recursive part of a CTE reads other rows of the table in each
// round. DuckDB's dynamic filter of a join would be that of the first round.
func TestRecursionOverServers(t *testing.T) {
	const sql = "WITH RECURSIVE r AS (SELECT 1::BIGINT AS id UNION ALL SELECT b.id + 1 FROM r JOIN b USING (id) WHERE b.id < 8) SELECT count(*), max(id) FROM r"
	t.Setenv("PASS", pgtest.Password)
	t.Run("postgres", func(t *testing.T) {
		w, s := newPostgres(t)
		s.Exec("ANALYZE orders")
		w.ok("datasets: [{name: b, from: 'postgres:orders', " + pgParams(s) + "}]")
		w.want(sql, "8|8")
	})
	t.Run("mysql", func(t *testing.T) {
		t.Setenv("PASS", mysqltest.Password)
		w, s := newMySQL(t)
		s.Exec("ANALYZE TABLE orders")
		w.ok("datasets: [{name: b, from: 'mysql:orders', " + mysqlParams(s) + "}]")
		w.want(sql, "8|8")
	})
}

// TestConditionsThatAreNotSent reads rows with a condition that DuckDB's extensions fail to send
// to a server.
func TestConditionsThatAreNotSent(t *testing.T) {
	t.Setenv("PASS", pgtest.Password)
	t.Run("postgres", func(t *testing.T) {
		w, s := newPostgres(t)
		w.ok("datasets: [{name: orders, from: 'postgres:orders', " + pgParams(s) + "}]")
		w.notSent()
	})
	t.Run("mysql", func(t *testing.T) {
		t.Setenv("PASS", mysqltest.Password)
		w, s := newMySQL(t)
		w.ok("datasets: [{name: orders, from: 'mysql:orders', " + mysqlParams(s) + "}]")
		w.notSent()
	})
}

func (w *world) notSent() {
	w.t.Helper()
	for _, operator := range []string{"IS DISTINCT FROM", "IS NOT DISTINCT FROM"} {
		_, err := w.read("SELECT count(*) FROM orders WHERE id " + operator + " 5 OR id < 3")
		if e := engine.AsError(err); err == nil || e.Code != errcode.Argument || !strings.Contains(e.Message, "cannot send IS [NOT] DISTINCT FROM within OR") ||
			!strings.Contains(e.Hint, "write x = 5") {
			w.t.Errorf("%s: got %v", operator, err)
		}
	}
	w.want("SELECT count(*) FROM orders WHERE id = 5 OR id < 3", "3")
	w.want("SELECT count(*) FROM orders WHERE (id <> 5 OR id IS NULL) OR id < 3", "99")
}
