package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/wait"
)

// inTransaction runs a statement in a transaction and returns its rows as "a|b, …".
func inTransaction(db *DB, tx *Transaction, sql string, params ...any) (string, error) {
	rows, err := db.Query(context.Background(), Request{SQL: sql, Params: Params{Positional: params}, Write: true, Transaction: tx})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var out []string
	for c, err := range rows.Chunks() {
		if err != nil {
			return "", err
		}
		for row := range c.Len() {
			var values []string
			for i := range rows.Columns() {
				values = append(values, fmt.Sprint(valueIn(c.Column(i), row)))
			}
			out = append(out, strings.Join(values, "|"))
		}
	}
	return strings.Join(out, ", "), nil
}

func valueIn(v *Vector, row int) any {
	switch {
	case !v.Valid(row):
		return nil
	case v.Type.ID == BigInt:
		return Value[int64](v, row)
	}
	return string(v.Bytes(row))
}

// must fails the test unless a statement in a transaction gives want.
func must(t *testing.T, db *DB, tx *Transaction, want, sql string, params ...any) {
	t.Helper()
	got, err := inTransaction(db, tx, sql, params...)
	if err != nil || got != want {
		t.Fatalf("%s: %q, %v, want %q", sql, got, err, want)
	}
}

// mustFail fails the test unless a statement in a transaction fails with the text.
func mustFail(t *testing.T, db *DB, tx *Transaction, state, text, sql string) {
	t.Helper()
	got, err := inTransaction(db, tx, sql)
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Error(), text) || state != "" && e.State != state {
		t.Fatalf("%s: %q, %v (%+v), want an error of %s with %q", sql, got, err, e, state, text)
	}
}

const allOrders = "SELECT string_agg(id, ',' ORDER BY id) FROM orders"

