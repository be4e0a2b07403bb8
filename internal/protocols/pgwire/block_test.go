package pgwire_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spiced-sql/spiced/internal/test/wait"
)

// TestBlocks runs statements one after another and compares their rows, their tags or the state
// of their error.
func TestBlocks(t *testing.T) {
	for name, steps := range map[string][]string{
		"commit": {
			"BEGIN", "BEGIN", "INSERT INTO words VALUES ('a'), ('b')", "INSERT 0 2", "FROM words ORDER BY 1", "a b SELECT 2",
			"DELETE FROM words WHERE word = 'a'", "DELETE 1", "UPDATE words SET word = 'c' RETURNING word", "c UPDATE 1",
			"COMMIT", "COMMIT", "FROM words", "c SELECT 1",
		},
		"rollback": {
			"BEGIN", "BEGIN", "INSERT INTO words VALUES ('a')", "INSERT 0 1", "ROLLBACK", "ROLLBACK", "FROM words", "SELECT 0",
			"BEGIN", "BEGIN", "INSERT INTO words VALUES ('b')", "INSERT 0 1", "COMMIT", "COMMIT", "FROM words", "b SELECT 1",
		},
		"an error": {
			"BEGIN", "BEGIN", "INSERT INTO words VALUES ('a')", "INSERT 0 1", "INSERT INTO words VALUES (NULL)", "23502", "FROM words", "25P02",
			"COMMIT", "ROLLBACK", "FROM words", "SELECT 0", "COMMIT", "COMMIT",
		},
		"refused": {
			"BEGIN", "BEGIN", "CREATE TABLE t (i INTEGER)", "42501", "ROLLBACK", "ROLLBACK",
			"BEGIN READ ONLY", "BEGIN", "INSERT INTO words VALUES ('a')", "25006", "ROLLBACK", "ROLLBACK",
			"BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN", "INSERT INTO words VALUES ('a')", "0A000", "ROLLBACK", "ROLLBACK",
			"BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN", "INSERT INTO words VALUES ('a')", "0A000", "ROLLBACK", "ROLLBACK",
			"SET default_transaction_read_only = on", "SET", "INSERT INTO words VALUES ('a')", "25006", "BEGIN", "BEGIN", "INSERT INTO words VALUES ('a')", "25006",
			"ROLLBACK", "ROLLBACK", "BEGIN READ WRITE", "BEGIN", "INSERT INTO words VALUES ('a')", "INSERT 0 1", "COMMIT", "COMMIT",
		},
		"savepoints": {
			"BEGIN", "BEGIN", "SAVEPOINT a", "SAVEPOINT", "INSERT INTO words VALUES ('a')", "INSERT 0 1", "ROLLBACK TO a", "ROLLBACK",
			"INSERT INTO words VALUES (NULL)", "23502", "ROLLBACK TO SAVEPOINT a", "ROLLBACK", "INSERT INTO words VALUES ('b')", "INSERT 0 1",
			"SAVEPOINT b", "SAVEPOINT", "SELECT nosuch", "42703", "ROLLBACK TO b", "ROLLBACK", "FROM words", "b SELECT 1",
			"SAVEPOINT c", "SAVEPOINT", "INSERT INTO words VALUES ('c')", "INSERT 0 1", "RELEASE c", "RELEASE", "FROM words ORDER BY 1", "b c SELECT 2",
			"COMMIT", "COMMIT", "FROM words ORDER BY 1", "b c SELECT 2",
		},
		"a savepoint after a change": {
			"BEGIN", "BEGIN", "INSERT INTO words VALUES ('a')", "INSERT 0 1", "SAVEPOINT s", "SAVEPOINT", "INSERT INTO words VALUES ('b')", "INSERT 0 1",
			"ROLLBACK TO s", "0A000", "FROM words", "25P02", "ROLLBACK TO s", "0A000", "COMMIT", "ROLLBACK", "FROM words", "SELECT 0",
		},
		"cursors": {
			"BEGIN", "BEGIN", "INSERT INTO words SELECT 'w' || range FROM range(20000)", "INSERT 0 20000",
			"DECLARE c CURSOR FOR SELECT 'x' FROM words a, words b", "DECLARE CURSOR", "FETCH 1 FROM c", "x FETCH 1",
			"CLOSE c", "CLOSE CURSOR", "SELECT count(*) FROM words", "20000 SELECT 1",
			"DECLARE d CURSOR FOR SELECT 'x' FROM words a, words b", "DECLARE CURSOR", "FETCH 1 FROM d", "x FETCH 1",
			"SELECT count(*) FROM words", "55006", "ROLLBACK", "ROLLBACK", "FROM words", "SELECT 0",
		},
		"a cursor at COMMIT": {
			"BEGIN", "BEGIN", "INSERT INTO words SELECT 'w' || range FROM range(20000)", "INSERT 0 20000",
			"DECLARE c CURSOR FOR SELECT 'x' FROM words a, words b", "DECLARE CURSOR", "FETCH 1 FROM c", "x FETCH 1", "COMMIT", "COMMIT",
			"SELECT count(*) FROM words", "20000 SELECT 1",
		},
		"a cursor WITH HOLD": {
			"BEGIN", "BEGIN", "DECLARE a CURSOR WITH HOLD FOR SELECT 1", "DECLARE CURSOR", "INSERT INTO words VALUES ('a')", "INSERT 0 1",
			"DECLARE c CURSOR WITH HOLD FOR FROM words", "0A000", "ROLLBACK", "ROLLBACK",
		},
		"a script": {
			"BEGIN; INSERT INTO words VALUES ('a'); COMMIT", "BEGIN INSERT 0 1 COMMIT",
			"INSERT INTO words VALUES ('b'); INSERT INTO words VALUES ('c')", "INSERT 0 1 INSERT 0 1",
			"INSERT INTO words VALUES ('d'); SELECT nosuch; SELECT 1", "42703", "FROM words ORDER BY 1", "a b c SELECT 3",
			"INSERT INTO words VALUES ('d'); selec 1", "42601", "DELETE FROM words; SELECT count(*) FROM words; ROLLBACK", "DELETE 3 0 SELECT 1 ROLLBACK",
			"INSERT INTO words VALUES ('d'); COMMIT; SELECT nosuch", "42703",
			"INSERT INTO words VALUES ('e'); BEGIN; INSERT INTO words VALUES ('f')", "INSERT 0 1 BEGIN INSERT 0 1", "ROLLBACK", "ROLLBACK",
			"WITH x AS (SELECT 'a') INSERT INTO words FROM x; COMMIT", "42501",
			"SET application_name = 'insert'; SELECT 'delete'; INSERT INTO words VALUES ('g');", "SET delete SELECT 1 INSERT 0 1",
			"FROM words ORDER BY 1", "a b c d g SELECT 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := serveWriting(t)
			c := f.raw()
			for step := range slices.Chunk(steps, 2) {
				lines, tags, err := f.simple(c, step[0])
				got := strings.Join(slices.Concat(lines, tags), " ")
				if e, ok := errors.AsType[*pgconn.PgError](err); ok {
					got = e.Code
				}
				if len(tags) > 1 { // in their order
					slices.Sort(tags)
				}
				if !sameWords(got, step[1]) {
					t.Fatalf("%s: %q, %v, want %q", step[0], got, err, step[1])
				}
			}
		})
	}
}

