package builtin

import (
	"context"
	"fmt"
	"math"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

type listUDFsArgs struct {
	Source string `json:"source,omitempty" enum:"user,builtin" default:"user" doc:"user are the declared functions; builtin are those that the SQL engine brings."`
}

// newListUDFs returns the tool that lists functions.
func newListUDFs(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "list_udfs",
		Description: "Lists the functions (UDFs) that SQL may call, each with its kind, volatility and description; by " +
			"default the user-defined ones. " +
			"Use it to see which calculations are already there, and describe_function for the details of one.",
		Returns: rowsSchema,
		Tags:    []string{"functions", "catalog"},
	})
	return tools.Typed(def, func(ctx context.Context, a listUDFsArgs, in tools.Input) (rows, error) {
		source := "user"
		if a.Source == "builtin" {
			source = a.Source
		}
		sql := fmt.Sprintf("SELECT * FROM %s() WHERE source = %s ORDER BY name", functions.ListUDFs, engine.Literal(source))
		return query(ctx, env.SQL, engine.Request{SQL: sql, Limits: engine.Limits{Timeout: in.Limits.Timeout}},
			extentOf(in.Limits, math.MaxInt))
	})
}
