package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// OwnTool is a tool that only its caller has: see [Call.Own].
type OwnTool struct{ entry *entry }

// NewOwnTool returns a tool whose limits are those of its definition alone.
func NewOwnTool(t tools.Tool) *OwnTool { return &OwnTool{newEntry(t, t.Definition(), metaLimits)} }

// Definition describes the tool.
func (t *OwnTool) Definition() *tools.Definition { return t.entry.def }

// Owned is a tool that each of some agents has as an [OwnTool] of the same name. The catalog
// lists it for those who see one of the agents. It is not searched, no model gets it from the
// catalog, and a call by its name is refused.
type Owned struct {
	*tools.Definition
	Agents []string // by name
}

// addOwned adds a tool of agents, unless its name is taken.
func (c *Catalog) addOwned(o Owned) {
	if first := c.folded[fold(o.Name)]; first != nil {
		c.Conflicts = append(c.Conflicts, Conflict{o.Name, first.def.Declared, o.Declared})
		return
	}
	c.owned = append(c.owned, o)
}

// Owned returns the definition of the named tool of agents, if the caller sees one of them;
// otherwise nil.
func (c *Catalog) Owned(name string, scope tools.Scope) *tools.Definition {
	if o := c.ownedBy(name, c.View(scope)); o != nil {
		return o.Definition
	}
	return nil
}

func (c *Catalog) ownedBy(name string, view *View) *Owned {
	for i := range c.owned {
		if o := &c.owned[i]; fold(o.Name) == fold(name) && o.seen(view) {
			return o
		}
	}
	return nil
}

func (o *Owned) seen(view *View) bool {
	return slices.ContainsFunc(o.Agents, func(agent string) bool { return view.Get(agent) != nil })
}

// reason is why other callers cannot call the tool.
func (o *Owned) reason(view *View) string {
	agents := slices.DeleteFunc(slices.Clone(o.Agents), func(agent string) bool { return view.Get(agent) == nil })
	return "only the agents that have it call it: " + strings.Join(agents, ", ")
}

// refused is the error of a call by another caller.
func (o *Owned) refused(view *View) *tools.Error {
	err := tools.NewError(errcode.ToolUnavailable, fmt.Sprintf("%s is not available here: %s", o.Name, o.reason(view)),
		"ask the agent")
	err.Retryable = false
	return err
}

// Listed returns the visible tools and those of agents that are visible, sorted by name. The
// list is shared: do not change it.
func (v *View) Listed() []*tools.Definition {
	if len(v.catalog.owned) == 0 {
		return v.definitions
	}
	type key struct{}
	return v.Rendered(key{}, func() any { return v.catalog.withOwned(v.definitions, v) }).([]*tools.Definition)
}

// listed returns the definition of a listed tool, or nil.
func (v *View) listed(name string) *tools.Definition {
	if o := v.catalog.ownedBy(name, v); o != nil {
		return o.Definition
	}
	return v.Get(name)
}

// withOwned returns a list with the tools of agents that the view shows, sorted by name.
func (c *Catalog) withOwned(list []*tools.Definition, view *View) []*tools.Definition {
	list = slices.Clone(list)
	for i := range c.owned {
		if o := &c.owned[i]; o.seen(view) {
			list = append(list, o.Definition)
		}
	}
	slices.SortFunc(list, func(a, b *tools.Definition) int { return strings.Compare(a.Name, b.Name) })
	return list
}
