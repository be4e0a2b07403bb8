package bert_test

import (
	"os"
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings/bert"
)

// Whatever the files of a folder are, it is refused or the texts have vectors.
func FuzzFiles(f *testing.F) {
	files := []string{
		"config.json", "tokenizer.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "model.safetensors",
	}
	for _, name := range files {
		raw, err := os.ReadFile("testdata/tiny/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, raw, "great-circle DISTANCE, 東京 [SEP]")
	}
	f.Fuzz(func(t *testing.T, name string, raw []byte, text string) {
		if !slices.Contains(files, name) {
			return
		}
		e, err := bert.Load(changed(t, name, "", string(raw)))
		if err != nil {
			return
		}
		vectors, tokens, err := e.Embed(t.Context(), []string{text, "", text + text})
		if err != nil {
			t.Fatal(err)
		}
		if tokens < 6 {
			t.Errorf("%d tokens", tokens)
		}
		for _, v := range vectors {
			if len(v) != e.Dimensions() {
				t.Fatalf("%d values", len(v))
			}
		}
	})
}
