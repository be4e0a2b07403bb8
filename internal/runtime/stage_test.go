package runtime

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

func TestTestsReadWhatIsNew(t *testing.T) {
	views := "views: [{name: v, sql: 'SELECT twice(a) AS b FROM t'}, {name: w, sql: 'SELECT sum(b)::BIGINT AS s FROM v'}]\n"
	pod := func(n string) string {
		return csvs + views + "functions:\n" + tested(fn("total", "x", "(SELECT s + x FROM w)"), 1, n) + fn("twice", "x", "x * 2") +
			"  - name: div\n    from: sql\n    signature: {args: [{name: x, type: int64}], returns: int64}\n    body: CASE WHEN x = 0 THEN error('none') " +
			"ELSE 8 // x END\n" +
			"    tests: [{args: {x: 0}, error: none}, {args: {x: 2}, returns: 4}, {args: {x: 0}, error: execution_error}]\n" +
			"  - name: rows_of\n    from: sql\n    kind: table\n    signature: {args: [{name: x, type: int64}], returns: [{name: b, type: int64}]}\n    body: SELECT " +
			"b FROM v, args WHERE b > x\n" +
			"    tests: [{args: {x: 2}, rows: [{b: 4}]}]\n"
	}
	r := start(t, files{"t.csv": "a\n1\n2\n", "spicepod.yaml": pod("7")})
	r.problems(r.LastReport())
	if n := len(r.LastReport().Tests); n != 5 {
		t.Errorf("%d tests ran, want 5", n)
	}
	r.want("SELECT total(1), div(2)", "7,4")
	r.problems(r.pod(pod("8")), "want 8, got 7")
	r.want("SELECT total(1), div(2)", "7,4")
	changed := strings.Replace(pod("13"), "x * 2", "x * 4", 1)
	changed = strings.Replace(changed, "{x: 2}, rows: [{b: 4}]", "{x: 4}, rows: [{b: 8}]", 1)
	r.problems(r.pod(changed))
	r.want("SELECT total(1)", "13")
	// A test fails since what the function reads changed: it goes on serving.
	report := r.pod(strings.Replace(strings.Replace(changed, "x * 4", "x * 5", 1), "[{b: 8}]", "[{b: 5}, {b: 10}]", 1))
	r.problems(report, "want 13, got 16")
	r.want("SELECT total(1)", "16")
}

func TestOnTestFailure(t *testing.T) {
	pod := func(on, body string) string {
		return strings.Replace(head, "enabled: true", "enabled: true, on_test_failure: "+on, 1) + "functions:\n" +
			tested(fn("f", "x", body), 1, "2") + fn("other", "x", body)
	}
	for _, c := range []struct {
		on, want string
		accepted bool
		severity spicepod.Severity
	}{
		{"skip", "2,4", true, spicepod.Error},
		{"refuse", "2,2", false, spicepod.Error},
		{"warn", "4,4", true, spicepod.Warning},
	} {
		r := start(t, files{"spicepod.yaml": pod(c.on, "x + 1")})
		r.problems(r.LastReport())
		report := r.pod(pod(c.on, "x + 3"))
		r.problems(report, "want 2, got 4")
		if report.Accepted != c.accepted || report.Problems[0].Severity != c.severity {
			t.Errorf("%s: accepted %t, severity %s", c.on, report.Accepted, report.Problems[0].Severity)
		}
		r.want("SELECT f(1), other(1)", c.want)
		r.problems(r.pod(pod(c.on, "1 + x")))
		r.want("SELECT f(1), other(1)", "2,2")
	}
}

func TestLastGoodVersionCallsWhatComesLater(t *testing.T) {
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("f", "x", "later(x)") + fn("later", "x", "x + 1")})
	for _, body := range []string{"x +", "x + nix", "cos(", "nix(x)"} {
		report := r.pod("functions:\n" + fn("f", "x", body) + fn("later", "x", "x + 1"))
		if len(report.Problems) != 1 {
			t.Errorf("%s: %v", body, report.Problems)
		}
		r.want("SELECT f(1)", "2")
	}
}

func TestFaultWithinTheTransaction(t *testing.T) {
	// Such errors show while DuckDB makes the view, within the transaction.
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": csvs +
		"views: [{name: v, sql: \"SELECT range AS b FROM range(CAST('x' AS INT))\"}, {name: w, sql: 'SELECT a FROM t'}, {name: u, sql: \"SELECT * FROM " +
		"range(CAST(error('boom') AS BIGINT))\"}]\nfunctions:\n" +
		fn("f", "x", "x + CAST('y' AS BIGINT)") + fn("zero", "x", "x // 0") + fn("g", "x", "x")})
	r.problems(r.LastReport(), "view v: Could not convert", "view u: boom")
	r.want("SELECT g(1), (SELECT a FROM w), zero(3)", "1,1,NULL")
}

func many(n int, body string) string {
	var b strings.Builder
	b.WriteString("functions:\n" + fn("hub", "x", body) + fn("caller", "x", "hub(x)"))
	for i := range n {
		b.WriteString(fn(fmt.Sprintf("f%d", i), "x", fmt.Sprintf("x + %d", i)))
	}
	return b.String()
}

func TestOneOfManyChanges(t *testing.T) {
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": csvs + "views: [{name: v, sql: 'SELECT f1(a) AS b FROM t'}]\n" + many(200, "x + 1")})
	before := r.Current()
	report := r.pod(csvs + "views: [{name: v, sql: 'SELECT f1(a) AS b FROM t'}]\n" + many(200, "x + 2"))
	r.problems(report)
	r.changed(report, "function hub", "function caller")
	r.want("SELECT caller(1), f199(1)", "3,200")
	now := r.Current()
	if now.Views[0] != before.Views[0] || now.Datasets[0] != before.Datasets[0] || now.Functions.Get("f7") != before.Functions.Get("f7") {
		t.Error("an unchanged component was made again")
	}
	// Functions that only move in the file are not made again.
	report = r.pod("# a line more\n" + csvs + "views: [{name: v, sql: 'SELECT f1(a) AS b FROM t'}]\n" +
		strings.Replace(many(200, "x + 2"), "functions:\n", "functions:\n"+fn("one", "x", "x"), 1))
	r.problems(report)
	r.changed(report, "function one")
	if r.Current().Views[0] != before.Views[0] {
		t.Error("a view whose function moved was made again")
	}
	r.want("SELECT caller(1), f199(1), one(4), (SELECT b FROM v)", "3,200,4,2")
	r.want("SELECT count(*), count(DISTINCT line) FROM spiced.functions", "203,203")
}

func TestReloadsWhileStatementsRun(t *testing.T) {
	pod := func(n int) string {
		return "functions:\n" + fn("a", "", fmt.Sprint(n)) + fn("b", "x", fmt.Sprintf("x + %d", n)) + fn("c", "", "a()")
	}
	r := start(t, files{"spicepod.yaml": pod(0)})
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := ask(t.Context(), r.Runtime, "SELECT a() = b(0) AND a() = c()")
				if err != nil || got != "true" {
					t.Errorf("got %s, %v", got, err)
					return
				}
			}
		})
	}
	for n := range 60 {
		if report := r.pod(pod(n + 1)); !report.Accepted {
			t.Errorf("refused: %v", report.Problems)
		}
		r.want("SELECT a(), b(0)", fmt.Sprintf("%d,%d", n+1, n+1))
	}
	close(done)
	group.Wait()
	r.want("SELECT count(*), max(generation) FROM spiced.generations", "61,61")
}
