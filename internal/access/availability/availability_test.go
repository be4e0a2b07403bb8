package availability_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

const settings = `
runtime:
  tools:
    settings: { region: eu, most: 3, share: 0.5, beta: true, regions: [eu, us], none: [] }
`

// function is a Spicepod with a function f of that expression.
func function(expression string) string {
	return settings + fmt.Sprintf(`
functions:
  - { name: f, from: sql, body: "1", signature: { returns: int64 }, available: %q }
`, expression)
}

func rule(t *testing.T, expression string) *availability.Rule {
	t.Helper()
	policy, problems := availability.Compile(podtest.Load(t, function(expression)), nil)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", expression, problems)
	}
	return policy.All()[0]
}

func TestExpressions(t *testing.T) {
	ctx := &availability.Context{Principal: "ann", UserID: "u1", Agent: "lagan", Now: time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)}
	tool := &availability.Tool{Name: "refund", Owner: "lagan", Tags: []string{"finance", "money"}, Source: "function", Risk: availability.Read}
	for expression, want := range map[string]string{
		"ctx.space_id != null":                                 "false",
		"ctx.space_id == null":                                 "true",
		"has(ctx.space_id)":                                    "false",
		"has(ctx.user_id)":                                     "true",
		"ctx.agent == 'lagan' && 'finance' in tool.tags":       "true",
		"ctx.agent == tool.owner":                              "true",
		"ctx.principal in ['bob', 'ann']":                      "true",
		"ctx.settings.beta && ctx.settings.most > 2":           "true",
		"ctx.settings.share < 0.4":                             "false",
		"ctx.settings.region in ctx.settings.regions":          "true",
		"size(ctx.settings.none) == 0":                         "true",
		"ctx.settings.web_search":                              "false",
		"ctx.now > timestamp('2026-01-01T00:00:00Z')":          "true",
		"tool.tags.exists(t, t.startsWith('mon'))":             "true",
		"tool.name.matches('^re.*d$')":                         "true",
		"tool.source == 'function' && tool.risk == 'read'":     "true",
		"ctx.space_id.startsWith('s')":                         "its expression failed: it calls a function or an operator with null; ask for != null first",
		"ctx.space_id != null && ctx.space_id.startsWith('s')": "false",
		"1 / (ctx.settings.most - 3) > 0":                      "division by zero",
		"ctx.model == null && ctx.session_id == null && ctx.request_id == null && ctx.flow_id == null && ctx.step_id == null": "true",
	} {
		ok, err := rule(t, expression).Eval(ctx, tool)
		got := fmt.Sprint(ok)
		if err != nil {
			got = err.Error()
		}
		if got != want || err != nil && ok {
			t.Errorf("%s: %v %v, want %s", expression, ok, err, want)
		}
	}
}

