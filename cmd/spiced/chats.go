package main

import (
	"context"
	"iter"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/sqlapi"
	"github.com/spiced-sql/spiced/tools"
)

// chats serves the language models to the HTTP API.
type chats struct{ runtime *runtime.Runtime }

var _ sqlapi.Chats = chats{}

// set returns the current models that a caller sees.
func (c chats) set(who caller.Caller) *models.Set {
	if g := c.runtime.Current(); g != nil {
		return g.Models.Seen(tools.Scope{Caller: who})
	}
	return &models.Set{}
}

func (c chats) Models(who caller.Caller) []models.Info { return c.set(who).Infos() }

func (c chats) Agents(who caller.Caller) []models.AgentInfo { return c.set(who).Agents() }

func (c chats) Chat(ctx context.Context, r *chat.Request, who caller.Caller) (iter.Seq2[toolloop.Event, error], error) {
	m, err := c.set(who).Model(r.Model)
	if err == nil {
		err = m.Translate(r, tools.Scope{Caller: who})
	}
	if err != nil {
		return nil, err
	}
	return m.Chat(ctx, r, tools.Scope{Caller: who}), nil
}

func (c chats) NSQL(ctx context.Context, model string, r nsql.Request, who caller.Caller) (nsql.Answer, error) {
	return c.runtime.WriteSQL(ctx, model, r, tools.Scope{Caller: who})
}
