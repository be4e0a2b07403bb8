package registry

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/kit/bitmap"
	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/tools"
)

// Availability is what [Contents] needs to decide who sees what. The zero value shows
// everything to everyone.
type Availability struct {
	Policy *availability.Policy
	// Functions are the declared functions that statements may call, served or not, tools or
	// not.
	Functions []*availability.Tool
	Log       *slog.Logger     // of expressions that fail; nil: discarded
	Now       func() time.Time // nil: time.Now
}

// Limits of cached views of a catalog.
const (
	maxContexts   = 10_000    // callers whose view is known, by what expressions read of them
	maxContextKey = 4 << 20   // bytes of these
	maxViews      = 1000      // different views
	maxViewTools  = 5_000_000 // in all of them together
)

// visibility evaluates the expressions of a catalog.
type visibility struct {
	Availability
	size      int // tools of the catalog
	subjects  []subject
	bySubject map[int]*subject    // by number of the tool
	functions map[string]*subject // by folded name
	checks    []check
	fields    availability.Fields
	failed    *sync.Map // rules that failed and were logged, by declaration and text

	mu       sync.Mutex
	contexts *lru.Cache[string, *View]
	views    *lru.Cache[string, *View] // by the bitmap of the subjects
	all      *View
}

// subject is a tool or function with expressions; number counts the tools of the catalog,
// then the functions.
type subject struct {
	number   int
	function string // folded name; "": a tool
	checks   []int32
}

// check is an expression with a tool. Tools that are equal to it share one.
type check struct {
	rule *availability.Rule
	tool *availability.Tool
}

// newVisibility binds the expressions to the tools of c. Expressions that prev, which may
// be nil, has logged are not logged again.
func newVisibility(c *Catalog, prev *Catalog) *visibility {
	v := &visibility{
		Availability: c.Availability, size: len(c.entries), bySubject: map[int]*subject{}, functions: map[string]*subject{},
		failed:   &sync.Map{},
		contexts: lru.New[string, *View](maxContexts, maxContextKey, nil),
		views:    lru.New[string, *View](maxViews, maxViewTools, nil),
	}
	if prev != nil && prev.visibility != nil {
		v.failed = prev.visibility.failed
	}
	if v.Now == nil {
		v.Now = time.Now
	}
	b := binder{v, map[variant]int32{}}
	for i, e := range c.entries {
		b.bind(i, "", aboutTool(e.def))
	}
	for i, f := range c.Availability.Functions {
		b.bind(len(c.entries)+i, fold(f.Name), f)
	}
	for i := range v.subjects {
		if s := &v.subjects[i]; s.function != "" {
			v.functions[s.function] = s
		} else {
			v.bySubject[s.number] = s
		}
	}
	v.all = newView(c, bitmap.Full(len(c.entries)), nil)
	return v
}

// binder collects the checks of a catalog.
type binder struct {
	*visibility
	known map[variant]int32
}

type variant struct {
	rule  *availability.Rule
	value string
}

func (b binder) bind(number int, function string, t *availability.Tool) {
	var list []int32
	for _, rule := range b.Policy.Rules(t) {
		key := variant{rule, rule.Variant(t)}
		at, known := b.known[key]
		if !known {
			at = int32(len(b.checks))
			b.known[key] = at
			b.checks = append(b.checks, check{rule, t})
			b.fields |= rule.Fields()
		}
		list = append(list, at)
	}
	if len(list) > 0 {
		b.subjects = append(b.subjects, subject{number, function, list})
	}
}

// aboutTool is what expressions know of a tool.
func aboutTool(def *tools.Definition) *availability.Tool {
	return &availability.Tool{Name: def.Name, Owner: def.Owner, Tags: def.Tags, Source: def.Source, Risk: def.Risk}
}

// View is what the callers with equal visible sets see of a catalog. They share it, and
// what is rendered of it. It is immutable and safe for concurrent use.
type View struct {
	catalog     *Catalog
	visible     *bitmap.Bitmap // of the tools
	key         string         // of visible; "": all
	definitions []*tools.Definition
	hidden      map[string]bool // functions that statements may not call, by folded name
	rendered    sync.Map
}

