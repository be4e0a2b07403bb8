package nsql_test

import (
	"context"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/udf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tables are the datasets of the tests: name and content.
var tables = []struct{ schema, name, sql string }{
	{"public", "orders", `SELECT range AS id, 'customer ' || range % 3 AS customer, range * 10 AS amount, range::VARCHAR AS code FROM range(9)`},
	{"public", "secret", `SELECT 'top secret' AS word`},
	{"public", "my table", `SELECT 1 AS "a""b"`},
	{"hr", "people", `SELECT 'Ada' AS name, repeat('x', 100) AS note`},
}

const pod = `datasets:
  - { from: "file:orders.csv", name: orders, description: All orders, columns: [ { name: amount, description: In cents } ], acceleration: { primary_key: id } }
  - { from: "file:secret.csv", name: secret }
  - { from: "file:mytable.csv", name: '"my table"' }
  - { from: "file:people.csv", name: hr.people }
runtime: { functions: { enabled: true } }
functions:
  - { name: twice, from: sql, description: "Twice\n  the value.", signature: { args: [ { name: x, type: int64 } ], returns: int64 }, body: 2 * x }
  - name: large
    from: sql
    kind: table
    volatility: stable
    signature: { args: [ { name: over, type: int64 } ], returns: [ { name: id, type: int64 } ] }
    body: SELECT id FROM orders WHERE amount > (SELECT over FROM args)
`

// world is an engine with published tables and functions.
type world struct {
	*engine.DB
	env builtin.Env
	ran []string // statements that ran, without EXPLAIN
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	udf.Serve(db, nil)
	w := &world{DB: db}
	pod := podtest.Load(t, pod)
	relations := udf.Relations()
	for _, table := range tables {
		relations = append(relations, engine.Relation{Schema: table.schema, Name: table.name})
	}
	set, problems := functions.Compile(t.Context(), db, pod, relations, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	catalog := engine.NewCatalog(engine.Contents{Generation: 1, Relations: relations, Functions: append(set.Engine(), udf.Functions()...)})
	if err = db.Publish(t.Context(), catalog, func(tx *engine.Tx) error { return create(tx, db, pod, set) }); err != nil {
		t.Fatal(err)
	}
	datasets := w.describe(t, pod)
	w.env = builtin.Env{
		SQL: w, Datasets: func() []builtin.Dataset { return datasets }, Functions: func() *functions.Set { return set },
	}
	return w
}

func create(tx *engine.Tx, db *engine.DB, pod *spicepod.Pod, set *functions.Set) error {
	if err := udf.Setup(tx, db.Builtins()); err != nil {
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
	for _, f := range set.All() {
		if p := f.Create(tx, pod, functions.Published()); p != nil {
			return p
		}
	}
	return udf.Fill(tx, pod, set, nil, udf.Loading{})
}

// describe returns the datasets as the daemon has them.
func (w *world) describe(t testing.TB, pod *spicepod.Pod) []builtin.Dataset {
	t.Helper()
	var out []builtin.Dataset
	for i, table := range tables {
		rows, err := w.DB.Query(t.Context(), engine.Request{SQL: "SELECT * FROM " + engine.Qualified(table.schema, table.name)})
		if err != nil {
			t.Fatal(err)
		}
		var columns []builtin.Column
		for _, c := range rows.Columns() {
			columns = append(columns, builtin.Column{Name: c.Name, Type: c.Type.String()})
		}
		rows.Close()
		out = append(out, builtin.FromDataset(engine.Relation{Schema: table.schema, Name: table.name}, pod.Datasets[i], columns))
	}
	return out
}

// Query records what runs.
func (w *world) Query(ctx context.Context, r engine.Request) (*engine.Rows, error) {
	w.ran = append(w.ran, r.SQL)
	return w.DB.Query(ctx, r)
}

// scripted is a model that returns answers in turn and records its requests.
type scripted struct {
	answers []string
	asked   []*chat.Request
}

func (s *scripted) chat(_ context.Context, r *chat.Request) (*chat.Response, error) {
	s.asked = append(s.asked, r)
	answer := s.answers[min(len(s.asked), len(s.answers))-1]
	return &chat.Response{
		Parts: []chat.Part{{Kind: chat.PartThinking, Text: "SELECT 0"}, {Kind: chat.PartText, Text: answer}},
		Usage: chat.Usage{Input: 10, Output: 1},
	}, nil
}

func (w *world) writer(t testing.TB, scope tools.Scope, answers ...string) (*nsql.Writer, *scripted) {
	t.Helper()
	model := &scripted{answers: answers}
	writer, err := nsql.New(w.env, scope, model.chat)
	if err != nil {
		t.Fatal(err)
	}
	return writer, model
}

func (w *world) wasRun(sql string) bool { return slices.Contains(w.ran, sql) }
