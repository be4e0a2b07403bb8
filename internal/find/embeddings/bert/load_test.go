package bert_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings/bert"
)

// changed returns a copy of tiny in which, in a file, a text is replaced.
func changed(t testing.TB, file, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/tiny")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	text := to
	if from != "" {
		if text = strings.Replace(string(raw), from, to, 1); text == string(raw) {
			t.Fatalf("%s does not have %q", file, from)
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatIsNotSupportedIsRefused(t *testing.T) {
	cases := []struct{ file, from, to, want string }{
		{"config.json", "", "{", "config.json: unexpected end of JSON"},
		{"config.json", "", "[]", "config.json: json: cannot unmarshal array"},
		{"config.json", `"bert"`, `"roberta"`, `config.json: model_type "roberta" is not supported`},
		{"config.json", `"absolute"`, `"relative_key"`, `position_embedding_type "relative_key" is not supported; absolute is`},
		{"config.json", `"gelu"`, `"silu"`, `hidden_act "silu" is not supported`},
		{"config.json", `"hidden_size": 24`, `"is_decoder": true, "hidden_size": 24`, "is_decoder"},
		{"config.json", `"hidden_size": 24`, `"hidden_size": 25`, "hidden_size 25 is not a multiple of num_attention_heads 3"},
		{"config.json", `"hidden_size": 24`, `"hidden_size": 48`, "word_embedding_dimension is 24; the model has 48"},
		{"config.json", `"intermediate_size": 56`, `"intermediate_size": 64`, `has shape [56 24]; [64 24] is needed`},
		{"config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 3`, `tensor "encoder.layer.2.attention.self.query.weight" is missing`},
		{"config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 2000`, "num_hidden_layers is 2000; 1 to 48 are supported"},
		{"config.json", `"vocab_size": `, `"vocab_size": 1`, "shape"},
		{"config.json", `"vocab_size": `, `"vocab_size": -1`, "vocab_size is -1"},
		{"config.json", `1e-12`, `null`, "layer_norm_eps must be a number"},
		{"tokenizer.json", `"WordPiece", "unk`, `"BPE", "unk`, ""},
		{"tokenizer.json", `"unk_token": "[UNK]"`, `"unk_token": "<unk>"`, `unk_token "<unk>" is not in the vocabulary`},
		{"tokenizer.json", `"continuing_subword_prefix": "##"`, `"continuing_subword_prefix": "@@"`, `continuing_subword_prefix "@@"`},
		{"tokenizer.json", `"BertNormalizer"`, `"Sequence"`, `a normalizer of type "Sequence" is not supported; BertNormalizer is`},
		{"tokenizer.json", `"BertPreTokenizer"`, `"Metaspace"`, `a pre_tokenizer of type "Metaspace" is not supported`},
		{"tokenizer.json", `"TemplateProcessing"`, `"RobertaProcessing"`, `a post_processor of type "RobertaProcessing"`},
		{"tokenizer.json", `"lstrip": false`, `"lstrip": true`, `the added token "[PAD]" has single_word, lstrip`},
		{"tokenizer.json", `"[PAD]": 0`, `"[PAD]": 999`, `the piece "[PAD]" has number 999`},
		{"tokenizer.json", `"[PAD]": 0`, `"[PAD]": 1`, "have the number 1"},
		{"tokenizer.json", `"max_input_chars_per_word": 100`, `"max_input_chars_per_word": 0`, "max_input_chars_per_word is 0"},
		{"modules.json", ".Normalize", ".Dense", `the module "sentence_transformers.models.Dense" is not supported`},
		{"modules.json", `"1_Pooling"`, `"../x"`, `the path "../x" leaves the folder`},
		{"modules.json", `"1_Pooling"`, `"2_Pooling"`, "2_Pooling/config.json: no such file or directory"},
		{"modules.json", ".Pooling", ".Normalize", "the modules are Transformer, Normalize, Normalize"},
		{"1_Pooling/config.json", "mean_tokens", "max_tokens", "pooling by max_tokens is not supported"},
		{"1_Pooling/config.json", "{", `{"pooling_mode_cls_token": true, `, "pooling by cls_token and mean_tokens is not supported"},
		{"sentence_bert_config.json", "32", "2", "texts would be cut off after 2 tokens; at least 3 are needed"},
		{"sentence_bert_config.json", "", "x", "sentence_bert_config.json: invalid character"},
		{"config_sentence_transformers.json", "", `{"prompts": {"query": "query: "}, "default_prompt_name": "query"}`, `default_prompt_name "query" is not supported`},
		{"model.safetensors", "", "", "model.safetensors: not a safetensors file: it has 0 bytes"},
		{"model.safetensors", "", "version https://git-lfs.github.com/spec/v1\n", "not a safetensors file"},
		{"model.safetensors", `"F32"`, `"I32"`, "is of I32; F32, F16 and BF16 are supported"},
		{"model.safetensors", `"F32"`, `"Q4 "`, `dtype "Q4 " is not known`},
	}
	for _, c := range cases {
		if c.want == "" { // json.dumps writes one key in a line
			c.from, c.to, c.want = `"type": "WordPiece",`+"\n  \"unk", `"type": "BPE",`+"\n  \"unk", `a model of type "BPE" is not supported; WordPiece is`
		}
		_, err := bert.Load(changed(t, c.file, c.from, c.to))
		var fault *bert.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v; want %q", c.file, c.to, err, c.want)
		}
	}
}

func TestFilesOfOtherForms(t *testing.T) {
	dir := changed(t, "pytorch_model.bin", "", "x")
	if _, err := bert.Load(dir); err != nil { // the other form is next to the one that is read
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	_, err := bert.Load(dir)
	var fault *bert.Fault
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "pytorch_model.bin: weights of this form") ||
		!strings.Contains(fault.Hint, "model.safetensors") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "config.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "config.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := bert.Load(dir); err == nil || !strings.Contains(err.Error(), "config.json: not a regular file") {
		t.Error(err)
	}
}

func TestEqualModelsShareMemory(t *testing.T) {
	a, b := load(t, "testdata/tiny"), load(t, changed(t, "README.md", "", "another folder"))
	if a != b {
		t.Error("a copy of the folder is loaded again")
	}
	if c := load(t, changed(t, "sentence_bert_config.json", "32", "31")); c == a || c.Digest() == a.Digest() {
		t.Error("another limit of tokens is the same model")
	}
}

// renamed returns a copy of tiny whose tensors have other names.
func renamed(t *testing.T, rename func(string) string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/tiny/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	end := 8 + binary.LittleEndian.Uint64(raw)
	var before map[string]json.RawMessage
	if err := json.Unmarshal(raw[8:end], &before); err != nil {
		t.Fatal(err)
	}
	after := map[string]json.RawMessage{}
	for name, tensor := range before {
		after[rename(name)] = tensor
	}
	header, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return changed(t, "model.safetensors", "", string(file)+string(header)+string(raw[end:]))
}

// The weights of bert-base-uncased have the names of BertForPreTraining in TensorFlow.
func TestNamesOfTensors(t *testing.T) {
	texts := []string{"the distance between two cities"}
	want, _, err := load(t, "testdata/tiny").Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta")
	for _, rename := range []func(string) string{
		func(name string) string { return "bert." + name }, old.Replace,
		func(name string) string { return "bert." + old.Replace(name) },
	} {
		got, _, err := load(t, renamed(t, rename)).Embed(t.Context(), texts)
		if err != nil || !slices.Equal(got[0], want[0]) {
			t.Errorf("the vector differs: %v", err)
		}
	}
}

// The other poolings and activations.
func TestFormsOfModels(t *testing.T) {
	texts := []string{"the distance between two cities"}
	vector := func(dir string) []float32 {
		vectors, _, err := load(t, dir).Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		return vectors[0]
	}
	mean := vector("testdata/tiny")
	if first := vector(changed(t, "1_Pooling/config.json", "mean_tokens", "cls_token")); cosine(mean, first) > .99 {
		t.Error("the vector of [CLS] is that of the mean")
	}
	plain := changed(t, "modules.json", "", `[{"path": "", "type": "sentence_transformers.models.Transformer"},
		{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]`)
	if v := vector(plain); cosine(mean, v) < .9999 || cosine(v, v) == 0 || length(v) < 1.1 {
		t.Errorf("a vector that is not normalised has length %g", length(v))
	}
	if relu := vector(changed(t, "config.json", `"gelu"`, `"relu"`)); cosine(mean, relu) > .99999 {
		t.Error("relu is gelu")
	}
	if tanh := vector(changed(t, "config.json", `"gelu"`, `"gelu_new"`)); cosine(mean, tanh) < .9999 {
		t.Error("gelu_new is far from gelu")
	}
}

// The number of tokens of a long text, [CLS] and [SEP] among them.
func TestLongTextsAreCutOff(t *testing.T) {
	long := strings.Repeat("distance ", 100)
	for _, c := range []struct {
		file, from, to string
		want           int
	}{
		{"README.md", "", "as it is", 32},
		{"sentence_bert_config.json", "32", "3", 3},
		{"sentence_bert_config.json", "32", "4000", 40},
		{"sentence_bert_config.json", "", "{}", 40},
		{"tokenizer_config.json", "", `{"model_max_length": 12}`, 32},
	} {
		if got := len(load(t, changed(t, c.file, c.from, c.to)).Pieces(long)); got != c.want {
			t.Errorf("%s, %s: %d tokens; want %d", c.file, c.to, got, c.want)
		}
	}
	dir := changed(t, "tokenizer_config.json", "", `{"model_max_length": 12}`)
	if err := os.Remove(filepath.Join(dir, "sentence_bert_config.json")); err != nil {
		t.Fatal(err)
	}
	if got := len(load(t, dir).Pieces(long)); got != 12 {
		t.Errorf("%d tokens; want the 12 of tokenizer_config.json", got)
	}
	for file, text := range map[string]string{
		"sentence_bert_config.json": `{"do_lower_case": true, "max_seq_length": 32}`, "tokenizer_config.json": `{"do_lower_case": true}`,
	} {
		dir := changed(t, file, "", text)
		if _, err := bert.Load(dir); err != nil { // as the tokenizer does
			t.Error(err)
		}
		cased := filepath.Join(dir, "tokenizer.json")
		raw, err := os.ReadFile(cased)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(cased, []byte(strings.Replace(string(raw), `"lowercase": true`, `"lowercase": false`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bert.Load(dir); err == nil || !strings.Contains(err.Error(), file+": do_lower_case: true is not supported") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
