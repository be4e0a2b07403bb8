package runtime

import (
	"context"
	"slices"
	"strconv"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/snapshots"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/udf"
)

// maxGenerations bounds the rows of spiced.generations.
const maxGenerations = 1000

// The runtime's own introspection tables.
const (
	tableLoadErrors  = "load_errors"
	tableGenerations = "generations"
)

// systemRelations are the introspection tables in addition to those of package udf.
var systemRelations = []engine.Relation{
	datasetsRelation,
	{Schema: engine.System, Name: datasets.ColumnsTable},
	{Schema: engine.System, Name: datasets.ConstraintsTable},
	{Schema: engine.System, Name: tableLoadErrors},
	{Schema: engine.System, Name: tableGenerations},
	{Schema: engine.System, Name: tableModels},
	{Schema: engine.System, Name: tableAgents},
	{Schema: engine.System, Name: tableMetrics},
	{Schema: engine.System, Name: tableIndexes},
	{Schema: engine.System, Name: tableSandboxes},
	{Schema: engine.System, Name: tableViewLineage},
}

// SystemRelations are the introspection tables.
func SystemRelations() []engine.Relation {
	return slices.Concat(udf.Relations(), registry.Relations(), systemRelations)
}

// tableModels is the introspection table of language models.
const tableModels = "models"

const modelsDDL = ` (name VARCHAR, "from" VARCHAR, description VARCHAR, status VARCHAR, error VARCHAR, tools VARCHAR, mode VARCHAR,
	reason VARCHAR, tool_count BIGINT, advertised VARCHAR[], pinned VARCHAR[], embedding_model VARCHAR, datasets VARCHAR[], definition_tokens BIGINT,
	preselect BIGINT, direct_tokens BIGINT)`

// rowsOf is the table with all rows of an introspection view.
func rowsOf(view string) string { return "spiced." + view }

// agentTables are the statements that create spiced.models and spiced.agents, which show the
// agents that the caller may see.
func agentTables() []string {
	models, agents := engine.Qualified(engine.Core, rowsOf(tableModels)),
		engine.Qualified(engine.Core, rowsOf(tableAgents))
	return []string{
		"CREATE TABLE " + models + modelsDDL,
		"CREATE TABLE " + agents + agentsDDL,
		"CREATE VIEW " + engine.Qualified(engine.System, tableModels) + " AS SELECT * FROM " + models + " WHERE " +
			registry.ShowsAgent("name"),
		"CREATE VIEW " + engine.Qualified(engine.System, tableAgents) + " AS SELECT * REPLACE (" +
			registry.AgentsShown("agents") + " AS agents) FROM " + agents + " WHERE " + registry.ShowsAgent("name"),
	}
}

// fillModels fills spiced.models with the models of g.
func fillModels(tx *engine.Tx, g *Generation) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.Core, rowsOf(tableModels))); err != nil {
		return err
	}
	var rows [][]any
	for _, i := range g.Models.Infos() {
		rows = append(rows, []any{
			i.Name, i.From, orNull(i.Description), i.Status, orNull(i.Error), orNull(i.Declared), string(i.Mode),
			orNull(i.Reason), i.Count, i.Advertised, i.Pinned, orNull(i.EmbeddingModel), i.Datasets, i.DefinitionTokens,
			i.Preselect, i.DirectTokens,
		})
	}
	return tx.Insert(engine.Core, rowsOf(tableModels), rows)
}

// tableAgents is the introspection table of agents.
const tableAgents = "agents"

const agentsDDL = ` (name VARCHAR, model VARCHAR, description VARCHAR, status VARCHAR, error VARCHAR, agents VARCHAR[], tools VARCHAR,
	mode VARCHAR, tool_count BIGINT, timeout VARCHAR, rounds BIGINT, tokens BIGINT, calls BIGINT, concurrency BIGINT, depth BIGINT, events VARCHAR, foreign_calls BOOLEAN,
	definition_tokens BIGINT, direct_tokens BIGINT)`

// fillAgents fills spiced.agents with the agents of g.
func fillAgents(tx *engine.Tx, g *Generation) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.Core, rowsOf(tableAgents))); err != nil {
		return err
	}
	var rows [][]any
	for _, a := range g.Models.Agents() {
		l := a.Limits
		rows = append(rows, []any{
			a.Name, a.Model, a.Description, a.Status, orNull(a.Error), a.Agents, orNull(a.Tools.Declared),
			string(a.Tools.Mode), a.Tools.Count, l.Timeout, l.Rounds, orNoLimit(l.Tokens), orNoLimit(l.Calls), l.Concurrency,
			l.Depth, a.Events, a.Foreign, a.Tools.DefinitionTokens, a.Tools.DirectTokens,
		})
	}
	return tx.Insert(engine.Core, rowsOf(tableAgents), rows)
}