// Every fault has a position in the expression, and says what would be right.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ expression, at, message, hint string }{
		{"ctx.spaceid != null", "spaceid", `ctx has no field "spaceid"`, `did you mean "space_id"?`},
		{"true && ctx.settings.betta", "betta", `there is no setting "betta"`, `did you mean "beta"?`},
		{"ctx.settings.zzzzzz", "zzzzzz", `there is no setting "zzzzzz"`, "declare it under runtime.tools.settings"},
		{"ctx.beta", "beta", `ctx has no field "beta"`, "write ctx.settings.beta"},
		{"tool.nam == 'x'", "nam", `tool has no field "nam"`, `did you mean "name"?`},
		{"space_id != null", "space_id", `there is no name or function "space_id"`, "write ctx.space_id"},
		{"region == 'eu'", "region", `there is no name or function "region"`, "write ctx.settings.region"},
		{"foo(1)", "foo", `there is no name or function "foo"`, "the names are ctx and tool"},
		{"ctx", "ctx", "the expression gives", "compare it"},
		{"ctx == ctx", "ctx", "ctx is used as a whole", "select a field, such as ctx.space_id"},
		{"type(tool) == int", "tool)", "tool is used as a whole", "select a field, such as tool.name"},
		{"ctx.space_id", "ctx", "the expression gives a text; it must give true or false", "… != null"},
		{"ctx.settings.most", "ctx", "the expression gives a number", "=="},
		{"ctx.user_id == 1", "== 1", "the operator == does not take string and int", "compare values of one type"},
		{"ctx.space_id = 'x'", "= 'x'", "this is not a CEL expression", "write == to compare"},
		{"true and false", "and", "this is not a CEL expression", "write &&, || and !"},
		{"ctx.agent <> 'x'", "> 'x'", "this is not a CEL expression", "write != for not equal"},
		{"ctx.space_id ==", "", "this is not a CEL expression", "something is missing at its end"},
		{"ctx.user_id.matches('(')", "'('", "invalid matches argument", ""},
		{"[1].all(x, [1].all(y, [1].all(z, x < y + z)))", "(z", "comprehension exceeds nesting limit", ""},
		{"'" + strings.Repeat("x", availability.MaxExpression) + "' == ''", "'x", "the limit is 4096", ""},
	} {
		policy, problems := availability.Compile(podtest.Load(t, function(c.expression)), nil)
		if len(problems) != 1 {
			t.Errorf("%.60s: %d problems: %v", c.expression, len(problems), problems)
			continue
		}
		p := problems[0]
		if !strings.Contains(p.Message, c.message) || !strings.Contains(p.Hint, c.hint) || p.Component != "function f" || p.Line == 0 {
			t.Errorf("%.60s: %s: %q %q at %v; want %q %q", c.expression, p.Component, p.Message, p.Hint, p.Position, c.message, c.hint)
		}
		start := strings.Index(p.Source, `available: "`) + len(`available: "`)
		if at := p.Column - 1 - start; c.at != "" && at >= 0 && len(c.expression) < 100 && !strings.HasPrefix(c.expression[at:], c.at) {
			t.Errorf("%s: it points at %q, want %q", c.expression, c.expression[at:], c.at)
		}
		if ok, err := policy.All()[0].Eval(&availability.Context{SpaceID: "s"}, &availability.Tool{}); ok || err == nil {
			t.Errorf("%.60s is available by a faulty expression", c.expression)
		}
	}
}

func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		"{ in: 1 }":              "it is a word of CEL",
		"{ a-b: 1 }":             "write a letter or _",
		"{ a: { b: 1 } }":        "a mapping",
		"{ a: null }":            "null",
		"{ a: [1, x] }":          "value 2 of the list is a text, and the first is a whole number",
		"{ a: [[1]] }":           "value 1 of the list is a list",
		"{ web_search: please }": "built-in tools use it as a boolean",
	} {
		_, problems := availability.Compile(podtest.Load(t, "runtime:\n  tools:\n    settings: "+text+"\n"), nil)
		if len(problems) != 1 || !strings.Contains(problems[0].Message+problems[0].Hint, want) || problems[0].Line == 0 {
			t.Errorf("%s: %v; want %q", text, problems, want)
		}
	}
}

// While an expression has a fault, the last good one decides; without one, nothing is
// available.
func TestLastGoodExpression(t *testing.T) {
	good, _ := availability.Compile(podtest.Load(t, function("ctx.space_id == 's'")), nil)
	bad, problems := availability.Compile(podtest.Load(t, function("ctx.spaceid == 's'")), good)
	if len(problems) != 1 {
		t.Fatal(problems)
	}
	tool := &availability.Tool{Name: "F", Source: "function"}
	for space, want := range map[string]bool{"s": true, "": false} {
		if got, err := bad.Rules(tool)[0].Eval(&availability.Context{SpaceID: space}, tool); got != want || err != nil {
			t.Errorf("space %q: %v %v", space, got, err)
		}
	}
}

