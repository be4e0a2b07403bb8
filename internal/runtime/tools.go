package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/udf"
)

// openTools makes the registry, with what earlier runs left in state.
func (d *Runtime) openTools(pod *spicepod.Pod, state string) error {
	h := pod.Runtime.Tools.History
	options := usage.Options{Calls: h.MaxCalls, Searches: h.MaxSearches, Retention: h.Retention, Days: h.UsageDays, Log: d.log}
	vectors := ""
	if d.tempDir == nil {
		options.Dir, vectors = filepath.Join(state, "usage"), filepath.Join(state, "vectors")
	}
	var err error
	if d.usage, err = usage.Open(options); err != nil {
		return fmt.Errorf("usage of tools: %w", err)
	}
	if d.domains, err = builtin.Domains(pod.Runtime.Tools.Domains, os.Getenv(builtin.DomainsVariable)); err != nil {
		return err
	}
	d.openServers()
	d.indexes = builtin.NewIndexes()
	d.memory = toolloop.NewMemory(toolloop.MemoryLimits{})
	d.registry = registry.New(registry.Options{Usage: d.usage, Metrics: d.opts.Metrics, Log: d.log, Audit: d.audit, VectorDir: vectors})
	if m := d.opts.Metrics; m != nil {
		m.WatchToolCache(func() (entries, bytes int64, hits, misses uint64) {
			s := d.registry.CacheStats()
			return s.Entries, s.Bytes, s.Hits, s.Misses
		})
	}
	d.registry.Serve(d.db)
	d.db.Handle(engine.Ctx, tellCaller)
	return nil
}

// closeTools ends what openTools began.
func (d *Runtime) closeTools() {
	if g := d.Current(); g != nil && g.Embeddings != nil {
		g.Embeddings.Close()
	}
	d.closing.Wait()
	if d.usage != nil {
		if err := d.usage.Close(); err != nil {
			d.log.Warn("the usage of tools was not written", "error", err)
		}
	}
}

// Tools is the registry, the one door to the tools.
func (d *Runtime) Tools() *registry.Registry { return d.registry }

// prepareEmbeddings opens the embedding models; those of the generation before
// go on when their declarations are the same.
func (b *build) prepareEmbeddings() {
	hash := spicepod.Fingerprint(b.pod.Embeddings)
	if b.old.Embeddings != nil && b.old.embeddingsHash == hash {
		b.embeddings, b.embeddingsHash = b.old.Embeddings, hash
		return
	}
	set, problems := embeddings.NewSet(b.pod, embeddings.Options{})
	b.embeddings, b.embeddingsHash = set, hash
	b.problems(problems)
}

// catalog makes the tools of the generation that is being made.
func (m *maker) catalog(g *Generation) (*registry.Catalog, error) {
	t := m.pod.Runtime.Tools
	g.tools = udf.NewToolSet(m.d.db, m.set, udf.ToolOptions{Traits: m.traits.of, Results: m.d.results}, m.old.tools)
	contents := registry.Contents{
		Generation: g.Number, Embeddings: m.build.embeddings, EmbeddingModel: t.EmbeddingModel,
		Search: searchSettings(t.Search), Functions: owners(m.set), Hidden: m.hidden(g),
	}
	if l := tools.DeclaredLimits(t.Limits); l != nil {
		contents.Limits = *l
	}
	builtins, err := m.builtins()
	if err != nil {
		return nil, err
	}
	contents.Tools = slices.Concat(builtins, g.tools.Tools, m.serverTools())
	catalog, err := registry.NewCatalog(m.old.Tools, contents)
	if err != nil {
		return nil, err
	}
	m.conflicts(catalog)
	return catalog, nil
}

// searchSettings are the tuned settings with what the Spicepod says.
func searchSettings(s spicepod.ToolSearch) search.Settings {
	o := search.Default()
	o.K, o.Depth = s.K, s.Depth
	o.FullText, o.Vector, o.Keyword, o.Schema = s.FullText, s.Vector, s.Keyword, s.Schema
	if s.NoGoodMatch > 0 {
		o.NoGoodMatch = s.NoGoodMatch
	}
	return o
}

