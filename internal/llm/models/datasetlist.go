package models

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// listDatasets is the tool whose call and result are inserted before the first request,
// for models that have it.
const listDatasets = "list_datasets"

// listCallID is the id of that call, as in Spice.
const listCallID = "initial_list_datasets"

// shownDatasets returns the call of list_datasets and its result, to be inserted before
// a conversation; nil if the model does not have the tool. The result is cached for the
// generation, so that prompts have the same prefix.
func (m *Model) shownDatasets(ctx context.Context, r *chat.Request, offered []toolloop.Tool,
	scope tools.Scope,
) []chat.Message {
	switch {
	case !m.hasTable || r.Choice.Mode == chat.ChoiceNone || m.thinks(r):
		return nil
	case !slices.ContainsFunc(offered, func(t toolloop.Tool) bool { return t.Name == listDatasets }):
		return nil
	}
	// A caller with fewer datasets than the model gets its own list; nil, which means
	// all, differs from an empty list.
	whole := (scope.Datasets == nil) == (m.info.Datasets == nil) && slices.Equal(scope.Datasets, m.info.Datasets)
	if shown := m.listed.Load(); shown != nil && whole {
		return *shown
	}
	shown := m.listNow(ctx, scope)
	if shown == nil || !whole {
		return shown
	}
	m.listed.CompareAndSwap(nil, &shown)
	return *m.listed.Load()
}

// listNow makes the call. If it fails, the chat continues without: the model can call
// the tool.
func (m *Model) listNow(ctx context.Context, scope tools.Scope) []chat.Message {
	result := m.opts.Registry.Invoke(ctx,
		registry.Call{Name: listDatasets, Arguments: json.RawMessage("{}"), Scope: scope, Automatic: true})
	if !result.OK {
		m.opts.Log.Warn("cannot list the datasets for a model", "model", m.info.Name, "error", result.Error)
		return nil
	}
	call := &chat.Call{ID: listCallID, Name: listDatasets, Arguments: "{}"}
	return []chat.Message{
		{Role: chat.RoleAssistant, Parts: []chat.Part{{Kind: chat.PartCall, Call: call}}},
		{Role: chat.RoleTool, Parts: []chat.Part{{
			Kind:   chat.PartResult,
			Result: toolloop.Render(call, result, m.resultBytes()),
		}}},
	}
}

func (m *Model) resultBytes() int {
	if n := m.settings.limits.ResultBytes; n > 0 {
		return n
	}
	return toolloop.DefaultResultBytes
}

// thinks reports whether thinking is enabled with a budget: then Anthropic rejects a
// call in the history without thinking before it,
// https://docs.claude.com/en/docs/build-with-claude/extended-thinking.
func (m *Model) thinks(r *chat.Request) bool {
	if m.provider.Form() != chat.FormAnthropic {
		return false
	}
	setting, said := r.Extra[paramThinking]
	if !said || r.Form != chat.FormAnthropic {
		return m.settings.thinking
	}
	return thinks(setting)
}

// insertAt returns the index at which the call is inserted: after the system messages.
func insertAt(messages []chat.Message) int {
	at := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	if at < 0 {
		return len(messages)
	}
	return at
}
