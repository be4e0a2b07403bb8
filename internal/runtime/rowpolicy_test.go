package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

const escapes = "../../testdata/spicepods/policy-escapes"

// The callers of these tests, with what none of their results may hold.
var callers = []struct {
	name   string
	scope  tools.Scope
	hidden *regexp.Regexp
}{
	{"ann", tools.Scope{Caller: caller.Caller{UserID: "ann"}}, regexp.MustCompile(`MARKBOB|MARKNONE|MARKMAIL|98700\d`)},
	{"bob", tools.Scope{Caller: caller.Caller{UserID: "bob"}}, regexp.MustCompile(`MARKANN|MARKNONE|MARKMAIL|98700\d`)},
	{"bob of hr", tools.Scope{Caller: caller.Caller{UserID: "bob", SpaceID: "hr"}}, regexp.MustCompile(`MARKANN|MARKNONE|MARKMAIL|98700[126]`)},
	{"stranger", tools.Scope{}, regexp.MustCompile(`MARKANN|MARKBOB|MARKNONE|MARKMAIL|98700\d`)},
	{"another", tools.Scope{Caller: caller.Caller{UserID: "x' OR 'a' = 'a", SpaceID: "sales"}}, regexp.MustCompile(`MARKANN|MARKBOB|MARKNONE|MARKMAIL|98700\d`)},
}

// statements are those of escapes.sql.
func statements(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(escapes, "escapes.sql"))
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(strings.TrimSpace(string(text)), "\n")
	return slices.DeleteFunc(list, func(s string) bool { return s == "" || strings.HasPrefix(s, "--") })
}

// answer is what a caller gets for a statement: its rows, sorted, or its error.
func answer(ctx context.Context, d *Runtime, scope tools.Scope, sql string) string {
	return answerTo(caller.With(ctx, scope.Caller), d, engine.Request{SQL: sql})
}

func answerTo(ctx context.Context, d *Runtime, req engine.Request) string {
	rows, err := d.DB().Query(ctx, req)
	if err != nil {
		return "error: " + err.Error()
	}
	defer rows.Close()
	var lines []string
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return "error: " + err.Error()
		}
		for i := range chunk.Len() {
			var line []byte
			for j := range rows.Columns() {
				line = format.JSON(append(line, ' '), chunk.Column(j), i)
			}
			lines = append(lines, string(line))
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d:%s", len(lines), strings.Join(lines, ";"))
}

