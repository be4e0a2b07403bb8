package models_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// world is a Spicepod's embedding models.
type world struct{ name, sections, params string }

var worlds = []world{
	{"no embedding", "", ""},
	{"one embedding", "embeddings: [{name: local, from: 'builtin:hash'}]\n", ""},
	{"several", "embeddings: [{name: zeta, from: 'builtin:hash'}, {name: alpha, from: 'builtin:hash'}]\n", ""},
	{"several, one named", "embeddings: [{name: zeta, from: 'builtin:hash'}, {name: alpha, from: 'builtin:hash'}]\n", "tool_embedding_model: zeta"},
	{"an unknown one named", "embeddings: [{name: local, from: 'builtin:hash'}]\n", "tool_embedding_model: nope"},
	{"broken", "embeddings: [{name: bad, from: 'openai:x'}]\n", ""},
}

// Spice's texts when there is no search.
var refusals = map[string]string{
	"no embedding": "No embedding model configured for searchable tool discovery. Add one model to the `embeddings` section, " +
		"or set `tool_embedding_model` to reference a configured embedding model. One that works offline: `" + embeddings.Remedy + "`",
	"several":              "Multiple embedding models are configured for searchable tool discovery: alpha, zeta. Set `tool_embedding_model` to one of them",
	"an unknown one named": "Embedding model 'nope' specified by `tool_embedding_model` was not found in the `embeddings` section",
	"broken": "Embedding model 'bad' configured for searchable tool discovery was not loaded. " +
		"Check earlier embedding model errors and verify the `embeddings` configuration",
}

var resolved = map[string]string{"one embedding": "local", "several, one named": "zeta"}

// searches reports whether a value of params.tools leads to a search.
type searches int

const (
	never searches = iota
	ifMany
	always
)

// TestToolsOfMetrics: where metrics are declared, their tools are in each set.
func TestToolsOfMetrics(t *testing.T) {
	list := builtins(t)
	for _, name := range builtin.Metrics {
		list = append(list, tool(t, tools.Definition{Name: name, Description: "Is built in.", Source: tools.SourceBuiltin}, nil))
	}
	for _, set := range []string{"auto", "all", "nsql", "auto, list_udfs"} {
		opened, _, _ := open(t, "models: [{name: m, from: 'openai:gpt', params: {endpoint: 'http://127.0.0.1:1/v1', tools: '"+set+"'}}]\n", list)
		for _, name := range builtin.Metrics {
			if plan := opened.Infos()[0]; !slices.Contains(plan.Advertised, name) {
				t.Errorf("tools: %s advertises %v, not %s", set, plan.Advertised, name)
			}
		}
	}
}

func TestModes(t *testing.T) {
	values := []struct {
		tools    string
		builtins int // of the set
		broad    bool
		searches searches
	}{
		{"auto", len(builtin.Auto), true, ifMany},
		{" Auto ", len(builtin.Auto), true, ifMany},
		{"all", len(builtin.All), true, never},
		{"search_registry", len(builtin.Names()), true, always},
		{"nsql", len(builtin.NSQL), false, never},
		{"auto, list_udfs", len(builtin.Auto) + 1, true, ifMany},
		{"nsql, auto", len(builtin.All), true, ifMany},
		{"list_udfs, search_registry", len(builtin.Names()), true, always},
		{"all, list_udfs", len(builtin.All) + 1, true, never},
		{"disabled, auto", len(builtin.Auto), true, ifMany},
	}
	for _, v := range values {
		for _, count := range []int{20, 21} {
			for _, w := range worlds {
				t.Run(fmt.Sprintf("%s/%d/%s", v.tools, count, w.name), func(t *testing.T) {
					declared := count - v.builtins
					sections := w.sections + model(fmt.Sprintf("tools: %q, %s", v.tools, w.params))
					set, problems, s := open(t, sections, append(builtins(t), functions(t, declared)...))
					info := set.Infos()[0]
					if !v.broad {
						count = v.builtins
					}
					wants := v.searches == always || v.searches == ifMany && count > 20
					if wants && resolved[w.name] != "" { // a search finds every tool
						count = declared + len(builtin.Names())
					}
					checkMode(t, info, problems, w.name, count, v.searches, wants)
					checkLog(t, s, info)
				})
			}
		}
	}
}

