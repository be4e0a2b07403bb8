package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/rowsearch"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// tableIndexes is the introspection table of search indexes.
const tableIndexes = "search_indexes"

// indexesView is the statement that creates spiced.search_indexes, whose rows are computed when it
// is read.
func indexesView() string {
	return "CREATE VIEW " + engine.Qualified(engine.System, tableIndexes) + ` AS SELECT r."table", r.columns, r.state, r.rows,
		r.chunks, r.progress, r.bytes, r.models, to_timestamp(r.read_at) AS read_at, r.message
		FROM (SELECT unnest(from_json(` + engine.Native + "(" + engine.Literal("spiced."+tableIndexes) + `, ''), '[{"table":"VARCHAR",
		"columns":["VARCHAR"],"state":"VARCHAR","rows":"BIGINT","chunks":"BIGINT","progress":"DOUBLE","bytes":"BIGINT",
		"models":["VARCHAR"],"read_at":"DOUBLE","message":"VARCHAR"}]')) AS r)`
}

// IndexRow is a row of spiced.search_indexes.
type IndexRow struct {
	Table    string   `json:"table"`
	Columns  []string `json:"columns"`
	State    string   `json:"state"`
	Rows     *int     `json:"rows"`   // null: unknown, or the table hides rows from callers
	Chunks   *int     `json:"chunks"` // as rows
	Progress *float64 `json:"progress"`
	Bytes    *int64   `json:"bytes"`
	Models   []string `json:"models"`
	ReadAt   *float64 `json:"read_at"` // seconds since 1970
	Message  *string  `json:"message"`
}

// openSearch opens the manager of search indexes.
func (s *services) openSearch(eager bool) {
	s.search = rowsearch.New(rowsearch.Options{
		DB: s.db.DB, Dir: filepath.Join(s.state.dir, "search"), Log: s.log, Clock: load.Real{},
		Eager: eager,
	})
	timeout := func() time.Duration { return s.Settings().Query.Timeout }
	embedding := func() time.Duration { return s.Settings().Tools.Search.EmbeddingTimeout }
	s.db.Handle(rowsearch.RowSearch, s.search.Handler(query.ToolDB{DB: s.db.DB}, timeout, embedding))
	s.db.Handle(rowsearch.RerankRows, rowsearch.RerankHandler(s.rerank))
	s.db.Handle("spiced."+tableIndexes, func(context.Context, string) (string, error) {
		text, err := json.Marshal(append([]IndexRow{}, s.SearchIndexes()...))
		return string(text), err
	})
}

// SearchIndexes returns the rows of spiced.search_indexes.
func (s *services) SearchIndexes() (rows []IndexRow) {
	for _, i := range s.search.Status() {
		r := IndexRow{Table: shownRelation(i.Relation), State: string(i.State), Columns: []string{}, Models: []string{}}
		for _, c := range i.Columns {
			r.Columns = append(r.Columns, c.Name)
			if c.Model != "" {
				r.Models = append(r.Models, c.Model)
			}
		}
		if i.Rows >= 0 && !i.Protected {
			r.Rows, r.Chunks, r.Bytes = &i.Rows, &i.Chunks, &i.Bytes
		}
		if i.Rows >= 0 {
			at := float64(i.ReadAt.UnixMicro()) / 1e6
			r.ReadAt = &at
		}
		if i.Expected > 0 && !i.Protected {
			p := min(float64(i.Done)/float64(i.Expected), 1)
			r.Progress = &p
		}
		if i.Message != "" {
			r.Message = &i.Message
		}
		rows = append(rows, r)
	}
	return rows
}