func serveEscapes(t *testing.T) *rig {
	t.Helper()
	f := files{}
	paths, err := filepath.Glob(filepath.Join(escapes, "*.*"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f[filepath.Base(p)] = "raw:" + string(text)
	}
	r := start(t, f)
	r.problems(r.LastReport())
	return r
}

// TestNoStatementEscapesAPolicy runs every statement for every caller, one
// after the other on the same plans, and looks for rows and values that are
// hidden. What ann gets is compared with a golden file: a count or a plan tells
// of hidden rows as well.
func TestNoStatementEscapesAPolicy(t *testing.T) {
	r := serveEscapes(t)
	var seen strings.Builder
	list := statements(t)
	for _, sql := range list {
		for _, c := range callers {
			got := answer(t.Context(), r.Runtime, c.scope, sql)
			text := strings.ReplaceAll(got, sql, "") // what the caller wrote is no secret
			if found := c.hidden.FindString(text); found != "" && !strings.Contains(sql, found) {
				t.Errorf("%s: %s sees %s:\n%s", sql, c.name, found, got)
			}
			if c.name == "ann" {
				fmt.Fprintf(&seen, "%s\n\t%s\n", sql, strings.ReplaceAll(got, r.dir, "DIR"))
			}
		}
	}
	if len(list) < 150 {
		t.Errorf("the corpus has only %d statements", len(list))
	}
	golden.Equal(t, filepath.Join(escapes, "escapes.golden"), seen.String())
}

// TestCallersShareNoRows runs one text for several callers at once.
func TestCallersShareNoRows(t *testing.T) {
	r := serveEscapes(t)
	const rounds = 20
	texts := []string{
		"SELECT owner, note, salary FROM people",
		"SELECT ctx('user_id'), note_of(3), note_of(1), whoami() FROM open",
		"SELECT tool_invoke('note_of', {who: 3}), tool_invoke('whoami')",
	}
	want := map[string]string{}
	for _, c := range callers {
		for _, sql := range texts {
			want[c.name+sql] = answer(t.Context(), r.Runtime, c.scope, sql)
		}
	}
	var group sync.WaitGroup
	for _, c := range callers {
		for _, sql := range texts {
			group.Go(func() {
				for range rounds {
					if got := answer(t.Context(), r.Runtime, c.scope, sql); got != want[c.name+sql] {
						t.Errorf("%s: %s gets %s, and alone %s", sql, c.name, got, want[c.name+sql])
						return
					}
				}
			})
		}
	}
	group.Wait()
}

// TestCallsOfToolsKeepTheirCaller calls a function that reads protected rows as
// a tool, for several callers at once: calls share statements otherwise, and
// results are kept.
func TestCallsOfToolsKeepTheirCaller(t *testing.T) {
	r := serveEscapes(t)
	want := map[string]string{"ann": `"first MARKANN" null "ann"`, "bob": `null "third MARKBOB" "bob"`, "": `null null "stranger"`}
	var group sync.WaitGroup
	for user := range want {
		for range 8 {
			group.Go(func() {
				got := ""
				for _, call := range []string{`note_of {"who":1}`, `note_of {"who":3}`, `whoami {}`} {
					name, args, _ := strings.Cut(call, " ")
					result := r.Tools().Invoke(t.Context(), registry.Call{Name: name, Arguments: []byte(args), Scope: tools.Scope{Caller: caller.Caller{UserID: user}}})
					if !result.OK {
						t.Errorf("%s: %v", call, result.Error)
						return
					}
					got += " " + string(result.Result)
				}
				if got != " "+want[user] {
					t.Errorf("%q gets %s, want %s", user, got, want[user])
				}
			})
		}
	}
	group.Wait()
}

const owned = "id,owner\n1,ann\n2,bob\n"

func dataset(more string) string {
	return "datasets:\n- {name: t, from: 'file:t.csv'" + more + "}\n"
}

func (r *rig) as(user, sql string) string {
	return answer(r.t.Context(), r.Runtime, tools.Scope{Caller: caller.Caller{UserID: user}}, sql)
}

// request is as for a request.
func (r *rig) request(c caller.Caller, req engine.Request) string {
	return answerTo(caller.With(r.t.Context(), c), r.Runtime, req)
}

func (r *rig) wantAs(user, sql, want string) {
	r.t.Helper()
	if got := r.as(user, sql); !strings.Contains(got, want) {
		r.t.Errorf("%s: %q gets %s, want %s", sql, user, got, want)
	}
}

// TestPoliciesComeAndGo edits the policy of a dataset that statements, a view,
// a function and its tool read.
func TestPoliciesComeAndGo(t *testing.T) {
	const readers = `views: [{name: v, sql: SELECT * FROM t}]
functions: [{name: n, from: sql, volatility: stable, signature: {returns: int64}, body: (SELECT count(*) FROM v)}]
`
	r := start(t, files{"t.csv": owned, "spicepod.yaml": dataset("") + readers})
	call := func(user string) string {
		result := r.Tools().Invoke(t.Context(), registry.Call{Name: "n", Scope: tools.Scope{Caller: caller.Caller{UserID: user}}})
		return string(result.Result)
	}
	check := func(all bool) {
		t.Helper()
		want := map[bool]string{true: "1: 2", false: "1: 1"}[all]
		for range 2 {
			for _, sql := range []string{"SELECT count(*) FROM t", "SELECT count(*) FROM v", "SELECT n()"} {
				r.wantAs("ann", sql, want)
				plan := r.as("ann", "EXPLAIN "+sql)
				if refused := strings.Contains(plan, "EXPLAIN is refused"); refused == all {
					t.Errorf("EXPLAIN %s: %s", sql, plan)
				}
			}
			if got := call("ann"); got != want[3:] {
				t.Errorf("the tool gives %s, want %s", got, want)
			}
		}
		dry := r.Tools().Invoke(t.Context(), registry.Call{Name: "n", DryRun: true, Scope: tools.Scope{Caller: caller.Caller{UserID: "ann"}}})
		if dry.OK != all {
			t.Errorf("a dry run gives %s %v", dry.Result, dry.Error)
		}
	}
	check(true)
	r.problems(r.pod(dataset(`, row_filter: "owner = ctx('user_id')"`) + readers))
	check(false)
	r.problems(r.pod(dataset("") + readers))
	check(true)
	r.problems(r.pod(dataset(`, row_filter: "owner = ctx('user_id')", acceleration: {}`) + readers))
	check(false)
}

// TestAnOlderPolicyDoesNotStandIn breaks an edit of a policy, and then the
// source under an unchanged one.
func TestAnOlderPolicyDoesNotStandIn(t *testing.T) {
	const good = `, row_filter: "owner = ctx('user_id')"`
	r := start(t, files{"t.csv": owned, "spicepod.yaml": dataset(good) + "views: [{name: v, sql: SELECT * FROM t}]\n"})
	r.wantAs("ann", "FROM v", `1: 1 "ann"`)
	r.problems(r.pod(dataset(`, row_filter: "owner = ctx('user_id') AND leevel = 1"`)+"views: [{name: v, sql: SELECT * FROM t}]\n"),
		"has changed, so the last good version cannot replace it", `"leevel" not found`, "waits for dataset t, which it reads")
	r.wantAs("ann", "FROM t", "error: ")
	r.wantAs("ann", "FROM v", "error: ")
	r.problems(r.pod(dataset(good)))
	r.wantAs("ann", "FROM t", `1: 1 "ann"`)
	// The policy is the same: the version before serves, as it does without one.
	r.problems(r.pod(dataset(good+", params: {file_format: nope}")), "nope")
	r.wantAs("ann", "FROM t", `1: 1 "ann"`)
	// A mask alone is a policy too.
	r.problems(r.pod(dataset(good+`, column_mask: {nope: "1"}`)), "has changed", `no column "nope"`)
	r.wantAs("ann", "FROM t", "error: ")
}

// TestCopiesOfProtectedRowsAreRefused accelerates views that depend on their
// caller, directly or not.
func TestCopiesOfProtectedRowsAreRefused(t *testing.T) {
	const protected = `, row_filter: "owner = ctx('user_id')"`
	copies := func(more string) string {
		return dataset(more) + `views:
- {name: direct, sql: SELECT * FROM t, acceleration: {}}
- {name: plain, sql: SELECT * FROM t}
- {name: indirect, sql: SELECT count(*) AS n FROM plain, acceleration: {enabled: true}}
- {name: called, sql: SELECT n() AS n, acceleration: {}}
- {name: mine, sql: "SELECT ctx('user_id') AS u", acceleration: {}}
- {name: off, sql: SELECT * FROM t, acceleration: {enabled: false}}
- {name: above, sql: SELECT * FROM direct}
functions: [{name: n, from: sql, volatility: stable, signature: {returns: int64}, body: (SELECT count(*) FROM plain)}]
`
	}
	r := start(t, files{"t.csv": owned, "spicepod.yaml": copies("")})
	const caller, rows = "it calls ctx or a tool, or reads spiced.tool_calls or spiced.searches, and its copy",
		"it reads a dataset with a row_filter or column_mask, and its copy"
	r.problems(r.LastReport(), caller)
	wait.Until(r.t, "the copies", func() bool { return r.as("ann", "FROM indirect") == "1: 2" })
	r.problems(r.pod(copies(protected)), rows, rows, rows, caller, "waits for view direct, which it reads")
	for _, name := range []string{"direct", "indirect", "called", "mine", "above"} {
		r.wantAs("ann", "FROM "+name, "error: ")
	}
	r.wantAs("ann", "FROM plain", `1: 1 "ann"`)
	r.wantAs("bob", "FROM off", `1: 2 "bob"`)
	r.wantAs("bob", "SELECT n()", "1: 1")
}

// TestCtxIsReserved declares functions of that name.
func TestCtxIsReserved(t *testing.T) {
	r := start(t, files{"spicepod.yaml": "functions: [{name: CTX, from: sql, signature: {args: [{name: x, type: utf8}], returns: utf8}, body: \"'bob'\"}]\n"})
	if report := r.LastReport(); len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Hint, "DuckDB has a function of that name") {
		t.Errorf("%v", report.Problems)
	}
	r.problems(r.pod("functions: [{name: f, from: sql, volatility: stable, signature: {returns: utf8}, body: \"ctx('user')\"}]\n"), `ctx has no name "user"`)
}
