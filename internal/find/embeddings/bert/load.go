package bert

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"weak"

	"github.com/spiced-sql/spiced/internal/find/embeddings/safetensors"
)

const (
	// maxJSONBytes limits each of the JSON files. The tokenizer of BERT for a
	// hundred languages has 3 MB.
	maxJSONBytes = 32 << 20
	// maxWeightBytes limits model.safetensors. BERT-large has 1.3 GB.
	maxWeightBytes = 4 << 30
)

// Fault is a file that cannot be served, with what would be right.
type Fault struct {
	File string // its path
	Err  error
	Hint string
}

// Error returns the path and the cause.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %s", f.File, f.Err) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// loader reads the files of a folder, and what they say.
type loader struct {
	dir    string
	digest []byte // the digests of the files
	config *config
	layout layout
}

// opened are the loaded models by digest, while they are used: a Spicepod that is
// loaded again, or names a model twice, does not need its memory twice.
var opened = struct {
	sync.Mutex
	models map[string]weak.Pointer[Encoder]
}{models: map[string]weak.Pointer[Encoder]{}}

// Load loads the model in a folder, one at a time. An error is a *Fault.
func Load(dir string) (*Encoder, error) {
	opened.Lock()
	defer opened.Unlock()
	l := &loader{dir: dir}
	e := &Encoder{}
	for _, step := range []func(*Encoder) error{l.modules, l.readConfig, l.pooling, l.prompts, l.tokenizer} {
		if err := step(e); err != nil {
			return nil, err
		}
	}
	return l.weights(e)
}

// path returns the path of a file of the folder.
func (l *loader) path(names ...string) string { return filepath.Join(l.dir, filepath.Join(names...)) }

// fault returns the fault of a file of the folder.
func (l *loader) fault(err error, names ...string) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Fault{File: l.path(names...), Err: err}
}

// read returns the contents of a file of the folder, or nil if it may be missing
// and is.
func (l *loader) read(optional bool, names ...string) ([]byte, error) {
	info, err := os.Stat(l.path(names...)) // before it is opened: opening a pipe waits for its writer
	if optional && errors.Is(err, fs.ErrNotExist) {
		l.add(nil)
		return nil, nil
	}
	if err != nil {
		return nil, l.fault(err, names...)
	}
	if !info.Mode().IsRegular() {
		return nil, l.fault(errors.New("not a regular file"), names...)
	}
	f, err := os.Open(l.path(names...))
	if err != nil {
		return nil, l.fault(err, names...)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxJSONBytes+1))
	if err != nil {
		return nil, l.fault(err, names...)
	}
	if len(raw) > maxJSONBytes {
		return nil, l.fault(fmt.Errorf("more than %d MB", maxJSONBytes>>20), names...)
	}
	sum := sha256.Sum256(raw)
	l.add(sum[:])
	return raw, nil
}

// add adds the digest of a file. Each has its length before it, so that a
// missing file differs from an empty one.
func (l *loader) add(sum []byte) { l.digest = append(append(l.digest, byte(len(sum))), sum...) }

// modules reads modules.json. sentence-transformers pools a model without one by
// its mean, and does not normalise.
func (l *loader) modules(*Encoder) error {
	raw, err := l.read(true, "modules.json")
	if err != nil || raw == nil {
		return err
	}
	if l.layout, err = parseModules(raw); err != nil {
		return l.fault(err, "modules.json")
	}
	return nil
}

func (l *loader) readConfig(e *Encoder) error {
	names := []string{l.layout.transformer, "config.json"}
	raw, err := l.read(false, names...)
	if err != nil {
		return err
	}
	if l.config, err = parseConfig(raw); err != nil {
		return l.fault(err, names...)
	}
	e.config = *l.config
	e.activate = activations[l.config.Activation]
	return nil
}

func (l *loader) pooling(e *Encoder) error {
	e.normalise = l.layout.normalise
	if l.layout.pooling == "" {
		return nil
	}
	names := []string{l.layout.pooling, "config.json"}
	raw, err := l.read(false, names...)
	if err != nil {
		return err
	}
	if e.firstToken, err = parsePooling(raw, e.config.Hidden); err != nil {
		return l.fault(err, names...)
	}
	return nil
}

