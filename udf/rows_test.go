package udf

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// storing is the tool of a function whose large results are stored for the zero
// scope's owner.
func (r *fixture) storing(name string, limits spicepod.Results) tools.Tool {
	r.t.Helper()
	store, err := results.New(results.Options{
		DB: r.db, Dir: filepath.Join(r.t.TempDir(), "results"), Limits: limits,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(store.Close)
	tool, err := Tool(r.db, r.set.Get(name), ToolOptions{Functions: r.set, Results: store})
	if err != nil {
		r.t.Fatal(err)
	}
	return tool
}

// storedRows is a reference to stored rows.
type storedRows struct {
	Ref     string           `json:"ref"`
	Rows    int64            `json:"rows"`
	Note    string           `json:"note"`
	Preview []map[string]any `json:"preview"`
}

// valid decodes a result, which must be one that the tool declares.
func valid(t *testing.T, tool tools.Tool, out tools.Output, to any) {
	t.Helper()
	schema, err := tools.Compile(tool.Definition().Returns)
	if err != nil {
		t.Fatal(err)
	}
	value, err := tools.Decode(out.Value)
	if err != nil {
		t.Fatal(err)
	}
	if faults := schema.Check(value); len(faults) > 0 {
		t.Errorf("%s: %v", out.Value, faults)
	}
	if err := json.Unmarshal(out.Value, to); err != nil {
		t.Fatalf("%v: %s", err, out.Value)
	}
}

func TestLargeResultsOfTableFunctionsAreKept(t *testing.T) {
	r := start(t)
	r.must(series)
	tool := r.storing("free", spicepod.Results{})
	out, err := tool.Call(t.Context(), input(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	var got storedRows
	valid(t, tool, out, &got)
	if got.Rows != 5000 || len(got.Preview) != 10 || !out.Rows.Truncated || *out.Rows.More != 4990 || len(out.Value) > 2048 {
		t.Errorf("%s, %+v", out.Value, out.Rows)
	}
	if n := r.query("SELECT count(*) FROM ref('" + got.Ref + "')"); n != "5000" {
		t.Error(n)
	}
	if tool.Definition().Cacheable {
		t.Error("a result that is its caller's is remembered for others")
	}
}

func TestSmallResultsOfTableFunctionsStayRows(t *testing.T) {
	r := start(t)
	r.must(series)
	tool := r.storing("series", spicepod.Results{})
	var rows []map[string]any
	out, err := tool.Call(t.Context(), input(t, `{"n":3}`))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, tool, out, &rows)
	if len(rows) != 3 || *out.Rows != (tools.Rows{Returned: 3}) {
		t.Errorf("%s, %+v", out.Value, out.Rows)
	}
	var got storedRows
	if out, err = tool.Call(t.Context(), input(t, `{"n":4}`)); err != nil {
		t.Fatal(err)
	}
	valid(t, tool, out, &got)
	if got.Rows != 4 || len(got.Preview) != 3 || got.Preview[0]["price"] != "3.00" {
		t.Errorf("%s", out.Value)
	}
}

// TestRowsOfNoTable are those of a body of whose rows DuckDB can tell the
// number: it checks the limit then.
func TestRowsOfNoTable(t *testing.T) {
	r := start(t)
	r.must(`- { name: me, from: sql, kind: table, as_tool: true, volatility: stable, signature: { returns: [{ name: u, type: utf8 }] }, body: "SELECT ctx('user_id') AS u" }`)
	r.db.Handle(engine.Ctx, func(context.Context, string) (string, error) { return `"ann"`, nil })
	out, err := r.storing("me", spicepod.Results{}).Call(t.Context(), input(t, `{}`))
	if err != nil || string(out.Value) != `[{"u":"ann"}]` {
		t.Errorf("%s, %v", out.Value, err)
	}
}

func TestRowsThatCannotBeKeptAreCutOff(t *testing.T) {
	r := start(t)
	r.must(series)
	tool := r.storing("free", spicepod.Results{MaxResult: 10_000})
	out, err := tool.Call(t.Context(), input(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	var got storedRows
	valid(t, tool, out, &got)
	if got.Ref != "" || len(got.Preview) != MaxToolRows || !strings.Contains(got.Note, "cannot be stored") || out.Rows.Returned != MaxToolRows ||
		!out.Rows.Truncated {
		t.Errorf("%.200s, %+v", out.Value, out.Rows)
	}
	in := input(t, `{}`)
	in.Limits.MaxBytes = 100
	var e *tools.Error
	if _, err := tool.Call(t.Context(), in); !errors.As(err, &e) || e.Code != errcode.Limit {
		t.Error(err)
	}
}
