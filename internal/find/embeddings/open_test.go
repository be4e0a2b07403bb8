package embeddings_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestOpenProblems(t *testing.T) {
	t.Setenv("TEST_KEY", key)
	t.Setenv("BROKEN_KEY", key+"\nX-Other: 1")
	cases := []struct {
		entry string
		path  string
		want  string // in the message or the hint
	}{
		{"from: 'opnai:x'", "embeddings[0].from", `did you mean "openai"?`},
		{"from: 'azure:x'", "embeddings[0].from", `embedding provider "azure" is not served by this build`},
		{"from: 'azure:x'", "embeddings[0].from", "params.endpoint"},
		{"from: openai", "embeddings[0].from", "write openai:text-embedding-3-small"},
		{"from: 'openai:'", "embeddings[0].from", "names no model"},
		{"from: 'openai:x'", "embeddings[0].params", "needs params.openai_api_key"},
		{"from: 'openai:x', params: {openai_api_kee: a}", "embeddings[0].params.openai_api_kee", `did you mean "openai_api_key"?`},
		{"from: 'openai:x', params: {'a b': a}", `embeddings[0].params["a b"]`, `unknown param "a b"`},
		{"from: 'openai:x', params: {openai_api_key: '${env:BROKEN_KEY}'}", "embeddings[0].params.openai_api_key", "no header may hold"},
		{"from: 'openai:x', params: {endpoint: 'localhost:80'}", "embeddings[0].params.endpoint", "takes an http or https URL"},
		{"from: 'openai:x', params: {endpoint: 'file:///etc'}", "embeddings[0].params.endpoint", "takes an http or https URL"},
		{"from: 'openai:x', params: {endpoint: ''}", "embeddings[0].params.endpoint", "takes an http or https URL"},
		{"from: 'openai:x', params: {endpoint: 'http://u:${env:TEST_KEY}@h/v1'}", "embeddings[0].params.endpoint", "without user"},
		{"from: 'openai:x', params: {endpoint: 'http://h/v1?k=${env:TEST_KEY}'}", "embeddings[0].params.endpoint", "without a query"},
		{"from: 'openai:x', params: {endpoint: 'http://h/v1/embeddings/'}", "embeddings[0].params.endpoint", "leave /embeddings out"},
		{"from: 'openai:x', params: {endpoint: 'http://h', batch_size: 2049}", "embeddings[0].params.batch_size", "takes 1 to 2048"},
		{"from: 'openai:x', params: {endpoint: 'http://h', batch_size: 0}", "embeddings[0].params.batch_size", "takes 1 to 2048"},
		{"from: 'openai:x', params: {endpoint: 'http://h', dimensions: 0}", "embeddings[0].params.dimensions", "takes 1 to 16384"},
		{"from: 'openai:x', params: {endpoint: 'http://h', dimensions: many}", "embeddings[0].params.dimensions", "takes a whole number"},
		{"from: 'openai:x', params: {endpoint: 'http://h', max_retries: -1}", "embeddings[0].params.max_retries", "takes 0 to 10"},
		{"from: 'openai:x', params: {endpoint: 'http://h', timeout: 0s}", "embeddings[0].params.timeout", "more than 0"},
		{"from: 'openai:x', params: {endpoint: 'http://h', timeout: '${env:TEST_KEY}'}", "embeddings[0].params.timeout", "takes a duration"},
		{"from: 'openai:x', params: {endpoint: [a]}", "embeddings[0].params.endpoint", "takes text, not a list"},
		{"from: 'builtin:hsh'", "embeddings[0].from", `did you mean "builtin:hash"?`},
		{"from: 'builtin:semantics'", "embeddings[0].from", `did you mean "builtin:semantic"?`},
		{"from: 'builtin:semantic', params: {dimensions: 256}", "embeddings[0].params.dimensions", "takes 128 only"},
		{"from: 'builtin:hash', params: {dimensions: 63}", "embeddings[0].params.dimensions", "takes 64 to 4096"},
		{"from: 'builtin:hash', params: {dimensions: 4097}", "embeddings[0].params.dimensions", "takes 64 to 4096"},
		{"from: 'builtin:hash', params: {endpoint: x}", "embeddings[0].params.endpoint", "known here: dimensions"},
		{"from: 'file:'", "embeddings[0].from", "write file:models/all-MiniLM-L6-v2"},
	}
	for _, c := range cases {
		t.Run(c.entry, func(t *testing.T) {
			pod := podtest.Load(t, "embeddings: [{name: e, "+c.entry+"}]\n")
			m, problem := embeddings.Open(pod, 0, embeddings.Options{})
			if problem == nil {
				t.Fatalf("opened %v", m)
			}
			if problem.Path != c.path || !strings.Contains(problem.Error(), c.want) || problem.Component != "embedding e" {
				t.Errorf("%s at %q; want %q at %q", problem.Error(), problem.Path, c.want, c.path)
			}
			if problem.Line == 0 || strings.Contains(problem.Error(), key) {
				t.Errorf("no place, or a secret: %s", problem.Error())
			}
		})
	}
}

