package embeddings

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/find/embeddings/semantic"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// Builtin marks a model that is part of the program: it needs no network and no file, and
// embeds a tool in less than a millisecond.
type Builtin interface {
	Model
	builtin()
}

var _, _ Builtin = (*hashModel)(nil), (*semanticModel)(nil)

// openBuiltin opens `builtin:semantic` or `builtin:hash`.
func openBuiltin(e *entry) (Model, *spicepod.Problem) {
	switch strings.ToLower(e.id) {
	case "hash":
		return openHash(e), nil
	case "semantic":
		e.Number("dimensions", semantic.Dimensions, semantic.Dimensions, semantic.Dimensions)
		return &semanticModel{e.identity(), semantic.Builtin}, nil
	}
	return nil, e.Problem(".from",
		nearest.Hint("builtin:"+e.id, []string{"builtin:semantic", "builtin:hash"}, "write builtin:semantic or builtin:hash"),
		"there is no built-in embedding model %q", e.id)
}

// Table returns the model of a file that distill.py of package semantic made, to measure it.
// The error is the file system's, or says that the file is no table.
func Table(path string) (Model, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	table, err := semantic.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &semanticModel{identity{path, path}, func() *semantic.Table { return table }}, nil
}

// semanticModel is `builtin:semantic`: a table of vectors of word pieces.
type semanticModel struct {
	identity
	table func() *semantic.Table
}

func (m *semanticModel) builtin() {}

func (m *semanticModel) Dimensions() int { return semantic.Dimensions }

// Embed returns vectors of length 1. A text without words of the table, such as one in
// Chinese, has the zero vector.
func (m *semanticModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := checkTexts(m.name, texts); err != nil {
		return nil, err
	}
	table := m.table()
	return m.each(ctx, len(texts), func(i int) []float32 { return table.Text(texts[i]) })
}

func (m *semanticModel) embedTools(ctx context.Context, tools []Tool) ([][]float32, error) {
	table := m.table()
	return m.each(ctx, len(tools), func(i int) []float32 {
		t := tools[i]
		return table.Tool(t.Name, t.Description, search.ParameterNames(t.Parameters))
	})
}

// each computes n vectors on all cores.
func (m *semanticModel) each(ctx context.Context, n int, vector func(i int) []float32) ([][]float32, error) {
	vectors := make([][]float32, n)
	var group errgroup.Group
	workers := min(runtime.GOMAXPROCS(0), n)
	for w := range workers {
		group.Go(func() error {
			for i := w; i < n; i += workers {
				if ctx.Err() != nil {
					return cancelled(ctx, m.name)
				}
				vectors[i] = vector(i)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}
