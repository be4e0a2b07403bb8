package functions

import (
	"strings"
	"testing"
)

func TestVolatileInSubqueries(t *testing.T) {
	const dice = "- { name: roll, from: sql, volatility: volatile, signature: { args: [], returns: float64 }, body: random() }\n"
	db := open(t)
	for _, tt := range []struct{ volatility, body, want string }{
		{
			"volatile", "(SELECT random())",
			"function f: random is called in a subquery, which DuckDB computes once for rows with equal arguments, and the function is volatile (call random outside",
		},
		{"volatile", "(SELECT roll() + x)", "function f: roll is called in a subquery"},
		{"volatile", "(SELECT amount FROM orders ORDER BY random() LIMIT 1)", "function f: random is called in a subquery"},
		{"volatile", "random() + (SELECT max(id) FROM orders)", "true"},
		{"volatile", "(SELECT list(amount ORDER BY amount) FROM orders)[1 + floor(random() * (SELECT count(*) FROM orders))::BIGINT]", "some"},
		{"volatile", "(SELECT max(id) FROM orders)", "false"},
		{"stable", "(SELECT random())", "declared stable, but the body calls a function that returns a different value each time"},
	} {
		pod := load(t, dice+"- { name: f, from: sql, volatility: "+tt.volatility+", signature: { args: [{ name: x, type: int64 }], returns: float64 }, body: \""+
			tt.body+"\" }\n")
		_, problems := publish(t, db, pod, nil)
		got := show(problems)
		if len(problems) == 0 {
			var err error
			sql := "SELECT count(DISTINCT f(1)) > 1 FROM range(100)"
			if tt.want == "true" {
				sql = "SELECT count(DISTINCT f(1)) = 100 FROM range(100)"
			}
			if got, err = query(t, db, sql); err != nil {
				t.Error(tt.body, err)
			}
			tt.want = strings.ReplaceAll(tt.want, "some", "true")
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.body, got, tt.want)
		}
	}
}
