package registry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/tools"
)

// MaxTools is the maximum number of tools in a catalog.
const MaxTools = 100_000

// Names of the tools that models get in place of all others. They are not part
// of a catalog.
const (
	ToolSearch = "tool_search"
	ToolInvoke = "tool_invoke"
	// ToolDescribe shows the schemas of tools whose names a model knows.
	ToolDescribe = "tool_describe"
)

// BuiltIn is the position of the definitions of built-in tools.
const BuiltIn = "built in"

// Reserved reports whether the name is that of a tool of the registry itself.
func Reserved(name string) bool {
	return name == ToolSearch || name == ToolInvoke || name == ToolDescribe
}

// Contents is what a [Catalog] is made of.
type Contents struct {
	Generation uint64
	Tools      []tools.Tool
	Owned      []Owned
	// Hidden lists declarations that are not offered.
	Hidden []Hidden
	// Embeddings are the available embedding models, or nil.
	Embeddings Embeddings
	// EmbeddingModel is the default model; "" means the only one.
	EmbeddingModel string
	// EmbeddingTimeout is how long a search waits for the model; 0:
	// [DefaultEmbeddingTimeout].
	EmbeddingTimeout time.Duration
	Search           search.Settings
	// Limits are the defaults for tools without limits.
	Limits tools.Limits
	// Pending returns an error for a name that may become a tool once its server has
	// answered, else nil; nil: all are known.
	Pending func(name string) *tools.Error
	// Finding reports whether tools are still being found; nil: no.
	Finding func() bool
	// Functions are the names and owners of the declared functions that are
	// served, tools or not: statements that use them are counted.
	Functions map[string]string
	// Availability decides who sees which tools and functions.
	Availability Availability
	Approvals    Approvals
	// NextTools adds to results of tool_invoke the tools that can go on with them.
	NextTools bool
}

// Embeddings resolves the embedding model of tool_search. [*embeddings.Set] is
// one.
type Embeddings interface {
	Resolve(named string) (embeddings.Model, error)
}

// Hidden is a declaration that cannot be called as a tool.
type Hidden struct {
	Name   string
	Stage  string // why: as_tool, kind, domain, fault, duplicate …
	Reason string
}

// Conflict is a tool that was left out because its name is taken.
type Conflict struct {
	Name          string
	First, Second string // positions of both declarations
}

// Error names both positions.
func (c Conflict) Error() string {
	first := "declared at " + c.First
	if c.First == BuiltIn {
		first = c.First
	}
	return fmt.Sprintf("a tool named %q is there already, %s; the one at %s is left out", c.Name, first, c.Second)
}

// Catalog is the tools of one generation, sorted by name, bytewise. It is
// immutable.
type Catalog struct {
	Contents
	Conflicts []Conflict

	entries     []*entry
	byName      map[string]*entry
	folded      map[string]*entry // by name in lower case and with __ for /; of a server's tools the first
	hash        string            // of the searched texts: catalogs with equal hashes have equal results
	conditional []*entry          // see [tools.Conditional]
	owned       []Owned           // without those whose names are taken
	visibility  *visibility
	gates       gates
	takers      func() *takers // read when the first result has hints
}

// entry is a tool with its derived state.
type entry struct {
	tool   tools.Tool
	def    *tools.Definition
	schema func() (*compiled, error)
	docSum string     // of the searched texts
	tokens func() int // see [lint.Cost]
	gate   *gate
	number int // in the catalog
}

// compiled are the compiled schemas of a tool.
type compiled struct {
	parameters, returns *tools.Schema
	shown               func() *tools.Schema // of what parameters show, for errors
}

// NewCatalog returns the catalog of a generation. Of several tools with one
// name, compared without case, the first is used; the others are conflicts.
// Entries that are unchanged since prev, which may be nil, keep their schemas
// and limits. Foreign schemas that do not compile are problems; such a tool
// accepts any object.
func NewCatalog(prev *Catalog, c Contents) (*Catalog, error) {
	if len(c.Tools) > MaxTools {
		return nil, fmt.Errorf("%d tools are too many; the limit is %d", len(c.Tools), MaxTools)
	}
	next := &Catalog{
		Contents: c, byName: make(map[string]*entry, len(c.Tools)),
		folded: make(map[string]*entry, len(c.Tools)),
	}
	for _, t := range c.Tools {
		next.add(prev, t)
	}
	for _, o := range c.Owned {
		next.addOwned(o)
	}
	slices.SortFunc(next.entries, func(a, b *entry) int { return cmp.Compare(a.def.Name, b.def.Name) })
	next.Tools = nil
	sum := sha256.New()
	for i, e := range next.entries {
		e.number = i
		if _, ok := e.tool.(tools.Conditional); ok {
			next.conditional = append(next.conditional, e)
		}
		sum.Write([]byte(e.docSum))
	}
	fmt.Fprintf(sum, "%+v", c.Search)
	next.hash = hex.EncodeToString(sum.Sum(nil)[:16])
	next.visibility = newVisibility(next, prev)
	next.gates = newGates(next)
	next.takers = sync.OnceValue(func() *takers { return newTakers(next.entries) })
	return next, nil
}

