package runtime

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// stable is a function without arguments that is declared stable.
func stable(name, returns, body string) string {
	return fmt.Sprintf("  - {name: %s, from: sql, volatility: stable, signature: {returns: %s}, body: %q}\n", name, returns, body)
}

// ofCall is the result of a call, and hit, miss or nothing.
func (r *rig) ofCall(name, args, user string) (result, cache string) {
	r.t.Helper()
	got := r.Tools().Invoke(r.t.Context(),
		registry.Call{Name: name, Arguments: json.RawMessage(args), Scope: tools.Scope{Caller: caller.Caller{UserID: user, Protocol: caller.HTTP}}})
	if !got.OK {
		return got.Error.Error(), ""
	}
	return string(got.Result), got.Metrics.Cache
}

func (r *rig) wantCached(name, want, cache string) {
	r.t.Helper()
	if got, by := r.ofCall(name, "", ""); got != want || by != cache {
		r.t.Errorf("%s(): got %s %s, want %s %s", name, got, by, want, cache)
	}
}

// refreshed refreshes a dataset or view and waits until its rows are served.
func (r *rig) refreshed(name string, o refresh.Override) {
	r.t.Helper()
	if err := r.Data().Refreshes().Refresh(r.t.Context(), name, o); err != nil {
		r.t.Fatal(err)
	}
	r.Data().Refreshes().Wait()
}

// TestResultsOverDataAreCachedUntilItChanges calls functions that read accelerated
// data directly, through a view, through a function, and through an accelerated view.
func TestResultsOverDataAreCachedUntilItChanges(t *testing.T) {
	pod := func(body string) string {
		return `datasets:
  - {name: t, from: 'file:t.csv', time_column: x, acceleration: {}}
  - {name: u, from: 'file:u.csv', acceleration: {}}
  - {name: live, from: 'file:t.csv'}
views:
  - {name: v, sql: SELECT * FROM t}
  - {name: kept, sql: SELECT * FROM live, acceleration: {}}
functions:
` + stable("direct", "int64", body) + stable("viewed", "int64", "(SELECT sum(x) FROM v)") + stable("called", "int64", "direct() + 0") +
			stable("other", "int64", "(SELECT sum(x) FROM u)") + stable("stored", "int64", "(SELECT sum(x) FROM kept)") +
			"  - {name: rows, from: sql, kind: table, as_tool: true, volatility: stable, signature: {returns: [{name: x, type: int64}]}, body: SELECT x FROM " +
			"t ORDER BY x}\n" +
			"  - {name: fixed, from: sql, volatility: immutable, signature: {returns: int64}, body: (SELECT sum(x) FROM t)}\n"
	}
	const sum = "(SELECT sum(x) FROM t)"
	r := start(t, files{"t.csv": "x\n1\n2\n", "u.csv": "x\n7\n", "spicepod.yaml": pod(sum)})
	r.problems(r.LastReport())
	r.Data().Refreshes().Wait() // kept is loaded
	of := []string{"direct", "viewed", "called", "fixed"}
	check := func(want, rows, cache string) {
		t.Helper()
		for _, name := range of {
			r.wantCached(name, want, cache)
		}
		r.wantCached("rows", rows, cache)
	}
	check("3", `[{"x":1},{"x":2}]`, "miss")
	check("3", `[{"x":1},{"x":2}]`, "hit")
	r.wantCached("other", "7", "miss")
	r.wantCached("stored", "3", "miss")

	r.write(files{"t.csv": "x\n1\n2\n4\n"})
	check("3", `[{"x":1},{"x":2}]`, "hit") // until a refresh
	r.refreshed("t", refresh.Override{})
	check("7", `[{"x":1},{"x":2},{"x":4}]`, "miss")
	check("7", `[{"x":1},{"x":2},{"x":4}]`, "hit")
	r.wantCached("other", "7", "hit") // it reads other data
	r.wantCached("stored", "3", "hit")
	r.refreshed("kept", refresh.Override{})
	r.wantCached("stored", "7", "miss")

	r.write(files{"t.csv": "x\n1\n2\n4\n8\n"})
	r.refreshed("t", refresh.Override{RefreshMode: spicepod.RefreshAppend})
	check("15", `[{"x":1},{"x":2},{"x":4},{"x":8}]`, "miss")
	check("15", `[{"x":1},{"x":2},{"x":4},{"x":8}]`, "hit")

	r.problems(r.pod(pod("(SELECT count(*) FROM t)"))) // an edit of a function, which another calls
	r.wantCached("direct", "4", "miss")
	r.wantCached("called", "4", "miss")
	r.wantCached("viewed", "15", "miss")
	r.problems(r.pod(pod(sum))) // and back
	r.wantCached("direct", "15", "miss")
	r.problems(r.pod(strings.Replace(pod(sum), "sql: SELECT * FROM t}", "sql: SELECT x * 2 AS x FROM t}", 1)))
	r.wantCached("viewed", "30", "miss")
	r.problems(r.pod(strings.Replace(pod(sum), "file:t.csv', time", "file:u.csv', time", 1)))
	check("7", `[{"x":7}]`, "miss")
	if s := r.Tools().CacheStats(); s.Hits == 0 || s.Entries == 0 || s.Bytes == 0 {
		t.Errorf("the cache has %+v", s)
	}
}

