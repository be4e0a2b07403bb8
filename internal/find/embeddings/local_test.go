package embeddings_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

// tiny is the folder of a small model with random weights.
const tiny = "bert/testdata/tiny"

// hub makes a cache of Hugging Face with tiny in it, and returns its folder.
func hub(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	const commit = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
	model := filepath.Join(home, "hub", "models--test--tiny.v1")
	if err := os.CopyFS(filepath.Join(model, "snapshots", commit), os.DirFS(tiny)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(model, "refs", "main"), commit)
	write(t, filepath.Join(home, "hub", "models--test--broken", "refs", "main"), "../../../etc")
	write(t, filepath.Join(home, "hub", "models--test--pruned", "refs", "main"), commit)
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HUGGINGFACE_HUB_CACHE", "")
	t.Setenv("HF_HOME", home)
	return home
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// openEntry opens the only entry of a Spicepod.
func openEntry(t *testing.T, entry string) (embeddings.Model, error) {
	t.Helper()
	m, problem := embeddings.Open(podtest.Load(t, "embeddings: [{name: e, "+entry+"}]\n"), 0, embeddings.Options{})
	if problem != nil {
		return nil, problem
	}
	t.Cleanup(func() {
		if c, ok := m.(interface{ Close() error }); ok {
			c.Close()
		}
	})
	return m, nil
}

func TestModelsInFolders(t *testing.T) {
	home := hub(t)
	folder, err := filepath.Abs(tiny)
	if err != nil {
		t.Fatal(err)
	}
	entries := []string{
		"from: 'file:" + folder + "'",
		"from: 'huggingface:any/name', params: {path: '" + folder + "'}",
		"from: 'huggingface:huggingface.co/test/tiny.v1'",
		"from: 'huggingface:test/tiny.v1'",
		"from: 'huggingface:test/tiny.v1:latest'",
		"from: 'huggingface:test/tiny.v1:c9745ed1d9f207416be6d2e6f8de32d1f16199bf'",
	}
	var first []float32
	var fingerprint string
	for i, entry := range entries {
		m, err := openEntry(t, entry)
		if err != nil {
			t.Fatalf("%s: %v", entry, err)
		}
		vectors, usage, err := m.(embeddings.Counter).EmbedCounted(t.Context(), []string{"the distance between two cities", ""})
		if err != nil || len(vectors) != 2 || len(vectors[0]) != 24 || m.Dimensions() != 24 {
			t.Fatalf("%s: %v, %v", entry, vectors, err)
		}
		if usage.PromptTokens <= 4 || usage.PromptTokens != usage.TotalTokens {
			t.Errorf("usage %v", usage)
		}
		if i == 0 {
			first, fingerprint = vectors[0], m.Fingerprint()
		} else if !slices.Equal(vectors[0], first) || m.Fingerprint() != fingerprint {
			t.Errorf("%s has other vectors or another fingerprint", entry)
		}
	}
	t.Setenv("HF_HOME", "")
	t.Setenv("HF_HUB_CACHE", filepath.Join(home, "hub"))
	if _, err := openEntry(t, "from: 'huggingface:test/tiny.v1'"); err != nil {
		t.Error(err)
	}
}

// A model whose weights change has other vectors, so stored ones are not used.
func TestTheFingerprintIsOfTheContents(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(tiny)); err != nil {
		t.Fatal(err)
	}
	before, err := openEntry(t, "from: 'file:"+folder+"'")
	if err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(folder, "model.safetensors")
	raw, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-2] ^= 1 // of the last number
	write(t, weights, string(raw))
	after, err := openEntry(t, "from: 'file:"+folder+"'")
	if err != nil {
		t.Fatal(err)
	}
	if before.Fingerprint() == after.Fingerprint() {
		t.Error("other weights have the same fingerprint")
	}
	if err := os.Remove(filepath.Join(folder, "modules.json")); err != nil {
		t.Fatal(err)
	}
	plain, err := openEntry(t, "from: 'file:"+folder+"'")
	if err != nil {
		t.Fatal(err)
	}
	if plain.Fingerprint() == after.Fingerprint() {
		t.Error("other pooling has the same fingerprint")
	}
}

func TestProblemsOfLocalModels(t *testing.T) {
	home := hub(t)
	folder, err := filepath.Abs(tiny)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ entry, path, want string }{
		{"from: 'huggingface:a/b'", ".from", "open " + filepath.Join(home, "hub", "models--a--b", "refs", "main") + ": no such file"},
		{"from: 'huggingface:a/b'", ".from", "the model a/b is not in Hugging Face's cache, and nothing is downloaded"},
		{"from: 'huggingface:a/b'", ".from", "run: hf download a/b; or write the model's folder as params.path"},
		{"from: 'huggingface:test/pruned'", ".from", "is not in Hugging Face's cache"},
		{"from: 'huggingface:test/broken'", ".from", "does not have a commit"},
		{"from: 'huggingface:test/tiny.v1:dev'", ".from", "refs/dev"},
		{"from: 'huggingface:a'", ".from", "is not a model of Hugging Face: organisation/name"},
		{"from: 'huggingface:../..'", ".from", "is not a model of Hugging Face"},
		{"from: 'huggingface:a/b:../x'", ".from", "is not a model of Hugging Face"},
		{"from: 'huggingface:a/b', params: {path: x, file: y}", ".params.file", "params.path and params.file are alternatives"},
		{"from: 'huggingface:a/b', params: {path: '" + folder + "', gpu_layers: 3}", ".params.gpu_layers", "does not use the GPU"},
		{"from: 'huggingface:a/b', params: {path: absent}", ".params.path", "absent/config.json: no such file"},
		{"from: 'huggingface:a/b', params: {path: '" + folder + "/config.json'}", ".params.path", "for a GGUF file, params.file"},
		{"from: 'huggingface:a/b', params: {pth: x}", ".params.pth", `did you mean "path"?`},
		{"from: 'file:absent'", ".from", "no such file or directory"},
		{"from: 'file:" + folder + "', params: {gpu_layers: 3}", ".params.gpu_layers", "does not use the GPU"},
		{"from: 'file:" + folder + "/model.safetensors'", ".from", "write the folder that the file is in"},
		{"from: 'file:" + folder + "/1_Pooling'", ".from", `config.json: model_type "" is not supported; this build serves`},
	}
	for _, c := range cases {
		_, err := openEntry(t, c.entry)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", c.entry, err, c.want)
		}
	}
}

func TestALocalModelIsClosed(t *testing.T) {
	m, problem := embeddings.Open(podtest.Load(t, "embeddings: [{name: e, from: 'file:"+abs(t, tiny)+"'}]\n"), 0, embeddings.Options{})
	if problem != nil {
		t.Fatal(problem)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Embed(ended, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := m.Embed(t.Context(), []string{strings.Repeat("a", embeddings.MaxTextBytes+1)}); err == nil {
		t.Error("a text of more than a megabyte was embedded")
	}
	if vectors, err := m.Embed(t.Context(), nil); err != nil || len(vectors) != 0 {
		t.Error(vectors, err)
	}
	for range 2 {
		if err := m.(interface{ Close() error }).Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.Embed(t.Context(), []string{"a"}); !errors.Is(err, embeddings.ErrNotLoaded) {
		t.Error(err)
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