func TestModelsWithoutGGUFSayWhatTheyNeed(t *testing.T) {
	if embeddings.GGUFBuilt {
		t.Skip("this build serves GGUF models")
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{
		"from: 'file:" + path + "'", "from: 'huggingface:a/b', params: {file: m.gguf}",
		"from: 'huggingface:a/b', params: {model: m.gguf}",
	} {
		_, problem := embeddings.Open(podtest.Load(t, "embeddings: [{name: e, "+entry+"}]\n"), 0, embeddings.Options{})
		if problem == nil || !strings.Contains(problem.Hint, "-tags gguf") || !strings.Contains(problem.Hint, "native library") {
			t.Errorf("%s: %v", entry, problem)
		}
	}
}

func TestAModelPrintsNoSecrets(t *testing.T) {
	p := newProvider(t, nil)
	m := p.open(t, "")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if shown := fmt.Sprintf(verb, m); strings.Contains(shown, key) {
			t.Errorf("%s shows the key: %s", verb, shown)
		}
	}
}

func TestSet(t *testing.T) {
	pod := podtest.Load(t, "embeddings: [{name: z, from: 'builtin:hash'}, {name: bad, from: 'builtin:no'}, {name: a, from: 'builtin:hash', params: "+
		"{dimensions: 64}}]\n")
	set, problems := embeddings.NewSet(pod, embeddings.Options{})
	defer set.Close()
	if len(problems) != 1 || problems[0].Component != "embedding bad" {
		t.Errorf("problems: %v", problems)
	}
	if diff := cmp.Diff([]string{"a", "bad", "z"}, set.Names()); diff != "" {
		t.Error(diff)
	}
	m, err := set.Model("a")
	if err != nil || m.Name() != "a" || m.Dimensions() != 64 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := set.Model("bad"); !errors.Is(err, embeddings.ErrNotLoaded) {
		t.Error(err)
	}
	if _, err := set.Model("bat"); !errors.Is(err, embeddings.ErrUnknownModel) || !strings.Contains(err.Error(), `did you mean "bad"?`) {
		t.Error(err)
	}
}

func TestResolve(t *testing.T) {
	const (
		local = "{name: local, from: 'builtin:hash'}"
		other = "{name: b2, from: 'builtin:hash'}"
		bad   = "{name: bad, from: 'builtin:no'}"
	)
	cases := []struct {
		name, entries, named string
		model                string
		reason               error
		text                 string
	}{
		{name: "none", reason: embeddings.ErrNoModel, text: "No embedding model configured for searchable tool discovery. Add one model to the " +
			"`embeddings` section, " +
			"or set `tool_embedding_model` to reference a configured embedding model. One that works offline: `- {name: local, from: \"builtin:semantic\"}`"},
		{name: "one is taken", entries: local, model: "local"},
		{name: "one is named", entries: local, named: "local", model: "local"},
		{name: "several, one named", entries: local + ", " + other, named: "b2", model: "b2"},
		{name: "several", entries: local + ", " + other, reason: embeddings.ErrSeveralModels, text: "Multiple embedding models are configured for searchable tool " +
			"discovery: b2, local. Set `tool_embedding_model` to one of them"},
		{
			name: "named, unknown", entries: local, named: "Local",
			reason: embeddings.ErrUnknownModel, text: "Embedding model 'Local' specified by `tool_embedding_model` " +
				"was not found in the `embeddings` section",
		},
		{name: "named, none declared", named: "x", reason: embeddings.ErrUnknownModel, text: "Embedding model 'x' specified by `tool_embedding_model` " +
			"was not found in the `embeddings` section"},
		{name: "the only one failed", entries: bad, reason: embeddings.ErrNotLoaded, text: "Embedding model 'bad' configured for searchable tool discovery was not " +
			"loaded. Check earlier embedding model errors and verify the `embeddings` configuration"},
		{
			name: "the named one failed", entries: bad + ", " + local, named: "bad",
			reason: embeddings.ErrNotLoaded, text: "Embedding model 'bad' configured for searchable " +
				"tool discovery was not loaded. Check earlier embedding model errors and verify the `embeddings` configuration",
		},
		{
			name: "a failed one still counts", entries: bad + ", " + local,
			reason: embeddings.ErrSeveralModels, text: "Multiple embedding models are configured for searchable " +
				"tool discovery: bad, local. Set `tool_embedding_model` to one of them",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			set, _ := embeddings.NewSet(podtest.Load(t, "embeddings: ["+c.entries+"]\n"), embeddings.Options{})
			m, err := set.Resolve(c.named)
			if c.reason == nil {
				if err != nil || m.Name() != c.model {
					t.Fatalf("%v, %v", m, err)
				}
				return
			}
			if !errors.Is(err, c.reason) || err.Error() != c.text {
				t.Errorf("%v\nwant %s", err, c.text)
			}
		})
	}
}

func TestTheRemedyIsAnEntryThatOpens(t *testing.T) {
	set, problems := embeddings.NewSet(podtest.Load(t, "embeddings:\n"+embeddings.Remedy+"\n"), embeddings.Options{})
	if m, err := set.Resolve(""); len(problems) > 0 || err != nil || m.Name() != "local" {
		t.Errorf("%v %v %v", m, err, problems)
	}
}

func TestTheZeroSetIsEmpty(t *testing.T) {
	var set embeddings.Set
	if _, err := set.Resolve(""); !errors.Is(err, embeddings.ErrNoModel) {
		t.Error(err)
	}
	var c io.Closer = &set
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
