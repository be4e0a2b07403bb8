package builtin_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// keeping gives the world's tools a store for what is too large. Its owner is
// the zero scope's.
func (w *world) keeping(limits spicepod.Results) *results.Store {
	w.t.Helper()
	store, err := results.New(results.Options{
		DB: w.DB, Dir: filepath.Join(w.t.TempDir(), "results"), Limits: limits,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(store.Close)
	w.env.Results = store
	return store
}

// standIn is what the sql tool returns of a large result.
type standIn struct {
	Ref     string           `json:"ref"`
	Rows    int64            `json:"rows"`
	Note    string           `json:"note"`
	Preview []map[string]any `json:"preview"`
	Stats   []map[string]any `json:"stats"`
}

func (w *world) standIn(query string, in tools.Input) (standIn, tools.Output) {
	w.t.Helper()
	args, _ := json.Marshal(map[string]string{"query": query})
	out, err := w.call(w.tool("sql"), string(args), in)
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	var got standIn
	if err := json.Unmarshal(out.Value, &got); err != nil {
		w.t.Fatalf("%s: %v: %s", query, err, out.Value)
	}
	return got, out
}

func TestSQLKeepsLargeResults(t *testing.T) {
	w := newWorld(t)
	store := w.keeping(spicepod.Results{})
	got, out := w.standIn(`SELECT i AS id, 'customer ' || i % 100 AS name, i * 0.5 AS amount, DATE '2026-01-01' + (i % 365)::INT AS day, i % 2 = 0 AS even FROM range(1000000) t(i)`, tools.Input{})
	if len(out.Value) > 2048 || got.Rows != 1_000_000 || len(got.Preview) != 10 || len(got.Stats) != 5 || !out.Rows.Truncated || *out.Rows.More != 999_990 {
		t.Errorf("%d bytes, %+v: %s", len(out.Value), out.Rows, out.Value)
	}
	w.expect("sql", `{"query": "SELECT count(*) AS n, sum(id) AS s, max(day)::VARCHAR AS d FROM ref('`+got.Ref+`') WHERE even"}`,
		`[{"n":500000,"s":249999500000,"d":"2026-12-31"}]`)
	if n := len(w.queries); n != 2 {
		t.Errorf("%d statements ran", n)
	}
	if list := store.List(tools.Scope{}.Owner()); len(list) != 1 {
		t.Errorf("%d results are stored", len(list))
	}
	if again, _ := w.standIn("FROM ref('"+got.Ref+"')", tools.Input{}); again.Ref == "" || again.Ref == got.Ref {
		t.Errorf("a large result of a reference: %+v", again)
	}
	eve := tools.Scope{Caller: caller.Caller{UserID: "eve"}}
	if _, err := w.call(w.tool("sql"), `{"query": "FROM ref('`+got.Ref+`')"}`, tools.Input{Scope: eve}); err == nil ||
		!strings.Contains(err.Error(), "there is no result") {
		t.Errorf("another user reads it: %v", err)
	}
	if w.standIn("FROM range(100000)", tools.Input{Scope: eve}); len(store.List(eve.Owner())) != 1 {
		t.Errorf("%d results are stored for the caller", len(store.List(eve.Owner())))
	}
}

func TestSQLKeepsWhatIsOverItsExtentOnly(t *testing.T) {
	w := newWorld(t)
	store := w.keeping(spicepod.Results{})
	for _, c := range []struct {
		query  string
		limits tools.Limits
		stored int64 // rows
	}{
		{"SELECT * FROM range(1000)", tools.Limits{}, 0},
		{"SELECT * FROM range(1001)", tools.Limits{}, 1001},
		{"SELECT * FROM range(2048)", tools.Limits{MaxRows: 2048}, 0},
		{"SELECT * FROM range(5000)", tools.Limits{MaxRows: 4999}, 5000},
		{"SELECT repeat('x', 100000) AS a FROM range(50)", tools.Limits{}, 50},
		{"SELECT repeat('x', 5000000) AS a", tools.Limits{}, 1},
	} {
		got, out := standIn{}, tools.Output{}
		if c.stored > 0 {
			got, out = w.standIn(c.query, tools.Input{Limits: c.limits})
			if out.Rows.Returned != len(got.Preview) || !out.Rows.Truncated || len(out.Value) > 2048 {
				t.Errorf("%s: %+v, %s", c.query, out.Rows, out.Value)
			}
		} else if rows := extent(t, w, "sql", `{"query": "`+c.query+`"}`, c.limits); rows.Truncated {
			t.Errorf("%s: %+v", c.query, rows)
		}
		if got.Rows != c.stored {
			t.Errorf("%s: %d rows are stored, want %d", c.query, got.Rows, c.stored)
		}
	}
	if n := len(store.List(tools.Scope{}.Owner())); n != 4 {
		t.Errorf("%d results are stored", n)
	}
	if got := extent(t, w, "sql", `{"query": "SELECT 1 AS a FROM range(2)"}`, tools.Limits{MaxBytes: 16}); got.Returned != 1 || !got.Truncated {
		t.Errorf("where not even a reference fits: %+v", got)
	}
}

func TestSQLCutsOffWhatCannotBeStored(t *testing.T) {
	w := newWorld(t)
	store := w.keeping(spicepod.Results{MaxResult: 1 << 20})
	got, out := w.standIn("SELECT * FROM range(10000000)", tools.Input{})
	if got.Ref != "" || len(got.Preview) != 1000 || !strings.Contains(got.Note, "first rows only") || !out.Rows.Truncated || out.Rows.Returned != 1000 {
		t.Errorf("%.200s, %+v", out.Value, out.Rows)
	}
	w.refuses("sql", `{"query": "SELECT repeat('x', 5000000) AS a"}`, errcode.Limit, "the first row has")
	w.refuses("sql", `{"query": "SELECT CASE WHEN range < 119000 THEN 1 ELSE error('at last') END AS x FROM range(120000)"}`, errcode.Execution, "at last")
	if n := len(store.List(tools.Scope{}.Owner())); n != 0 {
		t.Errorf("%d results are stored", n)
	}
}

func TestSQLSaysThatLargeResultsAreStored(t *testing.T) {
	w := newWorld(t)
	const words = "FROM ref('r_…')"
	if strings.Contains(w.tool("sql").Definition().Description, words) {
		t.Error("the description has it without a store")
	}
	w.keeping(spicepod.Results{})
	if !strings.Contains(w.tool("sql").Definition().Description, words) {
		t.Error("the description does not have it")
	}
}
