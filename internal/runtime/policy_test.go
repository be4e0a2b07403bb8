package runtime

import (
	"strings"
	"testing"
)

const csvs = "datasets: [{name: t, from: 'file:t.csv'}]\n"

func TestLoad(t *testing.T) {
	r := start(t, files{"t.csv": "a,b\n1,x\n2,y\n", "spicepod.yaml": csvs +
		"views: [{name: v, sql: 'SELECT a, twice(a) AS b FROM t'}]\nfunctions:\n" +
		tested(fn("quad", "x", "twice(twice(x))"), 2, "8") + fn("twice", "x", "x * 2") + fn("total", "", "(SELECT sum(b)::BIGINT FROM v)")})
	report := r.LastReport()
	r.problems(report)
	r.changed(report, "dataset t", "function quad", "function twice", "function total", "view v")
	if !report.Accepted || report.Generation != 1 || report.Trigger != "start" || len(report.Tests) != 1 || !report.Tests[0].Passed {
		t.Errorf("report: %+v", report)
	}
	for sql, want := range map[string]string{
		"SELECT quad(3), total()":                                                                  "12,6",
		"SELECT * FROM v ORDER BY a":                                                               "1,2;2,4",
		"SELECT name FROM list_udfs() WHERE source = 'user' ORDER BY name":                         "quad;total;twice",
		"SELECT name, signature FROM spiced.functions WHERE name = 'twice'":                        "twice,twice(x int64) → int64",
		"SELECT \"function\", name FROM spiced.function_args ORDER BY ALL":                         "quad,x;twice,x",
		"SELECT * FROM (SELECT * EXCLUDE (file, line) FROM spiced.lineage) ORDER BY ALL":           "quad,function,twice,NULL;total,column,v,b;total,dataset,v,NULL",
		"SELECT name, kind FROM spiced.datasets ORDER BY name":                                     "t,dataset;v,view",
		"SELECT dataset, name FROM spiced.dataset_columns ORDER BY ALL":                            "t,a;t,b;v,a;v,b",
		"SELECT count(*) FROM spiced.load_errors":                                                  "0",
		"SELECT generation, trigger, functions, datasets, views, problems FROM spiced.generations": "1,start,3,1,1,0",
	} {
		r.want(sql, want)
	}
}

func TestFaultsOfComponentsLeaveTheRest(t *testing.T) {
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": "datasets:\n- {name: t, from: 'file:t.csv'}\n- {name: gone, from: 'file:gone.csv'}\n" +
		"views:\n- {name: bad, sql: 'SELECT nix FROM t'}\n- {name: over, sql: 'SELECT * FROM bad'}\n- {name: good, sql: 'SELECT a FROM t'}\n- {name: calls, sql: " +
		"'SELECT unbound(a) FROM t'}\nfunctions:\n" +
		fn("good", "x", "x + 1") + fn("unbound", "x", "x + nix") + fn("caller", "x", "unbound(x)") +
		tested(fn("fails", "x", "x + 1"), 1, "3") + fn("reads", "", "(SELECT max(a) FROM gone)") + fn("over_bad", "", "(SELECT max(a) FROM over)")})
	r.want("SELECT good(1)", "2")
	r.want("SELECT * FROM good", "1")
	for _, sql := range []string{
		"SELECT unbound(1)", "SELECT caller(1)", "SELECT fails(1)", "SELECT reads()", "SELECT over_bad()", "SELECT * FROM bad",
		"SELECT * FROM over", "SELECT * FROM calls", "SELECT * FROM gone",
	} {
		if got, err := r.ask(sql); err == nil {
			t.Errorf("%s answers %s", sql, got)
		}
	}
	report := r.LastReport()
	want := map[string]string{
		"dataset gone": "gone.csv", "view bad": "nix", "view over": "waits for view bad, which it reads", "view calls": "unbound", "function unbound": "nix",
		"function caller": "waits for function unbound, which it calls", "function fails": "want 3, got 2", "function reads": "waits for dataset gone",
		"function over_bad": "waits for view over",
	}
	for _, p := range report.Problems {
		if part, ok := want[p.Component]; !ok || !strings.Contains(p.Message, part) || p.Line == 0 || p.Column == 0 {
			t.Errorf("unexpected: %v (%s)", p, p.Component)
		}
		delete(want, p.Component)
	}
	if len(want) > 0 {
		t.Errorf("no problem for %v in\n%v", want, report.Problems)
	}
	r.want("SELECT count(*), min(generation), bool_and(line > 0) FROM spiced.load_errors", "9,1,true")
	r.want("SELECT waits_for FROM spiced.load_errors WHERE component = 'view over'", "view bad")
}

