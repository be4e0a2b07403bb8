package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/tools"
)

// library has a few resources.
type library struct{ more *atomic.Bool }

func (l library) List(tools.Scope) []mcpserver.Resource {
	list := []mcpserver.Resource{
		{Kind: mcpserver.Functions, Name: "haversine_km", Description: "Distance on the globe."},
		{Kind: mcpserver.Datasets, Name: "sales", Description: "What was sold."},
		{Kind: mcpserver.Datasets, Name: "a b/ü", Description: "An odd name."},
		{Kind: mcpserver.Datasets, Name: "panics"},
		{Kind: mcpserver.Datasets, Name: "fails"},
		{Kind: mcpserver.Datasets, Name: "huge"},
	}
	if l.more != nil && l.more.Load() {
		list = append(list, mcpserver.Resource{Kind: mcpserver.Datasets, Name: "returns"})
	}
	return list
}

func (l library) Read(_ context.Context, scope tools.Scope, kind mcpserver.Kind, name string) (string, error) {
	switch name {
	case "panics":
		panic("out of paper")
	case "fails":
		return "", errors.New("the folder is locked")
	case "huge":
		return strings.Repeat("x", 5<<20), nil
	}
	for _, r := range l.List(scope) {
		if r.Kind == kind && r.Name == name {
			return "# " + name + "\n", nil
		}
	}
	return "", fmt.Errorf("%s %q: %w", kind, name, mcpserver.ErrNoResource)
}

func TestResourcesGolden(t *testing.T) {
	session := start(t, mcpserver.Options{Resources: library{}}).shake(t, "")
	var b strings.Builder
	for _, c := range []struct{ method, params string }{
		{"resources/list", `{}`},
		{"resources/templates/list", `{}`},
		{"resources/read", `{"uri":"spiced://datasets/sales"}`},
		{"resources/read", `{"uri":"spiced://functions/haversine_km"}`},
		{"resources/read", `{"uri":"spiced://datasets/a%20b%2F%C3%BC"}`},
		{"resources/read", `{"uri":"spiced://datasets/sale"}`},
		{"resources/read", `{"uri":"spiced://functions/sales"}`},
		{"resources/read", `{"uri":"file:///etc/passwd"}`},
		{"resources/read", `{"uri":"spiced://datasets/fails"}`},
		{"resources/read", `{"uri":"spiced://datasets/huge"}`},
		{"resources/read", `{"uri":"spiced://datasets/panics"}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"spiced://datasets/{name}"},"argument":{"name":"name","value":"S"}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"spiced://nothing/{name}"},"argument":{"name":"name","value":""}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"spiced://datasets/{name}"},"argument":{"name":"other","value":""}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"name","value":""}}`},
		{"prompts/list", `{}`},
		{"ping", `{}`},
		{"logging/setLevel", `{"level":"debug"}`},
	} {
		fmt.Fprintf(&b, "> %s %s\n%s\n", c.method, c.params, indent(t, session.ask(c.method, c.params)))
	}
	golden.Equal(t, "testdata/resources.txt", []byte(b.String()))
}

func TestWithoutResources(t *testing.T) {
	f := start(t, mcpserver.Options{}, greet(t))
	session := f.connect(t, "", nil)
	if got := session.InitializeResult().Capabilities; got.Resources != nil || got.Completions != nil || got.Tools == nil || !got.Tools.ListChanged {
		t.Errorf("%+v", got)
	}
	if got := f.shake(t, "").ask("resources/read", `{"uri":"spiced://datasets/sales"}`); !strings.Contains(got, `"error"`) {
		t.Error(got)
	}
}
