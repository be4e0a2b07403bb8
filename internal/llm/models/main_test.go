package models_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the secret of all models in tests.
const key = "sk-very-secret-key"

// model is a `models:` section of one model whose server is never contacted.
func model(params string) string {
	return "models: [{name: m, from: 'openai:gpt', params: {endpoint: 'http://127.0.0.1:1/v1', " + params + "}}]\n"
}

// tool returns a tool in memory.
func tool(t testing.TB, def tools.Definition, call func(context.Context, tools.Input) (tools.Output, error)) tools.Tool {
	t.Helper()
	if call == nil {
		call = func(context.Context, tools.Input) (tools.Output, error) { return tools.JSON("done") }
	}
	made, err := tools.New(def, call)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// builtins are tools with the names of the built-in ones.
func builtins(t testing.TB) []tools.Tool {
	t.Helper()
	var list []tools.Tool
	for _, name := range builtin.Names() {
		list = append(list, tool(t, tools.Definition{Name: name, Description: "Is built in.", Source: tools.SourceBuiltin}, nil))
	}
	return list
}

// functions returns n tools of declared functions, from f00.
func functions(t testing.TB, n int) []tools.Tool {
	t.Helper()
	var list []tools.Tool
	for i := range n {
		list = append(list, tool(t, tools.Definition{
			Name: fmt.Sprintf("f%02d", i), Description: fmt.Sprintf("Adds %d to a number.", i), Source: tools.SourceFunction,
			Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}`),
		}, nil))
	}
	return list
}

// stage is everything that models depend on.
type stage struct {
	registry *registry.Registry
	catalog  *registry.Catalog
	log      *bytes.Buffer
	options  models.Options
}

// newStage registers the tools; embeddings are those of the pod.
func newStage(t testing.TB, pod *spicepod.Pod, list []tools.Tool) *stage {
	t.Helper()
	s := &stage{registry: registry.New(registry.Options{}), log: &bytes.Buffer{}}
	set, _ := embeddings.NewSet(pod, embeddings.Options{})
	t.Cleanup(func() { set.Close() })
	s.publish(t, list, set)
	s.options = models.Options{
		Registry: s.registry, Catalog: s.catalog, Embeddings: set,
		Log: slog.New(slog.NewTextHandler(&lockedWriter{w: s.log}, nil)),
	}
	return s
}

func (s *stage) publish(t testing.TB, list []tools.Tool, set *embeddings.Set) {
	t.Helper()
	var err error
	s.catalog, err = registry.NewCatalog(s.registry.Current(), registry.Contents{Tools: list, Embeddings: set, Search: search.Default()})
	if err != nil {
		t.Fatal(err)
	}
	s.registry.Publish(s.catalog)
	s.options.Catalog = s.catalog
}

type lockedWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// open opens the models of a Spicepod with the tools.
func open(t testing.TB, sections string, list []tools.Tool) (*models.Set, spicepod.Problems, *stage) {
	t.Helper()
	pod := podtest.Load(t, sections)
	s := newStage(t, pod, list)
	set, problems := models.NewSet(pod, nil, s.options)
	return set, problems, s
}

// serve starts a provider.
func serve(t testing.TB) *chattest.Server {
	t.Helper()
	server, err := chattest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(chattest.Always(chattest.Say(chattest.Text("hello"))))
	return server
}

// ask chats and returns the whole answer.
func ask(t testing.TB, set *models.Set, name string, r *chat.Request, scope tools.Scope) (*chat.Response, error) {
	t.Helper()
	m, err := set.Model(name)
	if err != nil {
		t.Fatal(err)
	}
	var c chat.Collector
	for e, err := range m.Chat(t.Context(), r, scope) {
		if err != nil {
			return c.Response(), err
		}
		if e.Tool == nil {
			c.Add(e.Delta)
		}
	}
	return c.Response(), nil
}

// must is ask that fails the test on an error.
func must(t testing.TB, set *models.Set, name string, r *chat.Request) *chat.Response {
	t.Helper()
	response, err := ask(t, set, name, r, tools.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// hello is a request.
func hello() *chat.Request {
	return &chat.Request{Model: "m", Form: chat.FormOpenAI, Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")}}
}

// texts returns the messages of problems, with warnings marked.
func texts(problems spicepod.Problems) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Severity.String()+": "+p.Message)
	}
	return strings.Join(all, "\n")
}
