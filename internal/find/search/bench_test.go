package search_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/test/full"
)

const (
	devSets    = "../../../../shared/retrieval/dev" // outside of the repository
	many       = 10_000
	dimensions = 384
)

// realTools are tools of the largest development sets, with unique names.
func realTools(t testing.TB, n int) (tools []search.Document, queries []string) {
	t.Helper()
	if _, err := os.Stat(devSets); err != nil {
		t.Skipf("the retrieval sets are not next to the repository: %v", err)
	}
	for _, set := range []string{"mcp_xl", "sealtools", "bfcl", "bfcl_live"} {
		readLines(t, filepath.Join(devSets, set, "tools.jsonl"), func(line []byte) error {
			var d search.Document
			err := json.Unmarshal(line, &d)
			d.Name = fmt.Sprintf("%s_%d", d.Name, len(tools))
			tools = append(tools, d)
			return err
		})
		readLines(t, filepath.Join(devSets, set, "queries.jsonl"), func(line []byte) error {
			var q struct{ Query string }
			err := json.Unmarshal(line, &q)
			queries = append(queries, q.Query)
			return err
		})
	}
	return tools[:min(n, len(tools))], queries
}

func readLines(t testing.TB, path string, each func([]byte) error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
}

// madeTools are tools of generated words, with a realistic frequency distribution.
func madeTools(n int) (tools []search.Document, queries []string) {
	rnd := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rnd, 1.1, 4, 20_000)
	text := func(n int) string {
		list := make([]string, n)
		for i := range list {
			k := zipf.Uint64()
			for range 2 + k%3 {
				list[i] += string("bcdfglmnprst"[k%12]) + string("aeiou"[k/12%5])
				k = k*31 + 7
			}
		}
		return strings.Join(list, " ")
	}
	for i := range n {
		schema := fmt.Sprintf(`{"type":"object","properties":{"%s":{"type":"string","description":"%s"},"%s":{"type":"number","description":"%s"}}}`,
			text(1), text(10), text(1), text(10))
		name := fmt.Sprintf("%s_%d", strings.ReplaceAll(text(3), " ", "_"), i)
		tools = append(tools, search.Document{Name: name, Description: text(30), Parameters: json.RawMessage(schema)})
	}
	for range 200 {
		queries = append(queries, text(12))
	}
	return tools, queries
}

func analyse(tools []search.Document) []*search.Analysis {
	docs := make([]*search.Analysis, len(tools))
	var wait sync.WaitGroup
	cpus := runtime.GOMAXPROCS(0)
	for w := range cpus {
		wait.Go(func() {
			for i := w; i < len(tools); i += cpus {
				docs[i] = search.Analyse(tools[i])
			}
		})
	}
	wait.Wait()
	return docs
}

func randomDense(t testing.TB, n int) (*search.Dense, search.Vector) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 4))
	dense := search.NewDense(dimensions)
	vec := make([]float32, dimensions)
	fill := func() {
		for i := range vec {
			vec[i] = rnd.Float32() - .5
		}
	}
	for range n {
		fill()
		if err := dense.Add(vec); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	query, err := dense.Query(vec)
	if err != nil {
		t.Fatal(err)
	}
	return dense, query
}

func BenchmarkSearch10k(b *testing.B) {
	real, realQueries := func() ([]search.Document, []string) {
		if _, err := os.Stat(devSets); err != nil {
			return nil, nil
		}
		return realTools(b, many)
	}()
	made, madeQueries := madeTools(many)
	for _, c := range []struct {
		name    string
		tools   []search.Document
		queries []string
	}{{"real", real, realQueries}, {"made", made, madeQueries}} {
		if len(c.tools) == 0 {
			continue
		}
		index := search.New(analyse(c.tools), search.Default())
		_, dense := randomDense(b, len(c.tools))
		index.Search(search.Query{Text: "warm", Limit: 1})
		b.Run(c.name+"/dense", func(b *testing.B) { benchmark(b, index, c.queries, func(string) search.Vector { return dense }) })
		b.Run(c.name+"/ngrams", func(b *testing.B) { benchmark(b, index, c.queries, index.NGrams) })
		b.Run(c.name+"/lexical", func(b *testing.B) { benchmark(b, index, c.queries, func(string) search.Vector { return nil }) })
	}
}

func benchmark(b *testing.B, index *search.Index, queries []string, vector func(string) search.Vector) {
	b.ReportAllocs()
	var took []time.Duration
	i := 0
	for b.Loop() {
		text := queries[(i*7919)%len(queries)]
		i++
		began := time.Now()
		index.Search(search.Query{Text: text, Limit: 5, Vector: vector(text)})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkBuild10k(b *testing.B) {
	tools, _ := realTools(b, many)
	b.Run("analyse", func(b *testing.B) {
		for b.Loop() {
			analyse(tools)
		}
	})
	docs := analyse(tools)
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			search.New(docs, search.Default())
		}
	})
	b.Run("new5k", func(b *testing.B) {
		for b.Loop() {
			docs[17] = search.Analyse(tools[17])
			search.New(docs[:5000], search.Default())
		}
	})
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMemory(t *testing.T) {
	full.Need(t, "it makes many catalogs")
	tools, _ := realTools(t, many)
	before := heap()
	docs := analyse(tools)
	read := heap()
	index := search.New(docs, search.Default())
	built := heap()
	dense, _ := randomDense(t, len(tools))
	all := heap()
	runtime.KeepAlive(docs)
	runtime.KeepAlive(index)
	runtime.KeepAlive(dense)
	runtime.KeepAlive(tools)
	const mb = 1 << 20
	t.Logf("analyses %d MB, index %d MB, with vectors %d MB", (read-before)/mb, (built-read)/mb, (all-before)/mb)
	if all-before > 150*mb {
		t.Errorf("%d tools keep %d MB; at most 150", len(tools), (all-before)/mb)
	}
}
