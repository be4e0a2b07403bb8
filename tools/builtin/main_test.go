package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/udf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ builtin.SearchEngine = (*world)(nil)

// world is an engine with published tables and functions, and an Env over it.
type world struct {
	*engine.DB
	t   testing.TB
	env builtin.Env
	set *functions.Set

	datasets []builtin.Dataset
	mu       sync.Mutex
	queries  []string // that were run
	searches []builtin.RowQuery
	found    builtin.RowAnswer // of each search
	now      time.Time
}

// tables are the datasets of the tests: name and content.
var tables = []struct{ schema, name, sql string }{
	{"public", "orders", `SELECT range AS id, 'customer ' || range % 3 AS customer, range * 10 AS amount, DATE '2026-01-01' + range::INT AS "order day" FROM range(9)`},
	{"public", "secret", `SELECT 'top secret' AS word`},
	{"public", "empty", `SELECT 1 AS id, '' AS name WHERE false`},
	{"public", "my table", `SELECT 1 AS "a""b", 'x' AS "select"`},
	{"hr", "orders", `SELECT 'hidden' AS word`},
	{"hr", "people", `SELECT 'Ada' AS name`},
	{"public", "docs", `SELECT * FROM (VALUES
		(1, 'Returning goods', 'You can send goods back within thirty days and get your money refunded.', 2024, ['refund']),
		(2, 'Delivery times', 'Parcels usually arrive within three working days.', 2025, ['shipping']),
		(3, 'Opening hours', 'The shop is open from nine to six.', 2026, NULL)) AS t(id, title, body, year, tags), (SELECT 'blog' AS source)`},
	{"public", "notes", `SELECT 'n' || range AS key, 'parcel note number ' || range AS note FROM range(5)`},
	{"public", "long", `SELECT 1 AS id, repeat('é"', 600) AS txt, [repeat('x', 513)] AS list, repeat('y', 512) AS fits`},
	{"public", "big_orders", `SELECT range AS id, range * 10 AS amount FROM range(5, 9)`},
}

const pod = `
datasets:
  - { from: "file:orders.csv", name: orders, description: "Orders of \"all\" | times", metadata: { owner: sales, weight: .inf },
      columns: [ { name: amount, description: "In cents | gross" } ], acceleration: { primary_key: id } }
  - { from: "file:secret.csv", name: secret }
  - { from: "file:empty.csv", name: empty }
  - { from: "file:mytable.csv", name: '"my table"' }
  - { from: "file:hro.csv", name: hr.orders }
  - { from: "file:hrp.csv", name: hr.people }
  - { from: "file:docs.csv", name: docs, columns: [ { name: title, full_text_search: { row_id: [id] } }, { name: body, full_text_search: {} }, { name: tags, embeddings: [ { from: local } ] } ] }
  - { from: "file:notes.csv", name: notes, columns: [ { name: note, full_text_search: {} }, { name: key, full_text_search: { enabled: false } } ] }
  - { from: "file:long.csv", name: long }
views:
  - { name: big_orders, sql: SELECT 1, description: Large ones }
runtime: { functions: { enabled: true } }
functions:
  - name: total
    from: sql
    description: Sum of all amounts.
    volatility: stable
    signature: { args: [ { name: over, type: int64, description: Least amount, default: 5 } ], returns: int64 }
    tests: [ { name: none, args: { over: 1000 }, returns: null } ]
    body: (SELECT sum(amount) FROM orders WHERE amount > over)
  - { name: twice, from: sql, signature: { args: [ { name: x, type: float64, default: null } ], returns: float64 }, body: total(3) * 0 + x + x }
  - name: lines
    from: sql
    kind: table
    signature: { tables: [ { name: t, columns: [ { name: v, type: utf8, description: A line } ] } ], args: [], returns: [ { name: v, type: utf8 } ] }
    tests:
      - { tables: { t: [ { v: a } ] }, rows: [ { v: a } ] }
      - { tables: { t: [] }, error: execution_error }
    body: SELECT v FROM t
`

