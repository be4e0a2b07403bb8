package runtime

import (
	"context"
	"errors"

	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// tableModels is the introspection table of language models.
const tableModels = "models"

// makeModels opens the language models of the generation that is being made;
// what is unchanged goes on with its connections.
func (m *maker) makeModels(g *Generation) {
	set, problems := models.NewSet(m.pod, m.old.Models, models.Options{
		Registry: m.d.registry, Catalog: g.Tools, Embeddings: m.build.embeddings,
		Memory: m.d.memory, Log: m.d.log, Done: m.d.chatted,
	})
	g.Models = set
	m.problems(problems)
}

// chatted counts a chat.
func (d *Runtime) chatted(c models.Call) {
	var failed *chat.Error
	code := ""
	if errors.As(c.Err, &failed) {
		code = string(failed.Code)
	}
	t := c.Report.Usage
	d.usage.Chat(usage.Chat{
		Model: c.Model, OK: c.Err == nil, Cancelled: code == string(chat.CodeCancelled),
		Rounds: c.Report.Rounds, ToolCalls: c.Report.Calls, FirstToken: c.Report.FirstToken, Latency: c.Took,
		Tokens: usage.Tokens{Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Reasoning: t.Reasoning},
	})
	if d.opts.Metrics != nil {
		d.opts.Metrics.Chatted(telemetry.Chat{
			Model: c.Model, Code: code, Rounds: c.Report.Rounds, FirstToken: c.Report.FirstToken, Took: c.Took,
			Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite,
		})
	}
}

const modelsDDL = ` (name VARCHAR, "from" VARCHAR, description VARCHAR, status VARCHAR, error VARCHAR, tools VARCHAR, mode VARCHAR,
			reason VARCHAR, tool_count BIGINT, advertised VARCHAR[], pinned VARCHAR[], embedding_model VARCHAR, datasets VARCHAR[])`

// fillModels makes spiced.models what the models of g are.
func fillModels(tx *engine.Tx, g *Generation) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.System, tableModels)); err != nil {
		return err
	}
	var rows [][]any
	for _, i := range g.Models.Infos() {
		rows = append(rows, []any{
			i.Name, i.From, orNull(i.Description), i.Status, orNull(i.Error), orNull(i.Tools), string(i.Mode),
			orNull(i.Reason), i.Count, i.Advertised, i.Pinned, orNull(i.EmbeddingModel), i.Datasets,
		})
	}
	return tx.Insert(engine.System, tableModels, rows)
}

// WriteSQL has a declared model turn a question into a statement.
func (d *Runtime) WriteSQL(ctx context.Context, model string, r nsql.Request, scope tools.Scope) (nsql.Answer, error) {
	g := d.Current()
	if g == nil {
		return nsql.Answer{}, &chat.Error{Code: chat.CodeUnavailable, Message: "nothing is loaded yet"}
	}
	m, err := g.Models.Model(model)
	if err != nil {
		return nsql.Answer{}, err
	}
	scope = m.Scope(scope)
	writer, err := nsql.New(d.ToolEnv(), scope, func(ctx context.Context, r *chat.Request) (*chat.Response, error) {
		return m.Ask(ctx, r, scope)
	})
	if err != nil {
		return nsql.Answer{}, err
	}
	writer.Rank = func(ctx context.Context, query string) []string { return d.rank(ctx, query, scope) }
	return writer.Write(registry.WithScope(ctx, scope), r) // the model sees samples that its caller may
}

// rank names the tools that fit a question best. Nobody searched, so nothing
// is recorded.
func (d *Runtime) rank(ctx context.Context, query string, scope tools.Scope) []string {
	scope.Visible = nil
	found, err := d.registry.Search(ctx, registry.SearchRequest{Query: query, Limit: registry.MaxLimit, Scope: scope, Explain: true})
	if err != nil {
		return nil // they keep their order
	}
	names := make([]string, len(found.Tools))
	for i, t := range found.Tools {
		names[i] = t.ToolID
	}
	return names
}
