package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// errFaults ends a transaction in which components failed.
var errFaults = errors.New("components have faults")

// publish makes the generation in one transaction and serves it. When
// components fail it is made again without them, since some of DuckDB's errors
// end a transaction; each round leaves at least one component out.
func (b *build) publish(ctx context.Context) error {
	b.d.publishing.Lock()
	defer b.d.publishing.Unlock()
	for {
		b.settle()
		if b.d.opts.Strict && b.report.Problems.HasErrors() {
			return errStrict
		}
		m := &maker{build: b}
		err := m.publish(ctx)
		if err == nil {
			return nil
		}
		if len(m.failed) == 0 {
			return err
		}
		b.exclude(m.failed)
	}
}

// maker is one attempt to make a build.
type maker struct {
	*build
	tx     *engine.Tx
	traits *traits
	made   []string
	failed []component
}

// publish makes everything in one transaction. When a component fails it goes
// on with those that do not use it, to find all faults, and undoes it all.
func (m *maker) publish(ctx context.Context) error {
	g := m.generation()
	m.traits = m.readTraits()
	if err := m.makeTools(g); err != nil {
		return err
	}
	next := engine.NewCatalog(g.Number, m.available(), m.guarded(g))
	next.SetTraits(m.traits.relations)
	next.SetWritable(m.writable())
	next.Published(func() { m.d.serve(m.old, g) })
	next.Script(func() []string { return m.d.script(g) })
	return m.d.db.Publish(ctx, next, func(tx *engine.Tx) error {
		m.tx = tx
		for _, step := range []func() error{m.make, func() error { return m.makeToolFunctions(g) }, func() error { return m.searchTests(ctx, g) }} {
			if err := step(); err != nil {
				return err
			}
		}
		m.report.Generation, m.report.Changed = g.Number, m.made
		m.report.Problems.Sort()
		return m.fill(g)
	})
}

// writable are the tables behind the datasets that callers may write.
func (b *build) writable() map[engine.Relation]string {
	tables := map[engine.Relation]string{}
	for _, d := range b.datasets {
		if table, ok := d.Base(); ok {
			tables[d.Relation] = table
		}
	}
	return tables
}

// serve makes g the generation that serves. The engine calls it as it swaps.
func (d *Runtime) serve(old, g *Generation) {
	d.current.Store(g)
	d.keys.Store(g.keys)
	d.registry.Publish(g.Tools)
	d.servers.Publish(g.servers)
	cache := g.Pod.Runtime.Tools.Cache
	if !cache.Enabled {
		cache.MaxBytes = 0
	}
	d.registry.CacheLimit(int64(cache.MaxBytes))
	if old.Embeddings != nil && old.Embeddings != g.Embeddings {
		d.closing.Go(func() { old.Embeddings.Close() }) // waits for the calls of it that run
	}
}

// makeTools makes the catalog of tools, which serves with the generation.
func (m *maker) makeTools(g *Generation) (err error) {
	if g.Tools, err = m.catalog(g); err != nil {
		return err
	}
	g.toolFunctions = m.toolFunctions(g.Tools)
	m.makeModels(g)
	if m.d.opts.Strict && m.report.Problems.HasErrors() {
		return errStrict
	}
	return nil
}

func (m *maker) make() error {
	if err := m.drop(); err != nil {
		return err
	}
	for _, d := range m.build.datasets {
		if m.lastDataset(d.Relation) == d {
			continue
		}
		if err := d.Install(m.tx); err != nil {
			return err // it was proven when it was prepared: the source vanished just now
		}
		m.made = append(m.made, "dataset "+d.Declared.Name)
	}
	if err := m.makeComponents(); err != nil {
		return err
	}
	if len(m.failed) > 0 {
		return errFaults
	}
	m.d.data.Publish(m.tx, m.build.datasets, m.views)
	return nil
}

// manyFunctions is how many functions are worth a plain prelude while they are
// made.
const manyFunctions = 100

// makeComponents makes the functions and views that changed, in their order.
func (m *maker) makeComponents() error {
	changed := m.changed()
	if len(changed) >= manyFunctions {
		if err := m.run(prelude.Plain(false)); err != nil {
			return err
		}
	}
	for _, c := range m.order {
		if !changed[c] || m.usesFailed(c) {
			continue
		}
		if p := m.create(c); p != nil {
			m.problem(*p)
			m.failed = append(m.failed, c)
			if m.tx.Exec("SELECT 1") != nil {
				return errFaults // the transaction is over
			}
			continue
		}
		m.made = append(m.made, c.String())
	}
	if len(changed) >= manyFunctions {
		return m.run(prelude.Restore())
	}
	return nil
}

