package documents_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin/documents"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// seed is what the design calls for: exactly these tools, with their category and who sees them.
var seed = map[string]struct{ category, available string }{
	"list_sources":         {"navigation", "ctx.space_id != null"},
	"list_folder_contents": {"navigation", "ctx.space_id != null"},
	"folder_tree":          {"navigation", "ctx.space_id != null"},
	"search_documents":     {"search", ""},
	"grep_documents":       {"search", ""},
	"find_by_name":         {"search", ""},
	"document_info":        {"document", ""},
	"read_document":        {"document", ""},
	"analyze_document":     {"document", ""},
	"query_documents":      {"document", ""},
	"web_search":           {"web", "ctx.settings.web_search"},
	"fetch_web_page":       {"web", "ctx.settings.web_search"},
}

// TestDefinitions checks each definition against the schema of OpenAI's function tools.
func TestDefinitions(t *testing.T) {
	w := newWorld(t, space)
	list, err := documents.New(w.env, w.config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/openai-function.json")
	if err != nil {
		t.Fatal(err)
	}
	meta, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openai-function.json", meta); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("openai-function.json")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list {
		d := tool.Definition()
		names = append(names, d.Name)
		function, _ := json.Marshal(map[string]any{"type": "function", "function": map[string]any{
			"name": d.Name, "description": d.Description, "parameters": d.Parameters,
		}})
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(function)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		if !slices.Contains(d.Tags, seed[d.Name].category) || documents.Conditions()[d.Name] != seed[d.Name].available || !d.Annotations.ReadOnly {
			t.Errorf("%s: %q %q", d.Name, d.Tags, documents.Conditions()[d.Name])
		}
		for _, said := range []dialect.Dialect{dialect.OpenAI, dialect.Anthropic, dialect.Subset} {
			if s := dialect.Say(d.Parameters, said); len(s.Faults) > 0 || len(s.Names) > 0 {
				t.Errorf("%s in %s: %q", d.Name, said, s.Faults)
			}
		}
		// Each argument that has a default, and each that is required, is one of the properties.
		var p struct {
			Properties map[string]json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(d.Parameters, &p); err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Required {
			if p.Properties[name] == nil {
				t.Errorf("%s requires %s", d.Name, name)
			}
		}
	}
	if len(names) != len(seed) || !slices.Equal(names, documents.Names()) {
		t.Errorf("the tools are %q", names)
	}
}

// TestConditions compiles the expressions of available.
func TestConditions(t *testing.T) {
	pod := podtest.Load(t, "runtime: { tools: { settings: { web_search: true } } }\n")
	pod.Toolsets = []spicepod.Toolset{{Name: "documents", Conditions: documents.Conditions()}}
	policy, problems := availability.Compile(pod, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, want := range seed {
		rules := policy.Rules(&availability.Tool{Name: name, Source: tools.SourceBuiltin})
		if (len(rules) == 0) != (want.available == "") {
			t.Errorf("%s has %d rules", name, len(rules))
			continue
		}
		for _, r := range rules {
			for space, expected := range map[string]bool{"": want.category == "web", "s1": true} {
				if got, err := r.Eval(&availability.Context{SpaceID: space}, &availability.Tool{Name: name}); err != nil || got != expected {
					t.Errorf("%s in space %q: %v %v", name, space, got, err)
				}
			}
		}
	}
}

// TestLeftOut: the settings that are not there leave tools out.
func TestLeftOut(t *testing.T) {
	w := newWorld(t, space)
	w.config.Analyst, w.config.Model, w.config.WebSearch = "", "", ""
	list, err := documents.New(w.env, w.config)
	if err != nil || len(list) != 9 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	if missing := w.config.Without(); len(missing) != 3 || missing[0].Tool != "analyze_document" || missing[1].Tool != "query_documents" ||
		missing[2].Tool != "web_search" {
		t.Errorf("%+v", missing)
	}
}
