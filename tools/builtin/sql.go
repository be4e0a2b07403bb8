package builtin

import (
	"context"
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// rowsSchema is the schema of results that are rows.
var rowsSchema = json.RawMessage(`{"type":"array","items":{"type":"object"}}`)

// keptSchema is rowsSchema, or accepts also the summary of a stored result.
func keptSchema(r udf.Results) json.RawMessage {
	if r == nil {
		return rowsSchema
	}
	return udf.KeptSchema(rowsSchema, r)
}

type sqlArgs struct {
	Query string `json:"query" doc:"One SELECT statement in DuckDB's dialect. Name tables as list_datasets shows them; quote names that are no plain words in double quotes. Add LIMIT or aggregate: of a large result only the first rows come back."`
}

// Statement returns the statement, for the audit log.
func (a sqlArgs) Statement() string { return a.Query }

// newSQL returns the tool that runs a model's statement.
func newSQL(env Env, c custom) (tools.Tool, error) {
	description := "Runs one read-only SQL query (DuckDB dialect) over the declared datasets, views and functions and returns its rows as JSON objects. " +
		"Use it for exact answers: filters, joins, ordered lists, sums, averages, how many rows or distinct values there are, by group, region or month. " +
		"Look at list_datasets and table_schema first when the tables or columns are not known."
	if env.Results != nil {
		description += " A large result is kept, and you get its first rows and a reference: query it further with FROM ref('r_…')."
	}
	def := c.define(tools.Definition{
		Name: "sql", Description: description,
		Returns: keptSchema(env.Results),
		Tags:    []string{"data", "sql", "query"},
	})
	return tools.Typed(def, func(ctx context.Context, a sqlArgs, in tools.Input) (output, error) {
		most := DefaultRows
		if in.Limits.MaxRows > 0 {
			most = in.Limits.MaxRows
		}
		query, _ := tools.Unfence(a.Query)
		req := engine.Request{
			SQL: query, Limits: engine.Limits{Timeout: in.Limits.Timeout}, Allow: c.access(in.Scope).filter(), Isolate: true,
		}
		return queryOrKeep(ctx, env, req, extentOf(in.Limits, most))
	})
}
