package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/tools"
)

// wish is what a model declares about its tools.
type wish struct {
	declared  bool   // params.tools is set
	text      string // the value of params.tools
	embedding string // params.tool_embedding_model
	threshold int    // params.auto_threshold
	pinned    []string
	preselect int  // params.preselect
	closed    bool // a search finds the tools of the set only
	native    bool // params.tool_search
	// hosted means that the provider searches in native mode; otherwise models search
	// with our tool_search.
	hosted bool
}

// plan is how a model gets its tools.
type plan struct {
	mode      Mode
	reason    string
	set       []*tools.Definition // sorted by name
	pinned    []string            // of the set, sorted
	embedding string              // the model that tool_search uses
	warnings  []warning
}

// warning is a warning about a param.
type warning struct{ param, message, hint string }

// plan makes the plan. With an error, the model is not loaded.
func (w wish) plan(o offer, set *embeddings.Set) (*plan, error) {
	names := parseTools(w.text)
	p := &plan{}
	var unknown []string
	p.set, unknown = o.choose(names)
	if len(unknown) > 0 {
		p.warn("tools", unknownTools(unknown, namesOf(o.catalog.All())), "")
	}
	if err := p.chooseMode(w, o, names, set); err != nil {
		return nil, err
	}
	p.pin(w.pinned, o)
	p.checkPreselect(w, names)
	return p, nil
}

// checkPreselect warns of a preselect without effect. With `tools: auto` the number of tools
// decides, which may change.
func (p *plan) checkPreselect(w wish, names []string) {
	searches := slices.Contains(names, wordAuto) || slices.Contains(names, wordSearch)
	switch {
	case w.preselect == 0 || !w.declared:
	case w.native:
		p.warn("preselect", "it has no effect with tool_search: native, whose provider loads the tools that it finds",
			"take one of them out")
	case !searches || slices.Contains(names, wordPlanner):
		p.warn("preselect", fmt.Sprintf("it has no effect with tools: %s, whose tools are not searched", shown(w.text)),
			"write `tools: "+wordAuto+"` or `tools: "+wordSearch+"`")
	}
}

// chooseMode chooses the mode. A search finds every tool of the catalog.
func (p *plan) chooseMode(w wish, o offer, names []string, set *embeddings.Set) error {
	always, sometimes := slices.Contains(names, wordSearch), slices.Contains(names, wordAuto)
	many := len(p.set) > w.threshold
	switch {
	case !w.declared:
		p.setMode(ModeNone, "params.tools is not set")
	case slices.Contains(names, wordPlanner):
		return p.planned(w, o)
	case always:
		embedding, err := w.searchable(o, set)
		if err != nil {
			return err
		}
		p.setSearch(w, "tools: "+wordSearch, embedding)
	case sometimes && many:
		why := fmt.Sprintf("%s, more than %d", plural.Of(len(p.set), "tool"), w.threshold)
		embedding, err := w.searchable(o, set)
		if err != nil {
			p.fallBack(why, err, o)
			break
		}
		if !w.closed {
			p.set = o.catalog.All() // a search costs the model nothing for the tools it does not find
		}
		p.setSearch(w, why, embedding)
	case sometimes:
		p.setMode(ModeDirect, fmt.Sprintf("%s, no more than %d", plural.Of(len(p.set), "tool"), w.threshold))
	default:
		p.sendAll(w)
	}
	if len(p.set) == 0 && w.declared {
		p.setMode(ModeNone, noTools(w))
		p.embedding = ""
	}
	return nil
}

func noTools(w wish) string {
	if w.closed {
		return "it has no tools"
	}
	return fmt.Sprintf("tools: %s has no tool", shown(w.text))
}

func (p *plan) setMode(mode Mode, reason string) { p.mode, p.reason = mode, reason }

// setSearch sets a mode with a search.
func (p *plan) setSearch(w wish, why, embedding string) {
	mode := ModeRegistry
	if w.native {
		mode = ModeNative
	}
	if w.native && w.hosted {
		p.setMode(mode, why+", and the provider searches")
		return
	}
	p.embedding = embedding
	p.setMode(mode, why+", and embedding model "+embedding)
}

