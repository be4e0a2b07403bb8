package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/udf"
)

// makeTools makes the tools and models of g.
func (a *attempt) makeTools(g *Generation) (err error) {
	agents := &models.Agents{}
	if g.Tools, err = a.catalog(g, agents); err != nil {
		return err
	}
	a.report.tools = g.Tools.Len()
	a.checkPinned(g)
	a.makeModels(g, agents)
	if a.strict && a.report.Problems.HasErrors() {
		return errStrict
	}
	return nil
}

// checkPinned warns about pinned tools that are not there: neither declared, nor of a server
// whose tools are not known yet.
func (a *attempt) checkPinned(g *Generation) {
	for i, name := range a.pod.Runtime.MCP.PinnedTools {
		if g.Tools.Get(name) != nil || a.pod.ToolPath(name) != "" || a.unasked(name) {
			continue
		}
		var names []string
		for _, def := range g.Tools.All() {
			names = append(names, def.Name)
		}
		p := a.pod.Problem(fmt.Sprintf("runtime.mcp.pinned_tools[%d]", i), fmt.Sprintf("there is no tool %q to pin", name),
			nearest.Hint(name, names, "spiced.tools lists the tools"))
		p.Severity = spicepod.Warning
		a.problem(p)
	}
}

// catalog returns the tools of g.
func (a *attempt) catalog(g *Generation, agents *models.Agents) (*registry.Catalog, error) {
	t := a.pod.Runtime.Tools
	g.tools = udf.NewToolSet(query.ToolDB{DB: a.s.DB()}, a.set, udf.ToolOptions{
		Traits: a.traits.of, Reads: a.traits.readsOf, Version: a.s.dataVersion, Results: a.s.results, Batch: a.s.db.Batch,
		Trials: &a.s.tools.trials, Documents: t.Documents,
	}, a.old.tools)
	contents := registry.Contents{
		Generation: g.Number, Embeddings: a.build.embeddings, EmbeddingModel: t.EmbeddingModel,
		EmbeddingTimeout: t.Search.EmbeddingTimeout,
		Search:           search.Of(t.Search), Functions: owners(a.set), Hidden: a.hidden(g),
	}
	if l := tools.DeclaredLimits(t.Limits); l != nil {
		contents.Limits = *l
	}
	agentTools, err := agents.Tools(a.pod)
	if err != nil {
		return nil, err
	}
	// The first of a name is taken: what the Spicepod declares precedes what servers list.
	builtins := a.checkDocuments(a.builtins)
	contents.Tools = slices.Concat(builtins, g.tools.Tools, a.waitingTools(), agentTools, a.serverTools())
	undescribed := a.requireDescriptions(&contents)
	contents.Owned = models.OwnedTools(a.pod)
	contents.Pending = pendingTools(a.servers, undescribed)
	contents.Finding = func() bool { return slices.ContainsFunc(a.servers, (*mcpclient.Server).Connecting) }
	contents.Availability = a.availability()
	contents.NextTools = t.NextTools
	contents.Approvals = registry.Approvals{Limits: approval.LimitsOf(t), Wait: t.ApprovalWait}
	catalog, err := registry.NewCatalog(a.old.Tools, contents)
	if err != nil {
		return nil, err
	}
	a.conflicts(catalog)
	a.checkToolsets(catalog)
	a.checkWebSearch(catalog)
	a.checkExamples(catalog)
	return catalog, nil
}

