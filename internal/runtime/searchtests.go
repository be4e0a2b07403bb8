package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

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
		if r.Passed || a.unasked(r.Test.Expect) {
			continue
		}
		key := spicepod.Fingerprint(r.Test)
		g.failedSearches[key] = true
		refused = refused || a.old.Number > 0 && !a.old.failedSearches[key]
		p := a.pod.Problem(fmt.Sprintf("search_tests[%d].expect", i), r.Message, "fix the descriptions of the tools, or the test")
		p.Component = "search test " + r.Test.Query
		a.problem(p)
	}
	if refused {
		return errSearchTests
	}
	return ctx.Err()
}

// unasked reports whether a tool belongs to an MCP server that is not asked,
// because the runtime is offline.
func (b *build) unasked(tool string) bool {
	server, _, _ := strings.Cut(strings.ReplaceAll(tool, "/", "__"), "__")
	return b.s.tools.offline && slices.ContainsFunc(b.pod.Tools, func(t spicepod.Tool) bool {
		return t.Scheme() == schemeMCP && strings.EqualFold(t.Name, server)
	})
}
