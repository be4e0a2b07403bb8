package environment

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// decorator are the arguments of @tool(…) of jazzmine.core.tools, as they are written.
type decorator struct {
	Offset                                            int
	Name, Description, Sandbox, Dependencies, Secrets *argument
	Parameters                                        *argument
	More                                              *argument `json:"**"`
}

// argument is an argument of a call. Without a value it is not a literal of the kind that the
// call takes.
type argument struct {
	Offset     int // of its text
	Text       *string
	Flag       *bool
	Texts      []string // not nil: a list of texts
	Parameters []toolParameter
}

// toolParameter is a ToolParameter(…) of a decorator.
type toolParameter struct {
	Offset                            int
	Name, Type, Description, Required *argument
}

// decorators reads the decorators of the code in Python, without running it. The description,
// the descriptions of arguments and the packages that a function of the Spicepod leaves out, its
// decorator fills in, in a copy of the Spicepod: everything after this sees one declaration.
// What both say must be the same. Which variables code sees and in which sandbox it runs, the
// Spicepod alone says: code may come from others, and would grant itself what it likes.
func (c *compiler) decorators(ctx context.Context) {
	var list []*Function
	var at []int
	mentioned := false
	for i := range c.pod.Functions {
		d := &c.pod.Functions[i]
		if !d.Enabled || !d.BodyKind.InProcess() || strings.TrimSpace(d.Body) == "" || strings.HasPrefix(d.Body, "#!") {
			continue
		}
		mentioned = mentioned || strings.Contains(d.Body, shimmed)
		list, at = append(list, &Function{Name: d.Name, Path: fmt.Sprintf("functions[%d]", i), Declared: d}), append(at, i)
	}
	if !mentioned {
		return
	}
	python, err := c.store.findPython(ctx)
	if err != nil {
		return // reported with the sandboxes
	}
	known := c.store.factsOf(ctx, python, list)
	next := *c.pod
	next.Functions = slices.Clone(c.pod.Functions)
	type place struct {
		position spicepod.Position
		message  string
	}
	reported := map[place]bool{} // code that several functions have is warned of once
	for i, f := range list {
		if k := known[f]; k.facts != nil {
			m := merge{pod: c.pod, f: &next.Functions[at[i]], path: f.Path}
			m.run(k.facts)
			c.decorated[at[i]] = slices.DeleteFunc(m.problems, func(p spicepod.Problem) bool {
				at := place{p.Position, p.Message}
				again := reported[at]
				reported[at] = p.Severity == spicepod.Warning
				return again
			})
		}
	}
	c.pod = &next
}

// merge merges the decorator of a function into its declaration.
type merge struct {
	pod      *spicepod.Pod
	f        *spicepod.Function
	path     string
	problems spicepod.Problems
}

func (m *merge) run(known *facts) {
	m.registered(known.Sandboxes)
	def := known.Functions[cmp.Or(m.f.Entrypoint, m.f.Name)]
	names := known.named(m.f.Name)
	if len(names) > 1 {
		m.ambiguous(known, names)
		return
	}
	if def == nil && m.f.Entrypoint == "" && len(names) == 1 {
		def, m.f.Entrypoint = known.Functions[names[0]], names[0]
	}
	if def == nil || def.Tool == nil {
		return
	}
	t := def.Tool
	if t.More != nil {
		m.computed("the arguments", t.More)
	}
	m.text("name", t.Name, &m.f.Name)
	m.text("description", t.Description, &m.f.Description)
	if t.Description == nil && t.More == nil && strings.TrimSpace(m.f.Description) == "" {
		m.add(spicepod.Error, m.pod.TextProblem(m.path+".body", t.Offset,
			"@tool has no description, which it requires: models choose tools by it",
			"write @tool(description=\"…\"), or a description in the Spicepod"))
	}
	sandbox := cmp.Or(m.f.Sandbox, spicepod.DefaultSandbox)
	m.text("sandbox", t.Sandbox, &sandbox)
	of := spicepod.Sandbox{}
	if i := slices.IndexFunc(m.pod.Sandboxes, func(s spicepod.Sandbox) bool {
		return strings.EqualFold(s.Name, sandbox)
	}); i >= 0 {
		of = m.pod.Sandboxes[i]
	}
	if m.texts("dependencies", t.Dependencies, m.f.Dependencies, of.Dependencies) && len(m.f.Dependencies) == 0 {
		m.f.Dependencies = slices.Clone(t.Dependencies.Texts)
	}
	if m.texts("secrets", t.Secrets, m.f.Secrets, of.Secrets) && len(m.f.Secrets) == 0 {
		m.ungranted(t.Secrets, of.Secrets)
	}
	m.parameters(t.Parameters)
}

