package builtin_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

func TestDomains(t *testing.T) {
	for _, c := range []struct {
		setting []string
		environ string
		want    []string
	}{
		{nil, "", []string{"core"}},
		{nil, " , ", []string{"core"}},
		{[]string{"data", "time", "data"}, "", []string{"data", "time"}},
		{[]string{"data"}, " time , functions", []string{"time", "functions"}},
		{[]string{"no such"}, "time", []string{"time"}},
	} {
		got, err := builtin.Domains(c.setting, c.environ)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v with %q: got %v, %v", c.setting, c.environ, got, err)
		}
	}
	_, err := builtin.Domains(nil, "dta")
	want := `TOOL_REGISTRY_DOMAINS: there is no domain of built-in tools "dta"; did you mean "data"?; known here: core, data, functions, status, time`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if _, err := builtin.Domains([]string{"tme"}, ""); err == nil || !strings.HasPrefix(err.Error(), "runtime.tools.domains: ") {
		t.Errorf("got %v", err)
	}
	if _, err := builtin.Load(builtin.Env{}, []string{"dta"}); err == nil {
		t.Error("an unknown domain loads")
	}
}

func load(t *testing.T, domains ...string) []tools.Tool {
	t.Helper()
	all, err := builtin.Load(builtin.Env{}, domains)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLoad(t *testing.T) {
	for domain, want := range map[string]string{
		"core":      strings.Join(builtin.Names(), " "),
		"data":      "list_datasets random_sample sample_distinct_columns search sql table_schema top_n_sample",
		"functions": "describe_function list_udfs",
		"status":    "get_readiness",
		"time":      "get_current_datetime time_now",
	} {
		var names []string
		for _, tool := range load(t, domain) {
			names = append(names, tool.Definition().Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s, want %s", domain, got, want)
		}
	}
	if n := len(load(t, "time", "core", "data")); n != 12 {
		t.Errorf("%d tools; the same one comes once", n)
	}
	for _, set := range [][]string{builtin.Auto, builtin.All, builtin.NSQL} {
		for _, name := range set {
			if !slices.Contains(builtin.Names(), name) {
				t.Errorf("no tool %q", name)
			}
		}
	}
}

// TestDefinitionsFitProviders checks each definition by the rules of JSON
// Schema and of OpenAI's function calling.
func TestDefinitionsFitProviders(t *testing.T) {
	for _, tool := range load(t, builtin.DefaultDomain) {
		d := tool.Definition()
		t.Run(d.Name, func(t *testing.T) {
			if !tools.ValidName(d.Name) || len(d.Description) < 40 || len(d.Description) > 1024 || !strings.Contains(d.Description, "Use it") {
				t.Errorf("description of %d characters: %s", len(d.Description), d.Description)
			}
			if d.Source != tools.SourceBuiltin || d.Declared != "built in" || d.Owner != tools.OwnerRuntime || len(d.Tags) == 0 {
				t.Errorf("got %+v", d)
			}
			if want := (tools.Annotations{ReadOnly: true, Idempotent: true}); d.Annotations != want {
				t.Errorf("got %+v", d.Annotations)
			}
			for _, raw := range []json.RawMessage{d.Parameters, d.Returns} {
				if _, err := tools.Compile(raw); err != nil {
					t.Errorf("%s: %v", raw, err)
				}
			}
			var schema struct {
				Type       string
				Properties map[string]struct {
					Type, Description string
					Items             any
				}
				AdditionalProperties *bool
			}
			if err := json.Unmarshal(d.Parameters, &schema); err != nil {
				t.Fatal(err)
			}
			if schema.Type != "object" || schema.Properties == nil || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
				t.Errorf("parameters %s", d.Parameters)
			}
			for name, p := range schema.Properties {
				if !tools.ValidName(name) || p.Type == "" || p.Description == "" || p.Type == "array" && p.Items == nil {
					t.Errorf("parameter %s: %+v", name, p)
				}
			}
		})
	}
}

// TestSchemasNameTheLimits holds the bounds in the schemas to the constants.
func TestSchemasNameTheLimits(t *testing.T) {
	want := map[string]float64{
		"random_sample": builtin.MaxSample, "top_n_sample": builtin.MaxSample, "sample_distinct_columns": builtin.MaxSample, "search": builtin.MaxHits,
	}
	for _, tool := range load(t, builtin.DefaultDomain) {
		var schema struct {
			Properties map[string]struct{ Maximum float64 }
		}
		if err := json.Unmarshal(tool.Definition().Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		if got := schema.Properties["limit"].Maximum; got != want[tool.Definition().Name] {
			t.Errorf("%s: limit up to %v", tool.Definition().Name, got)
		}
	}
}

func TestDefinitionsStay(t *testing.T) {
	for i, tool := range load(t, builtin.DefaultDomain) {
		if other := load(t, builtin.DefaultDomain)[i]; !reflect.DeepEqual(tool.Definition(), other.Definition()) {
			t.Errorf("%s has another definition when it is loaded again", tool.Definition().Name)
		}
	}
}

func TestSQLError(t *testing.T) {
	for _, code := range []errcode.Code{
		errcode.Parse, errcode.NotFound, errcode.Argument, errcode.Refused, errcode.Execution,
		errcode.Timeout, errcode.Cancelled, errcode.Limit, errcode.Busy, errcode.Internal,
	} {
		cause := &engine.Error{Code: code, Message: "m", Hint: "h", Line: 2, Column: 3}
		got := builtin.SQLError(cause)
		if got.Code != code || got.Message != "m (line 2, column 3)" || got.Hint != "h" || got.Retryable != code.Retryable() || !errors.Is(got, cause) {
			t.Errorf("%s: got %+v", code, got)
		}
	}
	if got := builtin.SQLError(errors.New("x")); got.Code != errcode.Internal {
		t.Errorf("got %+v", got)
	}
}
