package runtime

import (
	"context"
	"errors"

	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// makeModels opens the language models and the agents of g. Unchanged models keep their
// connections.
func (a *attempt) makeModels(g *Generation, agents *models.Agents) {
	set, problems := models.NewSet(a.pod, a.old.Models, models.Options{
		Registry: a.s.tools.registry, Catalog: g.Tools, Embeddings: a.build.embeddings,
		Memory: a.s.tools.memory, Pins: a.s.tools.pins, SessionPin: a.pod.Runtime.Tools.SessionPin, Log: a.s.log,
		Done: a.s.chatted, Agents: agents,
	})
	g.Models = set
	a.problems(problems)
}

// chatted counts a chat.
func (s *services) chatted(c models.Call) {
	var failed *chat.Error
	code := ""
	if errors.As(c.Err, &failed) {
		code = string(failed.Code)
	}
	t := c.Report.Usage
	s.tools.usage.Chat(usage.Chat{
		Model: c.Model, OK: c.Err == nil, Cancelled: code == string(errcode.Cancelled),
		Rounds: c.Report.Rounds, ToolCalls: c.Report.Calls, FirstToken: c.Report.FirstToken, Latency: c.Took,
		DefinitionTokens: c.Report.DefinitionTokens,
		Tokens: usage.Tokens{
			Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite,
			Reasoning: t.Reasoning,
		},
	})
	if s.metrics != nil {
		s.metrics.Chatted(telemetry.Chat{
			Model: c.Model, Code: code, Rounds: c.Report.Rounds, FirstToken: c.Report.FirstToken, Took: c.Took,
			Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite,
			DefinitionTokens: c.Report.DefinitionTokens,
		})
	}
}

// WriteSQL asks a declared model to turn a question into a statement.
func (s *services) WriteSQL(ctx context.Context, model string, r nsql.Request, scope tools.Scope) (nsql.Answer, error) {
	g := s.Current()
	if g == nil {
		return nsql.Answer{}, &chat.Error{Code: errcode.ModelNotLoaded, Message: "nothing is loaded yet"}
	}
	m, err := g.Models.Seen(scope).Model(model)
	if err != nil {
		return nsql.Answer{}, err
	}
	scope = m.Scope(scope)
	writer, err := nsql.New(s.ToolEnv(), scope, func(ctx context.Context, r *chat.Request) (*chat.Response, error) {
		return m.Ask(ctx, r, scope)
	})
	if err != nil {
		return nsql.Answer{}, err
	}
	writer.Rank = func(ctx context.Context, query string) []string { return s.rank(ctx, query, scope) }
	return writer.Write(registry.WithScope(ctx, scope), r) // samples are read as the caller
}

// rank returns the tools that fit a question best. This is no search of a
// client, so it is not recorded.
func (s *services) rank(ctx context.Context, query string, scope tools.Scope) []string {
	scope.Visible = nil
	found, err := s.tools.registry.Search(ctx,
		registry.SearchRequest{Query: query, Limit: registry.MaxLimit, Scope: scope, Explain: true})
	if err != nil {
		return nil // they keep their order
	}
	names := make([]string, len(found.Tools))
	for i, t := range found.Tools {
		names[i] = t.ToolID
	}
	return names
}
