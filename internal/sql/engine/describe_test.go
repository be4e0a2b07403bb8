package engine

import (
	"context"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestDescribe(t *testing.T) {
	db := fixture(t, Options{})
	for sql, want := range map[string]string{
		"SELECT i, twice($1) AS t FROM k WHERE i > $2": "i BIGINT, t DOUBLE; 1 DOUBLE, 2 BIGINT",
		"SELECT 1 AS a":    "a INTEGER; ",
		"SELECT $1 AS a":   "unknown ?; 1 ?",
		"EXPLAIN SELECT 1": "explain_key VARCHAR, explain_value VARCHAR; ",
	} {
		d, err := db.Describe(context.Background(), Request{SQL: sql})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got := describeText(d); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	_, err := db.Describe(context.Background(), Request{SQL: "SELECT * FROM hidden"})
	if AsError(err).Code != errcode.NotFound {
		t.Error(err)
	}
}

func describeText(d *Description) string {
	text := ""
	add := func(name string, typ *Type, last bool) {
		shown := "?"
		if typ != nil {
			shown = typ.String()
		}
		text += name + " " + shown
		if !last {
			text += ", "
		}
	}
	for i, c := range d.Columns {
		add(c.Name, c.Type, i == len(d.Columns)-1)
	}
	text += "; "
	for i, p := range d.Params {
		add(p.Name, p.Type, i == len(d.Params)-1)
	}
	return text
}

// DuckDB computes what is constant when it plans, and nothing interrupts that.
func TestDescribeIsGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a processor busy for seconds")
	}
	db := fixture(t, Options{Grace: 50 * time.Millisecond})
	start := time.Now()
	_, err := db.Describe(context.Background(), Request{
		SQL: "SELECT levenshtein(repeat('a', 12000), repeat('b', 12000))", Limits: Limits{Timeout: 100 * time.Millisecond},
	})
	if AsError(err).Code != errcode.Timeout || time.Since(start) > 2*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	if got := firstText(t, db, "SELECT 'others go on'"); got != "others go on" {
		t.Error(got)
	}
	wait.Until(t, "the deaf one ends", func() bool { return db.Stats().Abandoned == 0 })
}
