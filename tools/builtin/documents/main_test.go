package documents_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/tools/builtin/documents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an engine with a dataset of documents and the tools over it; the runtime around it is a mock.
type world struct {
	t       testing.TB
	db      *engine.DB
	env     documents.Env
	config  documents.Config
	dataset builtin.Dataset
	scope   tools.Scope

	searched []builtin.RowQuery
	found    builtin.RowAnswer
	sql      string // that the model writes
	question documents.Question
	hidden   map[string]bool // from the caller
	called   []string
	answer   tools.Result
	work     func(ctx context.Context, task string, own []tools.Tool) (json.RawMessage, error)
}

// newWorld makes the dataset docs of a SELECT, whose column space_id is one that a row filter keeps apart.
func newWorld(t testing.TB, sql string) *world {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	db.Handle(engine.Ctx, func(ctx context.Context, name string) (string, error) {
		text, err := json.Marshal(caller.From(ctx).SpaceID)
		if name != "space_id" || string(text) == `""` {
			return "null", nil
		}
		return string(text), err
	})
	r := engine.Relation{Schema: engine.Public, Name: "docs"}
	err = db.Publish(t.Context(), engine.NewCatalog(engine.Contents{Generation: 1, Relations: []engine.Relation{r}}), func(tx *engine.Tx) error {
		return tx.Exec("CREATE TABLE spice.public.docs AS " + sql)
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, config: documents.Config{
		Dataset: "docs", Analyst: "analyst", Model: "m", WebSearch: "brave__search", Declared: "spicepod.yaml:1",
	}}
	rows, err := db.Query(t.Context(), engine.Request{SQL: "SELECT * FROM docs"})
	if err != nil {
		t.Fatal(err)
	}
	w.dataset.Relation = r
	for _, c := range rows.Columns() {
		w.dataset.Columns = append(w.dataset.Columns, builtin.Column{Name: c.Name, Type: c.Type.String(), Searchable: c.Name == "content"})
	}
	rows.Close()
	w.env = documents.Env{
		Env: builtin.Env{
			SQL: db, Datasets: func() []builtin.Dataset { return []builtin.Dataset{w.dataset} },
			Search: func(_ context.Context, q builtin.RowQuery) (builtin.RowAnswer, error) {
				w.searched = append(w.searched, q)
				return w.found, nil
			},
		},
		Sees: func(name string, _ tools.Scope) bool { return !w.hidden[name] },
		Tool: func(name string) *tools.Definition {
			return &tools.Definition{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]}`)}
		},
		Call: func(_ context.Context, name string, args map[string]any, _ tools.Scope) tools.Result {
			raw, _ := json.Marshal(args)
			w.called = append(w.called, name+string(raw))
			return w.answer
		},
		Work: func(ctx context.Context, _, task string, own []tools.Tool, _ tools.Scope) (json.RawMessage, error) {
			return w.work(ctx, task, own)
		},
		WriteSQL: func(_ context.Context, _ string, q documents.Question, _ tools.Scope) (string, error) {
			w.question = q
			return w.sql, nil
		},
	}
	return w
}

// call calls a tool as the registry does, and returns the result.
func (w *world) call(ctx context.Context, tool tools.Tool, args string) (string, error) {
	w.t.Helper()
	schema, err := tools.Compile(tool.Definition().Parameters)
	if err != nil {
		w.t.Fatal(err)
	}
	values, _, failed := tools.Parse(json.RawMessage(args))
	if failed != nil {
		return "", failed
	}
	values, _ = schema.Repair(values)
	if faults := schema.Check(values); len(faults) > 0 {
		return "", tools.NewError(errcode.InvalidArguments, tools.FaultsText(faults), "")
	}
	raw, err := tools.Encode(values)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := tool.Call(caller.With(ctx, w.scope.Caller), tools.Input{Arguments: values, Raw: raw, Scope: w.scope})
	if err != nil && ctx.Err() == nil {
		var e *tools.Error
		if !errors.As(err, &e) {
			w.t.Errorf("%s(%s): %v is no *tools.Error", tool.Definition().Name, args, err)
		}
	}
	return string(out.Value), err
}

func (w *world) tool(name string) tools.Tool {
	w.t.Helper()
	list, err := documents.New(w.env, w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tool := range list {
		if tool.Definition().Name == name {
			return tool
		}
	}
	w.t.Fatalf("no tool %s", name)
	return nil
}

// expect checks a result as JSON.
func (w *world) expect(name, args, want string) {
	w.t.Helper()
	got, err := w.call(w.t.Context(), w.tool(name), args)
	if err != nil {
		w.t.Errorf("%s(%s): %v", name, args, err)
		return
	}
	if canonical(w.t, got) != canonical(w.t, want) {
		w.t.Errorf("%s(%s)\ngot  %s\nwant %s", name, args, got, want)
	}
}

// refuses checks the code and a part of the text of an error.
func (w *world) refuses(name, args string, code errcode.Code, part string) {
	w.t.Helper()
	got, err := w.call(w.t.Context(), w.tool(name), args)
	if err == nil || tools.AsError(err).Code != code || !strings.Contains(err.Error(), part) {
		w.t.Errorf("%s(%s): %s %v, want %s …%s…", name, args, got, err, code, part)
	}
}

func canonical(t testing.TB, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out, _ := json.Marshal(value)
	return string(out)
}

// decode calls a tool and decodes its result.
func decode[T any](w *world, name, args string) (result T) {
	w.t.Helper()
	got, err := w.call(w.t.Context(), w.tool(name), args)
	if err == nil {
		err = json.Unmarshal([]byte(got), &result)
	}
	if err != nil {
		w.t.Fatalf("%s(%s): %v", name, args, err)
	}
	return result
}
