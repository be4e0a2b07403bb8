package embeddings_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func openHash(t testing.TB, params string) embeddings.Model {
	t.Helper()
	m, problem := embeddings.Open(podtest.Load(t, "embeddings: [{name: local, from: 'builtin:hash'"+params+"}]\n"), 0, embeddings.Options{})
	if problem != nil {
		t.Fatal(problem)
	}
	return m
}

func embed(t testing.TB, m embeddings.Model, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// checksum is FNV-1a over the bits of a vector.
func checksum(v []float32) uint64 {
	h := fnv.New64a()
	for _, x := range v {
		bits := math.Float32bits(x)
		h.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
	}
	return h.Sum64()
}

// Stored vectors must stay comparable: a change of these values is a change
// that the changelog must announce.
func TestHashVectorsNeverChange(t *testing.T) {
	for text, want := range golden {
		if got := checksum(embed(t, openHash(t, ""), text)[0]); got != want {
			t.Errorf("%q: 0x%016x, want 0x%016x", text, got, want)
		}
	}
	first := embed(t, openHash(t, ", params: {dimensions: 64}"), "tide tables")[0]
	if diff := cmp.Diff(goldenFirst, first[:8]); diff != "" {
		t.Error(diff)
	}
}

func TestHashVectors(t *testing.T) {
	for params, want := range map[string]int{
		"": 1024, ", params: {dimensions: 64}": 64, ", params: {dimensions: '4096'}": 4096,
		", params: {dimensions: 1000}": 1000,
	} {
		m := openHash(t, params)
		if _, ok := m.(embeddings.Hashing); !ok || m.Name() != "local" || m.Dimensions() != want {
			t.Errorf("%s: %q with %d dimensions", params, m.Name(), m.Dimensions())
		}
		v := embed(t, m, "great-circle distance between two airports")[0]
		if length := math.Sqrt(dot(v, v)); len(v) != want || math.Abs(length-1) > 1e-6 {
			t.Errorf("%s: %d values of length %v", params, len(v), length)
		}
	}
}

func TestTextsWithoutWordsHaveTheZeroVector(t *testing.T) {
	for i, v := range embed(t, openHash(t, ""), "", "  \n", "!?…", "\xff\xfe") {
		if slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
			t.Errorf("text %d has a vector that is not zero", i)
		}
	}
}

func TestAModelIsNoCounterWithoutACount(t *testing.T) {
	_, usage, err := embeddings.EmbedCounted(t.Context(), openHash(t, ""), []string{"", "abcd", "abcde"})
	if want := (embeddings.Usage{PromptTokens: 3, TotalTokens: 3}); err != nil || usage != want {
		t.Errorf("%v, %v", usage, err)
	}
}

func TestHashFindsRelatedTexts(t *testing.T) {
	m := openHash(t, "")
	docs := []string{
		"tool_id: haversine_km description: great-circle distance between two coordinates in kilometres",
		"tool_id: list_datasets description: names of all tables that can be queried",
		"tool_id: store_memory description: remembers a thought for later",
	}
	vectors := embed(t, m, docs...)
	for query, want := range map[string]int{"distances of coordinate pairs": 0, "which table can I query": 1, "remember thoughts": 2, "haversin": 0} {
		q := embed(t, m, query)[0]
		best := 0
		for i := range docs {
			if dot(q, vectors[i]) > dot(q, vectors[best]) {
				best = i
			}
		}
		if best != want {
			t.Errorf("%q finds %q", query, docs[best])
		}
	}
}

func TestHashIsSafeForConcurrentUse(t *testing.T) {
	m := openHash(t, "")
	want := embed(t, m, "a", "b c")
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if diff := cmp.Diff(want, embed(t, m, "a", "b c")); diff != "" {
				t.Error(diff)
			}
		})
	}
	calls.Wait()
}

func TestHashStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openHash(t, "").Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzHash(f *testing.F) {
	m := openHash(f, "")
	for _, text := range []string{"", "a", "great-circle", "naïve Straße 東京 🙂", "\xff", strings.Repeat("x", 300)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := embed(t, m, text, text)
		if !slices.Equal(got[0], got[1]) {
			t.Fatal("equal texts with different vectors")
		}
		if squares := dot(got[0], got[0]); squares != 0 && math.Abs(squares-1) > 1e-5 || math.IsNaN(squares) {
			t.Fatalf("squares sum up to %v (valid UTF-8: %v)", squares, utf8.ValidString(text))
		}
	})
}

func BenchmarkHash(b *testing.B) {
	m := openHash(b, "")
	texts := []string{"tool_id: haversine_km description: great-circle distance between two coordinates in kilometres parameters: lat1 lon1 lat2 lon2"}
	b.SetBytes(int64(len(texts[0])))
	for b.Loop() {
		if _, err := m.Embed(context.Background(), texts); err != nil {
			b.Fatal(err)
		}
	}
}
