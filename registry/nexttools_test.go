package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// shaped is a tool with arguments and fields of its results, each "name type", with ! after
// the name of an argument that is required.
func shaped(t testing.TB, name, arguments, fields string) tools.Tool {
	t.Helper()
	properties := func(list string) (string, string) {
		var all, required []string
		for item := range strings.SplitSeq(list, ", ") {
			name, kind, _ := strings.Cut(item, " ")
			if one, ok := strings.CutSuffix(name, "!"); ok {
				name = one
				required = append(required, fmt.Sprintf("%q", name))
			}
			if name == "" {
				continue
			}
			schema := fmt.Sprintf(`{"type":%q}`, kind)
			if item, ok := strings.CutSuffix(kind, "[]"); ok {
				schema = fmt.Sprintf(`{"type":"array","items":{"type":%q}}`, item)
			}
			all = append(all, fmt.Sprintf("%q:%s", name, schema))
		}
		return strings.Join(all, ","), strings.Join(required, ",")
	}
	p, required := properties(arguments)
	f, _ := properties(fields)
	def := tools.Definition{
		Name: name, Description: "Is " + name + ".",
		Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, p, required)),
		Returns:    json.RawMessage(fmt.Sprintf(`{"type":"array","items":{"type":"object","properties":{%s}}}`, f)),
	}
	return tool(t, def, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.JSON([]map[string]any{{"any": 1}})
	})
}

// hints returns the next_tools of a call by tool_invoke.
func hints(t testing.TB, r *registry.Registry, name string, scope tools.Scope) string {
	t.Helper()
	arguments, _ := json.Marshal(map[string]any{"tool_id": name, "arguments": map[string]any{}})
	result := r.Invoke(t.Context(), registry.Call{Name: registry.ToolInvoke, Arguments: arguments, Scope: scope})
	if !result.OK {
		t.Fatal(result.Error)
	}
	var invoked struct {
		NextTools []registry.NextTool `json:"next_tools"`
	}
	if err := json.Unmarshal(result.Result, &invoked); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range invoked.NextTools {
		list = append(list, n.ToolID+fmt.Sprint(n.Takes))
	}
	return strings.Join(list, " ")
}

func hinting(t testing.TB, list ...tools.Tool) *registry.Registry {
	r, _ := start(t)
	publish(t, r, registry.Contents{Tools: list, NextTools: true})
	return r
}

