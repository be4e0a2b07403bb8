package models

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Model is a declared model. It is immutable and safe for concurrent use.
type Model struct {
	opts        Options
	info        Info
	settings    *settings // nil if the model was not loaded
	provider    chat.Provider
	fingerprint string // of everything that the provider depends on

	tools    []toolloop.Tool     // sorted by name; the same slice for every chat
	planned  []*tools.Definition // those that the prompt names; sorted by name
	setSum   []byte              // of the set, with preselection
	visible  func(name string) bool
	listed   atomic.Pointer[[]chat.Message] // the cached call of list_datasets
	hasTable bool                           // the model's tools may read some dataset

	agent *agent // nil: a plain model
}

// Info returns the description of the model.
func (m *Model) Info() Info { return m.info }

// unavailable returns why the model cannot be used, or nil.
func (m *Model) unavailable() error {
	if m.settings != nil {
		return nil
	}
	return &chat.Error{
		Code: errcode.ModelNotLoaded, Param: "model",
		Message: fmt.Sprintf("the model %q was not loaded: %s", m.info.Name, m.info.Error),
	}
}

// Chat answers a request with the model's system prompt and tools, as [toolloop.Loop]
// does. An error is a [*chat.Error] in the last pair. Nothing is sent before the range
// begins; each range is a separate chat.
func (m *Model) Chat(ctx context.Context, r *chat.Request, scope tools.Scope) iter.Seq2[toolloop.Event, error] {
	return func(yield func(toolloop.Event, error) bool) {
		ctx, end, err := m.begin(ctx)
		if err != nil {
			yield(toolloop.Event{}, err)
			return
		}
		defer end()
		m.answer(ctx, r, scope)(yield)
	}
}

// Translate decides what becomes of the fields of a client's request at the model's
// provider, writes the client's tools as it takes them, and sets r.Ignored. An error is a
// [*chat.Error] with the first field that is refused.
func (m *Model) Translate(r *chat.Request, scope tools.Scope) error {
	form := m.provider.Form()
	if err := translation.Check(r, form); err != nil {
		return err
	}
	if _, now := m.offered(m.Scope(scope)); withoutTools(r, now) && r.Settings.ParallelCalls != nil &&
		!*r.Settings.ParallelCalls {
		r.Ignored = appendNew(r.Ignored, parallelField[r.Form])
	}
	return m.settings.sayClientTools(r, form)
}

// answer answers a request of a chat that has begun.
func (m *Model) answer(ctx context.Context, r *chat.Request, scope tools.Scope) iter.Seq2[toolloop.Event, error] {
	return func(yield func(toolloop.Event, error) bool) {
		began := time.Now()
		scope := m.Scope(scope)
		done := func(report toolloop.Report, err error) {
			report.DefinitionTokens += int64(report.Rounds * tokens.Count(m.planOf(ctx, scope))) // the prompt has these
			m.done(report, err, began, scope)
		}
		offered, gone := m.toolsOf(ctx, r, scope)
		if err := cmp.Or(checkNames(r, offered), checkChoice(r, offered)); err != nil {
			done(toolloop.Report{}, err)
			yield(toolloop.Event{}, err)
			return
		}
		for e, err := range m.loop(ctx, done, gone)(ctx, m.complete(ctx, r, offered, scope), offered, scope) {
			if !yield(e, m.late(ctx, err)) {
				return
			}
		}
	}
}

// toolsOf returns the tools that a chat is offered, and the function that says of others that they are
// gone: those of its task, or those of the model.
func (m *Model) toolsOf(ctx context.Context, r *chat.Request, scope tools.Scope) (
	offered []toolloop.Tool, gone func(string) string,
) {
	if own, ok := m.ownTools(ctx); ok {
		return own, nil
	}
	return m.pinned(ctx, r, scope)
}

// planOf returns what the prompt of a chat says of the model's tools.
func (m *Model) planOf(ctx context.Context, scope tools.Scope) string {
	if _, own := m.ownTools(ctx); own {
		return ""
	}
	return m.plan(scope)
}

// Ask answers a request without the model's system prompt and tools, in one piece. An
// error is a [*chat.Error].
func (m *Model) Ask(ctx context.Context, r *chat.Request, scope tools.Scope) (*chat.Response, error) {
	if err := m.unavailable(); err != nil {
		return nil, err
	}
	began := time.Now()
	scope = m.Scope(scope)
	bare := toolloop.Loop{Provider: m.provider, Done: func(report toolloop.Report, err error) {
		m.done(report, err, began, scope)
	}}
	var answer chat.Collector
	for event, err := range bare.Run(ctx, r, nil, scope) {
		if err != nil {
			return nil, err
		}
		answer.Add(event.Delta)
	}
	return answer.Response(), nil
}

