package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// errFaults ends a transaction in which components failed.
var errFaults = errors.New("components have faults")

// publish creates the generation in one transaction and puts it in service. If
// components fail it tries again without them, because some of DuckDB's errors
// abort the transaction; each attempt excludes at least one component.
func (b *build) publish(ctx context.Context) error {
	b.s.db.publishing.Lock()
	defer b.s.db.publishing.Unlock()
	for {
		b.removeUnusable()
		if b.strict && b.report.Problems.HasErrors() {
			return errStrict
		}
		a := &attempt{build: b}
		err := a.publish(ctx)
		if err == nil {
			return nil
		}
		if !again(a, err) {
			return err
		}
		b.exclude(a.failed)
	}
}

// attempt is one try to publish a build.
type attempt struct {
	*build
	tx     *engine.Tx
	traits *traits
	keys   map[engine.Relation][]engine.KeyColumn // see keyColumns
	made   []string
	failed []component
}

// publish creates everything in one transaction. If a component fails it goes on
// with those that do not use it, to find all faults, and rolls back.
func (a *attempt) publish(ctx context.Context) error {
	g := a.generation()
	a.traits, a.keys = a.readTraits(), keyColumns(a.build.datasets)
	if err := a.makeTools(g); err != nil {
		return err
	}
	relations := a.available()
	next := engine.NewCatalog(engine.Contents{
		Generation: g.Number, Relations: relations, Functions: a.guarded(g),
		Traits: a.traits.relations, Reads: a.traits.viewReads, Targets: a.targets(), Keys: a.keys,
		Published:    func() { a.s.serve(a.old, g) },
		Dependencies: g.dependencies, Unserved: unserved(a.build), Failed: a.s.failed(g),
		Open: opens(a), Asks: a.traits.declaredAsks(relations), Hides: g.Tools.HidesFrom, Gates: g.Tools.GatesFrom,
		Written: a.written(g),
	})
	return a.s.db.Publish(ctx, next, func(tx *engine.Tx) error {
		a.tx = tx
		metrics := func() error { return a.makeMetrics(ctx, g, next) }
		for _, step := range []func() error{a.make, metrics, func() error { return a.searchTests(ctx, g) }} {
			if err := step(); err != nil {
				return err
			}
		}
		// The columns of a view, which row_id names, are known once it is made.
		g.searches = g.searched(func(r engine.Relation) bool { return a.traits.relations[r].Caller })
		a.report.Generation, a.report.Changed = g.Number, a.made
		a.report.Problems.Sort()
		return a.fill(g)
	})
}

// available returns the relations that statements may read.
func (b *build) available() []engine.Relation {
	list := SystemRelations()
	if c := b.s.db.clients; c != nil {
		list = append(list, c.Relations...)
	}
	for _, d := range b.datasets {
		list = append(list, d.Relation)
	}
	for _, v := range b.views {
		if v.LoadFault() == nil {
			list = append(list, v.Relation)
		}
	}
	return list
}

// targets returns what statements that change the datasets write to.
func (b *build) targets() map[engine.Relation]engine.Target {
	all := map[engine.Relation]engine.Target{}
	for _, d := range b.datasets {
		all[d.Relation] = d.Current().Target()
	}
	return all
}

// keyColumns returns the columns by which rows are selected below a policy.
func keyColumns(list []*datasets.Dataset) map[engine.Relation][]engine.KeyColumn {
	keys := map[engine.Relation][]engine.KeyColumn{}
	for _, d := range list {
		if len(d.Keys) > 0 {
			keys[engine.Relation{Schema: sqltree.Fold(d.Relation.Schema), Name: sqltree.Fold(d.Relation.Name)}] = d.KeyColumns()
		}
	}
	return keys
}

