package models

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// useTools gives the model the tools of the plan.
func (m *Model) useTools(p *plan, o offer) {
	set := map[string]bool{}
	for _, d := range p.set {
		set[d.Name] = true
	}
	m.visible = func(name string) bool { return set[name] }
	if p.mode == ModePlanner {
		m.planned = p.set
	}
	m.tools = m.settings.said(p.advertised(o, m.settings.wish.hosted))
	i := &m.info
	i.Mode, i.Reason, i.Count, i.EmbeddingModel = p.mode, p.reason, len(p.set), p.embedding
	i.Pinned, i.Advertised = p.pinned, []string{}
	for _, t := range m.tools {
		i.Advertised = append(i.Advertised, t.Name)
	}
	i.DefinitionTokens = m.definitionTokens(func(name string) bool { return !o.catalog.ConditionalTool(name) })
	i.DirectTokens = i.DefinitionTokens
	if p.mode != ModeDirect {
		i.DirectTokens = m.tokensOf(p.set, o.catalog.ConditionalTool)
	}
	m.setPreselect(p, o.catalog.ConditionalTool)
	if slices.ContainsFunc(p.set, func(d *tools.Definition) bool { return o.catalog.ConditionalTool(d.Name) }) {
		i.unconditional(o, p.set)
	}
}

// definitionTokens estimates what the tools that are shown cost in each request.
func (m *Model) definitionTokens(shown func(name string) bool) int {
	sum := tokens.Count(m.planText(shown))
	for _, t := range m.tools {
		if shown(t.Name) {
			sum += t.Tokens
		}
	}
	return sum
}

// tokensOf estimates what the definitions of tools would cost in each request, from some of them if there are
// many, without those that are hidden from some callers.
func (m *Model) tokensOf(set []*tools.Definition, hidden func(name string) bool) int {
	shown := slices.DeleteFunc(slices.Clone(set), func(d *tools.Definition) bool { return hidden(d.Name) })
	step := max(1, len(shown)/maxSampled)
	sum, n := 0, 0
	for at := 0; at < len(shown); at += step {
		sum += m.settings.said(plain(shown[at : at+1]))[0].Tokens
		n++
	}
	return sum * len(shown) / max(n, 1)
}

// unconditional takes out of a description, which is the same for every caller, what tells
// of tools that some callers cannot see.
func (i *Info) unconditional(o offer, set []*tools.Definition) {
	hidden := o.catalog.ConditionalTool
	for _, d := range set {
		if hidden(d.Name) {
			i.Count--
		}
	}
	i.Advertised = slices.DeleteFunc(i.Advertised, hidden)
	i.Pinned = slices.DeleteFunc(slices.Clone(i.Pinned), hidden)
	i.Declared = strings.Join(slices.DeleteFunc(parseList(i.Declared), func(name string) bool {
		return hidden(strings.Replace(name, ":", "__", 1))
	}), ", ")
	i.Reason = "tools: " + shown(i.Declared) + ", those that are available to the caller"
}

// allow limits the datasets that the built-in tools read for the model.
func (m *Model) allow(e *entry, relations []string) {
	m.hasTable = len(allowed(relations, e.declared.Datasets)) > 0
	if e.declared.Datasets != nil {
		m.info.Datasets = allowed(relations, e.declared.Datasets)
	}
}