// loop returns the function that runs one chat.
func (m *Model) loop(ctx context.Context, done func(toolloop.Report, error),
	gone func(string) string,
) func(context.Context, *chat.Request, []toolloop.Tool, tools.Scope) iter.Seq2[toolloop.Event, error] {
	l := &toolloop.Loop{
		Provider: m.provider, Invoker: m.opts.Registry, Limits: m.settings.limits, Memory: m.opts.Memory, Log: m.opts.Log,
		Done:   done,
		Target: m.target, Gone: gone,
	}
	if m.searchesNatively() {
		l.Render = m.render
	}
	if t := taskOf(ctx); m.agent != nil {
		l.Invoker, l.Spend = t, t.spend
	}
	return l.Run
}

func (m *Model) done(report toolloop.Report, err error, began time.Time, scope tools.Scope) {
	if m.opts.Done != nil {
		m.opts.Done(Call{
			Model: m.info.Name, From: m.info.From, Report: report, Err: err, Took: time.Since(began),
			Scope: scope,
		})
	}
}

// Scope returns the caller's scope limited to what the model may read.
func (m *Model) Scope(s tools.Scope) tools.Scope {
	s.Model, s.Protocol = m.info.Name, caller.Chat
	s.Acting.Model = m.info.Name
	s.EmbeddingModel, s.Visible = m.info.EmbeddingModel, m.visible
	if m.info.Datasets != nil {
		s.Datasets = allowed(m.info.Datasets, s.Datasets)
	}
	s.Callable = nil
	if m.agent != nil {
		s.Agent, s.Acting.Agent, s.Callable = m.info.Name, m.info.Name, m.callable
	}
	return s
}

// offered returns the tools of the model that exist in the scope: all that the caller may
// see, and those that can be called at the moment. Usually that is one slice, which callers
// who may see the same share.
func (m *Model) offered(scope tools.Scope) (full, now []toolloop.Tool) {
	view := m.opts.Catalog.View(scope)
	full = view.Rendered(m, func() any {
		list := m.without(m.tools, func(name string) bool { return view.Get(name) == nil })
		list = append(list, m.delegating(m.delegation(view))...)
		slices.SortFunc(list, func(a, b toolloop.Tool) int { return strings.Compare(a.Name, b.Name) })
		return list
	}).([]toolloop.Tool)
	visible := m.opts.Catalog.Visible(scope)
	if len(visible) == len(view.Definitions()) {
		return full, full
	}
	there := map[string]bool{}
	for _, d := range visible {
		there[d.Name] = true
	}
	return full, m.without(full, func(name string) bool { return !there[name] })
}

// without returns a list without the tools of the catalog that are missing.
func (m *Model) without(list []toolloop.Tool, missing func(name string) bool) []toolloop.Tool {
	return slices.DeleteFunc(slices.Clone(list), func(t toolloop.Tool) bool {
		return m.visible(t.Name) && missing(t.Name)
	})
}

// checkNames rejects a tool of the client with the name of one by which the model finds
// or calls the runtime's.
func checkNames(r *chat.Request, offered []toolloop.Tool) error {
	for i, t := range r.Tools {
		if !registry.Reserved(t.Name) {
			continue
		}
		if slices.ContainsFunc(offered, func(o toolloop.Tool) bool { return o.Name == t.Name }) {
			return chat.Invalid(fmt.Sprintf("tools[%d]", i), "%s: rename it, or use a model whose tools are not searched",
				reservedError(t.Name).clause())
		}
	}
	return nil
}

// complete returns the request with the model's system prompt first and, after all
// leading system messages, the list of datasets.
func (m *Model) complete(ctx context.Context, r *chat.Request, offered []toolloop.Tool,
	scope tools.Scope,
) *chat.Request {
	shown := m.shownDatasets(ctx, r, offered, scope)
	system := joined(m.settings.system, m.planOf(ctx, scope))
	if system == "" && len(shown) == 0 {
		return r
	}
	c := r.Clone()
	if system != "" {
		c.Messages = slices.Insert(c.Messages, 0, chat.Text(chat.RoleSystem, system))
	}
	c.Messages = slices.Insert(c.Messages, insertAt(c.Messages), shown...)
	return c
}