// checkMode checks the decision against the rules.
func checkMode(t *testing.T, info models.Info, problems spicepod.Problems, world string, count int, how searches, wants bool) {
	t.Helper()
	refusal := refusals[world]
	switch {
	case !wants:
		check(t, info, problems, models.ModeDirect, count, "")
		if len(info.Advertised) != count {
			t.Errorf("%d tools sent, want all %d", len(info.Advertised), count)
		}
	case refusal == "":
		check(t, info, problems, models.ModeRegistry, count, "")
		if want := []string{"list_datasets", "tool_invoke", "tool_search"}; !slices.Equal(info.Advertised, want) {
			t.Errorf("sent %v, want %v", info.Advertised, want)
		}
		if info.EmbeddingModel != resolved[world] || !strings.HasSuffix(info.Reason, "and embedding model "+resolved[world]) {
			t.Errorf("searched with %q: %s", info.EmbeddingModel, info.Reason)
		}
	case how == always:
		if info.Status != models.StatusError || texts(problems) != "error: "+refusal || info.Error != problems[0].Located() {
			t.Errorf("%+v\n%s", info, texts(problems))
		}
		if problems[0].Line == 0 || problems[0].Component != "model m" {
			t.Errorf("%+v", problems[0])
		}
	default:
		check(t, info, problems, models.ModeDirect, count,
			"warning: Unable to use searchable tool registry for tools: auto: "+refusal+". Falling back to direct tool definitions.")
	}
}

func check(t *testing.T, info models.Info, problems spicepod.Problems, mode models.Mode, count int, want string) {
	t.Helper()
	if info.Status != models.StatusReady || info.Mode != mode || info.Count != count || info.Reason == "" {
		t.Errorf("%+v, want %s with %d tools", info, mode, count)
	}
	if got := texts(problems); got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
}

// checkLog checks that there is at most one line about each loaded model.
func checkLog(t *testing.T, s *stage, info models.Info) {
	t.Helper()
	want := 1
	if info.Status == models.StatusError {
		want = 0 // it is a problem, which the caller logs
	}
	if got := strings.Count(s.log.String(), "\n"); got != want {
		t.Errorf("%d lines in the log:\n%s", got, s.log)
	}
	if want == 1 && !strings.Contains(s.log.String(), "mode="+string(info.Mode)) {
		t.Errorf("log: %s", s.log)
	}
}

func TestReasons(t *testing.T) {
	one := worlds[1].sections
	for _, c := range []struct{ sections, want string }{
		{model(""), "none: params.tools is not set"},
		{model("tools: null"), "none: params.tools is not set"},
		{model("tools: ''"), `none: tools: "" has no tool`},
		{model("tools: disabled"), "none: tools: disabled has no tool"},
		{model("tools: None"), "none: tools: None has no tool"},
		{model("tools: ' , '"), "none: tools: , has no tool"},
		{model("tools: sql"), "direct: 1 tool; tools: sql is sent unchanged"},
		{model("tools: auto"), "direct: 20 tools, no more than 20"},
		{one + model("tools: auto, auto_threshold: 19"), "registry: 20 tools, more than 19, and embedding model local"},
		{one + model("tools: search_registry"), "registry: tools: search_registry, and embedding model local"},
		{model("tools: auto, auto_threshold: 3"), "direct: 20 tools, more than 3, but: " + refusals["no embedding"]},
		{model("tools: auto, auto_threshold: 3, tool_search: native"), "native: 20 tools, more than 3, and the provider searches"},
		{model("tools: search_registry, tool_search: native"), "native: tools: search_registry, and the provider searches"},
		{model("tools: search_registry, auto_threshold: 26, tool_search: native"), "native: tools: search_registry, and the provider searches"},
		{one + model("tools: search_registry, auto_threshold: 26"), "registry: tools: search_registry, and embedding model local"},
		{model("spice_tools: auto"), "direct: 20 tools, no more than 20"},
		{model("spice_tools: all, tools: sql"), "direct: 1 tool; tools: sql is sent unchanged"},
	} {
		t.Run(c.sections, func(t *testing.T) {
			set, _, _ := open(t, c.sections, append(builtins(t), functions(t, 14)...))
			info := set.Infos()[0]
			if got := string(info.Mode) + ": " + info.Reason; got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if info.Mode == models.ModeNone && len(info.Advertised) > 0 {
				t.Errorf("sends %v", info.Advertised)
			}
		})
	}
}

