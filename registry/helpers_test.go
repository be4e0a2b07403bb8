package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const greetSchema = `{"type":"object","properties":{"name":{"type":"string","description":"Whom to greet"},"times":{"type":"integer","minimum":1,"default":1}},"required":["name"],"additionalProperties":false}`

// tool makes a tool, or fails the test.
func tool(t testing.TB, def tools.Definition, call func(context.Context, tools.Input) (tools.Output, error)) tools.Tool {
	t.Helper()
	if def.Source == "" {
		def.Source = tools.SourceFunction
	}
	if def.Declared == "" {
		def.Declared = "spicepod.yaml:1"
	}
	if call == nil {
		call = func(context.Context, tools.Input) (tools.Output, error) { return tools.JSON("done") }
	}
	made, err := tools.New(def, call)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// greet says hello as often as it is asked to.
func greet(t testing.TB) tools.Tool {
	return tool(t, tools.Definition{
		Name: "greet", Description: "Says hello to a person.", Owner: "hawken",
		Parameters: json.RawMessage(greetSchema), Returns: json.RawMessage(`{"type":"string"}`),
	}, func(_ context.Context, in tools.Input) (tools.Output, error) {
		return tools.JSON(fmt.Sprintf("hello %s x%s", in.Arguments["name"], in.Arguments["times"]))
	})
}

func publish(t testing.TB, r *registry.Registry, c registry.Contents) *registry.Catalog {
	t.Helper()
	if c.Search == (search.Settings{}) {
		c.Search = search.Default()
	}
	catalog, err := registry.NewCatalog(r.Current(), c)
	if err != nil {
		t.Fatal(err)
	}
	r.Publish(catalog)
	return catalog
}

// start makes a registry of some tools and its record.
func start(t testing.TB, list ...tools.Tool) (*registry.Registry, *usage.Recorder) {
	t.Helper()
	recorder, err := usage.Open(usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { recorder.Close() })
	r := registry.New(registry.Options{Usage: recorder})
	r.CacheLimit(1 << 20)
	publish(t, r, registry.Contents{Generation: 1, Tools: list})
	return r, recorder
}

func invoke(t testing.TB, r *registry.Registry, name, args string) tools.Result {
	t.Helper()
	return r.Invoke(t.Context(), registry.Call{Name: name, Arguments: json.RawMessage(args)})
}

// fakeModel embeds a text as the known words in it.
type fakeModel struct {
	name  string
	words []string
	fail  atomic.Bool
	takes atomic.Int64 // a call, a time.Duration
	calls atomic.Int64

	mu    sync.Mutex
	texts []string
}

func (m *fakeModel) Name() string        { return m.name }
func (m *fakeModel) Dimensions() int     { return len(m.words) }
func (m *fakeModel) Fingerprint() string { return m.name }

func (m *fakeModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.calls.Add(1)
	if takes := time.Duration(m.takes.Load()); takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if m.fail.Load() {
		return nil, errors.New("the provider is away")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts = append(m.texts, texts...)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, len(m.words))
		for j, w := range m.words {
			vectors[i][j] = count(text, w)
		}
	}
	return vectors, nil
}

// asked returns how many texts the model has got since the last call.
func (m *fakeModel) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.texts)
	m.texts = nil
	return n
}

func count(text, word string) float32 {
	n := float32(0)
	for i := 0; i+len(word) <= len(text); i++ {
		if text[i:i+len(word)] == word {
			n++
		}
	}
	return n
}

// models resolves one model, or none.
type models struct{ embeddings.Model }

func (m models) Resolve(named string) (embeddings.Model, error) {
	if m.Model == nil || named != "" && named != m.Name() {
		return nil, embeddings.ErrUnknownModel
	}
	return m.Model, nil
}