func TestNextTools(t *testing.T) {
	for _, c := range []struct {
		what, fields string
		others       []string // name: arguments
		want         string
	}{
		{"the same name", "customer_id integer, total number", []string{"orders_of: customer_id! integer"}, "orders_of map[customer_id:customer_id]"},
		{"another case", "customer_id integer", []string{"orders_of: customerId! integer"}, "orders_of map[customerId:customer_id]"},
		{"another type", "customer_id integer", []string{"orders_of: customer_id! string"}, ""},
		{"a whole number for a number", "weight_kg integer", []string{"postage: weight_kg! number"}, "postage map[weight_kg:weight_kg]"},
		{"no number for a whole number", "seats number", []string{"book: seats! integer"}, ""},
		{"one of a list", "customer_id integer", []string{"mail: customer_ids! integer[]"}, "mail map[customer_ids:customer_id]"},
		{"a list for one", "customer_ids integer[]", []string{"orders_of: customer_id! integer"}, ""},
		{"common names", "id integer, name string, limit integer, query string", []string{"a: id! integer, name string", "b: limit integer, query! string"}, ""},
		{"flags", "overdue boolean", []string{"a: overdue boolean"}, ""},
		{
			"more of what is required comes first", "iata string, city string",
			[]string{"a_weather: city! string, country! string", "b_airport: iata! string", "c_map: city string"},
			"b_airport map[iata:iata] a_weather map[city:city] c_map map[city:city]",
		},
		{
			"at most three", "sku string",
			[]string{"a: sku! string", "b: sku! string", "c: sku! string", "d: sku! string"},
			"a map[sku:sku] b map[sku:sku] c map[sku:sku]",
		},
		{
			"what most tools take", "tenant string",
			[]string{"a: tenant! string", "b: tenant! string", "c: tenant! string", "d: tenant! string", "e: tenant! string"},
			"",
		},
	} {
		list := []tools.Tool{shaped(t, "find", "", c.fields)}
		for _, other := range c.others {
			name, arguments, _ := strings.Cut(other, ": ")
			list = append(list, shaped(t, name, arguments, ""))
		}
		got := hints(t, hinting(t, list...), "find", tools.Scope{})
		if strings.ReplaceAll(got, "map[", " map[") != strings.ReplaceAll(c.want, " map[", " map[") {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

// Fields of nested objects are found, and the id of a nested object has its name.
func TestNextToolsOfNestedResults(t *testing.T) {
	find := tool(t, tools.Definition{Name: "find", Description: "Finds.", Returns: json.RawMessage(`{"type":"object","properties":{
		"customers":{"type":"array","items":{"type":"object","properties":{"id":{"type":["integer","null"]},
		"address":{"type":"object","properties":{"zip_code":{"type":"string"}}}}}}}}`)},
		func(context.Context, tools.Input) (tools.Output, error) {
			return tools.JSON(map[string]any{"customers": []any{}})
		})
	r := hinting(t, find, shaped(t, "orders_of", "customer_id! integer", ""), shaped(t, "depot", "zip_code! string", ""))
	const want = "depotmap[zip_code:customers.address.zip_code] orders_ofmap[customer_id:customers.id]"
	if got := hints(t, r, "find", tools.Scope{}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The result of a table function with large numbers, as the runtime declares it.
func TestNextToolsOfTableFunctions(t *testing.T) {
	find := tool(t, tools.Definition{Name: "find", Description: "Finds.", Returns: json.RawMessage(`{"anyOf":[
		{"type":"array","items":{"type":"object","properties":{"customer_id":{"type":["integer","string","null"],"pattern":"^-?[0-9]+$"}}}},
		{"type":"object","properties":{"ref":{"type":"string"},"note":{"type":"string"}}}]}`)},
		func(context.Context, tools.Input) (tools.Output, error) { return tools.JSON([]any{1}) })
	r := hinting(t, find, shaped(t, "orders_of", "customer_id! integer", ""), shaped(t, "read", "ref! string", ""))
	if got := hints(t, r, "find", tools.Scope{}); got != "orders_ofmap[customer_id:customer_id]" {
		t.Error(got)
	}
}

func TestNextToolsAreOnlyWhatTheCallerMayCall(t *testing.T) {
	pod := podtest.Load(t, `toolsets: [{name: vault, description: Of a vault., tools: [secret_orders], available: "ctx.space_id != 'open'"}]`)
	policy, problems := availability.Compile(pod, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, _ := start(t)
	publish(t, r, registry.Contents{
		NextTools: true, Availability: registry.Availability{Policy: policy},
		Tools: []tools.Tool{
			shaped(t, "find", "", "customer_id integer"), shaped(t, "orders_of", "customer_id! integer", ""), shaped(t, "secret_orders", "customer_id! integer", ""),
		},
	})
	open := caller.Caller{SpaceID: "open"}
	for _, c := range []struct {
		scope tools.Scope
		want  string
	}{
		{tools.Scope{}, "orders_ofmap[customer_id:customer_id] secret_ordersmap[customer_id:customer_id]"},
		{tools.Scope{Caller: open}, "orders_ofmap[customer_id:customer_id]"},
		{tools.Scope{Visible: func(name string) bool { return name != "orders_of" }}, "secret_ordersmap[customer_id:customer_id]"},
		{tools.Scope{Callable: func(name string) bool { return name != "orders_of" }}, "secret_ordersmap[customer_id:customer_id]"},
	} {
		if got := hints(t, r, "find", c.scope); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	publish(t, r, registry.Contents{Tools: []tools.Tool{shaped(t, "find", "", "customer_id integer"), shaped(t, "orders_of", "customer_id! integer", "")}})
	if got := hints(t, r, "find", tools.Scope{}); got != "" {
		t.Errorf("without next_tools there are %s", got)
	}
}

// A tool that destroys comes after all others.
func TestNextToolsPutDestructiveOnesLast(t *testing.T) {
	erase := tool(t, tools.Definition{
		Name: "erase", Description: "Erases.", Annotations: tools.Annotations{Destructive: true},
		Parameters: json.RawMessage(`{"type":"object","properties":{"customer_id":{"type":"integer"}},"required":["customer_id"]}`),
	}, nil)
	r := hinting(t, shaped(t, "find", "", "customer_id integer"), erase, shaped(t, "report", "customer_id integer, year! integer", ""))
	if got := hints(t, r, "find", tools.Scope{}); got != "reportmap[customer_id:customer_id] erasemap[customer_id:customer_id]" {
		t.Error(got)
	}
}

// BenchmarkNextTools reads the hints for a result among 10,000 tools.
func BenchmarkNextTools(b *testing.B) {
	var list []tools.Tool
	for i := range 10_000 {
		list = append(list, shaped(b, fmt.Sprintf("t%05d", i),
			fmt.Sprintf("field_%d! integer, name string, tenant string", i%500), fmt.Sprintf("field_%d integer, name string", i%700)))
	}
	c, err := registry.NewCatalog(nil, registry.Contents{Tools: list, NextTools: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			c.ReadTakers()
		}
	})
	b.Run("hints", func(b *testing.B) {
		for b.Loop() {
			if n := c.NextToolsOf("t00042"); len(n) != 3 {
				b.Fatal(n)
			}
		}
	})
}