func TestLastGoodVersionServes(t *testing.T) {
	good := csvs + "views: [{name: v, sql: 'SELECT a + 1 AS b FROM t'}]\nfunctions:\n" + fn("f", "x", "x + 1") + fn("g", "x", "f(x) * 10")
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": good})
	check := func(f string) {
		t.Helper()
		r.want("SELECT f(1), g(1), (SELECT b FROM v), (SELECT a FROM t)", f)
	}
	check("2,20,2,1")
	bad := strings.Replace(csvs, "t.csv", "nix.csv", 1) + "views: [{name: v, sql: 'SELECT nix FROM t'}]\nfunctions:\n"
	report := r.pod(bad + tested(fn("f", "x", "x + 2"), 1, "9") + fn("g", "x", "f(x) * 10"))
	r.problems(report, "nix.csv", "nix", "want 9, got 3")
	if !report.Accepted || report.Generation != 2 {
		t.Errorf("report: %+v", report)
	}
	check("2,20,2,1")
	r.want("SELECT generation, component FROM spiced.load_errors ORDER BY ALL", "2,dataset t;2,function f;2,view v")
	report = r.pod(bad + fn("f", "x", "x + nix") + fn("g", "x", "f(x) * 100"))
	r.problems(report, "nix.csv", "nix", "nix")
	r.want("SELECT f(1), g(1), (SELECT b FROM v), (SELECT a FROM t)", "2,200,2,1")
	report = r.pod("nonsense: 1\n")
	if report.Accepted || report.Generation != 3 {
		t.Errorf("report: %+v", report)
	}
	r.want("SELECT f(1), g(1)", "2,200")
	r.want("SELECT generation, message FROM spiced.load_errors", "3,"+report.Problems[0].Message)
	r.problems(r.pod(strings.Replace(good, "x + 1", "x + 3", 1)))
	check("4,40,2,1")
	r.want("SELECT count(*) FROM spiced.load_errors", "0")
}

func TestLastGoodVersionWithItsCallee(t *testing.T) {
	// The last good version of f calls h, which is not declared any more.
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": csvs + "views: [{name: v, sql: 'SELECT h(a) AS b FROM t'}]\nfunctions:\n" + fn("h", "x", "x + 1") +
		fn("f", "x", "h(x)")})
	report := r.pod(csvs + "views: [{name: v, sql: 'SELECT h(a) AS b FROM t'}]\nfunctions:\n" + fn("f", "x", "x + nix"))
	if !report.Accepted {
		t.Fatalf("refused: %v", report.Problems)
	}
	r.want("SELECT f(1), (SELECT b FROM v)", "2,2")
	r.want("SELECT h(1)", "2")
	r.problems(r.pod("functions:\n" + fn("f", "x", "x + 5")))
	r.want("SELECT f(1)", "6")
	r.refused("SELECT h(1)", "h")
}

