package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/full"
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
	full.Need(t, "it keeps a processor busy for seconds")
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

// TestDescribeArguments has parameters that are arguments of declared functions: they have
// the declared types, also where DuckDB forgets them.
func TestDescribeArguments(t *testing.T) {
	db := fixture(t, Options{})
	total := &Function{Name: "total", Signature: "total(amount decimal(18,2), n int64) → decimal(18,2)", Args: []FunctionArg{
		{Name: "amount", Type: "DECIMAL(18,2)", Numeric: true}, {Name: "n", Type: "BIGINT", Numeric: true},
	}}
	catalog := NewCatalog(Contents{Generation: 2, Relations: []Relation{{Schema: "public", Name: "k"}}, Functions: []*Function{total}})
	err := db.Publish(context.Background(), catalog, func(tx *Tx) error {
		return tx.Exec("CREATE MACRO spice.public.total(amount DECIMAL(18,2), n BIGINT) AS CAST(amount * n AS DECIMAL(18,2))")
	})
	if err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		"SELECT total($1, $2) AS t":                                  "1 DECIMAL(18,2), 2 BIGINT",
		"SELECT total(?, ?) AS t":                                    "1 DECIMAL(18,2), 2 BIGINT",
		"SELECT total(n := $2, amount := $1) AS t":                   "1 DECIMAL(18,2), 2 BIGINT",
		"SELECT total($amount, $n) AS t":                             "amount DECIMAL(18,2), n BIGINT",
		"SELECT 1 + total(total(i, $1), $2) * 2 FROM k":              "1 BIGINT, 2 BIGINT",
		"SELECT total($1::INTEGER, $2) AS t":                         "1 INTEGER, 2 BIGINT",
		"SELECT * FROM (VALUES (total($1, $2), $3))":                 "1 DECIMAL(18,2), 2 BIGINT, 3 ?",
		"SELECT i FROM k WHERE total($1, i) > (SELECT total($2, 1))": "1 DECIMAL(18,2), 2 DECIMAL(18,2)",
		"SELECT total($1, $1) AS t":                                  "1 DECIMAL(18,2)",
	} {
		d, err := db.Describe(context.Background(), Request{SQL: sql})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		_, got, _ := strings.Cut(describeText(d), "; ")
		if got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
