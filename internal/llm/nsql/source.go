package nsql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// New returns a writer that uses the built-in tools: schemas and sample values are
// those of table_schema and sample_distinct_columns. scope limits the datasets, as it
// does for the tools. ask sends a request without tools to the model.
func New(env builtin.Env, scope tools.Scope,
	ask func(context.Context, *chat.Request) (*chat.Response, error),
) (*Writer, error) {
	all, err := builtin.NewCaller(env)
	if err != nil {
		return nil, fmt.Errorf("text to SQL: %w", err)
	}
	s := &source{env, scope, all}
	return &Writer{Chat: ask, Check: Check(env.SQL), Run: env.SQL.Query, Schema: s.schema}, nil
}

// Check returns a function that checks and binds a statement without running it. It
// accepts one SELECT-like statement.
func Check(db builtin.SearchEngine) func(context.Context, engine.Request) error {
	return func(ctx context.Context, r engine.Request) error {
		if tokens := sqltree.Scan(r.SQL); sqltree.Are(r.SQL, tokens, 0, "explain") {
			return engine.NewError(errcode.Refused, "answer with the statement itself", "EXPLAIN is refused")
		}
		_, err := db.Describe(ctx, r)
		return err
	}
}

// source is the schema as the built-in tools return it.
type source struct {
	env   builtin.Env
	scope tools.Scope
	tools builtin.Caller
}

func (s *source) schema(ctx context.Context, names []string, samples bool) (Schema, error) {
	datasets, err := s.datasets(ctx)
	if err == nil && names != nil {
		datasets, err = chosen(datasets, names)
	}
	if err != nil {
		return Schema{}, err
	}
	out := Schema{Functions: s.functions()}
	if names != nil || s.scope.Datasets != nil {
		out.Allow = only(datasets)
	}
	out.Metrics = s.metrics(out.Allow)
	size := 0
	for i, d := range datasets {
		t := Table{Name: d.Table()}
		if size <= MaxTables {
			t, err = s.table(ctx, t.Name, samples && i < MaxSampled)
		}
		if err != nil {
			return Schema{}, err
		}
		size += len(t.text())
		out.Tables = append(out.Tables, t)
	}
	return out, nil
}

// table describes a dataset.
func (s *source) table(ctx context.Context, name string, samples bool) (Table, error) {
	t := Table{Name: name}
	err := s.call(ctx, "table_schema", map[string]any{"tables": []string{name}}, &t.Text)
	if err == nil && samples {
		t.Samples, err = s.samples(ctx, name)
	}
	return t, err
}

// datasets returns the datasets that the scope may read, in the order of list_datasets.
func (s *source) datasets(ctx context.Context) ([]builtin.Dataset, error) {
	byTable := map[string]builtin.Dataset{}
	for _, d := range s.env.Datasets() {
		byTable[d.Table()] = d
	}
	var listed []struct {
		Table string `json:"table"`
	}
	if err := s.call(ctx, "list_datasets", map[string]any{}, &listed); err != nil {
		return nil, err
	}
	var out []builtin.Dataset
	for _, l := range listed {
		if d, ok := byTable[l.Table]; ok { // else a reload has removed it
			out = append(out, d)
		}
	}
	return out, nil
}

// call calls a built-in tool and decodes its result.
func (s *source) call(ctx context.Context, tool string, args map[string]any, result any) error {
	if err := s.tools.Call(ctx, s.scope, tool, args, result); err != nil {
		return fmt.Errorf("read the schema for the model: %w", err)
	}
	return nil
}

// chosen returns the named datasets, in the order of all.
func chosen(all []builtin.Dataset, names []string) ([]builtin.Dataset, error) {
	wanted := map[engine.Relation]bool{}
	for _, name := range names {
		wanted[builtin.RelationOf(name)] = true
	}
	var out []builtin.Dataset
	for _, d := range all {
		if r := folded(d.Relation); wanted[r] {
			out = append(out, d)
			delete(wanted, r)
		}
	}
	for _, name := range names {
		if wanted[builtin.RelationOf(name)] {
			return nil, unknown(name, all)
		}
	}
	return out, nil
}

// unknown returns the error for an unknown dataset, with the nearest name.
func unknown(name string, all []builtin.Dataset) error {
	var known []string
	for _, d := range all {
		known = append(known, d.Relation.Name, strings.TrimPrefix(d.Table(), engine.CatalogName+"."), d.Table())
	}
	return chat.Invalid("datasets", "there is no dataset %q; %s", name,
		nearest.Hint(name, known, "GET /v1/datasets lists them"))
}

func folded(r engine.Relation) engine.Relation {
	return engine.Relation{Schema: sqltree.Fold(r.Schema), Name: sqltree.Fold(r.Name)}
}

// only returns a function that allows these datasets.
func only(datasets []builtin.Dataset) func(engine.Relation) bool {
	allowed := map[engine.Relation]bool{}
	for _, d := range datasets {
		allowed[folded(d.Relation)] = true
	}
	return func(r engine.Relation) bool { return allowed[folded(r)] }
}

func (s *source) functions() []Function {
	var out []Function
	hides := s.env.Hidden(s.scope)
	for _, f := range s.env.Functions().Declared() {
		if hides(f.Name) {
			continue
		}
		out = append(out, Function{f.Name, f.Signature(), f.Declared.Description, string(f.Volatility), f.IsTable()})
	}
	return out
}

// metrics returns the metrics that read only what a statement may use.
func (s *source) metrics(allow func(engine.Relation) bool) (list []Metric) {
	if s.env.Metrics == nil {
		return nil
	}
	if allow == nil {
		allow = func(engine.Relation) bool { return true }
	}
	for _, m := range s.env.Metrics(allow, s.env.Hidden(s.scope)) {
		metric := Metric{Name: m.Name, Description: m.Description, Synonyms: m.Synonyms, Certified: m.Certified}
		for _, d := range m.Dimensions {
			name := d.Name
			if len(d.Grains) > 0 {
				name += " (" + strings.Join(d.Grains, ", ") + ")"
			}
			metric.Dimensions = append(metric.Dimensions, name)
		}
		list = append(list, metric)
	}
	return list
}

// samples returns the most frequent values of a table's columns, or none if the table
// cannot be read in time.
func (s *source) samples(ctx context.Context, table string) (string, error) {
	var columns []struct {
		Column string            `json:"column"`
		Values []json.RawMessage `json:"values"`
		More   bool              `json:"more"`
	}
	short, cancel := context.WithTimeout(ctx, SampleTime)
	defer cancel()
	err := s.call(short, "sample_distinct_columns", map[string]any{"dataset": table, "limit": SampleValues}, &columns)
	var failed *tools.Error
	switch {
	case ctx.Err() != nil:
		return "", engine.AsError(ctx.Err())
	case errors.As(err, &failed):
		return "", nil
	case err != nil:
		return "", err
	}
	var b strings.Builder
	for _, c := range columns {
		b.WriteString("- " + c.Column + ": ")
		for i, v := range c.Values {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(truncate.Ellipsis(string(v), MaxValue))
		}
		if c.More {
			b.WriteString(", …")
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
