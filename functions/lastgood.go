package functions

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions/prelude"
)

// This file decides which version of the running generation serves in place of a function that
// is gone or has a fault.

// keepCalled keeps the functions that are no longer declared but still called, with a
// problem that names their callers.
func (c *compiler) keepCalled() {
	callers := map[string][]*unit{}
	var order []string
	for _, u := range c.list {
		for _, name := range u.calls() {
			if c.units[name] != nil || c.reuse.Get(name) == nil || prelude.Has(name) {
				continue
			}
			if callers[name] == nil {
				order = append(order, name)
			}
			callers[name] = append(callers[name], u)
		}
	}
	for _, key := range order {
		f, first := c.reuse.Get(key), callers[key][0]
		var names []string
		for _, u := range callers[key] {
			names = append(names, u.declared.Name)
		}
		p := c.pod.TextProblem(first.path+".body", max(first.source().body.callOffset(key), 0),
			"function "+f.Name+" was removed but is still called by "+strings.Join(names, ", "), "change its callers first")
		p.Component = f.Component()
		c.problems = append(c.problems, p)
		c.keepRemoved(f)
	}
}

// keepRemoved adds a function of the running generation and its callees.
func (c *compiler) keepRemoved(f *Function) {
	for name := range f.uses {
		if g := c.reuse.Get(name); g != nil && c.units[name] == nil && c.done[name] == nil {
			c.keepRemoved(g)
		}
	}
	if key := fold(f.Name); c.done[key] == nil {
		c.add(key, f)
	}
}

// keep replaces u with its last good version, if that still works.
func (c *compiler) keep(ctx context.Context, u *unit) {
	if u.old == nil || c.done[u.key] != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(u.old.uses)) {
		callee, removed := c.units[name], c.reuse.Get(name)
		switch {
		case callee != nil:
			c.buildGroup(ctx, callee.group) // the new version may not call it, so it may not be built yet
		case c.done[name] == nil && removed != nil:
			p := c.pod.KeyProblem(u.path+".name", "function "+removed.Name+
				" was removed but is still called by the last good version of "+u.old.Name,
				"fix "+u.old.Name+" first")
			p.Component = removed.Component()
			c.problems = append(c.problems, p)
			c.keepRemoved(removed)
		}
	}
	if c.works(u.old) {
		c.add(u.key, u.old)
	} else if f := c.rebuilt(ctx, u); f != nil {
		c.add(u.key, f)
	}
}

// rebuilt returns the last good version of u, built of what it calls and reads now, or nil if
// it does not work with that.
func (c *compiler) rebuilt(ctx context.Context, u *unit) *Function {
	if !u.old.IsSQL() {
		return nil
	}
	last := &unit{declared: &u.old.Declared, tool: u.tool, index: u.index, path: u.path, key: u.key, lastGood: true}
	if c.readUnit(ctx, last); len(last.problems) > 0 {
		return nil
	}
	f, problems := c.build(last)
	if problems.HasErrors() {
		return nil
	}
	return f
}

// unchanged returns the running version of u, at its current position in the file, if
// nothing that it depends on differs.
func (c *compiler) unchanged(u *unit) *Function {
	if !u.same || !c.works(u.old) {
		return nil
	}
	for _, name := range u.old.calls { // a name of the prelude may be declared now
		if _, used := u.old.uses[name]; !used && c.done[name] != nil {
			return nil
		}
	}
	at := c.pod.At(u.path)
	if u.old.Path == u.path && u.old.Position == at {
		return u.old
	}
	moved := *u.old
	moved.Path, moved.Position = u.path, at
	return &moved
}

// works reports whether everything that f uses is the same as when f was built.
func (c *compiler) works(f *Function) bool {
	for name, checksum := range f.uses {
		if g := c.done[name]; g == nil || g.Checksum != checksum {
			return false
		}
	}
	for _, r := range f.Uses.Relations {
		if _, ok := c.relations.Relation("", r.Schema, r.Name); !ok {
			return false
		}
	}
	return true
}
