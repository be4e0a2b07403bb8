package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/find/search"
)

const (
	catalogTools = 10_000
	vectorLength = 384
)

// benchSearch measures searches over a catalog of generated tools with texts of
// realistic length.
func benchSearch(context.Context, *env) ([]row, error) {
	random := rand.New(rand.NewPCG(1, 2))
	documents := make([]search.Document, catalogTools)
	for i := range documents {
		documents[i] = madeUpTool(random, i)
	}
	before := heap()
	began := time.Now()
	analyses := make([]*search.Analysis, len(documents))
	forEach(len(documents), func(i int) { analyses[i] = search.Analyse(documents[i]) })
	ix := search.New(analyses, search.Default())
	built := time.Since(began)
	dense := search.NewDense(vectorLength)
	for range documents {
		if err := dense.Add(madeUpVector(random)); err != nil {
			return nil, err
		}
	}
	memory := heap() - before
	var times []float64
	for range 500 {
		q := search.Query{Text: sentence(random, 8), Limit: 5}
		began := time.Now()
		v, err := dense.Query(madeUpVector(random))
		if err != nil {
			return nil, err
		}
		q.Vector = v
		ix.Search(q)
		times = append(times, ms(time.Since(began)))
	}
	runtime.KeepAlive(analyses)
	return []row{
		{"search over 10,000 tools, words and 384-d vectors, p50", fmt.Sprintf("%.2f ms", median(times)), "≤ 2 ms"},
		{"index of 10,000 tools", fmt.Sprintf("%.2f s, %d MB", built.Seconds(), memory>>20), "≤ 2 s, ≤ 150 MB"},
	}, nil
}

// forEach calls f with 0 to n-1 on all CPUs.
func forEach(n int, f func(int)) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error { f(i); return nil })
	}
	_ = group.Wait() // no function returns an error
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func madeUpVector(random *rand.Rand) []float32 {
	v := make([]float32, vectorLength)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v
}

func madeUpTool(random *rand.Rand, i int) search.Document {
	properties := map[string]any{}
	for range 1 + random.IntN(5) {
		properties[word(random)+"_"+word(random)] = map[string]any{"type": "string", "description": sentence(random, 6)}
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
	return search.Document{
		Name:        fmt.Sprintf("%s_%s_%d", word(random), word(random), i),
		Description: sentence(random, 10+random.IntN(25)), Parameters: schema,
	}
}

func sentence(random *rand.Rand, words int) string {
	text := word(random)
	for range words - 1 {
		text += " " + word(random)
	}
	return text
}

// word returns one of a few thousand words; a few of them are much more common.
func word(random *rand.Rand) string {
	const first, middle, last = "bcdfghjklmnprstvwz", "aeiou", "lmnrstx"
	n := int(3000 * random.Float64() * random.Float64() * random.Float64())
	return string([]byte{first[n%18], middle[n/18%5], last[n/90%7], middle[n/630%5], last[(n+3)%7], 'a' + byte(n%26)})
}
