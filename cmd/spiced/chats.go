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

// set returns the current models.
func (c chats) set() *models.Set {
	if g := c.runtime.Current(); g != nil {
		return g.Models
	}
	return &models.Set{}
}

func (c chats) Models() []sqlapi.Model {
	list := []sqlapi.Model{}
	for _, i := range c.set().Infos() {
		m := sqlapi.Model{Name: i.Name, From: i.From, Description: i.Description, Datasets: i.Datasets, Status: i.Status, Error: i.Error}
		if i.Status == models.StatusReady {
			m.Tools = &sqlapi.ModelTools{
				Declared: i.Tools, Mode: string(i.Mode), Reason: i.Reason, Count: i.Count,
				Advertised: i.Advertised, Pinned: i.Pinned, EmbeddingModel: i.EmbeddingModel,
			}
		}
		list = append(list, m)
	}
	return list
}

func (c chats) Chat(ctx context.Context, r *chat.Request, who caller.Caller) (iter.Seq2[toolloop.Event, error], error) {
	m, err := c.set().Model(r.Model)
	if err != nil {
		return nil, err
	}
	return m.Chat(ctx, r, tools.Scope{Caller: who}), nil
}

func (c chats) NSQL(ctx context.Context, r sqlapi.NSQL, who caller.Caller) (nsql.Answer, error) {
	return c.runtime.WriteSQL(ctx, r.Model, nsql.Request{
		Query: r.Query, Datasets: r.Datasets, SampleData: r.SampleData, PromptCacheKey: r.PromptCacheKey,
	}, tools.Scope{Caller: who})
}