// advertised returns the tools that the model is sent, sorted by name.
func (p *plan) advertised(o offer, hosted bool) []toolloop.Tool {
	var list []toolloop.Tool
	switch p.mode {
	case ModeDirect:
		list = plain(p.set)
	case ModeRegistry:
		list = append(plain(o.meta), plain(p.direct())...)
	case ModePlanner:
		list = append(plain([]*tools.Definition{o.shows, o.meta[1]}), plain(p.direct())...)
	case ModeNative:
		list = p.deferred(hosted)
		if !hosted {
			list = append(list, finder(o.meta))
		}
	}
	slices.SortFunc(list, func(a, b toolloop.Tool) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// direct returns the tools sent alongside a search: list_datasets and the pinned ones.
func (p *plan) direct() []*tools.Definition {
	return slices.DeleteFunc(slices.Clone(p.set), func(d *tools.Definition) bool {
		return d.Name != listDatasets && !slices.Contains(p.pinned, d.Name)
	})
}

// target returns the tool that a call finally runs: the one that tool_invoke calls, and
// one that a search has found and the model calls by its name.
func (m *Model) target(c *chat.Call) (toolloop.Tool, bool) {
	name := c.Name
	if name == registry.ToolInvoke {
		var invoked struct {
			ToolID string `json:"tool_id"`
		}
		_ = json.Unmarshal([]byte(c.Arguments), &invoked) // the registry reports invalid arguments
		name = invoked.ToolID
	}
	d := m.opts.Catalog.Get(name)
	if d == nil {
		return toolloop.Tool{}, false
	}
	return toolloop.Tool{AfterResponse: d.AfterResponse(), Serial: d.Serial()}, true
}

// deferred returns all tools of the set, deferred except for the direct ones. A
// provider with its own search gets them in namespaces.
func (p *plan) deferred(hosted bool) []toolloop.Tool {
	list, direct := plain(p.set), namesOf(p.direct())
	for i, d := range p.set {
		if slices.Contains(direct, d.Name) {
			continue
		}
		list[i].Deferred = true
		if hosted {
			list[i].Namespace = namespace(d)
		}
	}
	return list
}

// finder returns tool_search for models that call what it finds by name, without
// tool_invoke.
func finder(meta []*tools.Definition) toolloop.Tool {
	at := slices.IndexFunc(meta, func(d *tools.Definition) bool { return d.Name == registry.ToolSearch })
	t := plain(meta[at : at+1])[0]
	t.Description = "Find tools for the current step by what they do. Call this first; what it finds can then " +
		"be called by name."
	return t
}

func plain(defs []*tools.Definition) []toolloop.Tool {
	list := make([]toolloop.Tool, len(defs))
	for i, d := range defs {
		text, examples := d.Parts()
		list[i] = toolloop.Tool{
			Tool:          chat.Tool{Name: d.Name, Description: text, Parameters: d.Parameters, Examples: examples},
			AfterResponse: d.AfterResponse(), Serial: d.Serial(),
		}
	}
	return list
}

// said writes the schemas of tools as the provider takes them, and notes what the
// definitions cost.
func (s *settings) said(list []toolloop.Tool) []toolloop.Tool {
	for i := range list {
		t := &list[i]
		s.say(t)
		t.Tokens = toolloop.DefinitionTokens(t.Tool)
	}
	return list
}

// say writes the schema of a tool as the provider takes it; without a dialect it reads
// schemas as text.
func (s *settings) say(t *toolloop.Tool) {
	if s.dialect == "" {
		return
	}
	said := dialect.Say(t.Parameters, s.dialect)
	if bytes.Equal(said.Schema, t.Parameters) {
		return
	}
	t.Declared, t.Names = t.Parameters, said.Names
	// The examples may not fit the schema that the provider gets.
	t.Parameters, t.Description, t.Examples = said.Schema, said.Describe(t.Text()), nil
}

// unfit are the characters that are invalid in the name of a namespace.
var unfit = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// namespace returns the owner of a tool, else its source.
func namespace(d *tools.Definition) string {
	name := d.Owner
	switch {
	case d.Owner != tools.OwnerRuntime:
	case d.Source == tools.SourceFunction:
		name = "functions"
	case group(d) != "":
		name = group(d)
	default:
		name = d.Source
	}
	name = unfit.ReplaceAllString(name, "_")
	return name[:min(len(name), tools.MaxName)]
}

// foreign returns the tools of the set that are not built in.
func (p *plan) foreign() []string {
	return namesOf(slices.DeleteFunc(slices.Clone(p.set), func(d *tools.Definition) bool {
		return d.Source == tools.SourceBuiltin
	}))
}

// searchesNatively reports whether the provider loads the tools that our tool_search
// finds.
func (m *Model) searchesNatively() bool { return m.info.Mode == ModeNative && !m.settings.wish.hosted }

// render adds the names of the tools found to the result of tool_search, so that the
// provider loads them. For other results it returns nil: the default rendering.
func (m *Model) render(c *chat.Call, r tools.Result) *chat.CallResult {
	if c.Name != registry.ToolSearch || !r.OK {
		return nil
	}
	var found registry.Found
	if json.Unmarshal(r.Result, &found) != nil {
		return nil
	}
	result := toolloop.Render(c, r, m.resultBytes())
	for _, t := range found.Tools {
		if m.visible(t.ToolID) {
			result.Found = append(result.Found, t.ToolID)
		}
	}
	return result
}
