package dml_test

import (
	"errors"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// TestRemaining: the SELECT of the rows that a DELETE leaves, and the offsets of its condition.
func TestRemaining(t *testing.T) {
	reserved := map[string]bool{"where": true}
	text := "DELETE FROM orders AS o WHERE o.at < 5"
	query, origin, err := dml.Remaining(text, sqltree.Scan(text), reserved)
	if want := "SELECT * FROM orders AS o WHERE (o.at < 5\n) IS NOT TRUE"; err != nil || query != want {
		t.Fatalf("%q %v, want %q", query, err, want)
	}
	if at := origin(len("SELECT * FROM orders AS o WHERE (o.")); text[at:] != "at < 5" {
		t.Errorf("the offset is that of %q", text[at:])
	}
	for text, offset := range map[string]int{
		"SELECT 1": 0, "DELETE FROM t": 0, "DELETE FROM t WHERE a RETURNING b": 32, "DELETE FROM t USING u WHERE a": 14, "DELETE FROM t WHERE a = (": 24,
	} {
		_, _, err := dml.Remaining(text, sqltree.Scan(text), reserved)
		var e *dml.Error
		if !errors.As(err, &e) || e.Offset != offset {
			t.Errorf("%s: %v, %+v, want offset %d", text, err, e, offset)
		}
	}
}
