package runtime

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// errTests refuses a load because of the tests of functions.
var errTests = errors.New("a test of a function fails")

// test runs the tests of functions that changed, on a stage. If one fails, the error is
// [errTests], or the function is replaced by its last good version or left out, or serves,
// as runtime.functions.on_test_failure says.
func (b *build) test(ctx context.Context) error {
	on, severity := b.pod.Runtime.Functions.OnTestFailure, spicepod.Error
	if on == spicepod.WarnOnly {
		severity = spicepod.Warning
	}
	stage, err := b.s.db.Stage(ctx)
	if err != nil {
		b.problem(spicepod.Problem{
			Position: spicepod.Position{File: b.pod.File},
			Message:  "no connection to test functions on: " + err.Error(),
		})
		return nil
	}
	defer stage.Close()
	b.prune() // what reads something that is missing has that fault, and no test can run
	tryBodies(ctx, b)
	changed := b.changed()
	results, problems := functions.RunTests(ctx, stage, b.pod, b.set, functions.TestOptions{
		Prev: b.old.Functions, Relations: b.stageRelations(ctx, stage, changed),
		Again:    func(f *functions.Function) bool { return changed[component{function: f}] && !b.report.renewed },
		Severity: severity,
	})
	b.report.Tests = results
	b.problems(problems)
	if on == spicepod.WarnOnly || !slices.ContainsFunc(results, func(r functions.TestResult) bool { return !r.Passed }) {
		return nil
	}
	// then there is no edit to refuse
	if on == spicepod.RefuseSpicepod && b.report.Trigger != triggerLoaded && !b.report.renewed {
		return errTests
	}
	var failed []component
	for _, r := range results {
		c := component{function: b.set.Get(r.Function)}
		unchanged := b.old.Functions.Get(r.Function) == c.function // the last good version is the same
		if !r.Passed && !unchanged && !slices.Contains(failed, c) {
			failed = append(failed, c)
		}
	}
	b.exclude(failed)
	return nil
}

// stageRelations creates the changed relations that tested functions read as
// temporary views of the stage, and returns their names there. A view that
// cannot be created is reported by the function that reads it.
func (b *build) stageRelations(ctx context.Context, stage *engine.Stage,
	changed map[component]bool,
) map[engine.Relation]string {
	need := b.neededByTests()
	names := map[engine.Relation]string{}
	queries := map[engine.Relation]string{}
	for _, d := range b.datasets {
		if need.relations[d.Relation] && b.isNewDataset(d) {
			names[d.Relation], queries[d.Relation] = stagedName(d.Relation), d.Current().Query
		}
	}
	for _, v := range b.views {
		if need.relations[v.Relation] && changed[component{view: v}] {
			names[v.Relation], queries[v.Relation] = stagedName(v.Relation), v.Query
		}
	}
	if len(names) == 0 {
		return nil
	}
	create := func(r engine.Relation) {
		sql := "CREATE OR REPLACE TEMP VIEW " + strings.TrimPrefix(names[r], "temp.main.") + " AS " +
			renamed(queries[r], names)
		_ = stage.Run(ctx, func() error { return stage.Exec(sql) })
	}
	for _, d := range b.datasets {
		if names[d.Relation] != "" {
			create(d.Relation)
		}
	}
	var fresh []*functions.Function
	for c := range changed {
		if c.function != nil {
			fresh = append(fresh, c.function)
		}
	}
	target := functions.Staged(fresh, names)
	for _, c := range b.order {
		switch {
		case c.view != nil && names[c.view.Relation] != "":
			create(c.view.Relation)
		case c.function != nil && need.functions[c.function] && slices.Contains(fresh, c.function):
			c.function.Create(stage, b.pod, target)
		}
	}
	return names
}

func stagedName(r engine.Relation) string {
	return "temp.main." + engine.Identifier(r.Schema+"."+r.Name)
}

// renamed replaces the relations of a query by those of the stage. Compiled
// queries write every relation in one way.
func renamed(query string, names map[engine.Relation]string) string {
	for r, name := range names {
		query = strings.ReplaceAll(query, engine.Qualified(r.Schema, r.Name), name)
	}
	return query
}

// needed is what the tested functions use, directly or indirectly.
type needed struct {
	functions map[*functions.Function]bool
	relations map[engine.Relation]bool
}

func (b *build) neededByTests() needed {
	n := needed{map[*functions.Function]bool{}, map[engine.Relation]bool{}}
	var add func(component)
	add = func(c component) {
		if c.function != nil {
			if n.functions[c.function] {
				return
			}
			n.functions[c.function] = true
		}
		_, relations := c.uses()
		for _, r := range relations {
			n.relations[r] = true
		}
		for _, next := range b.needs(c) {
			add(next)
		}
	}
	for _, f := range b.set.All() {
		if len(f.Declared.Tests) > 0 { // even if unchanged: its tests may have changed
			add(component{function: f})
		}
	}
	return n
}