// requireDescriptions leaves tools without a description out of the catalog, if the Spicepod
// requires one: see decision 0086. It returns those of MCP servers.
func (a *attempt) requireDescriptions(c *registry.Contents) (ofServers []string) {
	if a.pod.Runtime.Tools.Descriptions != spicepod.DescriptionsRequired {
		return nil
	}
	c.Tools = slices.DeleteFunc(c.Tools, func(t tools.Tool) bool {
		d := t.Definition()
		if strings.TrimSpace(d.Description) != "" {
			return false
		}
		const reason = "it has no description, which runtime.tools.descriptions requires: models choose tools by it"
		hint := "write a `description` of what it does and what it returns, or `as_tool: false` for a function of SQL alone"
		if strings.HasPrefix(d.Source, "mcp:") {
			ofServers = append(ofServers, sqltree.Fold(d.Name))
			hint = "describe it at its server, or write `runtime: {tools: {descriptions: optional}}`"
		}
		server, _, _ := strings.Cut(d.Name, "__")
		path := cmp.Or(a.pod.ToolPath(d.Name), a.pod.ToolPath(server), "tools")
		p := a.pod.KeyProblem(path+".name", "not offered: "+reason, hint)
		p.Component = "tool " + d.Name
		a.problem(p)
		if d.Source == tools.SourceFunction {
			c.Hidden = append(c.Hidden, registry.Hidden{Name: d.Name, Stage: registry.StageAsTool, Reason: reason})
		}
		return true
	})
	return ofServers
}

// owners returns the owners of the functions of the Spicepod, by function.
func owners(set *functions.Set) map[string]string {
	m := make(map[string]string, set.Len())
	for _, f := range set.Declared() {
		m[f.Name] = tools.OwnerRuntime
		if f.Declared.Owner != "" {
			m[f.Name] = f.Declared.Owner
		}
	}
	return m
}

// serverTools returns the tools of the MCP servers.
func (b *build) serverTools() []tools.Tool {
	var list []tools.Tool
	for _, s := range b.servers {
		list = append(list, s.Tools()...)
	}
	return list
}

// hidden returns what is declared and is not a tool.
func (a *attempt) hidden(g *Generation) []registry.Hidden {
	var list []registry.Hidden
	for _, n := range g.tools.NoTools {
		list = append(list, registry.Hidden{Name: n.Name, Stage: registry.StageAsTool, Reason: n.Reason})
	}
	for i := range a.pod.Functions {
		f := &a.pod.Functions[i]
		if a.set.Get(f.Name) != nil || a.waiting.functions[sqltree.Fold(f.Name)] != nil {
			continue
		}
		if reason := disabled(a.pod, f); reason != "" {
			list = append(list, registry.Hidden{Name: f.Name, Stage: registry.StageEnabled, Reason: reason})
			continue
		}
		list = append(list, registry.Hidden{
			Name: f.Name, Stage: registry.StageLoaded,
			Reason: faultOf(a.build, "function "+f.Name),
		})
	}
	for _, name := range builtin.Names() {
		if definition(a.builtins, name) != nil { // a caller who does not see it gets no reason
			continue
		}
		list = append(list, registry.Hidden{
			Name: name, Stage: registry.StageEnabled,
			Reason: fmt.Sprintf("it is in none of the enabled domains: %s", strings.Join(a.s.tools.domains, ", ")),
		})
	}
	return list
}

// faultOf returns the first problem of a component.
func faultOf(b *build, component string) string {
	for _, p := range b.report.Problems {
		if p.Component == component {
			p.Message = fault.WithoutRoots(p.Message, b.s.db.roots)
			return p.Located()
		}
	}
	return "it has a fault"
}

// conflicts reports tools that are left out because their names are taken.
func (a *attempt) conflicts(c *registry.Catalog) {
	for _, conflict := range c.Conflicts {
		path := cmp.Or(a.pod.ToolPath(conflict.Name), "tools")
		p := a.pod.KeyProblem(path+".name", conflict.Error(), "rename one of them, or set `as_tool: false` on the function")
		p.Component = "tool " + conflict.Name
		a.problem(p)
	}
	for name, err := range c.ForeignFaults() {
		p := a.pod.Problem(cmp.Or(a.pod.ToolPath(name), "tools"), "its arguments are not checked: "+err.Error(), "")
		p.Severity, p.Component = spicepod.Warning, "tool "+name
		a.problem(p)
	}
}

// errSearchTests refuses a load after which a search would find less.
var errSearchTests = errors.New("a search test fails that did not fail before")

