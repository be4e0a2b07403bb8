package embeddings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// maxGPULayers exceeds the layers of every embedding model.
const maxGPULayers = 1000

// vectorizer is a model that a native library has loaded. It is not safe for
// concurrent use.
type vectorizer interface {
	EmbedText(text string) ([]float32, error)
	io.Closer
}

// ggufModel is a GGUF file of the user. Texts are embedded one at a time.
type ggufModel struct {
	identity
	dimensions int
	turn       chan vectorizer // holds the vectorizer while it is not in use; closed with it
}

// openGGUF loads the file at a path. at is where it is written.
func openGGUF(e *entry, at, path string) (Model, *spicepod.Problem) {
	layers := e.Number("gpu_layers", 0, 0, maxGPULayers)
	switch {
	case e.Fault() != nil:
		return nil, e.Fault()
	case !ggufBuilt:
		return nil, e.Problem(".from",
			"write the folder of a model with model.safetensors; or build with -tags gguf and install the native library "+
				"libllama_go, or use openai: with the endpoint of a local server",
			"this build does not support GGUF models")
	}
	if err := checkGGUF(path); err != nil {
		return nil, e.Problem(at, "write the path of a GGUF file of an embedding model", "%s", err)
	}
	v, err := loadGGUF(path, layers)
	if err != nil {
		return nil, e.Problem(at, "", "the native library cannot load the file: %s", truncate.Line(err.Error(), MaxMessage))
	}
	model, err := newGGUF(e.identity(), v)
	if err != nil {
		return nil, e.Problem(at, "use an embedding model such as all-MiniLM-L6-v2", "%s", errors.Join(err, v.Close()))
	}
	return model, nil
}

// checkGGUF checks the first bytes, so that the native library opens no other kind
// of file.
func checkGGUF(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != "GGUF" {
		return fmt.Errorf("%q is not a GGUF file", path)
	}
	return nil
}

// newGGUF embeds one word, to find the dimensions and to check that the file has
// an embedding model.
func newGGUF(id identity, v vectorizer) (*ggufModel, error) {
	first, err := v.EmbedText("dimensions")
	switch {
	case err != nil:
		return nil, fmt.Errorf("the model does not embed: %w", err)
	case len(first) == 0 || len(first) > MaxDimensions:
		return nil, fmt.Errorf("the model has %d dimensions; 1 to %d are supported", len(first), MaxDimensions)
	}
	m := &ggufModel{id, len(first), make(chan vectorizer, 1)}
	m.turn <- v
	return m, nil
}

func (m *ggufModel) Dimensions() int { return m.dimensions }

// Embed waits for the vectorizer. The native library cannot be interrupted, so a
// cancelled call ends after the current text.
func (m *ggufModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := checkTexts(m.name, texts); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		var err error
		if vectors[i], err = m.embed(ctx, i, text); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// embed uses the vectorizer for one text, so that a short call does not wait for
// all texts of a long one.
func (m *ggufModel) embed(ctx context.Context, i int, text string) ([]float32, error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx, m.name)
	}
	select {
	case <-ctx.Done():
		return nil, cancelled(ctx, m.name)
	case v, open := <-m.turn:
		if !open {
			return nil, &refusal{ErrNotLoaded, fmt.Sprintf("embedding model %q is closed", m.name)}
		}
		defer func() { m.turn <- v }()
		return m.checked(i, v, text)
	}
}

func (m *ggufModel) checked(i int, v vectorizer, text string) ([]float32, error) {
	vector, err := v.EmbedText(text)
	if err != nil {
		return nil, &Error{
			Model:   m.name,
			Message: fmt.Sprintf("text %d: %s", i, truncate.Line(err.Error(), MaxMessage)), Err: err,
		}
	}
	if len(vector) != m.dimensions {
		return nil, &Error{
			Model:   m.name,
			Message: fmt.Sprintf("text %d: %d dimensions, not %d", i, len(vector), m.dimensions),
		}
	}
	for _, x := range vector {
		if !finite(x) {
			return nil, &Error{Model: m.name, Message: fmt.Sprintf("text %d: the vector has a value that is not finite", i)}
		}
	}
	return vector, nil
}

// Close waits for the current text and frees the model. Later calls fail.
func (m *ggufModel) Close() error {
	v, open := <-m.turn
	if !open {
		return nil
	}
	close(m.turn)
	return v.Close()
}
