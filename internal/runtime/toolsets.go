package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/tools/builtin/documents"
)

// This file makes the tools of the toolsets with `from`, which come with the program: their tools and
// the expressions of `available` are as if the Spicepod had written them.

// fromDocuments is the `from` of the toolset of package documents.
const fromDocuments = "builtin:" + documents.Toolset

// documentsOf is a toolset from builtin:documents.
type documentsOf struct {
	entry  spicepod.Entry
	config documents.Config
}

// readToolsets reads the toolsets with `from`, and writes into the Spicepod of the build what they bring.
func readToolsets(b *build) {
	pod := *b.pod
	pod.Toolsets = slices.Clone(pod.Toolsets)
	for i := range pod.Toolsets {
		s := &pod.Toolsets[i]
		if s.From == "" {
			continue
		}
		e := spicepod.Entry{
			Pod: &pod, Path: fmt.Sprintf("toolsets[%d]", i), Component: "toolset " + s.Name, Params: s.Params,
		}
		switch {
		case s.From != fromDocuments:
			e.Fail(".from", nearest.Hint(s.From, []string{fromDocuments}, "write "+fromDocuments),
				"there is no toolset %q", s.From)
		case b.documents != nil:
			e.Fail(".from", "remove one of them, or give each a Spicepod of its own",
				"there is a toolset from %s already, and both have the same tools", fromDocuments)
		default:
			e.CheckReferences()
			if config := documents.Read(&e); e.Fault() == nil {
				b.documents = &documentsOf{e, config}
				s.Tools, s.Conditions = documents.Names(), documents.Conditions()
			}
		}
		b.problems(e.Problems)
	}
	b.pod = &pod
}

// makeToolsets adds the tools of the toolsets with `from` to the built-in tools.
func makeToolsets(b *build) error {
	if b.documents == nil {
		return nil
	}
	list, err := documents.New(b.s.documentsEnv(), b.documents.config)
	b.builtins = append(b.builtins, list...)
	return err
}

// checkDocuments leaves out the tools of the toolset for which the dataset lacks a column, with a
// remark. If its columns are not known yet, it has the tools, whose calls fail.
func (a *attempt) checkDocuments(list []tools.Tool) []tools.Tool {
	if a.documents == nil {
		return list
	}
	e, config := &a.documents.entry, a.documents.config
	missing := config.Without()
	d := a.datasetOf(config.Dataset)
	if d != nil {
		missing = append(missing, config.Missing(*d)...)
		a.checkSpaces(e, config, *d)
	}
	var left, hints []string
	for _, m := range missing {
		switch {
		case m.Tool == documents.WebSearch && a.pod.Runtime.Tools.Settings[documents.WebSearch] != true:
			// it is not available in any case
		case m.Tool == "":
			a.problem(*e.Problem(spicepod.ParamPath(m.Param), m.Hint, "%s", m.Message))
		case !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, m.Tool+" ") }):
			left, hints = append(left, fmt.Sprintf("%s (%s)", m.Tool, m.Message)), append(hints, m.Hint)
		}
	}
	if len(left) > 0 {
		slices.Sort(hints)
		a.problem(e.Remark("", strings.Join(slices.Compact(hints), "; "),
			"it has no "+strings.Join(left, ", no ")))
	}
	return slices.DeleteFunc(slices.Clone(list), func(t tools.Tool) bool {
		name := t.Definition().Name
		return slices.Contains(documents.Names(), name) && t.Definition().Declared == config.Declared &&
			slices.ContainsFunc(missing, func(m documents.Missing) bool { return m.Tool == "" || m.Tool == name })
	})
}

// checkSpaces warns of documents of spaces that no row filter keeps apart.
func (a *attempt) checkSpaces(e *spicepod.Entry, config documents.Config, d builtin.Dataset) {
	declared := slices.IndexFunc(a.pod.Datasets, func(x spicepod.Dataset) bool {
		return relationOf(x.Qualified()) == d.Relation
	})
	if declared >= 0 && a.pod.Datasets[declared].RowFilter == "" && config.Unscoped(d) {
		a.problem(e.Remark(spicepod.ParamPath("dataset"),
			"write a row_filter at the dataset, such as list_contains(members, ctx('user_id'))",
			fmt.Sprintf("dataset %s has a column of spaces and no row_filter: callers without a space read all of them",
				config.Dataset)))
	}
}