// TestLastGoodVersionOnNewCallees breaks a function in the edit that changes what it calls: its
// last good version runs on the new callee, if it can.
func TestLastGoodVersionOnNewCallees(t *testing.T) {
	good := csvs + "views: [{name: v, sql: 'SELECT f(a) AS b FROM t'}]\nfunctions:\n" + fn("h", "x", "x + 1") + fn("f", "x", "h(x) * 10")
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": good})
	r.want("SELECT f(1), (SELECT b FROM v)", "20,20")
	broken := strings.Replace(strings.Replace(good, "x + 1", "x + 2", 1), "h(x) * 10", "h(x) *", 1)
	r.problems(r.pod(broken), "it ends too early")
	r.want("SELECT f(1), h(1), (SELECT b FROM v)", "30,3,30")
	r.problems(r.pod(strings.Replace(broken, "x + 2", "x + 3", 1)), "it ends too early")
	r.want("SELECT f(1), h(1), (SELECT b FROM v)", "40,4,40")
	r.problems(r.pod(csvs+"functions:\n"+tested(fn("f", "x", "h(x) *"), 1, "20")+fn("h", "x", "x + 4")), "it ends too early")
	r.want("SELECT f(1), h(1)", "50,5")
	r.problems(r.pod(strings.Replace(good, "x + 1", "x + 5", 1)))
	r.want("SELECT f(1), h(1)", "60,6")
}

func TestRemovedFunctionThatIsCalledStays(t *testing.T) {
	both := "functions:\n" + fn("h", "x", "x + 1") + fn("f", "x", "h(x)")
	r := start(t, files{"spicepod.yaml": both})
	r.problems(r.pod("functions:\n"+fn("f", "x", "h(x)")), "function h: function h was removed but is still called by f")
	r.want("SELECT f(1), h(1)", "2,2")
	r.problems(r.pod(both))
	r.problems(r.pod("functions:\n" + fn("f", "x", "x")))
	r.want("SELECT f(1)", "1")
	r.refused("SELECT h(1)", "h")
}

func TestRemovedFunctionThatAViewCallsStays(t *testing.T) {
	views := csvs + "views: [{name: v, sql: 'SELECT h(a) AS b FROM t'}]\n"
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": views + "functions:\n" + fn("h", "x", "x + 1")})
	report := r.pod(views + "functions: []\n")
	r.want("SELECT b FROM v", "2")
	if !report.Problems.HasErrors() || !strings.Contains(report.Problems.Error(), "still called by view v") {
		t.Errorf("problems: %v", report.Problems)
	}
	r.problems(r.pod(csvs))
	r.refused("SELECT h(1)", "h")
}

func TestCalleeChangesCallers(t *testing.T) {
	pod := func(body string) string {
		return "functions:\n" + fn("top", "x", "mid(x)") + fn("mid", "x", "low(x)") + fn("low", "x", body) + fn("other", "x", "x")
	}
	r := start(t, files{"spicepod.yaml": pod("x + 1")})
	r.want("SELECT top(1)", "2")
	other := r.Current().Functions.Get("other")
	report := r.pod(pod("x + 100"))
	r.problems(report)
	r.changed(report, "function top", "function mid", "function low")
	r.want("SELECT top(1)", "101") // the same text again
	if r.Current().Functions.Get("other") != other {
		t.Error("an unchanged function was created again")
	}
}

func TestCircles(t *testing.T) {
	tests := map[string]struct{ pod, want string }{
		"functions":       {"functions:\n" + fn("a", "x", "b(x)") + fn("b", "x", "a(x)"), "a → b → a"},
		"itself":          {"functions:\n" + fn("a", "x", "a(x)"), "a → a"},
		"function a view": {"views: [{name: v, sql: 'SELECT f() AS b'}]\nfunctions:\n" + fn("f", "", "(SELECT max(b) FROM v)"), "function f → view v → function f"},
		"views":           {"views: [{name: v, sql: 'SELECT * FROM w'}, {name: w, sql: 'SELECT * FROM v'}]\n", "view v → view w → view v"},
		"a view itself":   {"views: [{name: v, sql: 'SELECT * FROM v'}]\n", "view v → view v"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := start(t, files{"spicepod.yaml": test.pod})
			if got := r.LastReport().Problems.Error(); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %q", got, test.want)
			}
			if g := r.Current(); g.Functions.Len()+len(g.Views) != 0 {
				t.Errorf("serves %d functions and %d views", g.Functions.Len(), len(g.Views))
			}
		})
	}
	r := start(t, files{"spicepod.yaml": "views: [{name: v, sql: 'SELECT f() AS b'}, {name: w, sql: 'SELECT 5 AS b'}]\nfunctions:\n" + fn("f", "", "1")})
	report := r.pod("views: [{name: v, sql: 'SELECT f() AS b'}, {name: w, sql: 'SELECT 5 AS b'}]\nfunctions:\n" + fn("f", "", "(SELECT max(b) FROM v)"))
	if !strings.Contains(report.Problems.Error(), "dependency cycle: ") {
		t.Errorf("problems: %v", report.Problems)
	}
	r.want("SELECT f(), (SELECT b FROM v)", "1,1")
}