func (c *Catalog) add(prev *Catalog, t tools.Tool) {
	def := t.Definition()
	key := fold(def.Name)
	first, taken := c.folded[key]
	if taken && first.foreign() && isForeign(def) { // a server tells names apart by case
		first, taken = c.byName[def.Name]
	}
	if taken {
		c.Conflicts = append(c.Conflicts, Conflict{def.Name, first.def.Declared, def.Declared})
		c.Hidden = append(c.Hidden,
			Hidden{def.Name, "duplicate", fmt.Sprintf("a tool of that name is declared at %s", first.def.Declared)})
		return
	}
	e := newEntry(t, def, c.Limits)
	if last := prev.get(def.Name); last != nil {
		e.carry(last)
	}
	c.byName[def.Name] = e
	if c.folded[key] == nil {
		c.folded[key] = e
	}
	c.entries = append(c.entries, e)
}

func newEntry(t tools.Tool, def *tools.Definition, defaults tools.Limits) *entry {
	e := &entry{tool: t, def: def, docSum: documentSum(def), gate: newGate(effective(def.Limits, defaults))}
	e.schema = sync.OnceValues(func() (*compiled, error) { return compile(t, def) })
	e.tokens = sync.OnceValue(func() int { return definitionTokens(def) })
	return e
}

// carry copies unchanged state from the entry in the previous generation.
func (e *entry) carry(last *entry) {
	if last.def.Checksum == e.def.Checksum || sameSchemas(last.def, e.def) {
		e.schema = last.schema
	}
	if last.gate.limits == e.gate.limits {
		e.gate = last.gate
	}
}

// definitionTokens estimates what a definition costs in each request to a model that has it.
func definitionTokens(def *tools.Definition) int {
	return lint.Cost([]*tools.Definition{def}, lint.OpenAI)
}

func sameSchemas(a, b *tools.Definition) bool {
	return string(a.Parameters) == string(b.Parameters) && string(a.Returns) == string(b.Returns)
}

// compile compiles a tool's schemas. On error, it also returns schemas that
// accept any object and any result.
func compile(t tools.Tool, def *tools.Definition) (*compiled, error) {
	c := &compiled{parameters: tools.Open()}
	c.shown = func() *tools.Schema { return c.parameters }
	raw, err := def.Parameters, error(nil)
	if wide, ok := t.(tools.Accepting); ok {
		raw, err = wide.Accepts()
		c.shown = sync.OnceValue(func() *tools.Schema {
			shown, err := tools.Compile(def.Parameters)
			if err != nil {
				return c.parameters
			}
			return shown
		})
	}
	if err == nil {
		var parameters *tools.Schema
		if parameters, err = tools.Compile(raw); err == nil {
			c.parameters = parameters
		}
	}
	if err != nil {
		err = fmt.Errorf("parameters of %q: %w", def.Name, err)
	}
	if len(def.Returns) > 0 {
		returns, err2 := tools.Compile(def.Returns)
		if err2 != nil {
			return c, errors.Join(err, fmt.Errorf("returns of %q: %w", def.Name, err2))
		}
		c.returns = returns
	}
	return c, err
}

// effective are a tool's limits, completed with defaults.
func effective(own *tools.Limits, defaults tools.Limits) tools.Limits {
	if own == nil {
		return defaults
	}
	return tools.Limits{
		Timeout: cmp.Or(max(own.Timeout, 0), defaults.Timeout), MaxRows: cmp.Or(max(own.MaxRows, 0), defaults.MaxRows),
		MaxBytes:           cmp.Or(max(own.MaxBytes, 0), defaults.MaxBytes),
		Concurrency:        cmp.Or(max(own.Concurrency, 0), defaults.Concurrency),
		MaxCallsPerSession: cmp.Or(max(own.MaxCallsPerSession, 0), defaults.MaxCallsPerSession),
	}
}