// datasetOf returns the dataset or view of a name, or nil if its columns are not known yet.
func (a *attempt) datasetOf(name string) *builtin.Dataset {
	want := builtin.RelationOf(name)
	for _, d := range a.build.datasets {
		if folded(d.Relation) == want {
			found := builtin.FromDataset(d.Relation, d.Declared, toolColumns(d.Columns()))
			return &found
		}
	}
	for _, v := range a.views {
		if folded(v.Relation) == want && v.LoadFault() == nil && len(v.Columns()) > 0 { // it is published
			found := builtin.FromView(v.Relation, v.Declared, toolColumns(v.Columns()))
			return &found
		}
	}
	return nil
}

// documentsEnv is what the tools of documents use. What they call is that of the generation in service.
func (s *services) documentsEnv() documents.Env {
	env := documents.Env{Env: s.ToolEnv()}
	env.Sees = func(name string, scope tools.Scope) bool {
		return s.tools.registry.Current().View(scope).Get(name) != nil
	}
	env.Tool = func(name string) *tools.Definition { return s.tools.registry.Current().Get(name) }
	env.Call = func(ctx context.Context, name string, args map[string]any, scope tools.Scope) tools.Result {
		raw, err := tools.Encode(args)
		if err != nil {
			return tools.Result{Error: tools.AsError(err)}
		}
		return s.tools.registry.Invoke(ctx, registry.Call{Name: name, Arguments: raw, Scope: scope})
	}
	env.Work = func(ctx context.Context, agent, task string, own []tools.Tool, scope tools.Scope) (
		json.RawMessage, error,
	) {
		return s.Current().Models.Work(ctx, agent, task, own, scope)
	}
	env.WriteSQL = s.writeOver
	return env
}

// documentAttempts: a statement that fails is corrected once.
const documentAttempts = 2

// writeOver has a model write a statement over one table, which is not a dataset.
func (s *services) writeOver(ctx context.Context, model string, q documents.Question, scope tools.Scope) (
	string, error,
) {
	m, err := s.Current().Models.Model(model)
	if err != nil {
		return "", asToolError(err)
	}
	env := s.ToolEnv()
	check := nsql.Check(env.SQL)
	w := &nsql.Writer{
		Attempts: documentAttempts,
		Chat: func(ctx context.Context, r *chat.Request) (*chat.Response, error) {
			return m.Ask(ctx, r, scope)
		},
		// The statement has to be one by itself: what is no statement may be one in parentheses.
		Check: func(ctx context.Context, r engine.Request) error {
			if _, err := env.SQL.Parse(ctx, r.SQL); err != nil {
				return err
			}
			return check(ctx, q.Request(r.SQL))
		},
		Run: func(ctx context.Context, r engine.Request) (*engine.Rows, error) {
			return env.SQL.Query(ctx, q.Request(r.SQL))
		},
		Schema: func(context.Context, []string, bool) (nsql.Schema, error) {
			return nsql.Schema{Tables: []nsql.Table{{Name: q.Table, Text: q.Schema}}}, nil
		},
	}
	answer, err := w.Write(ctx, nsql.Request{Query: q.Text})
	if err != nil {
		return "", asToolError(err)
	}
	return answer.SQL, nil
}

// asToolError returns the error of a model, or of a statement that it wrote, as that of a call.
func asToolError(err error) error {
	var failed *chat.Error
	var unwritten *nsql.Error
	switch {
	case errors.As(err, &unwritten):
		e := tools.NewError(errcode.Execution, unwritten.Error(), "ask about the columns that there are, in other words")
		e.Cause = err
		return e
	case errors.As(err, &failed):
		return tools.NewError(failed.Code, failed.Message, "")
	}
	return builtin.SQLError(err)
}

// checkWebSearch reports that the tool that web_search calls is not there.
func (a *attempt) checkWebSearch(c *registry.Catalog) {
	if a.documents == nil {
		return
	}
	name := a.documents.config.WebSearch
	if name == "" || c.Get(name) != nil || a.ofServer(name) {
		return
	}
	var names []string
	for _, def := range c.All() {
		names = append(names, def.Name)
	}
	a.problem(*a.documents.entry.Problem(spicepod.ParamPath("web_search"),
		nearest.Hint(name, names, "write the name of a tool or function, such as brave__search"),
		"there is no tool %q", name))
}