// named returns the definitions that are tools of a name, in their order.
func (f *facts) named(name string) []string {
	var list []string
	for at, def := range f.Functions {
		if t := def.Tool; t != nil && (t.Name == nil && at == name || t.Name != nil && t.Name.is(name)) {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return f.Functions[a].Offset - f.Functions[b].Offset })
	return list
}

// ambiguous reports that several decorators have the function's name.
func (m *merge) ambiguous(known *facts, names []string) {
	first, second := known.Functions[names[0]].Offset, known.Functions[names[1]].Offset
	m.add(spicepod.Error, m.pod.TextProblem(m.path+".body",
		second, fmt.Sprintf("@tool gives the name %q to %s, and to %s at %s",
			truncate.Ellipsis(m.f.Name, maxQuoted), names[1], names[0], m.pod.TextAt(m.path+".body", first)),
		"rename one of them"))
}

// registered reports sandboxes that the code registers and the Spicepod does not declare: the
// call has no effect.
func (m *merge) registered(list []argument) {
	for _, a := range list {
		if a.Text != nil && (*a.Text == spicepod.DefaultSandbox ||
			slices.ContainsFunc(m.pod.Sandboxes, func(s spicepod.Sandbox) bool { return strings.EqualFold(s.Name, *a.Text) })) {
			continue
		}
		what := "registry.register_sandbox has no effect here"
		if a.Text != nil {
			what = fmt.Sprintf("registry.register_sandbox has no effect here, and the Spicepod declares no sandbox %q",
				truncate.Ellipsis(*a.Text, maxQuoted))
		}
		m.add(spicepod.Warning, m.pod.TextProblem(m.path+".body", a.Offset, what,
			"declare it under sandboxes, with its dependencies and secrets"))
	}
}

// is reports whether the argument is this text.
func (a *argument) is(text string) bool { return a.Text != nil && *a.Text == text }

// text merges an argument that is a text. White space in it does not count.
func (m *merge) text(key string, a *argument, declared *string) {
	switch {
	case a == nil:
	case a.Text == nil || strings.TrimSpace(*a.Text) == "":
		m.computed("its "+key, a)
	case *declared == "":
		*declared = strings.TrimSpace(*a.Text)
	case !sameText(key, *declared, *a.Text):
		m.contradiction("."+key, fmt.Sprintf("%s is %q here", key, truncate.Ellipsis(*declared, maxQuoted)),
			fmt.Sprintf("%q", truncate.Ellipsis(*a.Text, maxQuoted)), a.Offset)
	}
}

// maxQuoted limits the length of a text in a problem.
const maxQuoted = 100

func sameText(key, a, b string) bool {
	if key == "sandbox" || key == "name" {
		return strings.EqualFold(a, strings.TrimSpace(b))
	}
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// texts compares an argument that is a list of texts, whose order does not count, with what the
// function and its sandbox declare. It reports whether it has a list that contradicts neither.
func (m *merge) texts(key string, a *argument, declared, ofSandbox []string) bool {
	switch {
	case a == nil:
		return false
	case a.Texts == nil:
		m.computed("its "+key, a)
		return false
	case len(declared) == 0:
		return true
	case len(without(a.Texts, declared, ofSandbox)) > 0 || len(without(declared, a.Texts)) > 0:
		m.contradiction("."+key, fmt.Sprintf("%s are %s here", key, listed(declared)), listed(a.Texts), a.Offset)
		return false
	}
	return true
}

// ungranted reports secrets of the decorator that neither the function nor its sandbox has.
func (m *merge) ungranted(a *argument, ofSandbox []string) {
	if names := without(a.Texts, ofSandbox); len(names) > 0 {
		m.add(spicepod.Error, m.pod.Problem(m.path,
			fmt.Sprintf("@tool at %s needs the secrets %s, which the Spicepod does not give to the function",
				m.pod.TextAt(m.path+".body", a.Offset), listed(names)),
			fmt.Sprintf("add secrets: %s here: code does not choose the variables that it sees", listed(names))))
	}
}

// without returns the texts of a list that are in none of the others.
func without(list []string, others ...[]string) []string {
	all := slices.Concat(others...)
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return slices.Contains(all, x) })
}