// documentSum is a checksum of the texts by which search finds a tool.
func documentSum(def *tools.Definition) string {
	h := sha256.New()
	d := document(def)
	parts := []string{d.Name, d.Description, string(d.Parameters), d.WhenToUse}
	for _, part := range slices.Concat(parts, d.Tags, []string{"examples"}, d.Examples) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return string(h.Sum(nil)[:16])
}

func document(def *tools.Definition) search.Document {
	d := search.Document{
		Name: def.Name, Description: def.Description, Parameters: def.Parameters, Tags: def.Tags,
		WhenToUse: def.WhenToUse,
	}
	for _, e := range def.Examples {
		d.Examples = append(d.Examples, e.Description+" "+string(e.Arguments))
	}
	return d
}

// fold normalizes a name for comparison: lower case, and server/tool as
// server__tool.
func fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "/", "__"))
}

// isForeign reports whether a tool is one of a server, which names it as it likes.
func isForeign(d *tools.Definition) bool { return strings.HasPrefix(d.Source, "mcp:") }

func (e *entry) foreign() bool { return isForeign(e.def) }

// get returns the named entry, or nil; an exact match precedes one in another
// case. A server's tool has to be named exactly: it may replace the tool "same"
// by another one, "Same", while callers know the first.
func (c *Catalog) get(name string) *entry {
	if c == nil {
		return nil
	}
	for _, spelled := range []string{name, strings.ReplaceAll(name, "/", "__")} {
		if e := c.byName[spelled]; e != nil {
			return e
		}
	}
	if e := c.folded[fold(name)]; e != nil && !e.foreign() {
		return e
	}
	return nil
}

// Growing reports whether tools are still being found, which a later catalog will have.
func (c *Catalog) Growing() bool { return c.Finding != nil && c.Finding() }

// Get returns the definition of the named tool, or nil.
func (c *Catalog) Get(name string) *tools.Definition {
	if e := c.get(name); e != nil {
		return e.def
	}
	return nil
}

// Len is the number of tools.
func (c *Catalog) Len() int {
	if c == nil {
		return 0
	}
	return len(c.entries)
}

// All returns the definitions of all tools, sorted by name. The list is shared: do not
// change it.
func (c *Catalog) All() []*tools.Definition {
	if c == nil {
		return []*tools.Definition{}
	}
	return c.visibility.all.definitions
}

// Visible returns the definitions of the tools available in the scope, sorted by name.
// Callers with equal visible sets share the list: do not change it.
func (c *Catalog) Visible(scope tools.Scope) []*tools.Definition {
	if c == nil {
		return []*tools.Definition{}
	}
	list := c.View(scope).definitions
	away := c.away(scope)
	if len(away) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(d *tools.Definition) bool { return away[d.Name] })
}

// away are the tools that are not available at the moment, whoever asks; nil: none.
func (c *Catalog) away(scope tools.Scope) map[string]bool {
	var away map[string]bool
	for _, e := range c.conditional {
		if e.unavailable(scope) == "" {
			continue
		}
		if away == nil {
			away = map[string]bool{}
		}
		away[e.def.Name] = true
	}
	return away
}

// unavailable returns "", or the reason why the tool is unavailable in the
// scope.
func (e *entry) unavailable(scope tools.Scope) string {
	if t, ok := e.tool.(tools.Conditional); ok {
		return t.Unavailable(scope)
	}
	return ""
}

// ForeignFaults compiles foreign schemas and returns the errors. Schemas of the
// runtime compile on first use.
func (c *Catalog) ForeignFaults() map[string]error {
	faults := map[string]error{}
	for _, e := range c.entries {
		if e.def.Source == tools.SourceBuiltin || e.def.Source == tools.SourceFunction {
			continue
		}
		if _, err := e.schema(); err != nil {
			faults[e.def.Name] = err
		}
	}
	return faults
}

// ReservedName is the name of a tool that conflicts with tool_search or
// tool_invoke, or "".
func (c *Catalog) ReservedName() string {
	for _, name := range []string{ToolInvoke, ToolSearch} {
		if e := c.get(name); e != nil {
			return e.def.Name
		}
	}
	return ""
}
