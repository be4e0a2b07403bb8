package engine

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// invalidates makes DuckDB refuse all further statements: see unsafe.txt.
const invalidates = `SELECT "is_histogram_other_bin"(c0) AS v FROM (VALUES (1), (-1), (NULL)) t(c0), range(1000) r(n) WHERE n % 3 <> 1`

// openRenewed opens a database that is renewed with what publish makes when it is lost.
func openRenewed(t *testing.T) (db *DB, lost chan struct{}) {
	t.Helper()
	lost = make(chan struct{}, 8)
	db = openWith(t, Options{Lost: func() { lost <- struct{}{} }})
	if err := db.Lock(nil); err != nil {
		t.Fatal(err)
	}
	publishTwice(t, db, 1)
	return db, lost
}

func publishTwice(t *testing.T, db *DB, generation uint64) {
	t.Helper()
	twice := &Function{Name: "twice", Signature: "twice(x)", Args: []FunctionArg{{Name: "x"}}}
	next := NewCatalog(Contents{Generation: generation, Functions: []*Function{twice}})
	publish(t, db, next, "CREATE OR REPLACE FUNCTION spice.public.twice(x) AS CAST(2 * x AS BIGINT)")
}

func renew(t *testing.T, db *DB, generation uint64) {
	t.Helper()
	err := db.Renew(t.Context(), NewCatalog(Contents{}), func(*Tx) error { return nil })
	if err != nil {
		t.Fatal("renew:", err)
	}
	publishTwice(t, db, generation)
}

func TestDuckDBIsReplacedAfterAnInternalError(t *testing.T) {
	t.Parallel()
	db, lost := openRenewed(t)
	var own *Error
	if _, err := integer(t.Context(), db, invalidates); !errors.As(err, &own) || own.Code != errcode.Internal ||
		!strings.Contains(own.Message, "DuckDB failed with an internal error") {
		t.Fatalf("got %v, want the internal error of the statement", err)
	}
	select {
	case <-lost:
	case <-time.After(10 * time.Second):
		t.Fatal("the loss was not reported")
	}
	if !db.Lost() {
		t.Fatal("the database is not lost")
	}
	// Other statements wait, and then run in the new DuckDB.
	var waiting sync.WaitGroup
	for range 4 {
		waiting.Go(func() {
			if got, err := integer(t.Context(), db, "SELECT twice(21)"); err != nil || got != 42 {
				t.Errorf("after the loss: got %d, %v, want 42", got, err)
			}
		})
	}
	renew(t, db, 2)
	waiting.Wait()
	if db.Lost() {
		t.Error("the database is still lost")
	}
}

// A statement that makes DuckDB fail again and again makes others wait each time.
func TestStatementThatLosesDuckDBTwiceIsRefused(t *testing.T) {
	t.Parallel()
	db, lost := openRenewed(t)
	for generation := range uint64(2) {
		if _, err := integer(t.Context(), db, invalidates); err == nil {
			t.Fatal("no error")
		}
		<-lost
		renew(t, db, generation+2)
	}
	if _, err := integer(t.Context(), db, invalidates); err == nil || !strings.Contains(err.Error(), "has ended DuckDB in the runtime 2 times") {
		t.Errorf("got %v, want a refusal", err)
	}
	if got, err := integer(t.Context(), db, "SELECT twice(1)"); err != nil || got != 2 {
		t.Errorf("another statement: got %d, %v", got, err)
	}
}

// A statement that reads rows from the lost DuckDB keeps it open until it ends.
func TestStatementsOfALostDuckDBEnd(t *testing.T) {
	t.Parallel()
	db, lost := openRenewed(t)
	rows, err := db.Query(t.Context(), Request{SQL: "SELECT n FROM range(100000000) t(n)"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := integer(t.Context(), db, invalidates); err == nil {
		t.Fatal("no error")
	}
	<-lost
	renew(t, db, 2)
	rows.Close()
	if got, err := integer(t.Context(), db, "SELECT twice(3)"); err != nil || got != 6 {
		t.Errorf("got %d, %v", got, err)
	}
}
