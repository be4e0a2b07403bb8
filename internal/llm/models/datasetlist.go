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

// listDatasets is the tool that every model with it sees called once, before
// it is asked anything.
const listDatasets = "list_datasets"

// listCallID is the identifier of that call; Spice has the same.
const listCallID = "initial_list_datasets"

// shownDatasets are the call of list_datasets and its result, as they stand
// before a conversation; none when the model does not have the tool. The
// result is remembered as long as the generation lasts, so that prompts begin
// alike.
func (m *Model) shownDatasets(ctx context.Context, r *chat.Request, offered []toolloop.Tool, scope tools.Scope) []chat.Message {
	switch {
	case !m.hasTable || r.Choice.Mode == chat.ChoiceNone || m.thinks(r):
		return nil
	case !slices.ContainsFunc(offered, func(t toolloop.Tool) bool { return t.Name == listDatasets }):
		return nil
	}
	// A caller that may read less than the model gets a list of its own; nil,
	// which is everything, differs from an empty list.
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

// listNow makes the call. Without its result the chat goes on: the model can
// make it again.
func (m *Model) listNow(ctx context.Context, scope tools.Scope) []chat.Message {
	result := m.opts.Registry.Invoke(ctx, registry.Call{Name: listDatasets, Arguments: json.RawMessage("{}"), Scope: scope})
	if !result.OK {
		m.opts.Log.Warn("the datasets could not be listed for a model", "model", m.info.Name, "error", result.Error)
		return nil
	}
	call := &chat.Call{ID: listCallID, Name: listDatasets, Arguments: "{}"}
	return []chat.Message{
		{Role: chat.RoleAssistant, Parts: []chat.Part{{Kind: chat.PartCall, Call: call}}},
		{Role: chat.RoleTool, Parts: []chat.Part{{Kind: chat.PartResult, Result: toolloop.Render(call, result, m.resultBytes())}}},
	}
}

func (m *Model) resultBytes() int {
	if n := m.settings.limits.ResultBytes; n > 0 {
		return n
	}
	return toolloop.DefaultResultBytes
}

// thinks reports whether the model shall think by a budget: then Anthropic
// refuses a call in the history that no thinking stands before,
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

// place is where in the messages the call stands: after the system's.
func place(messages []chat.Message) int {
	at := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	if at < 0 {
		return len(messages)
	}
	return at
}
