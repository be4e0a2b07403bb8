package builtin

import (
	"context"
	"fmt"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

type randomSampleArgs struct {
	Dataset string `json:"dataset" doc:"Name of the table, as list_datasets shows it."`
	Limit   int    `json:"limit" min:"1" max:"1000" doc:"How many rows."`
}

// newRandomSample returns the tool that samples rows.
func newRandomSample(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "random_sample",
		Description: "Returns a few rows of a table, chosen at random: a preview, example records. " +
			"Use it to see what typical data looks like before writing SQL. Long strings are cut.",
		Returns: rowsSchema,
		Tags:    []string{"data", "sample"},
	})
	return tools.Typed(def, func(ctx context.Context, a randomSampleArgs, in tools.Input) (rows, error) {
		d, err := env.find(c.access(in.Scope), a.Dataset)
		if err != nil {
			return rows{}, err
		}
		n := clamp(a.Limit, 1, MaxSample)
		sql := fmt.Sprintf("SELECT * FROM %s USING SAMPLE reservoir(%d ROWS)", qualified(d), n)
		return sampled(ctx, env.SQL, sql, n, in)
	})
}

// qualified is the dataset's name in generated statements.
func qualified(d Dataset) string { return engine.Qualified(d.Relation.Schema, d.Relation.Name) }