// fallBack sends the tools of `tools: auto` directly, because they cannot be searched.
func (p *plan) fallBack(why string, err error, o offer) {
	text, hint := err.Error(), ""
	var reserved reservedError
	if errors.As(err, &reserved) {
		text, hint = reserved.clause(), reserved.hint(o.catalog.Get(string(reserved)).Declared)
	}
	p.setMode(ModeDirect, why+", but: "+text)
	p.warn("tools", fmt.Sprintf("Unable to use searchable tool registry for tools: %s: %s. Falling back to direct "+
		"tool definitions.", wordAuto, text), hint)
}

// sendAll sets the mode of a set that is never searched.
func (p *plan) sendAll(w wish) {
	p.setMode(ModeDirect, fmt.Sprintf("%s; tools: %s is sent unchanged", plural.Of(len(p.set), "tool"), shown(w.text)))
	if w.native && len(p.set) > 0 {
		p.warn("tool_search", fmt.Sprintf("it has no effect with tools: %s, which sends every tool", shown(w.text)),
			"write `tools: "+wordAuto+"` or `tools: "+wordSearch+"`")
	}
}

// pin pins the tools of params.pinned_tools that are in the set.
func (p *plan) pin(names []string, o offer) {
	var unknown []string
	for _, name := range names {
		d := o.catalog.Get(name)
		switch {
		case d == nil || !p.has(d.Name):
			unknown = append(unknown, name)
		case !slices.Contains(p.pinned, d.Name):
			p.pinned = append(p.pinned, d.Name)
		}
	}
	slices.Sort(p.pinned)
	if len(unknown) > 0 {
		p.warn("pinned_tools", fmt.Sprintf("The following pinned tools are not among the tools of the model: %s. "+
			"Its tools are: %s.",
			strings.Join(unknown, ", "), listed(namesOf(p.set))), "")
	}
}

// has reports whether the named tool is in the set.
func (p *plan) has(name string) bool {
	_, found := slices.BinarySearchFunc(p.set, name, func(d *tools.Definition, name string) int {
		return strings.Compare(d.Name, name)
	})
	return found
}

func (p *plan) warn(param, message, hint string) {
	p.warnings = append(p.warnings, warning{param, message, hint})
}

// searchable returns the embedding model for searching tools, or why there is no
// search.
func (w wish) searchable(o offer, set *embeddings.Set) (string, error) {
	if w.native && w.hosted {
		return "", nil
	}
	model, err := set.Resolve(w.embedding)
	if err != nil {
		return "", err
	}
	if name := o.catalog.ReservedName(); name != "" {
		return "", reservedError(name)
	}
	return model.Name(), nil
}

// reservedError is the name of a tool that collides with tool_search or tool_invoke.
type reservedError string

func (e reservedError) Error() string {
	return "Tool" + strings.TrimPrefix(e.clause(), "tool") +
		". Rename the configured tool or disable searchable registry tools."
}

// hint says where the tool is declared that has the name.
func (e reservedError) hint(declared string) string {
	return fmt.Sprintf("rename the tool at %s, or set `as_tool: false` on the function", declared)
}

func (e reservedError) clause() string {
	return fmt.Sprintf("tool name '%s' is reserved for the searchable tool registry", string(e))
}

// unknownTools returns Spice's warning about names of unknown tools.
func unknownTools(unknown, available []string) string {
	return fmt.Sprintf("The following tools were not found in the registry: %s. Available tools are: %s. "+
		"See docs/models.md", strings.Join(unknown, ", "), listed(available))
}

// listed joins names, and counts those beyond MaxListed.
func listed(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) <= MaxListed:
		return strings.Join(names, ", ")
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MaxListed], ", "), len(names)-MaxListed)
	}
}

// shown returns params.tools for a message.
func shown(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return `""`
	}
	return text
}
