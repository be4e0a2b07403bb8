package models

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// Keywords of params.tools, each a set of tools.
const (
	wordAuto     = "auto"
	wordAll      = "all"
	wordSearch   = "search_registry"
	wordPlanner  = "planner"
	wordNSQL     = "nsql"
	wordDisabled = "disabled"
	wordNone     = "none" // same as disabled
)

var words = []string{wordAuto, wordAll, wordSearch, wordPlanner, wordNSQL, wordDisabled, wordNone}

// parseTools parses params.tools: a comma-separated list of keywords, tool names,
// groups, and group:tool. Keywords are case-insensitive, names are not. A keyword alone
// is a list of one; "" is an empty list.
func parseTools(text string) []string {
	names := parseList(text)
	for i, name := range names {
		if word := strings.ToLower(name); slices.Contains(words, word) {
			names[i] = word
		}
	}
	return names
}

// parseList parses a comma-separated list and drops empty elements.
func parseList(text string) []string {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// offer is what models choose their tools from.
type offer struct {
	catalog *registry.Catalog
	entries []string // names of the entries of `tools:`
	sets    []spicepod.Toolset
	meta    []*tools.Definition // tool_search and tool_invoke
	shows   *tools.Definition   // tool_describe
}

// chosen is a set of tools by name.
type chosen map[string]*tools.Definition

func (c chosen) add(defs ...*tools.Definition) {
	for _, d := range defs {
		if d != nil {
			c[d.Name] = d
		}
	}
}

// sorted returns the tools sorted by name, bytewise.
func (c chosen) sorted() []*tools.Definition {
	list := make([]*tools.Definition, 0, len(c))
	for _, d := range c {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *tools.Definition) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// choose returns the tools that the names of params.tools select, sorted by name, and
// the names that select nothing.
func (o offer) choose(names []string) (set []*tools.Definition, unknown []string) {
	c := chosen{}
	for _, name := range names {
		switch name {
		case wordAuto:
			c.add(o.broad(builtin.Auto)...)
		case wordAll:
			c.add(o.broad(builtin.All)...)
		case wordSearch:
			c.add(o.catalog.All()...)
		case wordPlanner:
			if len(names) == 1 {
				c.add(o.broad(builtin.Auto)...)
			}
		case wordNSQL:
			c.add(o.get(slices.Concat(builtin.NSQL, builtin.Metrics))...)
		case wordDisabled, wordNone:
		default:
			found := o.named(name)
			if len(found) == 0 {
				unknown = append(unknown, name)
			}
			c.add(found...)
		}
	}
	return c.sorted(), unknown
}

// broad returns a set of built-in tools, those of metrics, and every tool that the Spicepod
// declares, including functions and agents.
func (o offer) broad(names []string) []*tools.Definition {
	set := o.get(slices.Concat(names, builtin.Metrics))
	for _, d := range o.catalog.All() {
		if d.Source == tools.SourceFunction || d.Source == tools.SourceAgent ||
			slices.ContainsFunc(o.entries, func(e string) bool { return from(d, e) }) {
			set = append(set, d)
		}
	}
	return set
}

// get returns the tools of these names that exist.
func (o offer) get(names []string) []*tools.Definition {
	var set []*tools.Definition
	for _, name := range names {
		if d := o.catalog.Get(name); d != nil {
			set = append(set, d)
		}
	}
	return set
}

// named returns what one name of a list selects: a tool, a tool of a group as
// group:tool, or all tools of a group or of a toolset.
func (o offer) named(name string) []*tools.Definition {
	if d := o.catalog.Get(strings.Replace(name, ":", "__", 1)); d != nil {
		return []*tools.Definition{d}
	}
	var set []*tools.Definition
	for _, d := range o.catalog.All() {
		if group(d) == name {
			set = append(set, d)
		}
	}
	if len(set) > 0 {
		return set
	}
	for _, s := range o.sets {
		if s.Name == name {
			return o.matching(s.Tools)
		}
	}
	return nil
}

// matching returns the tools of a toolset.
func (o offer) matching(patterns []string) []*tools.Definition {
	set := availability.NamesOf(patterns)
	return slices.DeleteFunc(slices.Clone(o.catalog.All()), func(d *tools.Definition) bool { return !set.Has(d.Name) })
}

// from reports whether the named entry of `tools:` provides the tool.
func from(d *tools.Definition, entry string) bool { return d.Name == entry || group(d) == entry }

// sourceMCP is the prefix of a server's name in the source of tools.
const sourceMCP = "mcp:"

// group returns the server of a tool, or "".
func group(d *tools.Definition) string {
	server, ok := strings.CutPrefix(d.Source, sourceMCP)
	if !ok {
		return ""
	}
	return server
}

func namesOf(defs []*tools.Definition) []string {
	names := make([]string, len(defs))
	for i, d := range defs {
		names[i] = d.Name
	}
	return names
}