func TestAbsentToolsAreNoTools(t *testing.T) {
	set, problems, _ := open(t, model(""), append(builtins(t), functions(t, 30)...))
	info := set.Infos()[0]
	if info.Mode != models.ModeNone || info.Count != 0 || len(info.Advertised) != 0 || len(problems) > 0 {
		t.Errorf("%+v %v", info, problems)
	}
}

func TestSets(t *testing.T) {
	list := append(builtins(t), functions(t, 2)...)
	for _, name := range []string{"maps__route", "maps__find", "other__go"} {
		server, _, _ := strings.Cut(name, "__")
		list = append(list, tool(t, tools.Definition{Name: name, Description: "d", Source: "mcp:" + server}, nil))
	}
	list = append(list, tool(t, tools.Definition{Name: "our_sql", Description: "d", Source: tools.SourceBuiltin}, nil))
	entries := "tools: [{name: our_sql, from: 'builtin:sql'}, {name: maps, from: 'mcp:npx'}]\n"
	auto := append([]string{"f00", "f01", "maps__find", "maps__route", "our_sql"}, builtin.Auto...)
	for _, c := range []struct {
		tools string
		want  []string
	}{
		{"auto", auto},
		{"all", append(slices.Clone(auto), "random_sample", "sample_distinct_columns", "top_n_sample")},
		{"nsql", builtin.NSQL},
		{"maps", []string{"maps__find", "maps__route"}},
		{"maps:route, other__go, F01", []string{"f01", "maps__route", "other__go"}},
		{"maps/find", []string{"maps__find"}},
		{"sql,sql, nsql", builtin.NSQL},
		{"disabled, sql", []string{"sql"}},
	} {
		t.Run(c.tools, func(t *testing.T) {
			set, problems, _ := open(t, entries+model(fmt.Sprintf("tools: %q", c.tools)), list)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, set.Infos()[0].Advertised); diff != "" || len(problems) > 0 {
				t.Errorf("%s %v", diff, problems)
			}
		})
	}
}

func TestUnknownNamesAreAWarning(t *testing.T) {
	list := functions(t, 2)
	set, problems, _ := open(t, model("tools: 'zz, f00, Memory', pinned_tools: 'f01, f00, nope'"), list)
	want := "warning: The following tools were not found in the registry: zz, Memory. Available tools are: f00, f01. " +
		"See docs/models.md\n" +
		"warning: The following pinned tools are not among the tools of the model: f01, nope. Its tools are: f00."
	if got := texts(problems); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if info := set.Infos()[0]; info.Status != models.StatusReady || info.Mode != models.ModeDirect || !slices.Equal(info.Pinned, []string{"f00"}) {
		t.Errorf("%+v", info)
	}
	for i, path := range []string{"models[0].params.tools", "models[0].params.pinned_tools"} {
		if p := problems[i]; p.Path != path || p.Line != 4 || p.Component != "model m" {
			t.Errorf("%+v, want it at %s", p, path)
		}
	}
}

