package embeddings_test

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
)

func TestAnswers(t *testing.T) {
	nan := base64.StdEncoding.EncodeToString([]byte{0, 0, 0xC0, 0x7F})
	cases := []struct{ name, body, want string }{
		{"float", `{"data":[{"index":1,"embedding":[3,-4e-1]},{"index":0,"embedding":[ 1.5 , 2 ]}]}`, ""},
		{"base64", `{"data":[{"index":0,"embedding":"AADAPwAAAEA="},{"index":1,"embedding":[3,-0.4]}]}`, ""},
		{"no index", `{"data":[{"embedding":[1.5,2]},{"embedding":[3,-0.4]}]}`, ""},
		{"too few", `{"data":[{"index":0,"embedding":[1,2]}]}`, "the provider returned 1 embeddings for 2 texts"},
		{"none", `{}`, "the provider returned 0 embeddings for 2 texts"},
		{"error", `{"error":{"message":"out of memory"}}`, "out of memory"},
		{"twice", `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[2]}]}`, "index 1 twice"},
		{"beyond", `{"data":[{"index":2,"embedding":[1]},{"index":1,"embedding":[2]}]}`, "index 2 for 2 texts"},
		{"negative", `{"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[2]}]}`, "index -1 for 2 texts"},
		{"lengths", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[2,3]}]}`, "2 dimensions at index 1, but 1 elsewhere"},
		{"empty", `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, "an embedding is empty"},
		{"missing", `{"data":[{"index":0},{"index":1}]}`, "no embedding at index 0"},
		{"null", `{"data":[{"index":0,"embedding":null},{"index":1,"embedding":[1]}]}`, "neither an array nor base64"},
		{"null inside", `{"data":[{"index":0,"embedding":[1,null]},{"index":1,"embedding":[1,2]}]}`, "element 1 of an embedding is not a number"},
		{"nested", `{"data":[{"index":0,"embedding":[[1]]},{"index":1,"embedding":[1]}]}`, "element 0 of an embedding is not a number"},
		{"NaN as text", `{"data":[{"index":0,"embedding":["NaN"]},{"index":1,"embedding":[1]}]}`, "element 0 of an embedding is not a number"},
		{"too large", `{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1]}]}`, "that float32 can hold"},
		{"NaN", `{"data":[{"index":0,"embedding":"` + nan + `"},{"index":1,"embedding":[1]}]}`, "not a finite number"},
		{"bad base64", `{"data":[{"index":0,"embedding":"!"},{"index":1,"embedding":[1]}]}`, "not base64"},
		{"short base64", `{"data":[{"index":0,"embedding":"AAA="},{"index":1,"embedding":[1]}]}`, "2 bytes is not a sequence"},
		{"empty base64", `{"data":[{"index":0,"embedding":""},{"index":1,"embedding":[1]}]}`, "0 bytes is not a sequence"},
		{"no JSON", `<html>`, "not JSON from byte 1 on; check params.endpoint"},
		{"list", `[]`, "it has a JSON array"},
		{"long", `{"data":[{"embedding":[1` + strings.Repeat(",1", embeddings.MaxDimensions) + `]},{}]}`, "more than 16384 dimensions"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t, text(200, c.body))
			got, err := p.open(t, "").Embed(t.Context(), []string{"a", "b"})
			if c.want != "" {
				if e := failure(t, err); !strings.Contains(e.Error(), c.want) || e.Retryable || len(p.sent()) != 1 {
					t.Errorf("%v\nwant %s", e, c.want)
				}
				return
			}
			if diff := cmp.Diff([][]float32{{1.5, 2}, {3, -0.4}}, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for usage, want := range map[string]embeddings.Usage{
		`{"prompt_tokens":5,"total_tokens":9}`: {PromptTokens: 5, TotalTokens: 9},
		`{"prompt_tokens":5}`:                  {PromptTokens: 5, TotalTokens: 5},
		`{"total_tokens":5}`:                   {PromptTokens: 5, TotalTokens: 5},
		`null`:                                 {PromptTokens: 3, TotalTokens: 3},
		`{}`:                                   {PromptTokens: 3, TotalTokens: 3},
		`{"prompt_tokens":-5}`:                 {PromptTokens: 3, TotalTokens: 3},
		`"many"`:                               {PromptTokens: 3, TotalTokens: 3},
	} {
		p := newProvider(t, text(200, `{"data":[{"embedding":[1]},{"embedding":[1]}],"usage":`+usage+`}`))
		_, got, err := embeddings.EmbedCounted(t.Context(), p.open(t, ""), []string{"12345", "a"})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", usage, got, err, want)
		}
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1,2e-3]},{"index":0,"embedding":"AADAPwAAAEA="}],"usage":{"prompt_tokens":1}}`), 2)
	f.Add([]byte(`{"data":[{"embedding":[null]}]}`), 1)
	f.Add([]byte(`{"error":{"message":"x","code":1}}`), 1)
	f.Fuzz(func(t *testing.T, body []byte, texts int) {
		texts = max(0, min(texts, 8))
		vectors, usage, err := embeddings.DecodeAnswer(body, texts)
		if err != nil {
			return
		}
		if len(vectors) != texts || usage.PromptTokens < 0 || usage.TotalTokens < usage.PromptTokens {
			t.Fatalf("%d vectors for %d texts, usage %v", len(vectors), texts, usage)
		}
		for _, v := range vectors {
			if len(v) == 0 || len(v) != len(vectors[0]) || len(v) > embeddings.MaxDimensions {
				t.Fatalf("%d dimensions next to %d", len(v), len(vectors[0]))
			}
			for _, x := range v {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("value %v", x)
				}
			}
		}
	})
}
