package registry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// policy compiles a Spicepod's expressions.
func policy(t testing.TB, sections string) *availability.Policy {
	t.Helper()
	p, problems := availability.Compile(podtest.Load(t, sections), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// declared is a function with an expression, in a Spicepod.
func declared(name, available string) string {
	return fmt.Sprintf("  - { name: %s, from: sql, body: \"1\", signature: { returns: int64 }, available: %q }\n", name, available)
}

func scope(space string) tools.Scope { return tools.Scope{Caller: caller.Caller{SpaceID: space}} }

func names(list []*tools.Definition) string {
	all := make([]string, len(list))
	for i, d := range list {
		all[i] = d.Name
	}
	return strings.Join(all, " ")
}

func plainTools(t testing.TB, names ...string) []tools.Tool {
	list := make([]tools.Tool, len(names))
	for i, name := range names {
		list[i] = tool(t, tools.Definition{Name: name, Description: "The tool " + strings.ReplaceAll(name, "_", " ") + "."}, nil)
	}
	return list
}

// conditional is a registry with a tool that is hidden without a space, and a function
// that is not a tool.
func conditional(t testing.TB) (*registry.Registry, *registry.Catalog) {
	r, _ := start(t)
	p := policy(t, "functions:\n"+declared("list_sources", "ctx.space_id != null")+declared("secret_sql", "ctx.space_id == 's'"))
	return r, publish(t, r, registry.Contents{
		Generation: 2, Tools: plainTools(t, "list_sources", "list_users", "read"),
		Hidden: []registry.Hidden{{Name: "secret_sql", Stage: registry.StageAsTool, Reason: "it has as_tool: false"}},
		Availability: registry.Availability{Policy: p, Functions: []*availability.Tool{
			{Name: "list_sources", Source: tools.SourceFunction}, {Name: "Secret_SQL", Source: tools.SourceFunction},
		}},
	})
}

func TestHiddenTools(t *testing.T) {
	r, c := conditional(t)
	for space, want := range map[string]string{"": "list_users read", "s": "list_sources list_users read"} {
		if got := names(c.Visible(scope(space))); got != want {
			t.Errorf("space %q: %s", space, got)
		}
		found, err := r.Search(t.Context(), registry.SearchRequest{Query: "*", Scope: scope(space), Limit: 9})
		if err != nil || found.Total != len(found.Tools) || len(found.Tools) != len(strings.Fields(want)) {
			t.Errorf("space %q: %+v %v", space, found, err)
		}
	}
	if got := names(c.Visible(tools.Scope{Unrestricted: true})); got != "list_sources list_users read" {
		t.Errorf("unrestricted: %s", got)
	}
	hides := r.Hides(scope("other"))
	if hides == nil || !hides("SECRET_SQL") || hides("list_sources") || hides("list_users") || r.Hides(scope("s")) != nil {
		t.Error("functions are hidden from the wrong callers")
	}
}

// The answers about a hidden tool are those about one that is not there, but for the name.
func TestHiddenToolsAreUnknown(t *testing.T) {
	r, _ := conditional(t)
	ask := func(name string) string {
		var b strings.Builder
		same := func(text string) string { return strings.ReplaceAll(text, name, "NAME") }
		for _, call := range []registry.Call{
			{Name: name},
			{Name: name, DryRun: true},
			{Name: "tool_invoke", Arguments: json.RawMessage(fmt.Sprintf(`{"tool_id":%q}`, name))},
		} {
			call.Scope = scope("")
			result := r.Invoke(t.Context(), call)
			result.Metrics.LatencyMS = 0
			text, err := json.Marshal(result)
			fmt.Fprintln(&b, same(string(text)), err, result.Tool == nil)
		}
		_, err := r.Status(name, scope(""), false)
		fmt.Fprintln(&b, same(fmt.Sprintf("%+v", err)))
		_, err = r.Status(name, scope(""), true)
		fmt.Fprintln(&b, same(fmt.Sprintf("%+v", err)))
		_, err = r.Why(t.Context(), registry.SearchRequest{Query: "sources", Scope: scope("")}, name)
		fmt.Fprintln(&b, same(fmt.Sprintf("%+v", err)))
		return b.String()
	}
	for hidden, unknown := range map[string]string{"list_sources": "link_sources", "secret_sql": "sacred_sql", "LIST_SOURCES": "LINK_SOURCES"} {
		if diff := cmp.Diff(ask(unknown), ask(hidden)); diff != "" {
			t.Errorf("%s and %s differ:\n%s", hidden, unknown, diff)
		}
	}
	result := r.Invoke(t.Context(), registry.Call{Name: "list_sourcez", Scope: scope("")})
	if strings.Contains(result.Error.Error(), "list_sources") {
		t.Errorf("a hidden tool is suggested: %v", result.Error)
	}
	if result := r.Invoke(t.Context(), registry.Call{Name: "list_sources", Scope: scope("s")}); !result.OK {
		t.Errorf("a visible tool: %v", result.Error)
	}
}

// Those who may name any user and space see why a tool is hidden.
func TestHiddenToolsAreExplained(t *testing.T) {
	r, _ := conditional(t)
	s := scope("")
	s.Delegate = true
	status, err := r.Status("list_sources", s, true)
	if err != nil || status.HiddenBy != registry.StageAvailable || status.Reason != "available of function list_sources is false: ctx.space_id != null" {
		t.Errorf("%+v %v", status, err)
	}
	_, err = r.Status("list_sources", s, false)
	var e *tools.Error
	if !errors.As(err, &e) || e.Code != errcode.ToolNotFound {
		t.Errorf("without explain: %v", err)
	}
}

// A search of a view is one of a catalog that has no other tools.
func TestSearchOfVisibleTools(t *testing.T) {
	var all, visible []tools.Tool
	sections := "functions:\n"
	for i := range 60 {
		name := fmt.Sprintf("tool_%d", i)
		d := tools.Definition{Name: name, Description: fmt.Sprintf("Sends the %s report number %d to the %s team, about %s.",
			[]string{"sales", "finance", "weather"}[i%3], i, []string{"red", "blue", "green", "grey"}[i%4],
			[]string{"invoices", "rain", "ships", "trains", "bees"}[i%5])}
		all = append(all, tool(t, d, nil))
		if i%7 < 3 {
			sections += declared(name, "ctx.space_id == 's'")
		} else {
			visible = append(visible, tool(t, d, nil))
		}
	}
	r, _ := start(t)
	publish(t, r, registry.Contents{Generation: 2, Tools: all, Availability: registry.Availability{Policy: policy(t, sections)}})
	alone, _ := start(t)
	publish(t, alone, registry.Contents{Generation: 2, Tools: visible})
	for _, query := range []string{"*", "send a report about invoices", "weather", "the red team", "tool_1", "tool 3", "zebra", "number 7 rain grey", "to the"} {
		q := registry.SearchRequest{Query: query, Keywords: []string{"report number"}, Limit: 20, Explain: true}
		want, err1 := alone.Search(t.Context(), q)
		got, err2 := r.Search(t.Context(), q)
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if err1 != nil || err2 != nil || string(a) != string(b) {
			t.Errorf("%s: %v %v\n%s", query, err1, err2, cmp.Diff(string(a), string(b)))
		}
	}
}

// Callers with equal sets share one list, byte for byte.
func TestEqualSetsShareAView(t *testing.T) {
	r, c := conditional(t)
	first, again := c.View(scope("a")), c.View(scope("b"))
	if first != again || c.View(scope("")) == first || c.View(scope("s")) == first {
		t.Error("views are not those of equal sets")
	}
	one, two := c.Visible(scope("a")), c.Visible(scope("b"))
	if &one[0] != &two[0] {
		t.Error("equal lists are not shared")
	}
	made := 0
	for range 1000 {
		if got := c.View(scope("a")).Rendered("list", func() any { made++; return "x" }); got != "x" {
			t.Fatal(got)
		}
	}
	if made != 1 {
		t.Errorf("rendered %d times", made)
	}
	for i := range 20_000 { // more callers than are remembered
		if got := len(c.Visible(scope(fmt.Sprint(i)))); got != 3 {
			t.Fatalf("%d tools", got)
		}
	}
	if r.Current() != c {
		t.Error("another catalog")
	}
}

// What depends on the time is evaluated each time, and what fails is logged once.
func TestTimeAndFailures(t *testing.T) {
	now := time.Date(2026, 5, 6, 0, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	r, _ := start(t)
	p := policy(t, "functions:\n"+declared("early", "ctx.now < timestamp('2026-05-07T00:00:00Z')")+declared("broken", "ctx.user_id.startsWith('a')"))
	contents := registry.Contents{Generation: 2, Tools: plainTools(t, "broken", "early"), Availability: registry.Availability{
		Policy: p, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}}
	c := publish(t, r, contents)
	if got := names(c.Visible(tools.Scope{})); got != "early" {
		t.Errorf("today: %s", got)
	}
	now = now.Add(48 * time.Hour)
	if got := names(c.Visible(tools.Scope{})); got != "" {
		t.Errorf("later: %s", got)
	}
	if result := r.Invoke(t.Context(), registry.Call{Name: "early"}); result.OK || result.Error.Code != errcode.ToolNotFound {
		t.Errorf("the call: %+v", result)
	}
	publish(t, r, contents).Visible(tools.Scope{})
	if n := strings.Count(log.String(), "function broken"); n != 1 || !strings.Contains(log.String(), "with null") {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	s := tools.Scope{Caller: caller.Caller{Delegate: true}}
	if status, err := r.Status("broken", s, true); err != nil || !strings.Contains(status.Reason, "ask for != null first") {
		t.Errorf("%+v %v", status, err)
	}
}

// A hidden MCP server that is being connected does not show in errors.
func TestHiddenServer(t *testing.T) {
	r, _ := start(t)
	p := policy(t, `
tools:
  - { from: "mcp:https://wiki.example", name: wiki, available: ctx.space_id == 's' }
`)
	publish(t, r, registry.Contents{
		Generation: 2, Availability: registry.Availability{Policy: p},
		Pending: func(name string) *tools.Error { return tools.NewError(errcode.Loading, name+" is being connected", "") },
	})
	for space, want := range map[string]errcode.Code{"": errcode.ToolNotFound, "s": errcode.Loading} {
		if result := r.Invoke(t.Context(), registry.Call{Name: "wiki__read", Scope: scope(space)}); result.Error.Code != want {
			t.Errorf("space %q: %v", space, result.Error)
		}
	}
}

// manyConditional is a catalog of 10,000 tools and 200 expressions.
func manyConditional(t testing.TB) (*registry.Registry, *registry.Catalog) {
	const many, expressions = 10_000, 200
	list := make([]tools.Tool, many)
	var sections strings.Builder
	sections.WriteString("toolsets:\n")
	for i := range expressions {
		var members []string
		for j := i; j < many; j += expressions {
			members = append(members, fmt.Sprintf("tool_%d", j))
		}
		fmt.Fprintf(&sections, "  - { name: set_%d, tools: [%s], available: \"ctx.space_id != null && ctx.space_id != 's%d' && (ctx.user_id == null || ctx.user_id "+
			"!= 'u%d')\" }\n",
			i, strings.Join(members, ", "), i, i)
	}
	for i := range list {
		list[i] = tool(t, tools.Definition{Name: fmt.Sprintf("tool_%d", i), Description: fmt.Sprintf("Finds the %d th thing of kind %d in place %d.", i, i%97, i%31)},
			nil)
	}
	r := registry.New(registry.Options{})
	return r, publish(t, r, registry.Contents{Generation: 1, Tools: list, Availability: registry.Availability{Policy: policy(t, sections.String())}})
}

func BenchmarkView(b *testing.B) {
	r, c := manyConditional(b)
	b.Run("cold", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			c.View(tools.Scope{Caller: caller.Caller{SpaceID: fmt.Sprintf("s%d", i%200), UserID: fmt.Sprint(i)}})
		}
	})
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			c.Visible(scope("s1"))
		}
	})
	b.Run("search", func(b *testing.B) {
		var took []time.Duration
		i := 0
		q := registry.SearchRequest{Query: "find things of kind 12", Scope: scope("s1")}
		if _, err := r.Search(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			i++
			q.Query = fmt.Sprintf("find things of kind %d in place %d", i%97, i%31)
			began := time.Now()
			if _, err := r.Search(b.Context(), q); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	})
	b.Run("first search", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			if _, err := r.Search(b.Context(), registry.SearchRequest{Query: "find things", Scope: scope(fmt.Sprintf("s%d", i%200))}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