// serve puts g in service. The engine calls it as it switches catalogs.
func (s *services) serve(old, g *Generation) {
	s.current.Store(g)
	s.keys.Store(g.keys)
	s.tools.registry.Publish(g.Tools)
	s.tools.usage.Learn(g.Pod.Runtime.Tools.Search.Learn == spicepod.LearnOn)
	s.tools.servers.Publish(g.servers)
	s.search.Replace(g.searches, g.Embeddings)
	cache := g.Pod.Runtime.Tools.Cache
	if !cache.Enabled {
		cache.MaxBytes = 0
	}
	s.tools.registry.CacheLimit(int64(cache.MaxBytes))
	if old.Embeddings != nil && old.Embeddings != g.Embeddings {
		s.closing.Go(func() { old.Embeddings.Close() }) // waits for its running calls
	}
}

func (a *attempt) make() error {
	for _, r := range a.removed() {
		if err := a.run(r.ddl); err != nil {
			return err
		}
		a.made = append(a.made, r.component)
	}
	for _, d := range a.build.datasets {
		if !a.isNewDataset(d) {
			continue
		}
		if err := d.Install(a.tx); err != nil {
			return err // it could be read when it was prepared: the source has vanished since
		}
		a.made = append(a.made, "dataset "+d.Declared.Name)
	}
	if err := a.makeComponents(); err != nil {
		return err
	}
	if len(a.failed) > 0 {
		return errFaults
	}
	a.s.data.Publish(a.tx, a.build.datasets, a.views)
	return nil
}

// manyFunctions is how many functions it takes for a plain prelude to pay off.
const manyFunctions = 100

// makeComponents creates the functions and views that changed, in their order.
func (a *attempt) makeComponents() error {
	changed := a.changed()
	if len(changed) >= manyFunctions {
		if err := a.run(prelude.Plain(false)); err != nil {
			return err
		}
	}
	for _, c := range a.order {
		if !changed[c] || a.usesFailed(c) {
			continue
		}
		if p := a.create(c); p != nil {
			a.problem(*p)
			a.failed = append(a.failed, c)
			if a.tx.Exec("SELECT 1") != nil {
				return errFaults // the transaction is over
			}
			continue
		}
		a.made = append(a.made, c.String())
	}
	if len(changed) >= manyFunctions {
		return a.run(prelude.Restore())
	}
	return nil
}

// run executes statements that are expected to succeed.
func (a *attempt) run(statements []string) error {
	for _, sql := range statements {
		if err := a.tx.Exec(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// usesFailed reports whether c uses a component that failed in this attempt.
func (a *attempt) usesFailed(c component) bool {
	return slices.ContainsFunc(a.needs(c), func(n component) bool { return slices.Contains(a.failed, n) || a.skipped(n) })
}

// skipped reports whether this attempt left n out because something it uses
// failed.
func (a *attempt) skipped(n component) bool {
	return slices.ContainsFunc(a.needs(n), func(u component) bool { return slices.Contains(a.failed, u) || a.skipped(u) })
}

func (a *attempt) create(c component) *spicepod.Problem {
	if c.view != nil {
		return asProblem(a.pod, c, c.view.Install(a.tx))
	}
	if old := a.old.Functions.Get(c.function.Name); old != nil {
		for _, sql := range c.function.DropStale(old) {
			if err := a.tx.Exec(sql); err != nil {
				return asProblem(a.pod, c, err)
			}
		}
	}
	return c.function.Create(a.tx, a.pod, functions.Published().WithKeys(a.keys))
}

// fill writes the introspection tables.
func (a *attempt) fill(g *Generation) error {
	filled, before := a.old.Functions, a.old.waiting.list()
	if a.report.renewed {
		filled, before = nil, nil
	}
	return errors.Join(
		udf.Fill(a.tx, a.pod, a.set, filled, udf.Loading{Now: a.waiting.list(), Before: before}),
		datasets.Fill(a.tx, a.s.data.StatusOf(a.build.datasets, a.views)),
		a.s.db.fillLoadErrors(a.tx, a.report),
		fillGeneration(a.tx, g, a.report),
		fillModels(a.tx, g),
		fillAgents(a.tx, g),
		fillMetrics(a.tx, g),
		fillSandboxes(a.tx, g, a.s.shim),
		fillViewLineage(a.tx, g),
	)
}