func TestManyNamesAreCounted(t *testing.T) {
	var list []tools.Tool
	for i := range models.MaxListed + 7 {
		list = append(list, tool(t, tools.Definition{Name: fmt.Sprintf("t%03d", i), Description: "d", Source: tools.SourceFunction}, nil))
	}
	_, problems, _ := open(t, model("tools: nope"), list)
	if got := texts(problems); !strings.Contains(got, "t099 and 7 more. See docs/models.md") {
		t.Error(got)
	}
}

func TestReservedNames(t *testing.T) {
	one := worlds[1].sections
	for _, name := range []string{"tool_search", "tool_invoke"} {
		list := append(builtins(t), functions(t, 14)...)
		reserved := tool(t, tools.Definition{Name: name, Description: "Is ours.", Source: tools.SourceFunction}, nil)
		t.Run(name+"/search_registry", func(t *testing.T) {
			set, problems, _ := open(t, one+model("tools: search_registry"), append(list, reserved))
			want := "Tool name '" + name + "' is reserved for the searchable tool registry. Rename the configured tool or disable searchable registry tools."
			if texts(problems) != "error: "+want || !strings.Contains(problems[0].Hint, "as_tool: false") {
				t.Errorf("%v", problems)
			}
			_, err := set.Model("m")
			var failed *chat.Error
			if !errors.As(err, &failed) || failed.Code != errcode.ModelNotLoaded || failed.Message != `the model "m" was not loaded: `+problems[0].Located() {
				t.Errorf("%v", err)
			}
		})
		t.Run(name+"/auto, many", func(t *testing.T) {
			set, problems, _ := open(t, one+model("tools: auto"), append(list, reserved))
			want := "warning: Unable to use searchable tool registry for tools: auto: tool name '" + name +
				"' is reserved for the searchable tool registry. Falling back to direct tool definitions."
			if texts(problems) != want || set.Infos()[0].Mode != models.ModeDirect || set.Infos()[0].Count != 21 {
				t.Errorf("%s %+v", texts(problems), set.Infos()[0])
			}
			if problems[0].Path != "models[0].params.tools" {
				t.Errorf("%+v", problems[0])
			}
		})
		t.Run(name+"/auto, few", func(t *testing.T) {
			_, problems, _ := open(t, one+model("tools: auto"), append(builtins(t), reserved))
			if len(problems) > 0 {
				t.Errorf("%v", problems)
			}
		})
	}
}

func TestPinnedToolsStandBesideTheSearch(t *testing.T) {
	list := append(builtins(t), functions(t, 20)...)
	set, problems, _ := open(t, worlds[1].sections+model("tools: auto, pinned_tools: 'sql, F03,sql'"), list)
	want := []string{"f03", "list_datasets", "sql", "tool_invoke", "tool_search"}
	if diff := cmp.Diff(want, set.Infos()[0].Advertised); diff != "" || len(problems) > 0 {
		t.Errorf("%s %v", diff, problems)
	}
	if got := set.Infos()[0].Pinned; !slices.Equal(got, []string{"f03", "sql"}) {
		t.Errorf("pinned: %v", got)
	}
}

