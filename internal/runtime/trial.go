package runtime

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// trialTime is how long DuckDB may take to plan one component.
const trialTime = 10 * time.Second

// tryBodies plans the changed functions and views in a worker before this process does.
// DuckDB 1.5.5 ends its process (SIGSEGV) when it plans some calls of functions whose
// bodies have a WITH clause; their texts do not show which ones. So everything
// that has such a clause, or uses something that does, is tried in the order in which it is
// published; datasets are empty tables with their columns there. What ends the worker is
// excluded, with a problem. Every other error is left to the publication, which knows its
// place in the Spicepod.
//
// Without workers (runtime.query.isolation: none) nothing is tried.
func tryBodies(ctx context.Context, b *build) {
	if b.s.db.workers == nil {
		return
	}
	t := trial{b}
	tried := map[component]bool{}
	for again := true; again; {
		again = false
		changed, with := b.changed(), t.withClauses()
		for _, c := range b.order {
			if !changed[c] || !with[c] || tried[c] {
				continue
			}
			tried[c] = true
			if why := t.try(ctx, c); why != "" {
				b.problem(c.problem(b.pod, why,
					"call each function in a subquery in FROM: SELECT f(b) FROM (SELECT g(a) AS b FROM t)"))
				b.exclude([]component{c})
				again = true // the order is another one
				break
			}
		}
	}
}

// trial plans components of a build.
type trial struct{ *build }

// withClauses are the components that have a WITH clause, or use one that does.
func (t trial) withClauses() map[component]bool {
	with := map[component]bool{}
	for _, c := range t.order {
		own := c.function != nil && c.function.HasWith() || c.view != nil && sqltree.HasWith(c.view.Query)
		if own || slices.ContainsFunc(t.needs(c), func(n component) bool { return with[n] }) {
			with[c] = true
		}
	}
	return with
}

// try plans c in a worker. It returns why c must not be planned in this process, or "".
func (t trial) try(ctx context.Context, c component) string {
	g := &Generation{
		Functions: t.set, Datasets: t.datasets, Views: t.views,
		outside: outside{snapshots: &t.s.db.snapshots, clients: t.s.db.clients},
	}
	s := &resolver{g: g, found: map[string]*engine.Dependency{}, plans: true}
	names, relations := c.uses()
	s.all(relations, names)
	if s.err != nil {
		return "" // it reads what no worker can have
	}
	var calls []string
	if c.view != nil {
		s.relation(c.view.Relation)
		calls = []string{"SELECT * FROM " + engine.Qualified(c.view.Relation.Schema, c.view.Relation.Name)}
	} else {
		var body string
		body, calls = c.function.Trial(functions.Published())
		if why := t.plan(ctx, body, s.list); why != "" {
			return why
		}
		s.function(c.function.Name)
	}
	for _, sql := range calls {
		if why := t.plan(ctx, sql, s.list); why != "" {
			return why
		}
	}
	return ""
}

// plan plans one statement in a worker.
func (t trial) plan(ctx context.Context, sql string, uses []*engine.Dependency) string {
	notCalled := errors.New("nothing is called while a statement is planned")
	rows, err := t.s.db.workers.Run(ctx, engine.Job{
		SQL: sql, Dependencies: slices.Clone(uses), Describe: true, Limits: engine.Limits{Timeout: trialTime},
		Native: func(context.Context, string, string) (string, error) { return "", notCalled },
		Batch: func(context.Context, string, *engine.Type, *engine.Chunk) (*engine.Chunk, error) {
			return nil, notCalled
		},
	})
	if err == nil {
		rows.Close()
		return ""
	}
	switch e := engine.AsError(err); {
	case e.Crashed:
		return "DuckDB ends its process (a fault of DuckDB) when it plans this with the functions that it calls"
	case e.Code == errcode.Timeout:
		return "DuckDB does not end planning this within " + trialTime.String()
	}
	return ""
}

// noRows is a query of no rows with these columns, in a FROM clause.
func noRows(columns []tables.Column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "CAST(NULL AS " + c.Type + ") AS " + engine.Identifier(c.Name)
	}
	return "(SELECT " + strings.Join(list, ", ") + " WHERE false)"
}
