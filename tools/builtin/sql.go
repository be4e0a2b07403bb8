package builtin

import (
	"context"
	"encoding/json"

	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/tools"
)

// rowsSchema is the schema of results that are rows.
var rowsSchema = json.RawMessage(`{"type":"array","items":{"type":"object"}}`)

type sqlArgs struct {
	Query string `json:"query" doc:"One SELECT statement in DuckDB's dialect. Name tables as list_datasets shows them; quote names that are no plain words in double quotes. Add LIMIT or aggregate: of a large result only the first rows come back."`
}

// newSQL makes the tool that runs a statement of a model's.
func newSQL(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "sql",
		Description: "Runs one read-only SQL query (DuckDB dialect) over the declared datasets, views and functions and returns its rows as JSON objects. " +
			"Use it for exact answers: filters, joins, aggregates, calculations. " +
			"Look at list_datasets and table_schema first when the tables or columns are not known.",
		Returns: rowsSchema,
		Tags:    []string{"data", "sql", "query"},
	})
	return tools.Typed(def, func(ctx context.Context, a sqlArgs, in tools.Input) (rows, error) {
		most := DefaultRows
		if in.Limits.MaxRows > 0 {
			most = in.Limits.MaxRows
		}
		return query(ctx, env.SQL, engine.Request{
			SQL: a.Query, Limits: engine.Limits{Timeout: in.Limits.Timeout}, Allow: c.access(in.Scope).filter(),
		}, extentOf(in.Limits, most))
	})
}
