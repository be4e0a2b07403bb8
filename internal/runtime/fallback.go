package runtime

// This file decides what serves in place of a component with a fault: its last
// good version, if that still works with what is declared now, or nothing. What
// uses a component that does not serve has a fault itself.

import (
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// removeUnusable excludes components that read what is missing, and copies that
// are not permitted, until none is left.
func (b *build) removeUnusable() {
	for again := true; again; {
		b.prune()
		again = b.refuseCopies()
	}
}

// prune excludes components that read what is missing.
func (b *build) prune() {
	for again := true; again; {
		again = false
		for _, c := range b.order {
			_, relations := c.uses()
			waits := false
			for _, r := range relations {
				if b.missing[r] != "" {
					waits = true
					b.problem(c.problem(b.pod, "", "").Waits(b.missing[r], "reads"))
				}
			}
			if !waits {
				continue
			}
			b.exclude([]component{c})
			again = true
			break
		}
	}
}

// refuseCopies removes accelerated views that would show the rows of one caller,
// or all rows, to every caller. Their last good versions are copies as well and
// are not used either. It reports whether it found any.
func (b *build) refuseCopies() bool {
	t := b.readTraits()
	found := false
	for _, v := range slices.Clone(b.views) {
		of := t.relations[v.Relation]
		if a := v.Declared.Acceleration; a == nil || !a.Enabled || !of.Caller {
			continue
		}
		what := "it calls ctx or a tool, or reads spiced.tool_calls or spiced.searches"
		if of.Protected {
			what = "it reads a dataset with a row_filter or column_mask"
		}
		p := b.pod.KeyProblem(component{view: v}.pathIn(b.pod)+".acceleration",
			what+", and its copy would show every caller the same rows",
			"leave acceleration out, and accelerate the datasets it reads")
		p.Component = component{view: v}.String()
		b.problem(p)
		b.views = slices.DeleteFunc(slices.Clone(b.views), func(o *views.View) bool { return o == v })
		b.missing[v.Relation] = component{view: v}.String()
		found = true
	}
	if found {
		b.arrange()
	}
	return found
}

// exclude replaces components by their last good versions. It removes those that
// have none, with everything that uses them.
func (b *build) exclude(failed []component) {
	var gone []string
	for _, c := range failed {
		if c.view != nil {
			b.excludeView(c.view)
			continue
		}
		last := b.old.Functions.Get(c.function.Name)
		if last != nil && last != c.function && b.restore(component{function: last}) {
			b.set = b.set.With(last)
			continue
		}
		gone = append(gone, c.function.Name)
	}
	if len(gone) > 0 {
		rest, problems := b.set.Without(b.pod, gone...)
		b.set = rest
		b.problems(problems)
		b.excludeCallers()
	}
	b.arrange()
}

// excludeCallers excludes views that call functions that were removed.
func (b *build) excludeCallers() {
	for _, v := range slices.Clone(b.views) {
		for _, n := range v.Uses.Functions {
			if b.set.Get(n) == nil {
				c := component{view: v}
				b.problem(c.problem(b.pod, "", "").Waits(callee(b, n), "calls"))
				b.excludeView(v)
				break
			}
		}
	}
}

// callee returns the component that declares a function.
func callee(b *build, name string) string {
	if path := b.pod.ToolPath(name); path != "" && !slices.ContainsFunc(b.pod.Functions, func(f spicepod.Function) bool {
		return sqltree.Fold(f.Name) == sqltree.Fold(name)
	}) {
		return "tool " + name
	}
	return "function " + name
}

// excludeView replaces v by its last good version or removes it.
func (b *build) excludeView(v *views.View) {
	i := slices.Index(b.views, v)
	if i < 0 {
		return
	}
	b.views = slices.Clone(b.views)
	if last := b.lastView(v.Relation); last != nil && last != v && b.restore(component{view: last}) {
		b.views[i] = last
		return
	}
	b.views = slices.Delete(b.views, i, i+1)
	b.missing[v.Relation] = component{view: v}.String()
}

// restore reports whether c, a last good version, works in this build. Functions
// that it calls and that are no longer declared stay for it, with a problem.
func (b *build) restore(c component) bool {
	names, relations := c.uses()
	for _, r := range relations {
		if !slices.Contains(b.declared, r) || b.missing[r] != "" {
			return false
		}
	}
	for _, n := range names {
		if b.set.Get(n) != nil {
			continue
		}
		removed := b.old.Functions.Get(n)
		if removed == nil || !b.pod.Runtime.Functions.Enabled || b.declares(n) || !b.restore(component{function: removed}) {
			return false
		}
		p := b.pod.KeyProblem(c.pathIn(b.pod)+".name",
			fmt.Sprintf("function %s was removed but is still called by %s", removed.Name, c), "change its callers first")
		p.Component = removed.Component()
		b.problem(p)
		b.set = b.set.With(removed)
	}
	return true
}

// declares reports whether the Spicepod has an enabled function of that name.
func (b *build) declares(name string) bool {
	return slices.ContainsFunc(b.pod.Functions, func(f spicepod.Function) bool {
		return f.Enabled && sqltree.Fold(f.Name) == sqltree.Fold(name)
	}) || slices.ContainsFunc(b.pod.Tools, func(t spicepod.Tool) bool {
		return t.AsSQL && sqltree.Fold(t.Name) == sqltree.Fold(name)
	})
}

// lastGood returns the last good version of dataset i, which could not be
// loaded, or is being loaded, or nil. A version with another policy is not used: it might show what
// the Spicepod now hides.
func (b *build) lastGood(i int, loading bool) *datasets.Dataset {
	declared := b.pod.Datasets[i]
	last := b.lastDataset(relationOf(declared.Qualified()))
	if last != nil && last.Current().Lost() {
		return nil
	}
	if last == nil || last.Declared.SamePolicy(declared) {
		return last
	}
	if loading {
		return nil
	}
	p := b.pod.KeyProblem(fmt.Sprintf("datasets[%d].name", i),
		"it is not served: its row_filter or column_mask has changed, so the last good version cannot replace it",
		"fix the dataset, or undo the change")
	p.Component = "dataset " + declared.Name
	b.problem(p)
	return nil
}