func newView(c *Catalog, visible *bitmap.Bitmap, hidden map[string]bool) *View {
	v := &View{catalog: c, visible: visible, hidden: hidden, definitions: []*tools.Definition{}}
	for i, e := range c.entries {
		if visible.Has(i) {
			v.definitions = append(v.definitions, e.def)
		}
	}
	if len(v.definitions) < len(c.entries) {
		v.key = visible.Key()
	}
	return v
}

// Definitions returns the visible tools, sorted by name; also those that cannot be called
// at the moment. The list is shared: do not change it.
func (v *View) Definitions() []*tools.Definition { return v.definitions }

// Get returns the definition of a visible tool, or nil.
func (v *View) Get(name string) *tools.Definition {
	if e := v.catalog.get(name); e != nil && v.visible.Has(e.number) {
		return e.def
	}
	return nil
}

// HidesFunction reports whether statements may not call the declared function, and do not
// learn of it.
func (v *View) HidesFunction(name string) bool { return v.hidden[fold(name)] }

// Rendered returns what render makes of the view, once for each key.
func (v *View) Rendered(key any, render func() any) any {
	made, ok := v.rendered.Load(key)
	if !ok {
		made, _ = v.rendered.LoadOrStore(key, render())
	}
	return made
}

// View returns what a caller sees of the catalog.
func (c *Catalog) View(scope tools.Scope) *View {
	v := c.visibility
	if len(v.subjects) == 0 || scope.Unrestricted {
		return v.all
	}
	ctx := availability.ContextOf(scope.Caller, v.Now())
	if v.fields.Now() {
		return v.shared(c, v.evaluate(ctx))
	}
	key := ctx.Key(v.fields)
	v.mu.Lock()
	known, ok := v.contexts.Get(key)
	v.mu.Unlock()
	if ok {
		return known
	}
	made := v.shared(c, v.evaluate(ctx))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.contexts.Put(key, made, int64(len(key)+1))
	return made
}

// evaluate returns the available tools and functions, by number.
func (v *visibility) evaluate(ctx *availability.Context) *bitmap.Bitmap {
	results := make([]bool, len(v.checks))
	for i := range v.checks {
		results[i] = v.check(int32(i), ctx)
	}
	available := bitmap.Full(v.size + len(v.Functions))
	for i := range v.subjects {
		for _, at := range v.subjects[i].checks {
			if !results[at] {
				available.Remove(v.subjects[i].number)
				break
			}
		}
	}
	return available
}

// check evaluates one expression. A failure is logged once.
func (v *visibility) check(at int32, ctx *availability.Context) bool {
	c := v.checks[at]
	available, err := c.rule.Eval(ctx, c.tool)
	if err != nil && v.Log != nil {
		if _, logged := v.failed.LoadOrStore(c.rule.Declared+"\x00"+c.rule.Text, true); !logged {
			v.Log.Warn("an expression of available fails, so that nothing is available by it", "of", c.rule.Declared, "tool",
				c.tool.Name, "error", err)
		}
	}
	return available
}

// shared returns the view of a set. Equal sets have one.
func (v *visibility) shared(c *Catalog, available *bitmap.Bitmap) *View {
	key := available.Key()
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.views.Get(key); ok {
		return known
	}
	visible := bitmap.New(v.size)
	for i := range v.size {
		if available.Has(i) {
			visible.Add(i)
		}
	}
	hidden := map[string]bool{}
	for name, s := range v.functions {
		if !available.Has(s.number) {
			hidden[name] = true
		}
	}
	made := newView(c, visible, hidden)
	v.views.Put(key, made, int64(v.size+1))
	return made
}

// sees reports whether the tool e is available to the caller. Unlike View it evaluates no
// other tools.
func (c *Catalog) sees(e *entry, scope tools.Scope) bool {
	s := c.visibility.bySubject[e.number]
	return s == nil || scope.Unrestricted || c.visibility.allows(s, scope)
}