func TestTransactions(t *testing.T) {
	db, _ := writing(t, Options{})
	var tx Transaction
	must(t, db, &tx, "1,2,3", allOrders)
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (4, 'four', 4)")
	must(t, db, &tx, "4|FOUR", "UPDATE orders SET name = upper(name) WHERE id = 4 RETURNING id, name")
	must(t, db, &tx, "1", "DELETE FROM orders WHERE id = 1")
	must(t, db, &tx, "2,3,4", allOrders)
	must(t, db, nil, "1,2,3", allOrders)
	must(t, db, &tx, "2", "INSERT INTO orders SELECT id + 10, name, price FROM orders WHERE id > 2")
	if changed, err := tx.Commit(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	must(t, db, nil, "2,3,4,13,14", allOrders)

	mustFail(t, db, &tx, "25P01", "the transaction has ended", "DELETE FROM orders")
	if _, err := tx.Commit(); err == nil {
		t.Error("COMMIT after COMMIT succeeds")
	}

	var next Transaction
	must(t, db, &next, "5", "DELETE FROM orders")
	must(t, db, &next, "<nil>", allOrders)
	if !next.Rollback() {
		t.Error("nothing was changed")
	}
	must(t, db, &next, "2,3,4,13,14", allOrders)
	if next.Rollback() {
		t.Error("something was changed")
	}
	if n := db.transactions.open; n != 0 {
		t.Errorf("%d transactions are open", n)
	}
}

// TestTransactionsOfOneDatabase has writes to a second database, which DuckDB cannot take.
func TestTransactionsOfOneDatabase(t *testing.T) {
	db, root := writing(t, Options{})
	if err := db.Exec(context.Background(), "ATTACH "+Literal(filepath.Join(root, "other.db"))+
		" AS other; CREATE TABLE other.main.s (id BIGINT); CREATE TABLE att.main.t (id BIGINT)"); err != nil {
		t.Fatal(err)
	}
	second := Relation{Public, "second"}
	catalog := writingCatalog(3)
	contents := catalog.contents
	contents.Relations = append([]Relation{second}, contents.Relations...)
	contents.Targets = map[Relation]Target{orders: {Table: "att.main.o"}, second: {Table: "other.main.s"}, stock: {Table: "att.main.s"}}
	publish(t, db, NewCatalog(contents), "CREATE VIEW spice.public.second AS SELECT * FROM other.main.s")

	var tx Transaction
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (4, 'four', 4)")
	must(t, db, &tx, "1", "INSERT INTO stock VALUES (8, 'nut')") // of the same database
	mustFail(t, db, &tx, "0A000", `"second" cannot be written in this transaction, which has changed "orders": they are in different databases`,
		"INSERT INTO second VALUES (1)")
	must(t, db, &tx, "0", "SELECT count(*) FROM second")
	must(t, db, &tx, "2", "SELECT count(*) FROM stock")
	tx.Rollback()
	var next Transaction
	must(t, db, &next, "1", "INSERT INTO second VALUES (1)")
	if _, err := next.Commit(); err != nil {
		t.Error(err)
	}
	must(t, db, nil, "1", "SELECT count(*) FROM stock")
	must(t, db, nil, "1", "SELECT count(*) FROM second")
}

// TestTransactionsFail has statements that fail: before the first change, without having run,
// and after a change, which DuckDB cannot keep.
func TestTransactionsFail(t *testing.T) {
	db, _ := writing(t, Options{})
	var tx Transaction
	mustFail(t, db, &tx, "", "Duplicate key", "INSERT INTO orders VALUES (4, '', 4), (1, 'one', 1)")
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (4, 'four', 4)")
	mustFail(t, db, &tx, "", "no column", "UPDATE orders SET nosuch = 1")
	mustFail(t, db, &tx, "", "nosuch", "SELECT nosuch FROM orders")
	must(t, db, &tx, "1,2,3,4", allOrders)
	mustFail(t, db, &tx, "", "Duplicate key", "INSERT INTO orders VALUES (5, '', 4), (1, 'one', 1)")
	mustFail(t, db, &tx, "25P02", "Duplicate key", "INSERT INTO orders VALUES (6, '', 4)")
	must(t, db, &tx, "0", "SELECT min(i) FROM k") // reads nothing of it
	if changed, err := tx.Commit(); changed || err == nil || !strings.Contains(err.Error(), "Duplicate key") {
		t.Error(changed, err)
	}
	must(t, db, &tx, "1,2,3", allOrders)
}

// TestTransactionsConflict has two that change the same rows: the second one fails.
func TestTransactionsConflict(t *testing.T) {
	db, _ := writing(t, Options{})
	var a, b Transaction
	must(t, db, &a, "1", "UPDATE orders SET name = 'a' WHERE id = 1")
	mustFail(t, db, &b, "", "onflict", "UPDATE orders SET name = 'b' WHERE id = 1")
	mustFail(t, db, nil, "", "onflict", "UPDATE orders SET name = 'c' WHERE id = 1")
	must(t, db, &b, "1", "UPDATE orders SET name = 'b' WHERE id = 2")
	must(t, db, &a, "1", "INSERT INTO orders VALUES (4, 'a', 4)")
	must(t, db, &b, "1", "INSERT INTO orders VALUES (4, 'b', 4)")
	if _, err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	_, err := b.Commit()
	var e *Error
	if !errors.As(err, &e) || e.Class != "Constraint" || !strings.HasPrefix(e.Message, "PRIMARY KEY or UNIQUE constraint violation: duplicate key") {
		t.Errorf("%v (%+v)", err, e)
	}
	if got := contents(t, db); got != "1|a|1.5, 2|two|2.5, 3|three|-, 4|a|4.0" {
		t.Error(got)
	}
	// a reader of the first moment conflicts when it changes what was changed since
	var c Transaction
	must(t, db, &c, "1", "UPDATE orders SET name = 'x' WHERE id = 2")
	must(t, db, nil, "1", "UPDATE orders SET name = 'y' WHERE id = 3")
	mustFail(t, db, &c, "", "onflict", "UPDATE orders SET name = 'z' WHERE id = 3")
	c.Rollback()
}

func TestTransactionsRestore(t *testing.T) {
	db, _ := writing(t, Options{})
	var tx Transaction
	none := tx.Mark()
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (4, 'four', 4)")
	if err := tx.Restore(none); err != nil {
		t.Fatal(err)
	}
	must(t, db, &tx, "1,2,3", allOrders)
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (5, 'five', 5)")
	one := tx.Mark()
	mustFail(t, db, &tx, "", "no column", "UPDATE orders SET nosuch = 1")
	if err := tx.Restore(one); err != nil { // nothing was changed since
		t.Fatal(err)
	}
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (6, 'six', 6)")
	if err := tx.Restore(one); err == nil || AsError(err).State != "0A000" || !strings.Contains(err.Error(), "no savepoints") {
		t.Error(err)
	}
	mustFail(t, db, &tx, "", "duplicate key", "INSERT INTO orders VALUES (6, 'six', 6)")
	if err := tx.Restore(tx.Mark()); err == nil { // the failure undid all
		t.Error("no error")
	}
	if err := tx.Restore(none); err != nil {
		t.Error(err)
	}
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (7, 'seven', 7)")
	if changed, err := tx.Commit(); !changed || err != nil {
		t.Error(changed, err)
	}
	must(t, db, nil, "1,2,3,7", allOrders)
}

// TestTransactionsReadInParts has a statement whose rows are not all read.
func TestTransactionsReadInParts(t *testing.T) {
	db, _ := writing(t, Options{})
	var tx Transaction
	must(t, db, &tx, "100000", "INSERT INTO orders SELECT range + 100, 'x', 1 FROM range(100000)")
	rows, err := db.Query(context.Background(), Request{SQL: "SELECT a.id FROM orders a, orders b", Transaction: &tx, Parts: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	mustFail(t, db, &tx, "55006", "not all read", allOrders)
	must(t, db, &tx, "0", "SELECT min(i) FROM k")
	if !tx.Rollback() {
		t.Error("nothing was changed")
	}
	if n := len(contents(t, db)); n > 100 {
		t.Errorf("%d bytes of rows", n)
	}

	var next Transaction
	must(t, db, &next, "100000", "INSERT INTO orders SELECT range + 100, 'x', 1 FROM range(100000)")
	if rows, err = db.Query(context.Background(), Request{SQL: "SELECT a.id FROM orders a, orders b", Transaction: &next, Parts: true}); err != nil {
		t.Fatal(err)
	}
	for range rows.Chunks() {
		break
	}
	rows.Close() // which keeps the transaction
	must(t, db, &next, "100003", "SELECT count(*) FROM orders")
	if changed, err := next.Commit(); !changed || err != nil {
		t.Error(changed, err)
	}
	must(t, db, nil, "100003", "SELECT count(*) FROM orders")
}

func TestTransactionsIdle(t *testing.T) {
	db, _ := writing(t, Options{})
	var tx Transaction
	tx.SetIdle(20 * time.Millisecond)
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (4, 'four', 4)")
	wait.Until(t, "the transaction to end", func() bool {
		db.transactions.mu.Lock()
		defer db.transactions.mu.Unlock()
		return db.transactions.open == 0
	})
	_, err := tx.Commit()
	var e *Error
	if !errors.As(err, &e) || e.State != "25P03" || !strings.Contains(e.Message, "idle for more than 20ms") {
		t.Errorf("%v (%+v)", err, e)
	}
	must(t, db, nil, "1,2,3", allOrders)
}

// TestTransactionsKeepTheirCatalog publishes while one is open.
func TestTransactionsKeepTheirCatalog(t *testing.T) {
	db, _ := writing(t, Options{})
	var tx Transaction
	must(t, db, &tx, "1", "INSERT INTO orders VALUES (4, 'four', 4)")
	publish(t, db, writingCatalog(3), "CREATE OR REPLACE VIEW spice.public.orders AS SELECT id + 100 AS id FROM att.main.o")
	drained := false
	db.Drained(func() { drained = true })
	must(t, db, &tx, "1,2,3,4", allOrders)
	must(t, db, nil, "101,102,103", allOrders)
	if drained {
		t.Error("the first catalog is released too early")
	}
	if _, err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if !drained {
		t.Error("the first catalog is not released")
	}
	must(t, db, &tx, "101,102,103,104", allOrders)
}

// TestTransactionsAreLimited opens more than a caller may have.
func TestTransactionsAreLimited(t *testing.T) {
	db, _ := writing(t, Options{})
	var open [maxTransactionsCaller]Transaction
	for i := range open {
		must(t, db, &open[i], "1", fmt.Sprintf("INSERT INTO orders VALUES (%d, '', 0)", 100+i))
	}
	var more Transaction
	mustFail(t, db, &more, "53400", "a caller can have 16 open transactions", "INSERT INTO orders VALUES (4, '', 0)")
	open[0].Rollback()
	must(t, db, &more, "1", "INSERT INTO orders VALUES (4, '', 0)")
	db.Close() // with 16 of them
	if _, err := more.Commit(); err == nil {
		t.Error("committed after Close")
	}
}
