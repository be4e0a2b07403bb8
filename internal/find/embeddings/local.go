package embeddings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/find/embeddings/bert"
	"github.com/spiced-sql/spiced/spicepod"
)

// localModel is a sentence encoder in a folder of this machine.
type localModel struct {
	identity
	dimensions int

	mu      sync.RWMutex // held for reading while texts are embedded
	encoder *bert.Encoder
}

var _ Counter = (*localModel)(nil)

// openFile opens a folder, or a GGUF file.
func openFile(e *entry) (Model, *spicepod.Problem) {
	path := e.local(strings.TrimPrefix(e.id, "//"))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, e.Problem(".from", "write the folder of a model, with config.json, tokenizer.json and model.safetensors",
			"%s", err)
	case !info.IsDir() && strings.HasSuffix(path, ".safetensors"):
		return nil, e.Problem(".from", "write the folder that the file is in", "%q is not a folder", path)
	case !info.IsDir():
		return openGGUF(e, ".from", path)
	case e.Params.Has("gpu_layers"):
		return nil, e.Problem(".params.gpu_layers", "leave it out", "a model in a folder does not use the GPU")
	}
	return openFolder(e, ".from", path)
}

// local returns a path that may be relative to the Spicepod's folder.
func (e *entry) local(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(e.Pod.Dir, path)
}

// openFolder loads the model in a folder; at is where it is written.
func openFolder(e *entry, at, folder string) (Model, *spicepod.Problem) {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return nil, e.Problem(at, "write the folder of the model, or, for a GGUF file, params.file", "%q is not a folder",
			folder)
	}
	encoder, err := bert.Load(folder)
	if err != nil {
		hint := "use a sentence encoder of the BERT family, such as sentence-transformers/all-MiniLM-L6-v2, in the form " +
			"that sentence-transformers writes"
		if fault := (*bert.Fault)(nil); errors.As(err, &fault) && fault.Hint != "" {
			hint = fault.Hint
		}
		return nil, e.Problem(at, hint, "%s", err)
	}
	return &localModel{
		identity:   identity{e.declared.Name, spicepod.Fingerprint([]any{"bert", encoder.Digest()})},
		dimensions: encoder.Dimensions(), encoder: encoder,
	}, nil
}

// Dimensions returns the length of a vector.
func (m *localModel) Dimensions() int { return m.dimensions }

// Embed is EmbedCounted without the count.
func (m *localModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := m.EmbedCounted(ctx, texts)
	return vectors, err
}

// EmbedCounted counts the tokens that the model was given, [CLS] and [SEP]
// among them. A text that is longer than the model takes is cut off.
func (m *localModel) EmbedCounted(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	if err := checkTexts(m.name, texts); err != nil {
		return nil, Usage{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.encoder == nil {
		return nil, Usage{}, &refusal{ErrNotLoaded, fmt.Sprintf("embedding model %q is closed", m.name)}
	}
	vectors, tokens, err := m.encoder.Embed(ctx, texts)
	if err != nil {
		return nil, Usage{}, cancelled(ctx, m.name)
	}
	for i, vector := range vectors {
		for _, x := range vector {
			if !finite(x) {
				return nil, Usage{}, &Error{
					Model: m.name, Message: fmt.Sprintf("text %d: the vector has a value that is not finite", i),
				}
			}
		}
	}
	return vectors, Usage{PromptTokens: tokens, TotalTokens: tokens}, nil
}

// Close waits for running calls and frees the model. Later calls fail.
func (m *localModel) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.encoder = nil
	return nil
}

// repository is the name of a model at Hugging Face, as Spice writes it:
// huggingface.co/organisation/name:revision, with the host and the revision
// optional.
var repository = regexp.MustCompile(`^(?:huggingface\.co/)?([\w-][\w.-]*/[\w-][\w.-]*)(?::([\w-][\w.-]*))?$`)

// commit is the name of a folder of a snapshot.
var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// openHuggingFace opens params.path, a GGUF file, or what is in Hugging Face's
// cache. Nothing is downloaded.
func openHuggingFace(e *entry) (Model, *spicepod.Problem) {
	name := repository.FindStringSubmatch(e.id)
	if name == nil {
		return nil, e.Problem(".from", "write huggingface:sentence-transformers/all-MiniLM-L6-v2",
			"%q is not a model of Hugging Face: organisation/name, or organisation/name:revision", e.id)
	}
	var keys []string
	for _, key := range []string{"path", "file", "model"} {
		if e.Params.Has(key) {
			keys = append(keys, key)
		}
	}
	switch {
	case len(keys) > 1:
		return nil, e.Problem(spicepod.ParamPath(keys[1]), "leave one out", "params.%s and params.%s are alternatives",
			keys[0], keys[1])
	case len(keys) == 1 && keys[0] != "path":
		return openGGUF(e, spicepod.ParamPath(keys[0]), e.local(e.Text(keys[0])))
	case e.Params.Has("gpu_layers"):
		return nil, e.Problem(".params.gpu_layers", "leave it out", "a model in a folder does not use the GPU")
	case len(keys) == 1:
		return openFolder(e, ".params.path", e.local(e.Text("path")))
	}
	folder, err := cached(name[1], name[2])
	if err != nil {
		hint := fmt.Sprintf("run: hf download %s; or write the model's folder as params.path", name[1])
		return nil, e.Problem(".from", hint, "%s", err)
	}
	return openFolder(e, ".from", folder)
}

// cached returns the folder of a model in the cache of Hugging Face's libraries:
// models--ORGANISATION--NAME/snapshots/COMMIT, where the commit of a branch is in
// the file refs/BRANCH.
func cached(name, revision string) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))
	if revision == "" || revision == "latest" {
		revision = "main"
	}
	sum := revision
	if !commit.MatchString(revision) {
		raw, err := readShort(filepath.Join(folder, "refs", revision))
		if err != nil {
			return "", fmt.Errorf("the model %s is not in Hugging Face's cache, and nothing is downloaded: %w", name, err)
		}
		if sum = strings.TrimSpace(raw); !commit.MatchString(sum) {
			return "", fmt.Errorf("%s does not have a commit", filepath.Join(folder, "refs", revision))
		}
	}
	folder = filepath.Join(folder, "snapshots", sum)
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("the model %s is not in Hugging Face's cache, and nothing is downloaded: %w", name, err)
	}
	return folder, nil
}

// cacheFolder finds the cache as the library huggingface_hub does.
func cacheFolder() (string, error) {
	for _, candidate := range []struct{ variable, below string }{
		{"HF_HUB_CACHE", ""},
		{"HUGGINGFACE_HUB_CACHE", ""},
		{"HF_HOME", "hub"},
		{"XDG_CACHE_HOME", "huggingface/hub"},
	} {
		if value := os.Getenv(candidate.variable); value != "" {
			return filepath.Join(value, candidate.below), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("the folder of Hugging Face's cache is not known: %w", err)
	}
	return filepath.Join(home, ".cache", "huggingface", "hub"), nil
}

// readShort reads the begin of a file.
func readShort(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw := make([]byte, 256)
	n, err := f.Read(raw)
	return string(raw[:n]), err
}