// searchTests runs the Spicepod's search tests on the new catalog before it is
// in service. A failure is a problem; it refuses a reload if the test passed in
// the current generation.
func (a *attempt) searchTests(ctx context.Context, g *Generation) error {
	if len(a.pod.SearchTests) == 0 {
		return nil
	}
	results := a.s.tools.registry.RunSearchTests(ctx, g.Tools, a.pod.SearchTests)
	refused := false
	g.failedSearches = map[string]bool{}
	a.report.SearchTests = results
	for i, r := range results {
		results[i].Position = a.pod.At(fmt.Sprintf("search_tests[%d].expect", i))
		if r.Passed || a.unasked(r.Test.Expect) {
			continue
		}
		if r.Degraded {
			p := a.pod.Problem(fmt.Sprintf("search_tests[%d].expect", i),
				"not judged, because the embedding model could not be asked: "+r.Message, "")
			p.Severity, p.Component = spicepod.Warning, "search test "+r.Test.Query
			a.problem(p)
			continue
		}
		key := spicepod.Fingerprint(r.Test)
		g.failedSearches[key] = true
		refused = refused || a.report.Trigger != triggerLoaded && a.old.Number > 0 && !a.old.failedSearches[key]
		p := a.pod.Problem(fmt.Sprintf("search_tests[%d].expect", i), r.Message, r.Hint)
		p.Component = "search test " + r.Test.Query
		if r.Waits != "" {
			p = p.Waits("function "+r.Waits, "expects")
		}
		a.problem(p)
	}
	if refused {
		return errSearchTests
	}
	return ctx.Err()
}

// unasked reports whether a tool belongs to an MCP server whose tools are not known:
// the runtime is offline, or does not have the first answer of the server.
func (b *build) unasked(tool string) bool {
	server, _, _ := strings.Cut(strings.ReplaceAll(tool, "/", "__"), "__")
	return slices.ContainsFunc(b.pod.Tools, func(t spicepod.Tool) bool {
		return t.Server() && strings.EqualFold(t.Name, server) && (b.s.tools.offline || connecting(b.servers, server))
	})
}

// connecting reports whether the first attempt to reach an MCP server runs.
func connecting(servers []*mcpclient.Server, server string) bool {
	return slices.ContainsFunc(servers, func(s *mcpclient.Server) bool {
		return sqltree.Fold(s.Name()) == sqltree.Fold(server) && s.Connecting()
	})
}

// hasTool reports whether an MCP server has a tool of that name, which no catalog may have yet.
func hasTool(servers []*mcpclient.Server, server, name string) bool {
	name = strings.ReplaceAll(name, "/", "__")
	return slices.ContainsFunc(servers, func(s *mcpclient.Server) bool {
		return sqltree.Fold(s.Name()) == sqltree.Fold(server) && slices.ContainsFunc(s.Tools(), func(t tools.Tool) bool {
			return sqltree.Fold(t.Definition().Name) == sqltree.Fold(name)
		})
	})
}

// pendingTools is [registry.Contents.Pending] of these servers. Their tools that the
// Spicepod leaves out, by folded name, are not there.
func pendingTools(servers []*mcpclient.Server, leftOut []string) func(name string) *tools.Error {
	return func(name string) *tools.Error {
		server, _, found := strings.Cut(strings.ReplaceAll(name, "/", "__"), "__")
		switch {
		case !found, slices.Contains(leftOut, sqltree.Fold(strings.ReplaceAll(name, "/", "__"))):
			return nil
		case connecting(servers, server):
			return tools.NewError(errcode.Loading,
				fmt.Sprintf("MCP server %q is being connected, and its tools are not known yet", server), "try again in a moment")
		case hasTool(servers, server, name):
			return tools.NewError(errcode.Loading,
				fmt.Sprintf("MCP server %q has been connected, and its tools are being loaded", server), "try again in a moment")
		}
		if why := neverAnswered(servers, server); why != "" {
			return tools.NewError(errcode.ToolUnavailable, why, "")
		}
		return nil
	}
}

// neverAnswered returns why a server is unavailable whose tools are not known, or "".
func neverAnswered(servers []*mcpclient.Server, server string) string {
	for _, s := range servers {
		if sqltree.Fold(s.Name()) == sqltree.Fold(server) && len(s.Tools()) == 0 {
			return s.Unavailable()
		}
	}
	return ""
}