// owners are the declared functions with their owners.
func owners(set *functions.Set) map[string]string {
	m := make(map[string]string, set.Len())
	for _, f := range set.All() {
		m[f.Name] = tools.OwnerRuntime
		if f.Declared.Owner != "" {
			m[f.Name] = f.Declared.Owner
		}
	}
	return m
}

// builtins are the built-in tools of the enabled domains and the entries of
// `tools:`. An entry of a built-in tool's own name takes its place; one that
// cannot be made is a problem.
func (m *maker) builtins() ([]tools.Tool, error) {
	env := m.d.ToolEnv()
	list, err := builtin.Load(env, m.d.domains)
	if err != nil {
		return nil, err
	}
	for i, entry := range m.pod.Tools {
		if entry.Scheme() == schemeMCP {
			continue
		}
		at := m.pod.At(fmt.Sprintf("tools[%d]", i))
		tool, err := customised(env, entry, fmt.Sprintf("%s:%d", at.File, at.Line))
		if err != nil {
			p := m.pod.Problem(fmt.Sprintf("tools[%d].from", i), err.Error(), "")
			p.Component = "tool " + entry.Name
			m.problem(p)
			continue
		}
		list = slices.DeleteFunc(list, func(t tools.Tool) bool { return t.Definition().Name == entry.Name })
		list = append(list, tool)
	}
	return list, nil
}

func customised(env builtin.Env, entry spicepod.Tool, declared string) (tools.Tool, error) {
	if entry.Builtin() == "" {
		return nil, fmt.Errorf("tools from %q are not served: builtin:<name> and mcp:<command or URL> are", entry.Scheme()+":")
	}
	return builtin.Customise(env, entry, declared)
}

// ToolEnv is what the built-in tools see: always the present state.
func (d *Runtime) ToolEnv() builtin.Env {
	return builtin.Env{
		SQL: d.db, Datasets: d.toolDatasets, Readiness: d.readiness, Indexes: d.indexes, Results: d.results,
		Functions: func() *functions.Set {
			if g := d.Current(); g != nil {
				return g.Functions
			}
			return nil
		},
		Generation: func() uint64 { return d.db.Current().Generation },
	}
}

// toolDatasets are the datasets and views that serve.
func (d *Runtime) toolDatasets() []builtin.Dataset {
	g := d.Current()
	if g == nil {
		return nil
	}
	var list []builtin.Dataset
	for _, s := range g.Datasets {
		t := builtin.FromDataset(s.Relation, s.Declared, toolColumns(s.Columns()))
		if s.Declared.Acceleration != nil && s.Declared.Acceleration.Enabled {
			t.Version = s.Version()
		}
		list = append(list, t)
	}
	for _, v := range g.Views {
		list = append(list, builtin.FromView(v.Relation, v.Declared, toolColumns(v.Columns())))
	}
	return list
}

func toolColumns[C interface {
	~struct{ Name, Type, Description string }
}](columns []C) []builtin.Column {
	list := make([]builtin.Column, len(columns))
	for i, c := range columns {
		plain := struct{ Name, Type, Description string }(c)
		list[i] = builtin.Column{Name: plain.Name, Type: plain.Type, Description: plain.Description}
	}
	return list
}

// readiness is the state of each component.
func (d *Runtime) readiness() map[string]string {
	states := map[string]string{}
	for _, s := range d.data.Status() {
		states[s.Kind+":"+s.Declared] = string(s.State)
	}
	for _, s := range d.servers.Status() {
		states["tool:"+s.Name] = string(s.State)
	}
	if g := d.Current(); g != nil {
		for _, f := range g.Functions.All() {
			states["function:"+f.Name] = "Ready"
		}
	}
	if r := d.LastReport(); r != nil {
		for _, p := range r.Problems {
			kind, name, ok := strings.Cut(p.Component, " ")
			if ok && p.Severity != spicepod.Warning && states[kind+":"+name] == "" {
				states[kind+":"+name] = "Error"
			}
		}
	}
	return states
}

