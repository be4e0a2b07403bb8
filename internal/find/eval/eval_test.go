package eval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/eval"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/test/full"
)

func write(t testing.TB, name, tools, queries string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"tools.jsonl": tools, "queries.jsonl": queries} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t testing.TB, name, tools, queries string) *eval.Set {
	t.Helper()
	s, err := eval.Load(write(t, name, tools, queries))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	mailTools = `{"name":"send_mail","description":"Send a mail."}
{"name":"read_mail","description":"Read new mails.","parameters":{"type":"object"}}

{"name":"delete_mail","description":"Delete a mail.","tags":["post"]}
`
	mailQueries = `{"id":"1","query":"send a mail to Anna","relevant":["send_mail"],"kind":"x"}
{"id":"2","query":"read my mails, then delete the mails","relevant":["read_mail","delete_mail"]}
{"id":"3","query":"zzzz","relevant":["read_mail"]}
`
	mapTools = "{\"name\":\"route\",\"description\":\"Plans the way between two cities.\"}\n{\"name\":\"geocode\",\"description\":\"Finds the coordinates " +
		"of a street.\"}\n"
	mapQueries = "{\"id\":\"1\",\"query\":\"the way between Rome and Pisa\",\"relevant\":[\"route\"]}\n"
)

func options() eval.Options { return eval.Options{Settings: search.Default()} }