// prompts refuses a text that sentence-transformers puts before every text
// unless its caller names another.
func (l *loader) prompts(*Encoder) error {
	const name = "config_sentence_transformers.json"
	raw, err := l.read(true, name)
	if err != nil || raw == nil {
		return err
	}
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default *string           `json:"default_prompt_name"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return l.fault(err, name)
	}
	if c.Default != nil && c.Prompts[*c.Default] != "" {
		return l.fault(fmt.Errorf("default_prompt_name %q is not supported; null is", *c.Default), name)
	}
	return nil
}

// tokenizer reads tokenizer.json, and after how many tokens a text is cut off: the
// max_seq_length of sentence_bert_config.json, or else the model_max_length of
// tokenizer_config.json, and at most the positions of the model. The truncation
// in tokenizer.json is another one, which sentence-transformers replaces.
func (l *loader) tokenizer(e *Encoder) error {
	names := []string{l.layout.transformer, "tokenizer.json"}
	raw, err := l.read(false, names...)
	if err != nil {
		return err
	}
	t, err := parseTokenizer(raw, l.config.Vocab)
	if err != nil {
		return l.fault(err, names...)
	}
	var limit struct {
		Most  *float64 `json:"max_seq_length"`
		Model *float64 `json:"model_max_length"` // 1e30 means no limit
		Lower bool     `json:"do_lower_case"`
	}
	for _, name := range []string{"sentence_bert_config.json", "tokenizer_config.json"} {
		names[1] = name
		if raw, err = l.read(true, names...); err != nil {
			return err
		}
		limit.Lower = false
		if raw == nil {
			continue
		}
		if err := json.Unmarshal(raw, &limit); err != nil {
			return l.fault(err, names...)
		}
		if limit.Lower && !t.Lower {
			return l.fault(errors.New("do_lower_case: true is not supported with a tokenizer that keeps upper case"), names...)
		}
	}
	most := float64(l.config.Positions)
	switch {
	case limit.Most != nil:
		most = min(most, *limit.Most)
	case limit.Model != nil:
		most = min(most, *limit.Model)
	}
	if most < 3 {
		return l.fault(fmt.Errorf("texts would be cut off after %g tokens; at least 3 are needed", most), names[0])
	}
	t.most = int(most)
	e.tokenizer = t
	return nil
}

// otherWeights are names of files with weights in forms that are not read.
var otherWeights = []string{
	"model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack",
}

// weights reads model.safetensors, unless a model of the same files is in use.
func (l *loader) weights(e *Encoder) (*Encoder, error) {
	names := []string{l.layout.transformer, "model.safetensors"}
	path := l.path(names...)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		for _, other := range otherWeights {
			if _, err := os.Stat(l.path(l.layout.transformer, other)); err == nil {
				return nil, &Fault{
					l.path(l.layout.transformer, other), errors.New("weights of this form are not supported"),
					"save the model in one file, model.safetensors: in Python, " +
						"SentenceTransformer(…).save(folder, safe_serialization=True)",
				}
			}
		}
	}
	switch {
	case err != nil:
		return nil, l.fault(err, names...)
	case !info.Mode().IsRegular():
		return nil, l.fault(errors.New("not a regular file"), names...)
	case info.Size() > maxWeightBytes:
		return nil, l.fault(fmt.Errorf("more than %d GB", maxWeightBytes>>30), names...)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, l.fault(err, names...)
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return nil, l.fault(err, names...)
	}
	l.add(h.Sum(nil))
	sum := sha256.Sum256(l.digest)
	e.digest = hex.EncodeToString(sum[:])
	maps.DeleteFunc(opened.models, func(_ string, p weak.Pointer[Encoder]) bool { return p.Value() == nil })
	if same := opened.models[e.digest].Value(); same != nil {
		return same, nil
	}
	f, err := safetensors.Read(in, info.Size())
	if err != nil {
		return nil, l.fault(err, names...)
	}
	w := &weights{File: f}
	if !f.Has("embeddings.word_embeddings.weight") && f.Has("bert.embeddings.word_embeddings.weight") {
		w.prefix = "bert."
	}
	e.load(w)
	if w.err != nil {
		return nil, l.fault(w.err, names...)
	}
	opened.models[e.digest] = weak.Make(e)
	return e, nil
}

// weights reads tensors until one fails.
type weights struct {
	*safetensors.File
	prefix string
	err    error
}

func (w *weights) floats(name string, shape ...int) []float32 {
	if w.err != nil {
		return nil
	}
	var values []float32
	values, w.err = w.Floats(w.prefix+name, shape...)
	return values
}

// linear reads one layer, or several as one that has the columns of all.
func (w *weights) linear(in, out int, names ...string) *matrix {
	m := newMatrix(in, out*len(names))
	for i, name := range names {
		values, bias := w.floats(name+".weight", out, in), w.floats(name+".bias", out)
		if w.err != nil {
			return nil
		}
		for j := range out {
			m.setColumn(i*out+j, values[j*in:])
		}
		copy(m.bias[i*out:], bias)
	}
	return m
}

// norm reads a layer normalisation. Weights of the time of TensorFlow have other names for its parts.
func (w *weights) norm(name string, n int) norm {
	if w.Has(w.prefix + name + ".gamma") {
		return norm{w.floats(name+".gamma", n), w.floats(name+".beta", n)}
	}
	return norm{w.floats(name+".weight", n), w.floats(name+".bias", n)}
}

// load reads the weights of BERT by their names in Hugging Face's transformers.
// The pooler, which only training uses, is left out.
func (e *Encoder) load(w *weights) {
	c := &e.config
	n := c.Hidden
	e.words.read(w.floats("embeddings.word_embeddings.weight", c.Vocab, n), n)
	e.positions = w.floats("embeddings.position_embeddings.weight", c.Positions, n)
	e.norm = w.norm("embeddings.LayerNorm", n)
	if types := w.floats("embeddings.token_type_embeddings.weight", c.Types, n); w.err == nil {
		for i := range e.positions { // a text alone has type 0 everywhere
			e.positions[i] += types[i%n]
		}
		e.positions = slices.Clip(e.positions[:e.tokenizer.most*n])
	}
	for i := 0; i < c.Layers && w.err == nil; i++ {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		self := at + "attention.self."
		e.layers = append(e.layers, layer{
			attention: w.linear(n, n, self+"query", self+"key", self+"value"),
			output:    w.linear(n, n, at+"attention.output.dense"),
			norm1:     w.norm(at+"attention.output.LayerNorm", n),
			inner:     w.linear(n, c.Inner, at+"intermediate.dense"),
			outer:     w.linear(c.Inner, n, at+"output.dense"),
			norm2:     w.norm(at+"output.LayerNorm", n),
		})
	}
}