// hidden is what was declared and is no tool.
func (m *maker) hidden(g *Generation) []registry.Hidden {
	var list []registry.Hidden
	for _, n := range g.tools.NoTools {
		list = append(list, registry.Hidden{Name: n.Name, Stage: registry.StageAsTool, Reason: n.Reason})
	}
	for i := range m.pod.Functions {
		f := &m.pod.Functions[i]
		switch {
		case m.set.Get(f.Name) != nil:
		case !m.pod.Runtime.Functions.Enabled:
			list = append(list, registry.Hidden{Name: f.Name, Stage: registry.StageEnabled, Reason: "runtime.functions.enabled is false"})
		case !f.Enabled:
			list = append(list, registry.Hidden{Name: f.Name, Stage: registry.StageEnabled, Reason: "it has enabled: false"})
		default:
			list = append(list, registry.Hidden{Name: f.Name, Stage: registry.StageLoaded, Reason: m.faultOf("function " + f.Name)})
		}
	}
	for _, name := range builtin.Names() {
		list = append(list, registry.Hidden{
			Name: name, Stage: registry.StageEnabled,
			Reason: fmt.Sprintf("the domains that are enabled, %s, do not have it", strings.Join(m.d.domains, ", ")),
		})
	}
	return list
}

// faultOf is the first problem of a component.
func (b *build) faultOf(component string) string {
	for _, p := range b.report.Problems {
		if p.Component == component {
			return p.Message
		}
	}
	return "it has a fault"
}

// conflicts notes the tools that were left out since their names were taken.
func (m *maker) conflicts(c *registry.Catalog) {
	for _, conflict := range c.Conflicts {
		path := m.toolPath(conflict.Name)
		p := m.pod.KeyProblem(path+".name", conflict.Error(), "rename one of them, or set `as_tool: false` on the function")
		p.Component = "tool " + conflict.Name
		m.problem(p)
	}
	for name, err := range c.ForeignFaults() {
		p := m.pod.Problem(m.toolPath(name), "it is listed, and its arguments are not checked: "+err.Error(), "")
		p.Severity, p.Component = spicepod.Warning, "tool "+name
		m.problem(p)
	}
}

// toolPath is where the Spicepod declares a tool.
func (b *build) toolPath(name string) string {
	for i := range b.pod.Functions {
		if sqltree.Fold(b.pod.Functions[i].Name) == sqltree.Fold(name) {
			return fmt.Sprintf("functions[%d]", i)
		}
	}
	for i := range b.pod.Tools {
		if strings.EqualFold(b.pod.Tools[i].Name, name) {
			return fmt.Sprintf("tools[%d]", i)
		}
	}
	return "tools"
}

// errSearchTests ends a load after which a search would find less than before.
var errSearchTests = errors.New("a search test fails that did not fail before")

// searchTests runs the Spicepod's search tests on a catalog that does not
// serve yet. One that fails is a problem, and refuses a reload if it did not
// fail in the generation that serves.
func (m *maker) searchTests(ctx context.Context, g *Generation) error {
	if len(m.pod.SearchTests) == 0 {
		return nil
	}
	results := m.d.registry.RunSearchTests(ctx, g.Tools, m.pod.SearchTests)
	refused := false
	g.failedSearches = map[string]bool{}
	m.report.SearchTests = results
	for i, r := range results {
		if r.Passed || m.unasked(r.Test.Expect) {
			continue
		}
		key := spicepod.Fingerprint(r.Test)
		g.failedSearches[key] = true
		refused = refused || m.old.Number > 0 && !m.old.failedSearches[key]
		p := m.pod.Problem(fmt.Sprintf("search_tests[%d].expect", i), r.Message, "mend the descriptions of the tools, or the test")
		p.Component = "search test " + r.Test.Query
		m.problem(p)
	}
	if refused {
		return errSearchTests
	}
	return ctx.Err()
}

// baseFunctions are the functions of the runtime itself; declared ones of the
// same name take their place.
func baseFunctions() []*engine.Function { return append(udf.Functions(), registry.Functions()...) }