// seesFunction reports whether a declared function is available to the caller.
func (c *Catalog) seesFunction(name string, scope tools.Scope) bool {
	s := c.visibility.functions[fold(name)]
	return s == nil || scope.Unrestricted || c.visibility.allows(s, scope)
}

func (v *visibility) allows(s *subject, scope tools.Scope) bool {
	ctx := availability.ContextOf(scope.Caller, v.Now())
	if !v.fields.Now() {
		v.mu.Lock()
		known, ok := v.contexts.Get(ctx.Key(v.fields))
		v.mu.Unlock()
		switch {
		case ok && s.function != "":
			return !known.hidden[s.function]
		case ok:
			return known.visible.Has(s.number)
		}
	}
	for _, at := range s.checks {
		if !v.check(at, ctx) {
			return false
		}
	}
	return true
}

// reason returns why a subject is not available to the caller, or "".
func (v *visibility) reason(s *subject, scope tools.Scope) string {
	if s == nil || scope.Unrestricted {
		return ""
	}
	ctx := availability.ContextOf(scope.Caller, v.Now())
	for _, at := range s.checks {
		if reason := v.checks[at].rule.Reason(ctx, v.checks[at].tool); reason != "" {
			return reason
		}
	}
	return ""
}

// seesServer reports whether a tool of that name, of an MCP server whose tools are not
// known yet, would be available to the caller.
func (c *Catalog) seesServer(name string, scope tools.Scope) bool {
	server, _, _ := strings.Cut(fold(name), "__")
	t := &availability.Tool{Name: name, Owner: tools.OwnerRuntime, Source: "mcp:" + server, Risk: availability.Write}
	ctx := availability.ContextOf(scope.Caller, c.visibility.Now())
	for _, rule := range c.Availability.Policy.Rules(t) {
		if available, _ := rule.Eval(ctx, t); !available && !scope.Unrestricted {
			return false
		}
	}
	return true
}

// ConditionalFunction reports whether a declared function is hidden from some callers.
func (c *Catalog) ConditionalFunction(name string) bool {
	return c.visibility.functions[fold(name)] != nil
}

// toolReason returns why a tool is not available to the caller, or "".
func (c *Catalog) toolReason(e *entry, scope tools.Scope) string {
	return cmp.Or(c.visibility.reason(c.visibility.bySubject[e.number], scope), e.unavailable(scope))
}

// Hides returns which declared functions are hidden from the caller of a scope; nil: none.
func (r *Registry) Hides(scope tools.Scope) func(function string) bool {
	return r.Current().hides(scope)
}

// HidesFrom is [Registry.Hides] for the caller of a statement, in this catalog.
func (c *Catalog) HidesFrom(ctx context.Context) func(function string) bool {
	return c.hides(statementScope(ctx))
}

func (c *Catalog) hides(scope tools.Scope) func(string) bool {
	if len(c.visibility.functions) == 0 {
		return nil
	}
	if v := c.View(scope); len(v.hidden) > 0 {
		return v.HidesFunction
	}
	return nil
}

// HiddenFunctions lists the declared functions that are hidden from the caller of a
// statement, in lower case.
func (r *Registry) HiddenFunctions(ctx context.Context) []string {
	return slices.Collect(maps.Keys(r.Current().View(statementScope(ctx)).hidden))
}

// hiddenAgents lists the agents that are hidden from the caller of a statement.
func (r *Registry) hiddenAgents(ctx context.Context) []string {
	view := r.Current().View(statementScope(ctx))
	list := []string{}
	for _, e := range view.catalog.entries {
		if e.def.Source == tools.SourceAgent && view.Get(e.def.Name) == nil {
			list = append(list, e.def.Name)
		}
	}
	return list
}

// ConditionalTool reports whether the named tool is hidden from some callers.
func (c *Catalog) ConditionalTool(name string) bool {
	e := c.get(name)
	return e != nil && c.visibility.bySubject[e.number] != nil
}
