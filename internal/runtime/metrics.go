package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/semantic"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// metricTestTimeout is how long a test of a metric may take: it runs in the transaction of the
// publication.
const metricTestTimeout = 10 * time.Second

// written returns the table functions that the guard replaces by queries: those of searches, and
// metric, of a Spicepod that has metrics.
func (b *build) written(g *Generation) map[string]engine.Written {
	functions := b.s.search.Written()
	if len(b.pod.Metrics) > 0 {
		functions[engine.Metric] = semantic.Written(func() *semantic.Layer { return g.Metrics })
	}
	return functions
}

// makeMetrics checks the metrics against the tables that the transaction has, runs their tests, and
// puts them into the generation.
func (a *attempt) makeMetrics(ctx context.Context, g *Generation, names engine.Names) error {
	if len(a.pod.Metrics) == 0 && len(a.pod.SemanticModels) == 0 {
		return nil
	}
	changed := map[engine.Relation]bool{}
	for _, d := range a.build.datasets {
		changed[d.Relation] = a.isNewDataset(d)
	}
	for c := range a.changed() {
		if c.view != nil {
			changed[c.view.Relation] = true
		}
	}
	result, err := semantic.Build(ctx, semantic.Request{
		DB: a.s.DB(), Tx: a.tx, Pod: a.pod, Names: names, Old: a.old.Metrics,
		Missing: func(r engine.Relation) string { return a.missing[r] },
		Waiting: func(r engine.Relation) *engine.Error { return a.waiting.find(engine.ObjectTable, folded(r)) },
		Again:   func(r engine.Relation) bool { return changed[r] },
		Failed:  a.failedMetrics, Timeout: metricTestTimeout,
	})
	a.problems(result.Problems)
	for _, t := range result.Tests {
		a.addTest(functions.TestResult{
			Function: "metric " + t.Metric, Name: t.Name, Passed: t.Passed, Message: t.Message, Duration: t.Duration,
			Position: t.Position,
		})
	}
	if err != nil {
		return err
	}
	g.Metrics = result.Layer
	a.report.metrics = len(result.Layer.Metrics())
	if a.strict && a.report.Problems.HasErrors() {
		return errStrict
	}
	return nil
}

// addTest adds the result of a test of a metric, or replaces that of an earlier attempt.
func (b *build) addTest(t functions.TestResult) {
	for i, o := range b.report.Tests {
		if o.Position == t.Position {
			b.report.Tests[i] = t
			return
		}
	}
	b.report.Tests = append(b.report.Tests, t)
}

// again reports whether an attempt to publish failed in a way that the next one avoids.
func again(a *attempt, err error) bool {
	return len(a.failed) > 0 || errors.Is(err, semantic.ErrAborted)
}

// tableMetrics is the introspection table of metrics.
const tableMetrics = "metrics"

// metricTables are the statements that create spiced.metrics.
func metricTables() []string {
	return []string{"CREATE TABLE " + engine.Qualified(engine.System, tableMetrics) + ` (name VARCHAR, kind VARCHAR,
	type VARCHAR, description VARCHAR, synonyms VARCHAR[], certified BOOLEAN, tests BIGINT, dimensions VARCHAR[],
	definition VARCHAR, filter VARCHAR, tables VARCHAR[])`}
}

// fillMetrics fills spiced.metrics with the metrics of g.
func fillMetrics(tx *engine.Tx, g *Generation) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.System, tableMetrics)); err != nil {
		return err
	}
	var rows [][]any
	for _, m := range g.Metrics.Metrics() {
		d := m.Declared
		var dimensions, tables []string
		for _, f := range g.Metrics.Fields(m, semantic.Everything) {
			dimensions = append(dimensions, f.Name)
		}
		for _, r := range g.Metrics.Relations(m) {
			tables = append(tables, shownRelation(r))
		}
		rows = append(rows, []any{
			d.Name, string(m.Kind), m.Type, orNull(d.Description), []string(d.Synonyms), d.Certified, int64(m.Tests), dimensions,
			m.Definition(), orNull(d.Filter), tables,
		})
	}
	return tx.Insert(engine.System, tableMetrics, rows)
}

// shownRelation is the name of a relation in statements.
func shownRelation(r engine.Relation) string {
	if r.Schema == engine.Public {
		return r.Name
	}
	return r.Schema + "." + r.Name
}

// toolMetrics returns the metrics in service that read only permitted relations, and call no
// function that is hidden.
func (s *services) toolMetrics(permits func(engine.Relation) bool, hides func(string) bool) (list []builtin.Metric) {
	g := s.Current()
	if g == nil {
		return nil
	}
	visible := semantic.Visible{Relation: permits, Function: func(name string) bool { return !hides(name) }}
	for _, m := range g.Metrics.Metrics() {
		if !g.Metrics.Shows(m, visible) {
			continue
		}
		d := m.Declared
		t := builtin.Metric{
			Name: d.Name, Kind: string(m.Kind), Type: m.Type, Description: d.Description, Synonyms: d.Synonyms,
			Certified: d.Certified, Definition: m.Definition(), Filter: d.Filter, Dimensions: []builtin.MetricDimension{},
		}
		for _, f := range g.Metrics.Fields(m, visible) {
			t.Dimensions = append(t.Dimensions, builtin.MetricDimension{
				Name: f.Name, Type: f.Type, Grains: f.Grains, Description: f.Description, Synonyms: f.Synonyms,
			})
		}
		list = append(list, t)
	}
	return list
}
