package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// access is who may do what.
type access struct {
	keys   *auth.Keyring
	policy *availability.Policy
}

// availability returns what decides who sees which tools and functions of the generation.
func (a *attempt) availability() registry.Availability {
	o := registry.Availability{Policy: a.policy, Log: a.s.log}
	for _, f := range a.pod.Functions {
		t := &availability.Tool{
			Name: f.Name, Owner: f.Owner, Tags: f.Tags, Source: tools.SourceFunction,
			Risk: cmp.Or(f.Risk, availability.Read),
		}
		if t.Owner == "" {
			t.Owner = tools.OwnerRuntime
		}
		o.Functions = append(o.Functions, t)
	}
	for _, entry := range a.pod.Tools {
		if !entry.AsSQL || entry.Server() {
			continue
		}
		t := &availability.Tool{
			Name: entry.Name, Owner: entry.Owner, Source: tools.SourceBuiltin,
			Risk: cmp.Or(entry.Risk, availability.Read),
		}
		if t.Owner == "" {
			t.Owner = tools.OwnerRuntime
		}
		o.Functions = append(o.Functions, t)
	}
	return o
}

// checkApprovers warns of approvals that no one can give, and of approvers without effect.
func checkApprovers(b *build) {
	auth := b.pod.Runtime.Auth
	warn := func(path, component, message, hint string) {
		p := b.pod.Problem(path, message, hint)
		p.Severity, p.Component = spicepod.Warning, component
		b.problem(p)
	}
	switch rules := b.policy.Approvals(); {
	case b.keys.Enabled() && len(rules) > 0 && len(auth.Approvers) == 0:
		warn(rules[0].Path, rules[0].Declared, "no one can approve calls: keys are required and there are no approvers",
			"write the names of principals in runtime.auth.approvers")
	case auth != nil && !b.keys.Enabled() && len(auth.Approvers) > 0:
		warn("runtime.auth.approvers", "", "approvers have no effect: without keys, everyone decides",
			"declare runtime.auth.api-key, or remove them")
	}
}

// checkToolsets reports names in toolsets that no tool or function has: an expression that
// is meant for one would decide nothing.
func (a *attempt) checkToolsets(c *registry.Catalog) {
	var names []string
	for _, def := range c.All() {
		names = append(names, def.Name)
	}
	for _, f := range a.pod.Functions {
		names = append(names, f.Name)
	}
	for _, f := range a.set.Tools() {
		names = append(names, f.Name)
	}
	for _, h := range c.Hidden {
		names = append(names, h.Name)
	}
	all := availability.NamesOf(names)
	for i, s := range a.pod.Toolsets {
		if s.From != "" {
			continue // those that are left out have a remark
		}
		for j, pattern := range s.Tools {
			known := all.Has(pattern) || strings.Contains(pattern, "*") &&
				slices.ContainsFunc(names, availability.NamesOf([]string{pattern}).Has)
			if known || a.ofServer(pattern) {
				continue
			}
			p := a.pod.Problem(fmt.Sprintf("toolsets[%d].tools[%d]", i, j),
				fmt.Sprintf("there is no tool or function %q", pattern),
				nearest.Hint(pattern, names, "write the name of a tool or function, or a pattern such as wiki__*"))
			p.Component = "toolset " + s.Name
			a.problem(p)
		}
	}
}

// ofServer reports whether a name or pattern is one of an MCP server, whose tools may come
// and go.
func (a *attempt) ofServer(pattern string) bool {
	server, _, found := strings.Cut(strings.ReplaceAll(pattern, "/", "__"), "__")
	if !found {
		return false
	}
	for _, t := range a.pod.Tools {
		if t.Server() && strings.EqualFold(t.Name, server) {
			return true
		}
	}
	return false
}
