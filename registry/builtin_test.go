package registry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// builtinsAnd makes a registry of the built-in tools and some functions, without an
// embedding model and with the one that needs no network.
func builtinsAnd(t *testing.T, functions ...tools.Tool) map[string]*registry.Registry {
	t.Helper()
	list, err := builtin.Load(builtin.Env{}, []string{builtin.DefaultDomain})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, functions...)
	words, _ := start(t, list...)
	hashed, _ := start(t)
	set, problems := embeddings.NewSet(podtest.Load(t, "embeddings: [{name: local, from: 'builtin:hash'}]\n"), embeddings.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	t.Cleanup(func() { set.Close() })
	publish(t, hashed, registry.Contents{Generation: 2, Tools: list, Embeddings: set})
	return map[string]*registry.Registry{"words": words, "hash": hashed}
}

func namesFound(t *testing.T, r *registry.Registry, q registry.SearchRequest) (names []string) {
	t.Helper()
	q.Scope = tools.Scope{}
	found, err := r.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range found.Tools {
		names = append(names, tool.ToolID)
	}
	return names
}

// adders are functions whose descriptions say little.
func adders(t *testing.T) []tools.Tool {
	var list []tools.Tool
	for i := range 25 {
		list = append(list, tool(t, tools.Definition{
			Name: fmt.Sprintf("add_%d", i), Description: fmt.Sprintf("Adds %d to a number.", i),
			Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}`),
		}, nil))
	}
	return list
}

// TestSearchesFindBuiltinTools: of the phrasings in the file, at least 95 % find their tool
// among the first three.
func TestSearchesFindBuiltinTools(t *testing.T) {
	text, err := os.ReadFile("testdata/builtin_searches.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range builtinsAnd(t, adders(t)...) {
		t.Run(name, func(t *testing.T) {
			phrasings := map[string]int{}
			total, missed := 0, 0
			for line := range strings.Lines(string(text)) {
				want, query, ok := strings.Cut(strings.TrimSpace(line), " | ")
				if !ok {
					continue
				}
				phrasings[want]++
				total++
				if got := namesFound(t, r, registry.SearchRequest{Query: query, Limit: 3}); !slices.Contains(got, want) {
					missed++
					t.Logf("%s: %q finds %v", want, query, got)
				}
			}
			if missed*20 > total {
				t.Errorf("%d of %d phrasings do not find their tool", missed, total)
			}
			for _, want := range builtin.Names() {
				if phrasings[want] < 5 {
					t.Errorf("%s has %d phrasings, want 5", want, phrasings[want])
				}
			}
		})
	}
}

// TestQuestionsFindSQL: the first one is the example of the document that the search is
// built from. A statement answers all of them, and no other built-in tool does.
func TestQuestionsFindSQL(t *testing.T) {
	for name, r := range builtinsAnd(t) {
		for _, q := range []registry.SearchRequest{
			{Query: "count distinct values in a column", Keywords: []string{"distinct", "count"}},
			{Query: "how many distinct customers ordered"},
			{Query: "average order value by region"},
		} {
			q.Limit = 3
			if got := namesFound(t, r, q); !slices.Contains(got, "sql") {
				t.Errorf("%s: %q finds %v, want sql among them", name, q.Query, got)
			}
		}
	}
}

// TestWordOfNameFindsFunctions: `add` finds functions of that name before built-in tools
// whose descriptions have a similar word.
func TestWordOfNameFindsFunctions(t *testing.T) {
	for name, r := range builtinsAnd(t, adders(t)...) {
		for _, got := range namesFound(t, r, registry.SearchRequest{Query: "add", Limit: 20}) {
			if !strings.HasPrefix(got, "add_") {
				t.Errorf("%s: found %s among the first 20", name, got)
			}
		}
	}
}
