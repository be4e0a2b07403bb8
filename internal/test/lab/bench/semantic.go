package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/eval"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// semanticModel is the embedding that the documentation recommends.
const semanticModel = "builtin:semantic"

// idleRounds is how often the memory of a small Spicepod is measured.
const idleRounds = 5

// largestSets are the development sets with the most tools.
var largestSets = []string{"mcp_xl", "sealtools", "bfcl", "bfcl_live"}

// benchSemantic measures tool_search with builtin:semantic, and what it adds to a start.
func benchSemantic(ctx context.Context, e *env) ([]row, error) {
	found, err := searchLarge(ctx)
	if err != nil {
		return nil, err
	}
	started, err := startSemantic(ctx, e)
	return append(found, started...), err
}

// searchLarge searches a large catalog through the registry.
func searchLarge(ctx context.Context) ([]row, error) {
	list, queries, from, err := largeCatalog()
	if err != nil {
		return nil, err
	}
	vectors, problems := embeddings.NewSet(&spicepod.Pod{Embeddings: []spicepod.Embedding{{Name: "local", From: semanticModel}}}, embeddings.Options{})
	if problems.HasErrors() {
		return nil, problems
	}
	catalog, err := registry.NewCatalog(nil, registry.Contents{Tools: list, Embeddings: vectors, Search: search.Default()})
	if err != nil {
		return nil, err
	}
	r := registry.New(registry.Options{})
	defer r.Close()
	r.Publish(catalog)
	find := func(query string) (time.Duration, error) {
		began := time.Now()
		found, err := r.Search(ctx, registry.SearchRequest{Query: query})
		if err == nil && found.SearchMode != registry.ModeHybrid {
			err = fmt.Errorf("the search mode is %s: %v", found.SearchMode, found.Notices)
		}
		return time.Since(began), err
	}
	before := heap()
	first, err := find(queries[0]) // it reads the table, and makes the index and the vectors
	if err != nil {
		return nil, err
	}
	memory := heap() - before
	var times []float64
	for _, q := range queries[1:] {
		took, err := find(q)
		if err != nil {
			return nil, err
		}
		times = append(times, ms(took))
	}
	runtime.KeepAlive(list)
	return []row{
		{fmt.Sprintf("tool_search over 10,000 tools%s with %s, p50 of %d queries", from, semanticModel, len(times)), fmt.Sprintf("%.2f ms", median(times)), "≤ 2 ms"},
		{"the same: reading the table, making the index and the vectors", fmt.Sprintf("%.2f s, %d MB", first.Seconds(), memory>>20), "≤ 2 s, ≤ 60 MB"},
	}, nil
}

// largeCatalog returns tools of the largest development sets with some of their queries, or
// generated ones.
func largeCatalog() (list []tools.Tool, queries []string, from string, err error) {
	random := rand.New(rand.NewPCG(7, 8))
	var documents []search.Document
	for _, name := range largestSets {
		set, err := eval.Load(filepath.Join(filepath.Dir(developmentSets), name))
		if os.IsNotExist(err) {
			break
		}
		if err != nil {
			return nil, nil, "", err
		}
		documents, from = append(documents, set.Tools...), " of the development sets"
		for _, q := range set.Queries {
			queries = append(queries, q.Text)
		}
	}
	for i := len(documents); i < catalogTools; i++ {
		documents = append(documents, madeUpTool(random, i))
	}
	for range 1000 - len(queries) {
		queries = append(queries, sentence(random, 8))
	}
	random.Shuffle(len(queries), func(i, k int) { queries[i], queries[k] = queries[k], queries[i] })
	for i, d := range documents[:catalogTools] {
		name := toolName(d.Name)
		name = fmt.Sprintf("%s_%d", name[:min(len(name), tools.MaxName-len("_9999"))], i)
		t, err := tools.New(tools.Definition{
			Name: name, Description: d.Description, Parameters: d.Parameters, Source: tools.SourceFunction,
		}, nothing)
		if err != nil {
			return nil, nil, "", err
		}
		list = append(list, t)
	}
	return list, queries[:1000], from, nil
}

// startSemantic starts a small Spicepod with builtin:hash and with builtin:semantic in turn.
func startSemantic(ctx context.Context, e *env) ([]row, error) {
	start := func(model string, memory *[]float64) func() (float64, error) {
		return func() (float64, error) {
			text := fmt.Sprintf("embeddings: [{name: local, from: '%s'}]\n%s", model, functions)
			dir, err := e.write(ctx, pod{name: "semantic", text: text})
			if err != nil {
				return 0, err
			}
			s, err := e.serveFolder(ctx, dir) // a search before it is ready would read the table meanwhile
			if err != nil {
				return 0, err
			}
			defer s.stop()
			took, err := s.firstAnswer(ctx, "/v1/tools:search", `{"query":"haversine distance in km"}`, "haversine_km")
			if err != nil || len(*memory) == idleRounds {
				return ms(took), err
			}
			resident, err := s.settled(ctx)
			*memory = append(*memory, float64(resident)/(1<<20))
			return ms(took), err
		}
	}
	var hashMemory, semanticMemory []float64
	hash, semantic, _, err := alternate(firstRounds, start("builtin:hash", &hashMemory), start(semanticModel, &semanticMemory))
	if err != nil {
		return nil, err
	}
	return []row{{
		fmt.Sprintf("a small Spicepod with %s : with builtin:hash (%.0f ms, %.0f MB), start of the process to the first tool_search's answer, median of %d; "+
			"resident memory when idle, median of %d", semanticModel, hash, median(hashMemory), firstRounds, idleRounds),
		fmt.Sprintf("%+.0f ms, %+.1f MB", semantic-hash, median(semanticMemory)-median(hashMemory)), "≤ +30 ms, ≤ +10 MB",
	}}, nil
}