// searched returns what is searched of the tables of a generation.
func (g *Generation) searched(personal func(engine.Relation) bool) (specs []*rowsearch.Spec) {
	for _, d := range g.Datasets {
		key := ""
		if a := d.Declared.Acceleration; a != nil {
			key = a.PrimaryKey
		}
		spec := rowsearch.NewSpec(&d.Table, d.Columns(), key, d.Documents())
		if spec == nil {
			continue
		}
		spec.Filtered = d.Declared.RowFilter != ""
		spec.Optional = d.Declared.ReadyState == spicepod.ReadyOnRegistration
		for column := range d.Declared.ColumnMask {
			spec.Mask(column)
		}
		specs = append(specs, spec)
	}
	for _, v := range g.Views {
		if v.LoadFault() != nil {
			continue
		}
		spec := rowsearch.NewSpec(&v.Table, v.Columns(), "", false)
		if spec == nil {
			continue
		}
		spec.Personal = personal(v.Relation)
		specs = append(specs, spec)
	}
	return specs
}

// searchRows is [builtin.Env.Search].
func (s *services) searchRows(ctx context.Context, q builtin.RowQuery) (builtin.RowAnswer, error) {
	r := rowsearch.Request{
		Text: q.Text, Keywords: q.Keywords, Mode: rowindex.Mode(q.Mode), Limit: q.Limit, Allow: q.Allow,
		Timeout:          cmp.Or(q.Timeout, s.Settings().Query.Timeout),
		EmbeddingTimeout: s.Settings().Tools.Search.EmbeddingTimeout,
	}
	for _, t := range q.Tables {
		r.Tables = append(r.Tables, rowsearch.Target{Relation: t.Relation, Data: t.Data, Where: t.Where})
	}
	found, err := s.search.Search(ctx, query.ToolDB{DB: s.db.DB}, r)
	if err != nil {
		return builtin.RowAnswer{}, err
	}
	out := builtin.RowAnswer{Mode: builtin.SearchMode(found.Mode), Notes: found.Notes}
	for _, h := range found.Hits {
		out.Rows = append(out.Rows, builtin.FoundRow{
			Relation: h.Relation, Score: h.Score, Key: h.Key, Data: h.Data, Column: h.Column, Text: h.Text, Sources: h.Sources,
		})
	}
	return out, nil
}

// SearchRows searches as a caller, for POST /v1/search.
func (s *services) SearchRows(ctx context.Context, a builtin.SearchArgs, who caller.Caller) (builtin.RowAnswer, error) {
	scope := tools.Scope{Caller: who}
	return builtin.SearchRows(registry.WithScope(ctx, scope), s.ToolEnv(), a, scope)
}

// rerank is the [rowsearch.Reranker] of the caller of a statement.
func (s *services) rerank(ctx context.Context, model, question string, texts []string) ([]float64, error) {
	g := s.Current()
	if g == nil {
		return nil, errNotLoaded
	}
	scope := tools.Scope{Caller: caller.From(ctx)}
	served := g.Models.Seen(scope)
	if model == "" {
		var names []string
		for _, i := range served.Infos() {
			if i.Status == models.StatusReady && !i.Agent {
				names = append(names, i.Name)
			}
		}
		if len(names) != 1 {
			return nil, engine.NewError(errcode.Argument, "write model := 'name'; served: "+strings.Join(names, ", "),
				"rerank needs the argument \"model\" unless exactly one model is served")
		}
		model = names[0]
	}
	m, err := served.Model(model)
	if err != nil {
		return nil, rerankError(model, err)
	}
	user, err := rowsearch.RerankQuestion(question, texts)
	if err != nil {
		return nil, err
	}
	answer, err := m.Ask(ctx, &chat.Request{Messages: []chat.Message{
		chat.Text(chat.RoleSystem, rowsearch.RerankPrompt), chat.Text(chat.RoleUser, user),
	}}, scope)
	if err != nil {
		return nil, rerankError(model, err)
	}
	scores, err := rowsearch.RerankScores(answer.Message().Text(), len(texts))
	if err != nil {
		return nil, engine.NewError(errcode.ProviderError, "try again, or another model",
			"model %q did not rank the documents: %s", model, err)
	}
	return scores, nil
}

// rerankError is the error of a model as that of a statement.
func rerankError(model string, err error) error {
	var failed *chat.Error
	if errors.As(err, &failed) {
		return engine.NewError(failed.Code, "", "rerank with model %q: %s", model, failed.Message)
	}
	return err
}