func newWorld(t testing.TB) *world {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	udf.Serve(db, nil)
	w := &world{DB: db, t: t, now: time.Date(2026, 5, 6, 13, 45, 0, 999_999, time.UTC)}
	pod := podtest.Load(w.t, pod)
	relations := udf.Relations()
	for _, table := range tables {
		relations = append(relations, engine.Relation{Schema: table.schema, Name: table.name})
	}
	set, problems := functions.Compile(t.Context(), db, pod, relations, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	w.set = set
	catalog := engine.NewCatalog(engine.Contents{Generation: 1, Relations: relations, Functions: append(set.Engine(), udf.Functions()...)})
	err = db.Publish(t.Context(), catalog, func(tx *engine.Tx) error { return w.publish(tx, pod) })
	if err != nil {
		t.Fatal(err)
	}
	w.describe(pod)
	w.env = builtin.Env{
		SQL: w, Datasets: func() []builtin.Dataset { return w.datasets },
		Functions: func() *functions.Set { return w.set },
		Readiness: func() map[string]string { return map[string]string{"dataset:orders": "Ready", "dataset:docs": "Error"} },
		Now:       func() time.Time { return w.now },
		Search:    w.searchRows,
	}
	return w
}

// searchRows records searches: package rowsearch answers those of the runtime.
func (w *world) searchRows(_ context.Context, q builtin.RowQuery) (builtin.RowAnswer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.searches = append(w.searches, q)
	found := w.found
	found.Mode = q.Mode
	return found, nil
}

func (w *world) publish(tx *engine.Tx, pod *spicepod.Pod) error {
	if err := udf.Setup(tx, w.DB.Builtins()); err != nil {
		return err
	}
	if err := tx.Exec("CREATE SCHEMA spice.hr"); err != nil {
		return err
	}
	for _, table := range tables {
		if err := tx.Exec("CREATE TABLE " + engine.Qualified(table.schema, table.name) + " AS " + table.sql); err != nil {
			return err
		}
	}
	for _, f := range w.set.All() {
		if p := f.Create(tx, pod, functions.Published()); p != nil {
			return p
		}
	}
	return udf.Fill(tx, pod, w.set, nil, udf.Loading{})
}

// describe fills datasets as the daemon does.
func (w *world) describe(pod *spicepod.Pod) {
	w.t.Helper()
	columns := map[engine.Relation][]builtin.Column{}
	for _, table := range tables {
		rows, err := w.DB.Query(w.t.Context(), engine.Request{SQL: "SELECT * FROM " + engine.Qualified(table.schema, table.name)})
		if err != nil {
			w.t.Fatal(err)
		}
		r := engine.Relation{Schema: table.schema, Name: table.name}
		for _, c := range rows.Columns() {
			columns[r] = append(columns[r], builtin.Column{Name: c.Name, Type: c.Type.String()})
		}
		rows.Close()
	}
	relation := func(schema, name string) engine.Relation {
		if schema == "" {
			schema = engine.Public
		}
		return engine.Relation{Schema: schema, Name: name}
	}
	for _, v := range pod.Views { // first, to see that the tools put them last
		r := relation(v.Qualified())
		w.datasets = append(w.datasets, builtin.FromView(r, v, columns[r]))
	}
	for _, d := range pod.Datasets {
		r := relation(d.Qualified())
		w.datasets = append(w.datasets, builtin.FromDataset(r, d, columns[r]))

	}
}

// Query counts the statements that the tools run.
func (w *world) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	w.mu.Lock()
	w.queries = append(w.queries, req.SQL)
	w.mu.Unlock()
	return w.DB.Query(ctx, req)
}

func (w *world) tool(name string) tools.Tool {
	w.t.Helper()
	all, err := builtin.Load(w.env, []string{builtin.DefaultDomain})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tool := range all {
		if tool.Definition().Name == name {
			return tool
		}
	}
	w.t.Fatalf("no tool %q", name)
	return nil
}

// call calls a tool as the registry does: arguments are checked first.
func (w *world) call(tool tools.Tool, args string, in tools.Input) (tools.Output, error) {
	w.t.Helper()
	schema, err := tools.Compile(tool.Definition().Parameters)
	if err != nil {
		w.t.Fatal(err)
	}
	values, _, failed := tools.Parse(json.RawMessage(args))
	if failed != nil {
		return tools.Output{}, failed
	}
	values, _ = schema.Repair(values)
	if faults := schema.Check(values); len(faults) > 0 {
		return tools.Output{}, fmt.Errorf("faults: %v", faults)
	}
	if in.Raw, err = tools.Encode(values); err != nil {
		w.t.Fatal(err)
	}
	in.Arguments = values
	out, err := tool.Call(caller.With(w.t.Context(), in.Scope.Caller), in)
	if err != nil {
		var e *tools.Error
		if !errors.As(err, &e) {
			w.t.Errorf("%s(%s): %v is no *tools.Error", tool.Definition().Name, args, err)
		}
		return out, err
	}
	w.fits(tool, out)
	return out, nil
}

// fits checks a result against the schema that the tool promises.
func (w *world) fits(tool tools.Tool, out tools.Output) {
	w.t.Helper()
	schema, err := tools.Compile(tool.Definition().Returns)
	if err != nil {
		w.t.Fatal(err)
	}
	value, err := tools.Decode(out.Value)
	if err != nil {
		w.t.Fatalf("%s: %v: %s", tool.Definition().Name, err, out.Value)
	}
	if faults := schema.Check(value); len(faults) > 0 {
		w.t.Errorf("%s returned %s: %v", tool.Definition().Name, out.Value, faults)
	}
}

// get is the result of a call as text, or its error.
func (w *world) get(name, args string, datasets ...string) string {
	w.t.Helper()
	out, err := w.call(w.tool(name), args, tools.Input{Scope: tools.Scope{Datasets: datasets}})
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out.Value)
}

func (w *world) expect(name, args, want string, datasets ...string) {
	w.t.Helper()
	if got := w.get(name, args, datasets...); got != want {
		w.t.Errorf("%s(%s)\ngot  %s\nwant %s", name, args, got, want)
	}
}

// refuses checks the code and a part of the text of a call's error.
func (w *world) refuses(name, args string, code errcode.Code, part string, datasets ...string) *tools.Error {
	w.t.Helper()
	out, err := w.call(w.tool(name), args, tools.Input{Scope: tools.Scope{Datasets: datasets}})
	var e *tools.Error
	if !errors.As(err, &e) {
		w.t.Errorf("%s(%s): got %s, %v; want %s", name, args, out.Value, err, code)
		return &tools.Error{}
	}
	if e.Code != code || !strings.Contains(e.Error(), part) {
		w.t.Errorf("%s(%s): got %s: %v; want %s: …%s…", name, args, e.Code, e, code, part)
	}
	return e
}
