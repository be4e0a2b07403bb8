package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/tools"
)

func TestRender(t *testing.T) {
	list := []*tools.Definition{tool("f", "A < B.", `{"type": "object"}`), tool("g", "C.", `{}`)}
	for form, want := range map[lint.Form]string{
		lint.OpenAI: `[{"type":"function","function":{"name":"f","description":"A < B.","parameters":{"type":"object"}}},` +
			`{"type":"function","function":{"name":"g","description":"C.","parameters":{}}}]`,
		lint.Planner: `[{"name":"f","description":"A < B."},{"name":"g","description":"C."}]`,
	} {
		if got := lint.Render(list, form); got != want {
			t.Errorf("%s: %s", form, cmp.Diff(want, got))
		}
	}
	if got := lint.Render(nil, lint.OpenAI); got != "[]" {
		t.Errorf("none: %s", got)
	}
}

func TestSummarise(t *testing.T) {
	list := []*tools.Definition{tool("b", good, `{}`), tool("a", good, `{}`), tool("c", good, `{"type":"object"}`)}
	s := lint.Summarise(list, list[:1])
	if s.Tools != 3 || s.Direct != lint.Cost(list, lint.OpenAI) || s.Registry != lint.Cost(list[:1], lint.OpenAI) || s.Planner != lint.Cost(list, lint.Planner) {
		t.Errorf("%+v", s)
	}
	if s.Registry >= s.Planner || s.Planner >= s.Direct {
		t.Errorf("one tool %d, names and descriptions %d, all %d", s.Registry, s.Planner, s.Direct)
	}
	if len(s.ByTool) != 3 || s.ByTool[0].Tool != "c" || s.ByTool[1].Tool != "a" || s.ByTool[2].Tool != "b" || s.ByTool[0].Tokens <= s.ByTool[1].Tokens {
		t.Errorf("the dearest first, then by name: %+v", s.ByTool)
	}
	if s := lint.Summarise(nil, nil); s.Tools != 0 || s.Direct != 1 || s.ByTool == nil {
		t.Errorf("none: %+v", s)
	}
}