// What requires approval: by functions, built-in tools and MCP servers. A failure requires it.
func TestApprovals(t *testing.T) {
	policy, problems := availability.Compile(podtest.Load(t, `
functions:
  - { name: Pay, from: sql, body: "1", signature: { returns: int64 }, requires_approval: true }
  - { name: open, from: sql, body: "1", signature: { returns: int64 }, requires_approval: false }
  - { name: fee, from: sql, body: "1", signature: { returns: int64 }, requires_approval: "ctx.user_id.startsWith('a')" }
tools:
  - { from: "builtin:sql", name: query, requires_approval: "ctx.agent != null" }
  - { from: "mcp:https://shop.example", name: shop, requires_approval: tool.risk != 'read' }
`), nil)
	if len(problems) > 0 || len(policy.Approvals()) != 4 || len(policy.All()) != 0 {
		t.Fatal(problems, policy.Approvals())
	}
	for _, c := range []struct {
		tool      availability.Tool
		ctx       availability.Context
		want, err bool
	}{
		{availability.Tool{Name: "pay", Source: "function"}, availability.Context{}, true, false},
		{availability.Tool{Name: "open", Source: "function"}, availability.Context{}, false, false},
		{availability.Tool{Name: "fee", Source: "function"}, availability.Context{UserID: "bob"}, false, false},
		{availability.Tool{Name: "fee", Source: "function"}, availability.Context{}, true, true},
		{availability.Tool{Name: "query", Source: "builtin"}, availability.Context{Agent: "x"}, true, false},
		{availability.Tool{Name: "pay", Source: "builtin"}, availability.Context{}, false, false},
		{availability.Tool{Name: "shop__buy", Source: "mcp:Shop", Risk: availability.Write}, availability.Context{}, true, false},
		{availability.Tool{Name: "shop__look", Source: "mcp:shop", Risk: availability.Read}, availability.Context{}, false, false},
		{availability.Tool{Name: "pay", Source: "mcp:other"}, availability.Context{}, false, false},
	} {
		got, failed := false, error(nil)
		if rule := policy.Approval(&c.tool); rule != nil {
			got, failed = rule.Requires(&c.ctx, &c.tool)
		}
		if got != c.want || (failed != nil) != c.err {
			t.Errorf("%s %+v: %v %v", c.tool.Name, c.ctx, got, failed)
		}
	}
}

// An expression with a fault requires approval, unless there is a last good one.
func TestFaultsOfApprovals(t *testing.T) {
	pod := func(expression string) string {
		return fmt.Sprintf(`
functions:
  - { name: f, from: sql, body: "1", signature: { returns: int64 }, requires_approval: %q }
`, expression)
	}
	tool := &availability.Tool{Name: "f", Source: "function"}
	requires := func(p *availability.Policy) bool {
		got, _ := p.Approval(tool).Requires(&availability.Context{}, tool)
		return got
	}
	bad, problems := availability.Compile(podtest.Load(t, pod("ctx.spaceid != null")), nil)
	if len(problems) != 1 || problems[0].Line == 0 || problems[0].Component != "function f" ||
		problems[0].Message != `requires_approval: ctx has no field "spaceid"` || !strings.Contains(problems[0].Hint, `did you mean "space_id"?`) {
		t.Fatalf("%+v", problems)
	}
	if !requires(bad) {
		t.Error("a fault does not require approval")
	}
	good, _ := availability.Compile(podtest.Load(t, pod("ctx.space_id != null")), nil)
	last, problems := availability.Compile(podtest.Load(t, pod("ctx.spaceid != null")), good)
	if len(problems) != 1 || requires(last) {
		t.Error("the last good expression does not decide")
	}
	if _, problems := availability.Compile(podtest.Load(t, pod("ctx.space_id")), nil); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "it must give true or false") {
		t.Error(problems)
	}
}

