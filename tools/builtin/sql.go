package builtin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// rowsSchema is the schema of results that are rows.
var rowsSchema = json.RawMessage(`{"type":"array","items":{"type":"object"}}`)

// storedSchema is rowsSchema, or accepts also the summary of a stored result.
func storedSchema(r udf.Results) json.RawMessage {
	if r == nil {
		return rowsSchema
	}
	return udf.StoredSchema(rowsSchema, r)
}

type sqlArgs struct {
	Query string `json:"query" doc:"One SELECT statement in DuckDB's dialect. Name tables as list_datasets shows them; quote names that are no plain words in double quotes. Add LIMIT or aggregate: of a large result only the first rows come back."`
}

// Statement returns the statement, for the audit log.
func (a sqlArgs) Statement() string { return a.Query }

// newSQL returns the tool that runs a model's statement.
func newSQL(env Env, c custom) (tools.Tool, error) {
	description := "Runs one read-only SQL query (DuckDB dialect) over the declared datasets, views and functions and " +
		"returns its rows as JSON objects. " +
		"Use it for exact answers: filters, joins, ordered lists, sums, averages, how many rows or distinct values there " +
		"are, by group, region or month. " +
		"Look at list_datasets and table_schema first when the tables or columns are not known."
	if env.Results != nil {
		description += " A large result is kept, and you get its first rows and a reference: query it further with FROM " +
			"ref('r_…')."
	}
	def := c.define(tools.Definition{
		Name: "sql", Description: description,
		Returns: storedSchema(env.Results),
		Tags:    []string{"data", "sql", "query"},
	})
	tool, err := tools.Typed(def, func(ctx context.Context, a sqlArgs, in tools.Input) (output, error) {
		most := DefaultRows
		if in.Limits.MaxRows > 0 {
			most = in.Limits.MaxRows
		}
		return queryOrStore(ctx, env, sqlRequest(a.Query, c, in), extentOf(in.Limits, most))
	})
	if err != nil {
		return nil, err
	}
	return &sqlTool{tool.(tools.Stating), env.SQL, c}, nil
}

// sqlRequest is the request of a model's statement.
func sqlRequest(text string, c custom, in tools.Input) engine.Request {
	query, _ := tools.Unfence(text)
	return engine.Request{
		SQL: query, Limits: engine.Limits{Timeout: in.Limits.Timeout}, Allow: c.access(in.Scope).filter(), Isolate: true,
	}
}

// sqlTool is the tool sql.
type sqlTool struct {
	tools.Stating
	db     SearchEngine
	custom custom
}

var _ tools.Planner = (*sqlTool)(nil)

// sqlPlan is what a call would run, and return.
type sqlPlan struct {
	SQL     string      `json:"sql"`
	Columns []sqlColumn `json:"columns"`
	Plan    string      `json:"plan,omitempty"` // DuckDB's, of a query
}

type sqlColumn struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// Plan returns the columns of the statement and its plan, or the error of a call: what the
// guard refuses, and what DuckDB cannot bind.
func (t *sqlTool) Plan(ctx context.Context, in tools.Input) (json.RawMessage, error) {
	req := sqlRequest(t.Statement(in), t.custom, in)
	d, err := t.db.Describe(ctx, req)
	if err != nil {
		return nil, SQLError(err)
	}
	p := sqlPlan{SQL: req.SQL, Columns: []sqlColumn{}}
	for _, c := range d.Columns {
		column := sqlColumn{Name: c.Name}
		if c.Type != nil {
			column.Type = c.Type.String()
		}
		p.Columns = append(p.Columns, column)
	}
	req.SQL = "EXPLAIN " + req.SQL
	if p.Plan, err = udf.Explain(ctx, t.db, req); err != nil {
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != errcode.Parse && e.Code != errcode.Refused {
			return nil, SQLError(err)
		} // else a DESCRIBE, SHOW or EXPLAIN, which has no plan
	}
	return tools.Encode(p)
}
