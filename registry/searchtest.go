package registry

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// SearchTestResult is the result of one search test.
type SearchTestResult struct {
	Test spicepod.SearchTest
	// Position is that of the test, if the caller of RunSearchTests sets it.
	Position spicepod.Position
	Passed   bool
	Rank     int    // of the expected tool; 0 if it was not found
	Message  string // why it failed
	Hint     string // what to do about it
	// Degraded means that the search did without the embedding model, so that a
	// failure says little about the tools.
	Degraded bool
	Waits    string // the function that it expects, which has a fault; "" otherwise
}

// searchTestWait is how long the search tests of a load wait for the vectors of the tools.
const searchTestWait = 10 * time.Second

// RunSearchTests runs the search tests on c and returns one result for each.
func (r *Registry) RunSearchTests(ctx context.Context, c *Catalog, tests []spicepod.SearchTest) []SearchTestResult {
	results := make([]SearchTestResult, len(tests))
	for i, t := range tests {
		results[i] = r.runSearchTest(ctx, c, t)
	}
	return results
}

func (r *Registry) runSearchTest(ctx context.Context, c *Catalog, t spicepod.SearchTest) SearchTestResult {
	result := SearchTestResult{Test: t, Hint: "fix the descriptions of the tools, or the test"}
	expected := c.get(t.Expect)
	if expected == nil {
		if h := c.hidden(t.Expect); h != nil && h.Stage == StageLoaded { // the load says why
			result.Message, result.Waits = fmt.Sprintf("it expects %q, which has a fault", t.Expect), h.Name
			return result
		}
		err := c.notFound(t.Expect, tools.Scope{Unrestricted: true})
		result.Message = "it expects " + strings.TrimPrefix(err.Error(), "there is no ") + ", which is not a tool"
		if err.Hint != "" {
			result.Message = fmt.Sprintf("it expects %q, which is not a tool; %s", t.Expect, err.Hint)
		}
		return result
	}
	q := SearchRequest{
		Query: t.Query, Keywords: t.Keywords, Limit: MaxLimit, Catalog: c, Explain: true, Unlearned: true,
		Wait: searchTestWait, Scope: tools.Scope{Unrestricted: true},
	}
	found, err := r.Search(ctx, q)
	if err != nil {
		result.Message = err.Error()
		return result
	}
	result.Degraded = found.Degraded
	var before []string
	for i, tool := range found.Tools {
		if tool.ToolID == expected.def.Name {
			result.Rank = i + 1
			break
		}
		before = append(before, tool.ToolID)
	}
	result.Passed = result.Rank > 0 && result.Rank <= t.Top
	if !result.Passed {
		first := strings.Join(before[:min(len(before), t.Top)], ", ")
		where := "it is not found; the search finds " + cmp.Or(first, "no tool")
		if result.Rank > 0 {
			where = fmt.Sprintf("it has rank %d, after %s", result.Rank, first)
		}
		result.Message = fmt.Sprintf("a search for %q must find %s among the first %d; %s",
			t.Query, expected.def.Name, t.Top, where)
	}
	return result
}
