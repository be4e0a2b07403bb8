package models_test

import (
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

// For any params, a model is loaded or there is a problem, and the tools that it sends
// are sorted and unique.
func FuzzParams(f *testing.F) {
	for _, seed := range [][4]string{
		{"openai:gpt", "tools", "auto", "sal*"},
		{"anthropic:claude", "tools", "search_registry, f01, ,zz:y", "[a"},
		{"openai:gpt", "spice_tools", "NSQL", ""},
		{"openai:gpt", "tool_recursion_limit", "99999999999999999999", "*"},
		{"openai:gpt", "openai_response_format", `{"type":1}`, "*"},
		{"openai:gpt", "endpoint", "http://[::1]:80/v1?a=b", "*"},
		{"anthropic:claude", "anthropic_thinking", `{"type":"enabled"}`, "*"},
		{"azure:x", "pinned_tools", "f01,f01", "a.b.c"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	s := newStage(f, podtest.Load(f, worlds[1].sections), append(builtins(f), functions(f, 16)...))
	f.Fuzz(func(t *testing.T, from, key, value, dataset string) {
		pod := &spicepod.Pod{Models: []spicepod.Model{{
			Name: "m", From: from, Datasets: []string{dataset},
			Params: spicepod.Params{"endpoint": spicepod.Text{Raw: "http://127.0.0.1:1"}, "tools": spicepod.Text{Raw: "all"}, key: spicepod.Text{Raw: value}},
		}}}
		set, problems := models.NewSet(pod, nil, s.options)
		info := set.Infos()[0]
		if (info.Status == models.StatusError) != problems.HasErrors() || (info.Error != "") != problems.HasErrors() {
			t.Errorf("%+v with %v", info, problems)
		}
		if !slices.IsSorted(info.Advertised) || len(slices.Compact(slices.Clone(info.Advertised))) != len(info.Advertised) {
			t.Errorf("sends %q", info.Advertised)
		}
		if (info.Mode == models.ModeNone) != (len(info.Advertised) == 0) || info.Mode == models.ModeDirect && info.Count != len(info.Advertised) {
			t.Errorf("%+v", info)
		}
	})
}