// TestResultsThatMayChangeAreNotCached calls functions whose results would be wrong from
// a cache, each with what changes them.
func TestResultsThatMayChangeAreNotCached(t *testing.T) {
	const pod = `datasets:
  - {name: t, from: 'file:t.csv', acceleration: {}}
  - {name: live, from: 'file:live.csv'}
  - {name: w, from: 'duckdb:w.db', access: read_write}
  - {name: own, from: 'file:own.csv', acceleration: {}, row_filter: "owner = ctx('user_id')"}
  - {name: masked, from: 'file:own.csv', acceleration: {}, column_mask: {x: "CASE WHEN ctx('user_id') = 'ann' THEN x END"}}
views:
  - {name: live_v, sql: SELECT * FROM live}
  - {name: timed, sql: "SELECT *, now() AS made FROM t"}
  - {name: own_v, sql: SELECT * FROM own}
  - {name: not_loaded, sql: SELECT x FROM live UNION ALL SELECT 1, acceleration: {primary_key: x}}
functions:
`
	database := databaseFile(t, "CREATE TABLE made.w AS SELECT 1::BIGINT AS x")
	functions := map[string]string{
		"who": "ctx('user_id')", "who_inside": "who()", "filtered": "(SELECT count(*) FROM own)::VARCHAR",
		"filtered_view": "(SELECT count(*) FROM own_v)::VARCHAR", "filtered_inside": "filtered()", "mask": "(SELECT max(x) FROM masked)::VARCHAR",
		"clock": "(SELECT max(epoch_ns(now())) FROM t)::VARCHAR", "clock_word": "(SELECT max(current_timestamp) FROM t)::VARCHAR",
		"clock_view": "(SELECT max(epoch_ns(made)) FROM timed)::VARCHAR",
		"since":      "(SELECT age('2000-01-01'::TIMESTAMP)::VARCHAR)", "clock_inside": "clock()", "zones": "(SELECT count(*)::VARCHAR FROM pg_timezone_names())",
		"usage": "(SELECT count(*) FROM spiced.tool_calls)::VARCHAR", "generations": "(SELECT count(*) FROM spiced.generations)::VARCHAR",
		"file": "(SELECT sum(x) FROM live)::VARCHAR", "file_view": "(SELECT sum(x) FROM live_v)::VARCHAR", "file_inside": "file_view()",
		"joined":   "(SELECT count(*) FROM t, live)::VARCHAR",
		"unloaded": "(SELECT max(x) FROM not_loaded)::VARCHAR", "written": "(SELECT sum(x) FROM w)::VARCHAR", "written_inside": "written()",
		"called": "CAST(tool_invoke('who') AS VARCHAR)",
	}
	var text strings.Builder
	text.WriteString(pod)
	for name, body := range functions {
		text.WriteString(stable(name, "utf8", body))
	}
	text.WriteString("  - {name: dice, from: sql, volatility: volatile, signature: {returns: float64}, body: random()}\n" +
		stable("dice_inside", "float64", "dice()"))
	text.WriteString("  - {name: by_default, from: sql, signature: {returns: int64}, body: (SELECT sum(x) FROM t)}\n" +
		stable("default_inside", "int64", "by_default()"))
	r := start(t, files{
		"t.csv": "x\n1\n", "live.csv": "x\n1\n", "w.db": "raw:" + database, "own.csv": "x,owner\n1,ann\n2,bob\n3,bob\n",
		"spicepod.yaml": text.String(),
	})
	names := []string{"by_default", "default_inside"}
	for name := range functions {
		names = append(names, name)
	}
	for _, p := range r.LastReport().Problems { // volatility is checked at load where it can be
		if !strings.Contains(p.Message, "dice") && !strings.Contains(p.Error(), "dice_inside") {
			t.Fatal(p.Error())
		}
	}
	for range 2 {
		for _, name := range names {
			if got, cache := r.ofCall(name, "", "ann"); cache != "" {
				t.Errorf("%s() = %s is cached: %s", name, got, cache)
			}
		}
	}
	for name, want := range map[string][2]string{
		"who": {`"ann"`, `"bob"`}, "who_inside": {`"ann"`, `"bob"`}, "filtered": {`"1"`, `"2"`}, "filtered_view": {`"1"`, `"2"`},
		"filtered_inside": {`"1"`, `"2"`}, "mask": {`"3"`, "null"}, "called": {`"\"ann\""`, `"\"bob\""`},
	} {
		for i, user := range []string{"ann", "bob"} {
			if got, _ := r.ofCall(name, "", user); got != want[i] {
				t.Errorf("%s() of %s = %s, want %s", name, user, got, want[i])
			}
		}
	}
	for _, name := range []string{"clock", "clock_word", "clock_view", "clock_inside", "usage"} {
		first, _ := r.ofCall(name, "", "")
		wait.Until(t, name+" to change", func() bool { got, _ := r.ofCall(name, "", ""); return got != first })
	}
	r.write(files{"live.csv": "x\n1\n2\n"})
	for name, want := range map[string]string{"file": `"3"`, "file_view": `"3"`, "file_inside": `"3"`, "unloaded": `"2"`, "joined": `"2"`} {
		r.wantCached(name, want, "")
	}
	rows, err := r.DB().Query(t.Context(), engine.Request{SQL: "INSERT INTO w VALUES (2)", Write: true})
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	r.wantCached("written", `"3"`, "")
	r.wantCached("written_inside", `"3"`, "")
}