func listed(list []string) string {
	return "[" + truncate.Ellipsis(strings.Join(list, ", "), maxQuoted) + "]"
}

// parameters merges the descriptions of arguments, and whether they are required.
func (m *merge) parameters(a *argument) {
	if a == nil || a.Texts != nil && len(a.Texts) == 0 {
		return
	}
	if a.Parameters == nil {
		m.computed("its parameters", a)
		return
	}
	m.f.Signature.Args = slices.Clone(m.f.Signature.Args)
	var names []string
	for _, arg := range m.f.Signature.Args {
		names = append(names, arg.Name)
	}
	for _, p := range a.Parameters {
		if p.Name == nil || p.Name.Text == nil {
			m.computed("the name of a parameter", &argument{Offset: p.Offset})
			continue
		}
		i := slices.Index(names, *p.Name.Text)
		if i < 0 {
			m.add(spicepod.Error, m.pod.TextProblem(m.path+".body", p.Offset,
				fmt.Sprintf("@tool has the parameter %q, which signature.args at %s does not declare",
					truncate.Ellipsis(*p.Name.Text, maxQuoted), m.pod.At(m.path+".signature")),
				nearest.Hint(*p.Name.Text, names, "declare it, or remove it from the decorator")))
			continue
		}
		arg := &m.f.Signature.Args[i]
		path := fmt.Sprintf("signature.args[%d]", i)
		m.text(path+".description", p.Description, &arg.Description)
		m.typed(path+".type", p.Type, arg.Type)
		if r := p.Required; r != nil && r.Flag != nil && arg.Required != nil && *arg.Required != *r.Flag {
			m.contradiction("."+path+".required", fmt.Sprintf("required is %t here", *arg.Required),
				fmt.Sprint(*r.Flag), r.Offset)
		}
	}
}

// typed compares the type of a ToolParameter, a word for people and models, with that of the
// signature. What either has no plain kind for, such as a date, is not compared.
func (m *merge) typed(path string, a *argument, declared string) {
	if a == nil || a.Text == nil {
		return
	}
	said, here := kindOf(*a.Text), kindOf(declared)
	if said != "" && here != "" && said != here {
		m.contradiction("."+path, fmt.Sprintf("type is %s here", declared),
			fmt.Sprintf("%q", truncate.Ellipsis(*a.Text, maxQuoted)), a.Offset)
	}
}

// kinds are the types of JSON by words for them in Python, JSON Schema and signatures.
var kinds = map[string]string{
	"str": "string", "string": "string", "utf8": "string", "text": "string", "varchar": "string",
	"int": "integer", "uint": "integer", "integer": "integer", "bigint": "integer",
	"float": "number", "number": "number", "double": "number", "decimal": "number", "decimal128": "number",
	"bool": "boolean", "boolean": "boolean",
	"list": "array", "array": "array", "tuple": "array", "dict": "object", "object": "object", "struct": "object",
	"map": "object",
}

// word matches a type without its parameters and its size in bits.
var word = regexp.MustCompile(`^\s*(?:typing\.)?(?:optional\[)?\s*(u?int|float|utf8|[a-z]+(?:128)?)(?:8|16|32|64)?\b(\[\])?`)

// kindOf returns the kind of a type, "" if it has no plain one.
func kindOf(text string) string {
	found := word.FindStringSubmatch(strings.ToLower(text))
	switch {
	case found == nil || strings.Contains(text, "|") && !strings.Contains(text, "None"):
		return ""
	case found[2] != "":
		return "array"
	}
	return kinds[found[1]]
}

// contradiction reports that the Spicepod and the decorator say different things.
func (m *merge) contradiction(path, here, there string, offset int) {
	hint := "make them equal, or leave one of them out"
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "name", "sandbox", "secrets", "type": // code does not choose them
		hint = "make them equal, or leave it out of @tool"
	}
	m.add(spicepod.Error, m.pod.Problem(m.path+path,
		fmt.Sprintf("%s, and @tool at %s says %s", here, m.pod.TextAt(m.path+".body", offset), there), hint))
}

// computed reports an argument that only running the code could give.
func (m *merge) computed(what string, a *argument) {
	m.add(spicepod.Warning, m.pod.TextProblem(m.path+".body", a.Offset, "@tool computes "+what+
		", which is not read: the code does not run for that", "write it as a literal, or in the Spicepod"))
}

func (m *merge) add(severity spicepod.Severity, p spicepod.Problem) {
	p.Component, p.Severity = "function "+m.f.Name, severity
	m.problems = append(m.problems, p)
}
