package availability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Policy is every `available` and `requires_approval` of a Spicepod. It is immutable and safe for concurrent use;
// nil is one without expressions.
type Policy struct {
	functions map[string]*Rule // by folded name
	builtins  map[string]*Rule // entries of `tools:`, by folded name
	agents    map[string]*Rule // by folded name
	servers   map[string]*Rule // MCP servers, by folded name
	toolsets  []*toolset
	rules     []*Rule
	approvals approvals
	unused    []string // settings that no expression uses
}

// approvals are the expressions of requires_approval.
type approvals struct {
	functions, builtins, servers map[string]*Rule // by folded name
	rules                        []*Rule
}

// toolset is a group of tools with an expression.
type toolset struct {
	Names
	rule *Rule
}

// Names is a set of names and patterns, in which * matches any characters, as the tools of
// a toolset are written. Case does not count.
type Names struct {
	exact map[string]bool
	globs []string
}

// NamesOf returns the set of a list.
func NamesOf(list []string) Names {
	n := Names{exact: map[string]bool{}}
	for _, name := range list {
		if name = fold(name); strings.Contains(name, "*") {
			n.globs = append(n.globs, name)
		} else {
			n.exact[name] = true
		}
	}
	return n
}

// Has reports whether a name is in the set.
func (n Names) Has(name string) bool {
	name = fold(name)
	return n.exact[name] || slices.ContainsFunc(n.globs, func(glob string) bool { return match(glob, name) })
}

// Compile compiles every `available` and `requires_approval` of a Spicepod. An expression
// with a fault is a problem; the last good one of the same component in old, which may be
// nil, then decides or, without one, nothing of the component is available, or all of it
// requires approval.
func Compile(pod *spicepod.Pod, old *Policy) (*Policy, spicepod.Problems) {
	c := &compiler{
		pod: pod, old: old,
		policy: &Policy{
			functions: map[string]*Rule{}, builtins: map[string]*Rule{}, servers: map[string]*Rule{}, agents: map[string]*Rule{},
			approvals: approvals{functions: map[string]*Rule{}, builtins: map[string]*Rule{}, servers: map[string]*Rule{}},
		},
	}
	c.readSettings()
	for i, f := range pod.Functions {
		if rule := c.rule("function "+f.Name, fmt.Sprintf("functions[%d].available", i), f.Available); rule != nil {
			c.policy.functions[sqltree.Fold(f.Name)] = rule
		}
		if rule := c.approval("function "+f.Name, fmt.Sprintf("functions[%d].requires_approval", i),
			f.RequiresApproval); rule != nil {
			c.policy.approvals.functions[sqltree.Fold(f.Name)] = rule
		}
	}
	for i, t := range pod.Tools {
		rules, approvals := c.policy.builtins, c.policy.approvals.builtins
		if t.Server() {
			rules, approvals = c.policy.servers, c.policy.approvals.servers
		}
		if rule := c.approval("tool "+t.Name, fmt.Sprintf("tools[%d].requires_approval", i),
			t.RequiresApproval); rule != nil {
			approvals[sqltree.Fold(t.Name)] = rule
		}
		if rule := c.rule("tool "+t.Name, fmt.Sprintf("tools[%d].available", i), t.Available); rule != nil {
			rules[sqltree.Fold(t.Name)] = rule
		}
	}
	for i, s := range pod.Toolsets {
		if rule := c.rule("toolset "+s.Name, fmt.Sprintf("toolsets[%d].available", i), s.Available); rule != nil {
			c.policy.toolsets = append(c.policy.toolsets, &toolset{NamesOf(s.Tools), rule})
		}
		for _, name := range sortedKeys(s.Conditions) {
			if c.policy.builtins[sqltree.Fold(name)] == nil { // else another tool has the name
				c.policy.builtins[sqltree.Fold(name)] = c.rule("tool "+name, fmt.Sprintf("toolsets[%d]", i), s.Conditions[name])
			}
		}
	}
	for i, a := range pod.Agents {
		if rule := c.rule("agent "+a.Name, fmt.Sprintf("agents[%d].available", i), a.Available); rule != nil {
			c.policy.agents[sqltree.Fold(a.Name)] = rule
		}
	}
	c.findUnused()
	return c.policy, c.problems
}

// compiler compiles a policy.
type compiler struct {
	pod      *spicepod.Pod
	old      *Policy
	policy   *Policy
	settings map[string]setting
	env      *environment // nil until the first expression
	problems spicepod.Problems
}

// settingsPath is the path of the settings.
const settingsPath = "runtime.tools.settings"

func (c *compiler) readSettings() {
	declared := c.pod.Runtime.Tools.Settings
	c.settings = map[string]setting{}
	for name, value := range defaults {
		c.settings[name] = value
	}
	if len(declared) > MaxSettings {
		c.problem("", c.pod.Problem(settingsPath,
			fmt.Sprintf("there are %d settings; the limit is %d", len(declared), MaxSettings), ""))
		return
	}
	for _, name := range sortedKeys(declared) {
		path := settingsPath + "." + name
		if fault := nameFault(name); fault != "" {
			c.problem("", c.pod.Problem(settingsPath, fmt.Sprintf("%q is not a name for a setting", name), fault))
			continue
		}
		value, err := typed(declared[name])
		if before, built := defaults[name]; built && err == nil && !value.typ.IsExactType(before.typ) {
			err = fmt.Errorf("the value is %s", kindOf(declared[name]))
			c.problem("", c.pod.Problem(path, fmt.Sprintf("setting %q: %s; built-in tools use it as a boolean", name, err),
				"write true or false"))
			continue
		}
		if err != nil {
			c.problem("", c.pod.Problem(path, fmt.Sprintf("setting %q: %s", name, err),
				"write a boolean, a number, a text, or a list of one of these"))
			continue
		}
		c.settings[name] = value
	}
}