// databaseFile returns a DuckDB file that the statements fill; there it is made.
func databaseFile(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range append(append([]string{"ATTACH " + engine.Literal(path) + " AS made"}, statements...), "DETACH made") {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestCachedResultsDuringRefreshes calls a function while its data is replaced and
// appended to. A call that begins after a caller has seen new rows sees them too.
func TestCachedResultsDuringRefreshes(t *testing.T) {
	r := start(t, files{"t.csv": "x\n0\n", "spicepod.yaml": "datasets:\n  - {name: t, from: 'file:t.csv', time_column: x, acceleration: {}}\nfunctions:\n" +
		stable("newest", "int64", "(SELECT max(x) FROM t)")})
	done := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				seen, err := r.ask("SELECT max(x) FROM t")
				got, _ := r.ofCall("newest", "", "")
				var before, after int
				if _, scanErr := fmt.Sscan(seen+" "+strings.Trim(got, `"`), &before, &after); err != nil || scanErr != nil || after < before {
					t.Errorf("a call after the rows had %s gives %s (%v)", seen, got, err)
					return
				}
			}
		})
	}
	text := "x\n0\n"
	for i := range 40 {
		text += fmt.Sprintf("%d\n", i+1)
		r.write(files{"t.csv": text})
		mode := spicepod.RefreshFull
		if i%2 == 0 {
			mode = spicepod.RefreshAppend
		}
		r.refreshed("t", refresh.Override{RefreshMode: mode})
		if i%10 == 5 {
			r.reload()
		}
		if got, _ := r.ofCall("newest", "", ""); got != fmt.Sprint(i+1) {
			t.Errorf("after refresh %d: %s", i+1, got)
		}
	}
	close(done)
	callers.Wait()
	if s := r.Tools().CacheStats(); s.Hits == 0 {
		t.Error("no call was answered from the cache")
	}
}