func TestRun(t *testing.T) {
	report, rankings, err := load(t, "mail", mailTools, mailQueries).Run(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	want := eval.Report{Set: "mail", Tools: 3, Queries: 3, NDCG10: 200. / 3, R1: 50, R5: 200. / 3, R10: 200. / 3, MRR: 200. / 3, Hit5: 200. / 3}
	if diff := cmp.Diff(want, report, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("%s\n%v", diff, rankings)
	}
	var out strings.Builder
	if err := eval.WriteRun(&out, rankings[2:]); err != nil || out.String() != `{"id":"3","tools":[]}`+"\n" {
		t.Errorf("wrote %q, error %v", out.String(), err)
	}
}

func TestWriteTable(t *testing.T) {
	var out strings.Builder
	reports := []eval.Report{{Set: "a", Tools: 3, Queries: 2, NDCG10: 50, R1: 25, R5: 100, R10: 100, MRR: 62.25, Hit5: 100}, {Set: "b", Tools: 1, Queries: 1}}
	if err := eval.WriteTable(&out, reports); err != nil {
		t.Fatal(err)
	}
	want := `| set | tools | queries | nDCG@10 | R@1 | R@5 | R@10 | MRR@10 | hit@5 |
|---|---|---|---|---|---|---|---|---|
| a | 3 | 2 | 50.0 | 25.0 | 100.0 | 100.0 | 62.2 | 100.0 |
| b | 1 | 1 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 |
| **mean** | | | **25.0** | **12.5** | **50.0** | **50.0** | **31.1** | **50.0** |
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ about, tools, queries, want string }{
		{"no JSON", "{\n", mailQueries, "tools.jsonl:1"},
		{"no name", mailTools + "{}\n", mailQueries, `tools.jsonl:5: "name" is missing`},
		{"a name twice", mailTools + `{"name":"send_mail"}`, mailQueries, `tools.jsonl:5: tool "send_mail" is defined twice`},
		{"a wrong type", `{"name":1}`, mailQueries, "tools.jsonl:1"},
		{"no id", mailTools, `{"query":"a","relevant":["send_mail"]}`, `queries.jsonl:1: "id" is missing`},
		{"an id twice", mailTools, mailQueries + mailQueries, `queries.jsonl:4: query "1" is defined twice`},
		{"no query", mailTools, `{"id":"1","relevant":["send_mail"]}`, `queries.jsonl:1: "query" is missing`},
		{"no answer", mailTools, `{"id":"1","query":"a"}`, `queries.jsonl:1: "relevant" is empty`},
		{"an unknown answer", mailTools, `{"id":"1","query":"a","relevant":["b"]}`, `queries.jsonl:1: relevant tool "b" is not in tools.jsonl`},
		{"a line too long", `{"name":"` + strings.Repeat("x", 5<<20) + `"}`, mailQueries, "tools.jsonl:1"},
	} {
		t.Run(c.about, func(t *testing.T) {
			_, err := eval.Load(write(t, "bad", c.tools, c.queries))
			if !errors.Is(err, eval.ErrSet) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := eval.Load(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of an empty folder Load returned %v", err)
	}
}

// fake is a model that embeds with a function.
type fake struct {
	embeddings.Model
	embed func(ctx context.Context, texts []string) ([][]float32, error)
}

func (f fake) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f.embed(ctx, texts)
}

// embedder counts letters, which is enough for three tools.
func embedder(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, 26)
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				out[i][r-'a']++
			}
		}
	}
	return out, nil
}

func TestEmbed(t *testing.T) {
	o := options()
	o.Model = fake{embed: embedder}
	o.Settings.FullText, o.Settings.NGrams, o.Settings.Keyword, o.Settings.Schema = 0, 0, 0, 0
	report, _, err := load(t, "mail", mailTools, strings.Replace(mailQueries, "zzzz", "new mails", 1)).Run(t.Context(), o)
	if err != nil || report.R10 != 100 {
		t.Errorf("by vectors alone everything is found, got %+v, error %v", report, err)
	}
	broken := errors.New("no model")
	for about, embed := range map[string]func(context.Context, []string) ([][]float32, error){
		"an error":        func(context.Context, []string) ([][]float32, error) { return nil, broken },
		"too few vectors": func(context.Context, []string) ([][]float32, error) { return nil, nil },
		"NaN": func(_ context.Context, texts []string) ([][]float32, error) {
			return fixed(texts, float32(math.NaN())), nil
		},
		"another dimension": func(_ context.Context, texts []string) ([][]float32, error) {
			return fixed(texts, make([]float32, len(texts))...), nil
		},
	} {
		o.Model = fake{embed: embed}
		if _, _, err := load(t, "mail", mailTools, mailQueries[:strings.Index(mailQueries, "\n")]).Run(t.Context(), o); err == nil {
			t.Errorf("%s of the model is no error", about)
		}
	}
}

func fixed(texts []string, vec ...float32) [][]float32 {
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = vec
	}
	return out
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := load(t, "mail", mailTools, mailQueries).Run(ctx, options()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestLeaveOneOut(t *testing.T) {
	sets := []*eval.Set{load(t, "mail", mailTools, mailQueries), load(t, "again", mailTools, mailQueries), load(t, "map", mapTools, mapQueries)}
	deaf := options()
	deaf.Settings = search.Settings{K: 1, Depth: 1}
	got, err := eval.LeaveOneOut(t.Context(), sets, []eval.Candidate{{Name: "deaf", Options: deaf}, {Name: "default", Options: options()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if r.Chosen != "default" || r.NDCG10 == 0 {
			t.Errorf("set %s was searched with %q: %+v", r.Set, r.Chosen, r.Report)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d sets, want 3", len(got))
	}
}

func TestAbstain(t *testing.T) {
	sets := []*eval.Set{load(t, "mail", mailTools, strings.Replace(mailQueries, "zzzz", "new mails", 1)), load(t, "map", mapTools, mapQueries)}
	got, err := eval.Abstain(t.Context(), sets, options(), []float64{0, .1, 99})
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Abstention{{0, 0, 0}, {.1, 0, 100}, {99, 100, 100}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestScorerAgrees compares the figures with those of the scorer published with the
// sets.
func TestScorerAgrees(t *testing.T) {
	full.Need(t, "it compiles the scorer")
	scorer := filepath.Join(filepath.Dir(devSets), "score.go")
	if _, err := os.Stat(scorer); err != nil {
		t.Skipf("score.go, which came with the retrieval sets, is not next to the repository: %v", err)
	}
	for _, name := range []string{"apibank", "livemcp"} {
		s, err := eval.Load(filepath.Join(devSets, name))
		if err != nil {
			t.Fatal(err)
		}
		r, rankings, err := s.Run(t.Context(), options())
		if err != nil {
			t.Fatal(err)
		}
		var run bytes.Buffer
		if err := eval.WriteRun(&run, rankings); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "run.jsonl")
		if err := os.WriteFile(path, run.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "go", "run", scorer, "-set", filepath.Join(devSets, name), "-run", path).CombinedOutput()
		want := fmt.Sprintf("%s queries %d  R@1 %.1f  R@5 %.1f  R@10 %.1f  MRR@10 %.1f  nDCG@10 %.1f\n", r.Set, r.Queries, r.R1, r.R5, r.R10, r.MRR, r.NDCG10)
		if err != nil || string(out) != want {
			t.Errorf("the scorer says %q, error %v; we say %q", out, err, want)
		}
	}
}

// FuzzLoad loads any input as a set.
func FuzzLoad(f *testing.F) {
	f.Add(mailTools, mailQueries)
	f.Add("{}\n\n", "[]")
	f.Add("\xff", "{\"id\":1}")
	f.Fuzz(func(t *testing.T, tools, queries string) {
		s, err := eval.Load(write(t, "set", tools, queries))
		if err != nil {
			if !errors.Is(err, eval.ErrSet) {
				t.Errorf("error %v is no ErrSet", err)
			}
			return
		}
		for _, q := range s.Queries {
			if len(q.Relevant) == 0 || q.ID == "" {
				t.Errorf("query %+v was loaded", q)
			}
		}
	})
}
