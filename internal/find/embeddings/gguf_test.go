package embeddings_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
)

// fakeLibrary replaces the native library: texts that begin with ! are
// refused, and two calls at once are a fault.
type fakeLibrary struct {
	t      *testing.T
	busy   atomic.Bool
	closed atomic.Int64
	during func()
}

func (f *fakeLibrary) EmbedText(text string) ([]float32, error) {
	if !f.busy.CompareAndSwap(false, true) {
		f.t.Error("two calls at once")
	}
	defer f.busy.Store(false)
	if f.closed.Load() > 0 {
		f.t.Error("a call after Close")
	}
	if f.during != nil {
		f.during()
	}
	switch {
	case strings.HasPrefix(text, "!"):
		return nil, errors.New("number of tokens (513) exceeds batch size")
	case text == "nan":
		return []float32{float32(math.NaN()), 0}, nil
	case text == "short":
		return []float32{1}, nil
	}
	return []float32{float32(len(text)), 1}, nil
}

func (f *fakeLibrary) Close() error {
	f.closed.Add(1)
	return nil
}

func newGGUF(t *testing.T) (*fakeLibrary, embeddings.Model) {
	t.Helper()
	library := &fakeLibrary{t: t}
	m, err := embeddings.NewGGUF("mini", library)
	if err != nil {
		t.Fatal(err)
	}
	return library, m
}

func TestGGUFCallsAreSerialised(t *testing.T) {
	_, m := newGGUF(t)
	if m.Name() != "mini" || m.Dimensions() != 2 {
		t.Errorf("%q with %d dimensions", m.Name(), m.Dimensions())
	}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			got, err := m.Embed(t.Context(), []string{"a", "bb", "ccc"})
			if err != nil || got[0][0] != 1 || got[1][0] != 2 || got[2][0] != 3 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	calls.Wait()
}

func TestGGUFFailures(t *testing.T) {
	_, m := newGGUF(t)
	for text, want := range map[string]string{
		"!":     "text 1: number of tokens (513) exceeds batch size",
		"nan":   "text 1: the vector has a value that is not finite",
		"short": "text 1: 1 dimensions, not 2",
		strings.Repeat("a", embeddings.MaxTextBytes+1): "text 1 has 1048577 bytes; at most 1048576",
	} {
		_, err := m.Embed(t.Context(), []string{"good", text})
		if e := failure(t, err); e.Message != want {
			t.Errorf("%v, want %s", e, want)
		}
	}
}

func TestGGUFEndsWithItsContext(t *testing.T) {
	library, m := newGGUF(t)
	ctx, cancel := context.WithCancel(t.Context())
	library.during = cancel
	if _, err := m.Embed(ctx, []string{"a", "b"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestGGUFClose(t *testing.T) {
	library, m := newGGUF(t)
	c := m.(interface{ Close() error })
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := library.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
	if _, err := m.Embed(t.Context(), []string{"a"}); !errors.Is(err, embeddings.ErrNotLoaded) {
		t.Error(err)
	}
}

type brokenLibrary struct{ vector []float32 }

func (b brokenLibrary) EmbedText(string) ([]float32, error) {
	if b.vector == nil {
		return nil, errors.New("model does not support embedding")
	}
	return b.vector, nil
}

func (brokenLibrary) Close() error { return nil }

func TestGGUFModelsThatDoNotEmbed(t *testing.T) {
	for want, v := range map[string][]float32{
		"does not support": nil, "has 0 dimensions": {},
		"has 16385 dimensions": make([]float32, embeddings.MaxDimensions+1),
	} {
		if _, err := embeddings.NewGGUF("x", brokenLibrary{v}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestOnlyGGUFFilesReachTheLibrary(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": "GGUF\x03\x00", "lfs": "version https://git-lfs.github.com/spec/v1", "short": "GG"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := embeddings.CheckGGUF(filepath.Join(dir, "good")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"lfs": "is not a GGUF file", "short": "is not a GGUF file", "absent": "no such file", ".": "is not a file"} {
		if err := embeddings.CheckGGUF(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