func TestRules(t *testing.T) {
	policy, problems := availability.Compile(podtest.Load(t, `
functions:
  - { name: Fee, from: sql, body: "1", signature: { returns: int64 }, available: "true" }
  - { name: open, from: sql, body: "1", signature: { returns: int64 } }
tools:
  - { from: "builtin:sql", name: query, available: "true" }
  - { from: "mcp:https://wiki.example", name: wiki, available: "true" }
toolsets:
  - { name: changes, tools: ["wiki__*_page", "wiki/purge", fee], available: "false" }
  - { name: all, tools: ["*"], available: "true" }
  - { name: free, tools: [open] }
`), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct{ name, source, want string }{
		{"fee", "function", "function Fee, toolset changes, toolset all"},
		{"open", "function", "toolset all"},
		{"query", "builtin", "tool query, toolset all"},
		{"wiki__read", "mcp:wiki", "tool wiki, toolset all"},
		{"wiki__delete_page", "mcp:wiki", "tool wiki, toolset changes, toolset all"},
		{"wiki__purge", "mcp:wiki", "tool wiki, toolset changes, toolset all"},
		{"wiki", "function", "toolset all"},
	} {
		var got []string
		for _, r := range policy.Rules(&availability.Tool{Name: c.name, Source: c.source}) {
			got = append(got, r.Declared)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "A", true},
		{"a", "ab", false},
		{"a*", "a", true},
		{"*", "", true},
		{"*b", "aab", true},
		{"a*b*c", "a1b2c", true},
		{"a*b*c", "acb", false},
		{"a*a", "a", false},
		{"s/t", "s__t", true},
		{"**", "x", true},
		{"*x*x", "x", false},
	} {
		if got := availability.NamesOf([]string{"other", c.pattern}).Has(c.name); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.name, got)
		}
	}
}

// The agent and the model are the runtime's, whatever a client claims.
func TestContextOf(t *testing.T) {
	claimed := caller.Caller{Agent: "lagan", Model: "gpt", UserID: "u", Principal: "p"}
	c := availability.ContextOf(claimed, time.Time{})
	if c.Agent != "" || c.Model != "" || c.UserID != "u" || c.Principal != "p" {
		t.Errorf("%+v", c)
	}
	claimed.Acting = caller.Acting{Agent: "ishvana", Model: "m"}
	if c := availability.ContextOf(claimed, time.Time{}); c.Agent != "ishvana" || c.Model != "m" {
		t.Errorf("%+v", c)
	}
}

// What macros and regular expressions may cost is limited.
func TestCost(t *testing.T) {
	tool := &availability.Tool{}
	for range 5000 {
		tool.Tags = append(tool.Tags, "a tag that is somewhat long")
	}
	began := time.Now()
	ok, err := rule(t, "tool.tags.all(a, tool.tags.all(b, a == b))").Eval(&availability.Context{}, tool)
	if ok || err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("%v %v after %s", ok, err, time.Since(began))
	}
}

// Compiling never panics and what compiles can be evaluated, in bounded time.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"ctx.space_id != null", "ctx.agent == 'a' && 'x' in tool.tags", "tool.tags.exists(t, t == ctx.agent)", "ctx", "a.b.c{d: 1}",
		"ctx.user_id.matches('a+$')", "[1, 2].map(x, x * 2)[0] == 2", "ctx.now - duration('1h') < ctx.now", "'\\u{10ffff}' == b'x'", "{'a': ctx.model}['a'] == null",
		"true ? ctx.settings.beta : ctx.settings.share > 1.0", "size('é') == 1u", "dyn(1) == 'x'", "/* */ // \n true", "((((((((((true))))))))))",
	} {
		f.Add(seed)
	}
	pod := podtest.Load(f, settings)
	f.Fuzz(func(t *testing.T, expression string) {
		x, err := availability.CompileExpression(pod, expression)
		if err != nil {
			if err.Offset < 0 || err.Offset > len(expression) || err.Message == "" {
				t.Errorf("fault %+v", err)
			}
			return
		}
		began := time.Now()
		_, _ = x.Eval(&availability.Context{UserID: "u"}, &availability.Tool{Name: "n", Tags: []string{"a", "b"}})
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func BenchmarkEval(b *testing.B) {
	pod := podtest.Load(b, settings)
	for _, text := range []string{
		"ctx.space_id != null", "ctx.agent == 'lagan' && 'finance' in tool.tags", "ctx.user_id != null && ctx.user_id.startsWith('a')",
		"tool.tags.exists(t, t == ctx.agent)",
	} {
		x, fault := availability.CompileExpression(pod, text)
		if fault != nil {
			b.Fatal(fault)
		}
		ctx, tool := &availability.Context{Agent: "lagan", UserID: "ann"}, &availability.Tool{Tags: []string{"finance"}}
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				_, _ = x.Eval(ctx, tool)
			}
		})
	}
}
