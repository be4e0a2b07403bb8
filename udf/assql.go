package udf

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// schema is what signatures depend on in the arguments or results of a tool.
type schema struct {
	Type                 types             `json:"type"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	Items                *schema           `json:"items"`
	AnyOf                []schema          `json:"anyOf"`
	OneOf                []schema          `json:"oneOf"`
	Enum                 []any             `json:"enum"`
	Description          string            `json:"description"`
	AdditionalProperties any               `json:"additionalProperties"`
}

// types are those that a JSON Schema names: one, or a list.
type types []string

// UnmarshalJSON reads a text or a list of texts. What is neither names no type.
func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = types{one}
		return nil
	}
	_ = json.Unmarshal(raw, (*[]string)(t))
	return nil
}

// all are the types of the values of the schema without null, with those of its
// alternatives; nil: any.
func (s *schema) all() []string {
	list := slices.Clone([]string(s.Type))
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		of := branch.all()
		if of == nil && !slices.Contains(branch.Type, "null") {
			return nil
		}
		list = append(list, of...)
	}
	list = slices.DeleteFunc(list, func(t string) bool { return t == "null" })
	if len(list) == 0 {
		return nil
	}
	return list
}

// declaring makes the declaration of a function that calls a tool.
type declaring struct {
	pod   *spicepod.Pod
	path  string
	entry spicepod.Tool
	tool  string
	def   *tools.Definition // nil: not known yet
	args  schema
}

// DeclareTool returns the declaration of the function of entry i of the pod's tools, which has
// as_sql and calls the tool of that name. def is nil if its server has not answered. A problem
// has its position in the entry.
func DeclareTool(pod *spicepod.Pod, i int, tool string,
	def *tools.Definition,
) (functions.ToolDeclaration, *spicepod.Problem) {
	d := declaring{pod: pod, path: fmt.Sprintf("tools[%d]", i), entry: pod.Tools[i], tool: tool, def: def}
	declared := spicepod.Function{
		Name: d.entry.Name, From: d.entry.From, Enabled: true, Description: d.entry.Description, Kind: spicepod.KindScalar,
		Volatility: spicepod.Volatile, Risk: d.entry.Risk, Limits: spicepod.Limits{MaxCalls: d.entry.Limits.MaxCalls},
	}
	if def != nil {
		if json.Unmarshal(def.Parameters, &d.args) != nil {
			d.args = schema{}
		}
		if declared.Description == "" {
			declared.Description = def.Description
		}
		if declared.Risk == "" {
			declared.Risk = def.Risk
		}
	}
	p := d.limits()
	if p == nil {
		p = d.signature(&declared)
	}
	return functions.ToolDeclaration{Path: d.path, Tool: tool, Declared: declared}, p
}

func (d *declaring) fail(below, hint, format string, args ...any) *spicepod.Problem {
	p := d.pod.Problem(d.path+below, fmt.Sprintf("cannot expose tool '%s' as SQL: ", d.entry.Name)+
		fmt.Sprintf(format, args...), hint)
	p.Component = "tool " + d.entry.Name
	return &p
}

// limits refuses limits that have no effect: an entry from tool: is only a function, and its
// calls have the limits of the tool.
func (d *declaring) limits() *spicepod.Problem {
	l := d.entry.Limits
	if d.entry.Of() == "" {
		return nil
	}
	for _, limit := range []struct {
		name    string
		written bool
	}{
		{"timeout", l.Timeout != 0},
		{"max_rows", l.MaxRows != 0},
		{"max_bytes", l.MaxBytes != 0},
		{"concurrency", l.Concurrency != 0},
		{"batch_rows", l.BatchRows != 0},
		{"max_calls_per_session", l.MaxCallsPerSession != 0},
	} {
		if limit.written {
			return d.fail(".limits."+limit.name,
				"write it where the tool is declared, such as in the entry of its server; max_calls can be here",
				"limits.%s has no effect on an entry from tool:", limit.name)
		}
	}
	return nil
}

// signature completes the declaration with the signature of the entry, or with one for the
// tool's JSON Schema.
func (d *declaring) signature(f *spicepod.Function) *spicepod.Problem {
	if s := d.entry.Signature; s != nil {
		f.Signature = *s
		if len(s.Tables) > 0 {
			return d.fail(".signature.tables", "", "a tool takes no tables")
		}
	}
	switch {
	case d.entry.Signature != nil && len(f.Signature.Args) > 0:
		if p := d.check(f.Signature.Args); p != nil {
			return p
		}
	case d.def == nil && d.entry.Signature == nil:
		return d.fail(".as_sql", "write its signature: with args and returns, or start the server",
			"`as_sql: true` but no `signature:`, and the server of tool %q, which knows its arguments, has not answered", d.tool)
	case d.def != nil:
		if p := d.derive(f); p != nil {
			return p
		}
	}
	return d.returns(f)
}

// check compares declared arguments with the tool's.
func (d *declaring) check(args []spicepod.Arg) *spicepod.Problem {
	if d.def == nil {
		return nil
	}
	known := make([]string, 0, len(d.args.Properties))
	for name := range d.args.Properties {
		known = append(known, name)
	}
	slices.Sort(known)
	declared := map[string]bool{}
	for i, a := range args {
		declared[a.Name] = true
		path := fmt.Sprintf(".signature.args[%d]", i)
		property, ok := d.args.Properties[a.Name]
		if !ok && (d.args.AdditionalProperties == false || len(known) > 0) {
			return d.fail(path+".name", nearest.Hint(a.Name, known, "it has "+orNone(known)), "tool %q has no argument '%s'",
				d.tool, a.Name)
		}
		if p := d.fits(path+".type", a, property.all()); p != nil {
			return p
		}
	}
	for _, name := range d.args.Required {
		if !declared[name] {
			return d.fail(".signature.args", "add { name: "+name+", type: … }", "tool %q requires the argument '%s'",
				d.tool, name)
		}
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// fits checks that values of a declared argument are ones that the tool takes; wanted nil:
// any.
func (d *declaring) fits(path string, a spicepod.Arg, wanted []string) *spicepod.Problem {
	t, err := functions.ParseType(a.Type)
	if err != nil || wanted == nil { // a wrong type is reported with the function
		return nil
	}
	given := jsonTypes(t)
	if given == nil || slices.ContainsFunc(given, func(g string) bool {
		return slices.Contains(wanted, g) || g == "integer" && slices.Contains(wanted, "number")
	}) {
		return nil
	}
	return d.fail(path, "declare a type for it, such as "+typeOf(&schema{Type: wanted}),
		"arg '%s': type %s is %s in JSON, and the tool takes %s",
		a.Name, t, strings.Join(given, " or "), strings.Join(wanted, " or "))
}

// jsonTypes are the types of JSON that values of t are; nil: any.
func jsonTypes(t *functions.Type) []string {
	if t.Duck().JSON {
		return nil
	}
	raw, err := json.Marshal(t.JSONSchema())
	var s schema
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return s.all()
}

// derive declares the arguments that the tool's schema has: the required ones, then the others,
// which may be left out.
func (d *declaring) derive(f *spicepod.Function) *spicepod.Problem {
	names := make([]string, 0, len(d.args.Properties))
	for name := range d.args.Properties {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := slices.Index(d.args.Required, names[i]), slices.Index(d.args.Required, names[j])
		switch {
		case a >= 0 && b >= 0:
			return a < b
		case a >= 0 || b >= 0:
			return a >= 0
		}
		return names[i] < names[j]
	})
	if len(names) > functions.MaxArgs {
		return d.fail(".as_sql", "write the ones that it needs under signature.args",
			"the tool has %d arguments; the limit is %d", len(names), functions.MaxArgs)
	}
	for _, name := range names {
		property := d.args.Properties[name]
		a := spicepod.Arg{Name: name, Type: typeOf(&property), Description: property.Description}
		a.HasDefault = !slices.Contains(d.args.Required, name)
		f.Signature.Args = append(f.Signature.Args, a)
	}
	return nil
}

// typeOf is the type of an argument for a schema: JSON for all that is not simple.
func typeOf(s *schema) string {
	of := s.all()
	if len(of) != 1 {
		if slices.Equal(of, []string{"integer", "string"}) || slices.Equal(of, []string{"string", "integer"}) {
			return "int64"
		}
		return "json"
	}
	switch of[0] {
	case "string":
		return "utf8"
	case "integer":
		return "int64"
	case "number":
		return "float64"
	case "boolean":
		return "boolean"
	case "array":
		if s.Items != nil {
			if elem := typeOf(s.Items); elem != "json" {
				return "list<" + elem + ">"
			}
		}
	}
	return "json"
}

// returns completes the result: JSON without a declared one, a table for a list of structs.
func (d *declaring) returns(f *spicepod.Function) *spicepod.Problem {
	r := &f.Signature.Returns
	if r.IsZero() {
		r.Type = "json"
		return nil
	}
	if r.Columns == nil {
		t, err := functions.ParseType(r.Type)
		if err != nil {
			return nil // reported with the function
		}
		if duck := t.Duck(); duck.ID == engine.List && duck.Elem.ID == engine.Struct {
			for _, field := range duck.Elem.Fields {
				r.Columns = append(r.Columns, spicepod.Column{Name: field.Name, Type: field.Type.String()})
			}
			r.Type = ""
		} else {
			return d.checkResult(t)
		}
	}
	f.Kind = spicepod.KindTable
	if of := d.results(); of != nil && !slices.ContainsFunc(of, func(t string) bool {
		return t != "boolean" && t != "integer" && t != "number"
	}) {
		return d.fail(".signature.returns", "declare returns: "+typeOf(&schema{Type: of}), "the tool returns %s, not rows",
			strings.Join(of, " or "))
	}
	return nil
}

// results are the types of JSON that the tool returns; nil: any.
func (d *declaring) results() []string {
	var s schema
	if d.def == nil || len(d.def.Returns) == 0 || json.Unmarshal(d.def.Returns, &s) != nil {
		return nil
	}
	of := s.all()
	if result, ok := s.Properties["result"]; ok && len(s.Properties) == 1 && len(of) == 1 { // it may only wrap a value
		inner := result.all()
		if inner == nil {
			return nil
		}
		of = append(of, inner...)
	}
	return of
}

// checkResult checks that the tool can return values of a type. A text may hold any.
func (d *declaring) checkResult(t *functions.Type) *spicepod.Problem {
	of, want := d.results(), jsonTypes(t)
	if of == nil || want == nil || slices.ContainsFunc(of, func(has string) bool {
		return has == "string" || slices.Contains(want, has) || has == "integer" && slices.Contains(want, "number")
	}) {
		return nil
	}
	hint := "declare returns: json, or " +
		map[bool]string{
			true:  "the columns of its rows: returns: [{ name: …, type: … }]",
			false: typeOf(&schema{Type: of}),
		}[slices.Contains(of, "array")]
	if slices.Contains(of, "object") && !slices.Contains(of, "array") {
		hint = "declare returns: json, or a struct<…> with its members"
	}
	return d.fail(".signature.returns", hint, "the tool returns %s, and %s is %s in JSON", strings.Join(of, " or "),
		t, strings.Join(want, " or "))
}