func (c *compiler) problem(component string, p spicepod.Problem) {
	p.Component = component
	c.problems = append(c.problems, p)
}

// rule compiles the expression of a component; nil if it has none.
func (c *compiler) rule(component, path, text string) *Rule {
	if text == "" {
		return nil
	}
	rule := c.compiled(&Rule{Declared: component, Path: path, Text: text}, "available", c.old.rule(component))
	c.policy.rules = append(c.policy.rules, rule)
	return rule
}

// approval compiles the requires_approval of a component; nil if it has none.
func (c *compiler) approval(component, path string, text spicepod.Condition) *Rule {
	if text == "" {
		return nil
	}
	rule := c.compiled(&Rule{Declared: component, Path: path, Text: string(text)}, "requires_approval",
		c.old.approval(component))
	c.policy.approvals.rules = append(c.policy.approvals.rules, rule)
	return rule
}

// compiled compiles the expression of a rule, which key declares. With a fault, it takes
// that of last, which may be nil.
func (c *compiler) compiled(rule *Rule, key string, last *Rule) *Rule {
	x, fault := c.compile(rule.Text)
	if fault == nil {
		rule.expression = x
		return rule
	}
	c.problem(rule.Declared, c.pod.TextProblem(rule.Path, fault.Offset, key+": "+fault.Message, fault.Hint))
	if last != nil && last.expression != nil {
		if x, fault := c.compile(last.Text); fault == nil {
			rule.Text, rule.expression = last.Text, x
		}
	}
	return rule
}

func (c *compiler) compile(text string) (*expression, *Fault) {
	if c.env == nil {
		env, err := newEnvironment(c.settings)
		if err != nil {
			return nil, &Fault{Message: err.Error()}
		}
		c.env = env
	}
	return c.env.compile(text)
}

func (c *compiler) findUnused() {
	for _, name := range sortedKeys(c.pod.Runtime.Tools.Settings) {
		uses := func(r *Rule) bool { return r.expression != nil && r.expression.settings[name] }
		if _, built := defaults[name]; !built && !slices.ContainsFunc(c.policy.rules, uses) &&
			!slices.ContainsFunc(c.policy.approvals.rules, uses) {
			c.policy.unused = append(c.policy.unused, name)
		}
	}
}

// rule returns the rule of a component, or nil.
func (p *Policy) rule(component string) *Rule {
	if p == nil {
		return nil
	}
	if i := slices.IndexFunc(p.rules, func(r *Rule) bool { return r.Declared == component }); i >= 0 {
		return p.rules[i]
	}
	return nil
}

// approval returns the rule of requires_approval of a component, or nil.
func (p *Policy) approval(component string) *Rule {
	if p == nil {
		return nil
	}
	if i := slices.IndexFunc(p.approvals.rules, func(r *Rule) bool { return r.Declared == component }); i >= 0 {
		return p.approvals.rules[i]
	}
	return nil
}

// All returns every rule of available, in the order of the Spicepod.
func (p *Policy) All() []*Rule {
	if p == nil {
		return nil
	}
	return slices.Clone(p.rules)
}

// Approvals returns every rule of requires_approval, in the order of the Spicepod.
func (p *Policy) Approvals() []*Rule {
	if p == nil {
		return nil
	}
	return slices.Clone(p.approvals.rules)
}

// Unused are the declared settings that no expression uses, sorted.
func (p *Policy) Unused() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.unused)
}

// sourceMCP is the prefix of a server's name in the source of tools.
const sourceMCP = "mcp:"

// Rules returns the rules of a tool or function; it is available if all are true.
func (p *Policy) Rules(t *Tool) []*Rule {
	if p == nil || len(p.rules) == 0 {
		return nil
	}
	var list []*Rule
	add := func(r *Rule) {
		if r != nil {
			list = append(list, r)
		}
	}
	name := fold(t.Name)
	server, foreign := strings.CutPrefix(t.Source, sourceMCP)
	switch {
	case foreign:
		add(p.servers[sqltree.Fold(server)])
	case t.Source == "function":
		add(p.functions[name])
	case t.Source == "agent":
		add(p.agents[name])
	default:
		add(p.builtins[name])
	}
	for _, s := range p.toolsets {
		if s.Has(name) {
			add(s.rule)
		}
	}
	return list
}

// Approval returns the rule that says whether a call of a tool or function requires
// approval; nil: none does. One that fails requires it.
func (p *Policy) Approval(t *Tool) *Rule {
	if p == nil {
		return nil
	}
	a := p.approvals
	server, foreign := strings.CutPrefix(t.Source, sourceMCP)
	switch {
	case foreign:
		return a.servers[sqltree.Fold(server)]
	case t.Source == "function":
		return a.functions[fold(t.Name)]
	}
	return a.builtins[fold(t.Name)]
}

// fold normalizes a name for comparison: without case, and server/tool as server__tool.
func fold(name string) string { return sqltree.Fold(strings.ReplaceAll(name, "/", "__")) }

// match reports whether a pattern matches a name.
func match(pattern, name string) bool {
	first, rest, glob := strings.Cut(pattern, "*")
	if !glob {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], after
	}
}