// run executes statements that do not fail.
func (m *maker) run(statements []string) error {
	for _, sql := range statements {
		if err := m.tx.Exec(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// usesFailed reports whether c uses a component that failed in this attempt.
func (m *maker) usesFailed(c component) bool {
	return slices.ContainsFunc(m.needs(c), func(n component) bool { return slices.Contains(m.failed, n) || m.skipped(n) })
}

// skipped reports whether n was left out in this attempt since something it
// uses failed.
func (m *maker) skipped(n component) bool {
	return slices.ContainsFunc(m.needs(n), func(u component) bool { return slices.Contains(m.failed, u) || m.skipped(u) })
}

// drop removes functions, views and datasets that are declared no more.
func (m *maker) drop() error {
	var ddl []string
	gone := func(component string, statements []string) {
		ddl = append(ddl, statements...)
		m.made = append(m.made, component)
	}
	for _, f := range m.set.Removed(m.old.Functions) {
		gone("function "+f.Name, f.Drop())
	}
	kept := m.available()
	for _, v := range m.old.Views {
		if !slices.Contains(kept, v.Relation) {
			gone("view "+v.Declared.Name, v.Drop())
		}
	}
	for _, d := range m.old.Datasets {
		if !slices.Contains(kept, d.Relation) {
			gone("dataset "+d.Declared.Name, d.Drop())
		}
	}
	return m.run(ddl)
}

func (m *maker) create(c component) *spicepod.Problem {
	if c.view != nil {
		return asProblem(m.pod, c, c.view.Install(m.tx))
	}
	if old := m.old.Functions.Get(c.function.Name); old != nil {
		for _, sql := range c.function.DropStale(old) {
			if err := m.tx.Exec(sql); err != nil {
				return asProblem(m.pod, c, err)
			}
		}
	}
	return c.function.Create(m.tx, m.pod, functions.Published())
}

func asProblem(pod *spicepod.Pod, c component, err error) *spicepod.Problem {
	if err == nil {
		return nil
	}
	var p *spicepod.Problem
	if errors.As(err, &p) {
		return p
	}
	problem := c.problem(pod, err.Error(), "")
	return &problem
}

// problem is a problem of the component as a whole.
func (c component) problem(pod *spicepod.Pod, message, hint string) spicepod.Problem {
	p := pod.KeyProblem(c.pathIn(pod)+".name", message, hint)
	p.Component = c.String()
	return p
}

// pathIn is where pod declares the component; a last good version was declared
// elsewhere.
func (c component) pathIn(pod *spicepod.Pod) string {
	if c.function != nil {
		for i := range pod.Functions {
			if sqltree.Fold(pod.Functions[i].Name) == sqltree.Fold(c.function.Name) {
				return fmt.Sprintf("functions[%d]", i)
			}
		}
		return "functions"
	}
	for i := range pod.Views {
		if relationOf(pod.Views[i].Qualified()) == c.view.Relation {
			return fmt.Sprintf("views[%d]", i)
		}
	}
	return "views"
}

// available are the relations that statements may read.
func (b *build) available() []engine.Relation {
	list := SystemRelations()
	if b.d.pgcatalog {
		list = append(list, pgcatalog.Relations()...)
	}
	for _, d := range b.datasets {
		list = append(list, d.Relation)
	}
	for _, v := range b.views {
		list = append(list, v.Relation)
	}
	return list
}

// prune takes out components that read what cannot be had.
func (b *build) prune() {
	for again := true; again; {
		again = false
		for _, c := range b.order {
			_, relations := c.uses()
			i := slices.IndexFunc(relations, func(r engine.Relation) bool { return b.missing[r] != "" })
			if i < 0 {
				continue
			}
			b.problem(c.problem(b.pod, "it reads "+b.missing[relations[i]], "mend that first"))
			b.exclude([]component{c})
			again = true
			break
		}
	}
}

// exclude puts the last good versions of components back, and takes those that
// have none out, with everything that uses them.
func (b *build) exclude(failed []component) {
	var gone []string
	for _, c := range failed {
		if c.view != nil {
			b.excludeView(c.view)
			continue
		}
		last := b.old.Functions.Get(c.function.Name)
		if last != nil && last != c.function && b.revive(component{function: last}) {
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

// excludeCallers takes out views that call functions that are gone.
func (b *build) excludeCallers() {
	for _, v := range slices.Clone(b.views) {
		for _, n := range v.Uses.Functions {
			if b.set.Get(n) == nil {
				c := component{view: v}
				b.problem(c.problem(b.pod, fmt.Sprintf("it calls function %q, which has a fault", n), "mend that first"))
				b.excludeView(v)
				break
			}
		}
	}
}

// revive reports whether a last good version, c, works in this build. Functions
// that it calls and that are declared no more stay for it, with a problem.
func (b *build) revive(c component) bool {
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
		if removed == nil || !b.pod.Runtime.Functions.Enabled || b.declares(n) || !b.revive(component{function: removed}) {
			return false
		}
		p := b.pod.KeyProblem(c.pathIn(b.pod)+".name", fmt.Sprintf("function %s was removed but is still called by %s", removed.Name, c), "change its callers first")
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
	})
}

// excludeView replaces v by its last good version or takes it out.
func (b *build) excludeView(v *datasets.View) {
	i := slices.Index(b.views, v)
	if i < 0 {
		return
	}
	b.views = slices.Clone(b.views)
	if last := b.lastView(v.Relation); last != nil && last != v && b.revive(component{view: last}) {
		b.views[i] = last
		return
	}
	b.views = slices.Delete(b.views, i, i+1)
	b.missing[v.Relation] = fmt.Sprintf("view %q, which has a fault", v.Declared.Name)
}

// fill writes the introspection tables.
func (m *maker) fill(g *Generation) error {
	return errors.Join(
		udf.Fill(m.tx, m.pod, m.set, m.old.Functions),
		datasets.Fill(m.tx, m.d.data.StatusOf(m.build.datasets, m.views)),
		fillLoadErrors(m.tx, m.report),
		fillGeneration(m.tx, g, m.report),
		fillModels(m.tx, g),
	)
}
