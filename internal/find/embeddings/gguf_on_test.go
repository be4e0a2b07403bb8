//go:build gguf

package embeddings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestGGUFEntries(t *testing.T) {
	for entry, path := range map[string]string{
		"from: 'file:absent.gguf'":                                "embeddings[0].from",
		"from: 'huggingface:a/b', params: {file: absent.gguf}":    "embeddings[0].params.file",
		"from: 'huggingface:a/b', params: {model: spicepod.yaml}": "embeddings[0].params.model",
	} {
		_, problem := embeddings.Open(podtest.Load(t, "embeddings: [{name: e, "+entry+"}]\n"), 0, embeddings.Options{})
		if problem == nil || problem.Path != path || !strings.Contains(problem.Hint, "GGUF file") {
			t.Errorf("%s: %v", entry, problem)
		}
	}
}

// A model is many megabytes, so none is among the tests' files.
func TestGGUFModel(t *testing.T) {
	model := os.Getenv("SPICED_TEST_GGUF")
	if model == "" {
		t.Skip("there is no model: set SPICED_TEST_GGUF to a GGUF file of an embedding model")
	}
	pod := podtest.Load(t, "embeddings: [{name: e, from: 'file:mini.gguf'}]\n")
	if err := os.Symlink(model, filepath.Join(pod.Dir, "mini.gguf")); err != nil {
		t.Fatal(err)
	}
	set, problems := embeddings.NewSet(pod, embeddings.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	defer set.Close()
	m, err := set.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	vectors := embed(t, m, "a question about tides", "a question about the tide")
	if len(vectors[0]) != m.Dimensions() || dot(vectors[0], vectors[1]) <= 0 {
		t.Errorf("%d dimensions, similarity %v", m.Dimensions(), dot(vectors[0], vectors[1]))
	}
}