func TestChangesOfKindAndName(t *testing.T) {
	table := "  - name: f\n    from: sql\n    kind: table\n    signature: {args: [{name: x, type: int64}], returns: [{name: a, type: int64}]}\n    body: SELECT " +
		"x AS a FROM args\n"
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": "functions:\n" + fn("f", "x", "x + 1")})
	for range 2 {
		r.problems(r.pod("functions:\n" + table))
		r.want("SELECT * FROM f(7)", "7")
		r.refused("SELECT f(7)", "f")
		r.problems(r.pod("functions:\n" + fn("f", "x", "(SELECT max(y + x) FROM (SELECT 1 AS y))")))
		r.want("SELECT f(7)", "8")
		r.refused("SELECT * FROM f(7)", "f")
	}
	report := r.pod("functions:\n" + fn("F", "x", "x + 1"))
	r.problems(report)
	r.want("SELECT f(7)", "8")
	r.want("SELECT name FROM spiced.functions", "F")
	r.problems(r.pod(csvs + "functions:\n" + fn("F", "x", "x + 1") + "    enabled: false\n" + fn("g", "", "(SELECT max(a) FROM t)")))
	r.refused("SELECT f(7)", "f")
	r.want("SELECT count(*) FROM list_udfs() WHERE source = 'user'", "1")
	r.problems(r.pod("views: [{name: t, sql: 'SELECT 9 AS a'}]\nfunctions:\n" + fn("g", "", "(SELECT max(a) FROM t)")))
	r.want("SELECT g(), (SELECT a FROM t)", "9,9")
	r.problems(r.pod(csvs + "functions:\n" + fn("g", "", "(SELECT max(a) FROM t)")))
	r.want("SELECT g(), (SELECT a FROM t)", "1,1")
}

func TestGate(t *testing.T) {
	off := "version: v1\nkind: Spicepod\nname: test\n" + csvs + "views: [{name: v, sql: 'SELECT f(a) AS b FROM t'}]\nfunctions:\n" + fn("f", "x", "x + 1")
	on := strings.Replace(off, "datasets:", "runtime: {functions: {enabled: true}}\ndatasets:", 1)
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": off})
	for range 2 {
		r.refused("SELECT f(1)", "f")
		r.refused("SELECT * FROM v", "")
		r.want("SELECT a FROM t", "1")
		if got := r.LastReport().Problems; len(got) != 2 || !strings.Contains(got.Error(), "declared but disabled") {
			t.Errorf("problems: %v", got)
		}
		r.problems(r.pod(on))
		r.want("SELECT f(1), (SELECT b FROM v)", "2,2")
		r.pod(off)
	}
}

func TestStrict(t *testing.T) {
	strict := func(o *Options) { o.Strict = true }
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("f", "x", "x + 1")}, strict)
	for _, body := range []string{"x + nix", "x +", "'a' || x"} {
		report := r.pod("functions:\n" + fn("f", "x", body))
		if report.Accepted || len(report.Problems) != 1 || report.Generation != 1 {
			t.Errorf("%s: %+v", body, report)
		}
		r.want("SELECT f(1)", "2")
		r.want("SELECT component FROM spiced.load_errors", "function f")
	}
	if report := r.pod("functions:\n" + fn("f", "x", "x + 2")); !report.Accepted || report.Generation != 2 {
		t.Errorf("healed: %+v", report)
	}
	r.want("SELECT f(1)", "3")
	first := prepare(t, files{"spicepod.yaml": "functions:\n" + fn("f", "x", "x + nix")}, strict)
	if err := first.Run(t.Context()); err == nil || first.Ready() {
		t.Errorf("a strict first load with a fault: %v", err)
	}
}