// orNoLimit returns a limit, or NULL for 0, which means no limit.
func orNoLimit(limit int) any {
	if limit == 0 {
		return nil
	}
	return limit
}

// fillLoadErrors fills spiced.load_errors with the problems of one load.
func (db *database) fillLoadErrors(tx *engine.Tx, report *Report) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.System, tableLoadErrors)); err != nil {
		return err
	}
	rows := make([][]any, 0, len(report.Problems))
	for _, p := range db.forCallers(report.Problems) {
		rows = append(rows, []any{
			int64(report.Generation), orNull(p.Component), p.Severity.String(), orNull(p.Path),
			p.File, p.Line, p.Column, p.Message, orNull(p.Hint), orNull(p.WaitsFor),
		})
	}
	return tx.Insert(engine.System, tableLoadErrors, rows)
}

// generationTables are the statements that create spiced.generations, which lists the changed
// functions that the caller may see.
func generationTables() []string {
	rows := engine.Qualified(engine.Core, rowsOf(tableGenerations))
	return []string{
		"CREATE TABLE " + rows + ` (generation BIGINT, published TIMESTAMP, "trigger" VARCHAR,
			changed VARCHAR[], functions BIGINT, datasets BIGINT, views BIGINT, problems BIGINT)`,
		"CREATE VIEW " + engine.Qualified(engine.System, tableGenerations) +
			" AS SELECT * REPLACE (list_filter(changed, lambda c: NOT starts_with(c, 'function ') OR NOT list_contains(" +
			udf.HiddenList() + ", lower(c[10:]))) AS changed) FROM " + rows,
	}
}

// fillGeneration adds the generation to spiced.generations.
func fillGeneration(tx *engine.Tx, g *Generation, report *Report) error {
	table := engine.Qualified(engine.Core, rowsOf(tableGenerations))
	if g.Number > maxGenerations {
		if err := tx.Exec("DELETE FROM " + table + " WHERE generation <= " +
			strconv.FormatUint(g.Number-maxGenerations, 10)); err != nil {
			return err
		}
	}
	return tx.Insert(engine.Core, rowsOf(tableGenerations), [][]any{{
		int64(g.Number), g.Published, report.Trigger, report.Changed,
		g.Functions.Len(), len(g.Datasets), len(g.Views), len(report.Problems),
	}})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// datasetsRelation is the table of datasets, which refreshes keep up to date.
var datasetsRelation = engine.Relation{Schema: engine.System, Name: datasets.DatasetsTable}

// constraintsRelation is the table of their constraints.
var constraintsRelation = engine.Relation{Schema: engine.System, Name: datasets.ConstraintsTable}

// publishRefresh publishes a refresh in the current generation.
func (s *services) publishRefresh(ctx context.Context, t *tables.Table, v *tables.Version,
	build func(*engine.Tx) error,
) error {
	var targets map[engine.Relation]engine.Target
	if t.Current().Unopened {
		targets = map[engine.Relation]engine.Target{t.Relation: v.Target()}
	}
	err := s.db.republishTargets(ctx, targets, func(tx *engine.Tx) error {
		if err := build(tx); err != nil {
			return err
		}
		return s.data.Refreshed(tx, t, v, nil)
	}, t.Relation, datasetsRelation, constraintsRelation)
	if err == nil {
		s.db.retainFiles(s.Current())
		s.search.Changed(t.Relation)
	}
	return err
}

// refreshEnded counts a refresh, and records why it failed.
func (s *services) refreshEnded(ctx context.Context, t *tables.Table, failed error) {
	defer s.events.Poke()
	outcome := "ok"
	if failed != nil {
		outcome = "failed"
		s.recordError(ctx, t, failed)
	}
	if s.metrics != nil {
		s.metrics.Refreshed(t.Name, outcome, t.Stats().Rows, t.Stats().Refreshed)
	}
}

// snapshotEnded counts a snapshot.
func (s *services) snapshotEnded(t *tables.Table, how snapshots.Outcome) {
	s.events.Poke()
	if s.metrics != nil {
		s.metrics.Snapshot(t.Name, string(how), t.State.LastSnapshot())
	}
}

// recordError records why a refresh failed; nil: the error of another task.
func (s *services) recordError(ctx context.Context, t *tables.Table, failed error) {
	defer s.events.Poke()
	err := s.db.republish(ctx, func(tx *engine.Tx) error {
		return s.data.Refreshed(tx, t, nil, failed)
	}, datasetsRelation)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("cannot record an error in spiced.datasets", t.Kind, t.Name, "error", err)
	}
}