func TestListDatasetsIsSentOnlyWhenItIsInTheSet(t *testing.T) {
	set, _, _ := open(t, worlds[1].sections+model("tools: 'search_registry'"), functions(t, 3))
	if got, want := set.Infos()[0].Advertised, []string{"tool_invoke", "tool_search"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAnEmptySetSendsNothing(t *testing.T) {
	set, problems, _ := open(t, worlds[1].sections+model("tools: search_registry"), nil)
	if info := set.Infos()[0]; info.Mode != models.ModeNone || len(info.Advertised) > 0 || len(problems) > 0 {
		t.Errorf("%+v %v", info, problems)
	}
}

func TestModelsOfOneSpicepodDiffer(t *testing.T) {
	sections := worlds[1].sections + `models:
- {name: a, from: 'openai:gpt', params: {endpoint: 'http://127.0.0.1:1', tools: auto}}
- {name: b, from: 'openai:gpt', params: {endpoint: 'http://127.0.0.1:1', tools: all}}
- {name: c, from: 'anthropic:claude', params: {endpoint: 'http://127.0.0.1:1'}}
- {name: d, from: 'anthropic:claude', params: {endpoint: 'http://127.0.0.1:1', tools: auto, tool_search: native}}
`
	set, problems, _ := open(t, sections, append(builtins(t), functions(t, 15)...))
	var got []models.Mode
	for _, info := range set.Infos() {
		got = append(got, info.Mode)
	}
	want := []models.Mode{models.ModeRegistry, models.ModeDirect, models.ModeNone, models.ModeNative}
	if !slices.Equal(got, want) || len(problems) > 0 {
		t.Errorf("%v, want %v; %v", got, want, problems)
	}
	if d := set.Infos()[3]; d.EmbeddingModel != "local" || !slices.Contains(d.Advertised, "tool_search") || slices.Contains(d.Advertised, "tool_invoke") {
		t.Errorf("%+v", d)
	}
}

func TestNativeSearchWithoutSearchIsAWarning(t *testing.T) {
	_, problems, _ := open(t, model("tools: all, tool_search: native"), builtins(t))
	if len(problems) != 1 || problems[0].Path != "models[0].params.tool_search" || !strings.Contains(problems[0].Error(), "sends every tool") {
		t.Errorf("%v", problems)
	}
}

func TestNativeSearchByOursNeedsWhatTheRegistryNeeds(t *testing.T) {
	section := "models: [{name: m, from: 'anthropic:claude', params: {endpoint: 'http://127.0.0.1:1', tool_search: native, tools: %s}}]\n"
	list := append(builtins(t), functions(t, 15)...)
	set, problems, _ := open(t, fmt.Sprintf(section, "auto"), list)
	if info := set.Infos()[0]; info.Mode != models.ModeDirect || len(problems) != 1 || !strings.Contains(problems[0].Message, "Falling back to direct") {
		t.Errorf("%+v %v", info, problems)
	}
	set, problems, _ = open(t, fmt.Sprintf(section, "search_registry"), list)
	if info := set.Infos()[0]; info.Status != models.StatusError || texts(problems) != "error: "+refusals["no embedding"] {
		t.Errorf("%+v %v", info, problems)
	}
}

// TestPlannerMode is `tools: planner`, which needs no embedding model.
func TestPlannerMode(t *testing.T) {
	all := append(builtins(t), functions(t, 30)...)
	for _, c := range []struct {
		tools string
		more  []tools.Tool
		count int
		mode  models.Mode
		want  string // of the problems
	}{
		{"planner", nil, 30 + len(builtin.Auto), models.ModePlanner, ""},
		{"Planner, sql, list_udfs", nil, 2, models.ModePlanner, ""},
		{"planner, nosuch", nil, 0, models.ModeNone, "nosuch"},
		{"planner", functions(t, 600)[30:], 0, "", "at most 500; there are "},
		{
			"planner",
			[]tools.Tool{tool(t, tools.Definition{Name: "tool_describe", Description: "Ours.", Source: tools.SourceFunction}, nil)},
			0,
			"", "'tool_describe' is reserved",
		},
	} {
		set, problems, _ := open(t, model(fmt.Sprintf("tools: %q", c.tools)), append(slices.Clone(all), c.more...))
		info := set.Infos()[0]
		if text := texts(problems); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.tools, text)
		}
		if c.mode == "" {
			if info.Status != models.StatusError {
				t.Errorf("%s: %+v", c.tools, info)
			}
			continue
		}
		if info.Mode != c.mode || info.Count != c.count {
			t.Errorf("%s: %+v", c.tools, info)
		}
		if c.mode == models.ModePlanner && (!slices.Contains(info.Advertised, "tool_describe") || !slices.Contains(info.Advertised, "tool_invoke") ||
			len(info.Advertised) > 3) {
			t.Errorf("%s: sent %s", c.tools, info.Advertised)
		}
	}
}
