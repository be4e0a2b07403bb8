package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/availability"
	identity "github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// expressions is how many toolsets with an expression the tools are in.
const expressions = 200

// benchAvailability measures the visible tools of callers, and searches over them.
func benchAvailability(ctx context.Context, e *env) ([]row, error) {
	policy, err := madeUpPolicy(e.dir)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(5, 6))
	list := make([]tools.Tool, catalogTools)
	for i := range list {
		d := madeUpTool(random, i)
		if list[i], err = tools.New(tools.Definition{
			Name: fmt.Sprintf("tool_%d", i), Description: d.Description, Parameters: d.Parameters, Source: tools.SourceFunction,
		}, nil); err != nil {
			return nil, err
		}
	}
	catalog, err := registry.NewCatalog(nil, registry.Contents{Tools: list, Search: search.Default(), Availability: registry.Availability{Policy: policy}})
	if err != nil {
		return nil, err
	}
	r := registry.New(registry.Options{})
	defer r.Close()
	r.Publish(catalog)
	scope := func(i int) tools.Scope {
		return tools.Scope{Caller: identity.Caller{SpaceID: fmt.Sprintf("s%d", i%expressions), UserID: fmt.Sprint(i)}}
	}
	var cold, cached, found []float64
	for i := range 400 {
		began := time.Now()
		catalog.Visible(scope(i))
		cold = append(cold, ms(time.Since(began)))
		began = time.Now()
		catalog.Visible(scope(i))
		cached = append(cached, 1000*ms(time.Since(began)))
	}
	for i := range 400 {
		began := time.Now()
		if _, err := r.Search(ctx, registry.SearchRequest{Query: sentence(random, 8), Scope: scope(i % 4)}); err != nil {
			return nil, err
		}
		found = append(found, ms(time.Since(began)))
	}
	return []row{
		{"the visible ones of 10,000 tools by 200 expressions, a new caller, p50", fmt.Sprintf("%.2f ms", median(cold)), "≤ 5 ms"},
		{"the same for a caller seen before, p50", fmt.Sprintf("%.1f µs", median(cached)), "≤ 20 µs"},
		{"search over the visible ones of 10,000 tools, words, p50", fmt.Sprintf("%.2f ms", median(found)), "≤ 2 ms"},
	}, nil
}

// madeUpPolicy has the tools in toolsets, each with an expression.
func madeUpPolicy(dir string) (*availability.Policy, error) {
	var b strings.Builder
	b.WriteString("version: v1\nkind: Spicepod\nname: bench\ntoolsets:\n")
	for i := range expressions {
		var members []string
		for k := i; k < catalogTools; k += expressions {
			members = append(members, fmt.Sprintf("tool_%d", k))
		}
		fmt.Fprintf(&b, "  - { name: set_%d, tools: [%s], available: \"ctx.space_id != null && ctx.space_id != 's%d' && ctx.user_id != 'u%[1]d'\" }\n",
			i, strings.Join(members, ", "), i)
	}
	dir = filepath.Join(dir, "availability")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(b.String()), 0o600); err != nil {
		return nil, err
	}
	pod, err := spicepod.Load(dir)
	if err != nil {
		return nil, err
	}
	policy, problems := availability.Compile(pod, nil)
	if problems.HasErrors() {
		return nil, problems
	}
	return policy, nil
}