// sameWords reports whether both have the same words, in any order.
func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// TestBlocksOfTwo has two clients: neither sees what the other has not committed, the second
// one to change a row fails, and a connection that ends undoes its changes.
func TestBlocksOfTwo(t *testing.T) {
	f := serveWriting(t)
	a, b := f.connect(""), f.connect("")
	exec := func(c *pgx.Conn, sql string) {
		t.Helper()
		if _, err := c.Exec(f.context(), sql); err != nil {
			t.Fatal(sql, err)
		}
	}
	count := func(c *pgx.Conn) (n int) {
		t.Helper()
		if err := c.QueryRow(f.context(), "SELECT count(*) FROM words").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	exec(a, "INSERT INTO words VALUES ('x')")
	exec(a, "BEGIN")
	exec(a, "UPDATE words SET word = 'y'")
	exec(a, "INSERT INTO words VALUES ('z')")
	if x, y := count(a), count(b); x != 2 || y != 1 {
		t.Errorf("%d and %d rows", x, y)
	}
	_, err := b.Exec(f.context(), "UPDATE words SET word = 'w'")
	wantState(t, err, "40001", "try again")
	exec(b, "BEGIN")
	_, err = b.Exec(f.context(), "UPDATE words SET word = 'w' WHERE word = 'x'")
	wantState(t, err, "40001", "try again")
	exec(b, "ROLLBACK")
	exec(a, "COMMIT")
	if n := count(b); n != 2 {
		t.Errorf("%d rows", n)
	}
	exec(b, "BEGIN")
	exec(b, "UPDATE words SET word = 'u'")
	if err := b.Close(f.context()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the changes of the other one to be undone", func() bool {
		_, err := a.Exec(f.context(), "UPDATE words SET word = 'v'")
		return err == nil
	})
	if n := count(a); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// TestBlocksIdle has one that waits for longer than it may.
func TestBlocksIdle(t *testing.T) {
	f := serveWriting(t)
	a, b := f.connect(""), f.connect("")
	for _, sql := range []string{"INSERT INTO words VALUES ('x')", "SET idle_in_transaction_session_timeout = 20", "BEGIN", "UPDATE words SET word = 'y'"} {
		if _, err := a.Exec(f.context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "the row to be free", func() bool {
		_, err := b.Exec(f.context(), "UPDATE words SET word = 'z'")
		return err == nil
	})
	_, err := a.Exec(f.context(), "COMMIT")
	wantState(t, err, "25P03", "idle_in_transaction_session_timeout")
	var word string
	if err := a.QueryRow(f.context(), "SELECT min(word) FROM words").Scan(&word); err != nil || word != "z" {
		t.Error(word, err)
	}
	_, _ = a.Exec(f.context(), "BEGIN")
	if _, err = a.Exec(f.context(), "UPDATE words SET word = 'y'"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the row to be free", func() bool {
		_, err := b.Exec(f.context(), "UPDATE words SET word = 'z'")
		return err == nil
	})
	_, err = a.Exec(f.context(), "SELECT * FROM words")
	wantState(t, err, "25P03", "idle_in_transaction_session_timeout")
}

// TestBlocksOfDrivers has pgx's transactions, CopyFrom and batches.
func TestBlocksOfDrivers(t *testing.T) {
	f := serveWriting(t)
	c := f.connect("")
	for _, commit := range []bool{false, true} {
		tx, err := c.Begin(f.context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.CopyFrom(f.context(), pgx.Identifier{"words"}, []string{"word"}, pgx.CopyFromRows([][]any{{"a"}, {"b"}})); err != nil {
			t.Fatal(err)
		}
		var batch pgx.Batch
		for i := range 3 {
			batch.Queue("INSERT INTO words VALUES ($1)", fmt.Sprint(i))
		}
		if err := tx.SendBatch(f.context(), &batch).Close(); err != nil {
			t.Fatal(err)
		}
		var inside, after int
		if err := tx.QueryRow(f.context(), "SELECT count(*) FROM words WHERE word <> $1", "a").Scan(&inside); err != nil {
			t.Fatal(err)
		}
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(f.context()); err != nil {
			t.Fatal(err)
		}
		if err := c.QueryRow(f.context(), "SELECT count(*) FROM words").Scan(&after); err != nil || inside != 4 || (after == 5) != commit {
			t.Errorf("commit %t: %d and %d rows, %v", commit, inside, after, err)
		}
	}
}
