package models

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// deal gives the model the tools of its plan.
func (m *Model) deal(p *plan, o offer) {
	set := map[string]bool{}
	for _, d := range p.set {
		set[d.Name] = true
	}
	m.visible = func(name string) bool { return set[name] }
	m.tools = p.advertised(o, m.settings.wish.hosted)
	i := &m.info
	i.Mode, i.Reason, i.Count, i.EmbeddingModel = p.mode, p.reason, len(p.set), p.embedding
	i.Pinned, i.Advertised = p.pinned, []string{}
	for _, t := range m.tools {
		i.Advertised = append(i.Advertised, t.Name)
	}
}

// allow limits the datasets that the built-in tools read for the model.
func (m *Model) allow(e *entry, relations []string) {
	m.hasTable = len(allowed(relations, e.declared.Datasets)) > 0
	if e.declared.Datasets != nil {
		m.info.Datasets = allowed(relations, e.declared.Datasets)
	}
}

// advertised is what the model is sent, sorted by name.
func (p *plan) advertised(o offer, hosted bool) []toolloop.Tool {
	var list []toolloop.Tool
	switch p.mode {
	case ModeDirect:
		list = plain(p.set)
	case ModeRegistry:
		list = append(plain(o.meta), plain(p.direct())...)
	case ModeNative:
		list = p.deferred(hosted)
		if !hosted {
			list = append(list, finder(o.meta))
		}
	}
	slices.SortFunc(list, func(a, b toolloop.Tool) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// direct are the tools that stand beside a search: list_datasets, and those
// that are pinned.
func (p *plan) direct() []*tools.Definition {
	return slices.DeleteFunc(slices.Clone(p.set), func(d *tools.Definition) bool {
		return d.Name != listDatasets && !slices.Contains(p.pinned, d.Name)
	})
}

// target is the tool that a call is of in the end: the one that tool_invoke
// calls, and one that a search has found and the model calls by its name.
func (m *Model) target(c *chat.Call) (toolloop.Tool, bool) {
	name := c.Name
	if name == registry.ToolInvoke {
		var invoked struct {
			ToolID string `json:"tool_id"`
		}
		_ = json.Unmarshal([]byte(c.Arguments), &invoked) // the door says what is wrong with others
		name = invoked.ToolID
	}
	d := m.opts.Catalog.Get(name)
	if d == nil {
		return toolloop.Tool{}, false
	}
	return toolloop.Tool{AfterResponse: d.AfterResponse(), Serial: d.Serial()}, true
}

// deferred are all tools of the set, held back but for the direct ones. A
// provider that searches by itself gets them in namespaces.
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

// finder is tool_search where what it finds is called by name, without
// tool_invoke.
func finder(meta []*tools.Definition) toolloop.Tool {
	at := slices.IndexFunc(meta, func(d *tools.Definition) bool { return d.Name == registry.ToolSearch })
	t := plain(meta[at : at+1])[0]
	t.Description = "Find tools for the current step by what they do. Call this first; what it finds can then be called by name."
	return t
}

func plain(defs []*tools.Definition) []toolloop.Tool {
	list := make([]toolloop.Tool, len(defs))
	for i, d := range defs {
		list[i] = toolloop.Tool{
			Tool:          chat.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters},
			AfterResponse: d.AfterResponse(), Serial: d.Serial(),
		}
	}
	return list
}

// unfit are the characters that the name of a namespace may not have.
var unfit = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// namespace groups a tool with those of its owner or, without one, of its
// source.
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

// foreign are the tools of the set that are not built in.
func (p *plan) foreign() []string {
	return namesOf(slices.DeleteFunc(slices.Clone(p.set), func(d *tools.Definition) bool { return d.Source == tools.SourceBuiltin }))
}

// searchesNatively reports whether the provider shows what our tool_search
// finds.
func (m *Model) searchesNatively() bool { return m.info.Mode == ModeNative && !m.settings.wish.hosted }

// render adds to the result of tool_search the names that it found, by which
// the provider brings the tools forth. Other results are nil: rendered as
// always.
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
