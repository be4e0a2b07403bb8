package builtin

import (
	"context"
	"fmt"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

type sampleDistinctColumnsArgs struct {
	Dataset string   `json:"dataset" doc:"Name of the table, as list_datasets shows it."`
	Limit   int      `json:"limit" min:"1" max:"1000" doc:"How many values of each column."`
	Columns []string `json:"cols,omitempty" doc:"Columns to look at; without it all."`
}

// newSampleDistinctColumns returns the tool that samples distinct values of
// columns.
func newSampleDistinctColumns(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "sample_distinct_columns",
		Description: "Returns the distinct values of columns, the most frequent first: a row for each column " +
			"with its values, " +
			"and whether there are more. " +
			"Use it to learn how values are spelled before filtering by them. Long strings are cut.",
		Returns: []byte(`{"type":"array","items":{"type":"object","properties":{
			"column":{"type":"string"},
			"values":{"type":"array"},
			"more":{"type":"boolean","description":"Whether the column has other values too."}},
			"required":["column","values","more"]}}`),
		Tags: []string{"data", "sample"},
	})
	return tools.Typed(def, func(ctx context.Context, a sampleDistinctColumnsArgs, in tools.Input) (rows, error) {
		d, err := env.find(c.access(in.Scope), a.Dataset)
		if err != nil {
			return rows{}, err
		}
		columns, err := pick(d, a.Columns)
		if err != nil {
			return rows{}, err
		}
		return distinctValues(ctx, env.SQL, d, columns, clamp(a.Limit, 1, MaxSample), in)
	})
}

func pick(d Dataset, names []string) ([]Column, error) {
	if len(names) == 0 {
		return d.Columns, nil
	}
	columns := make([]Column, len(names))
	for i, name := range names {
		c := column(d.Columns, unquoted(name))
		if c == nil {
			return nil, unknownColumn(fmt.Sprintf("table %s has no column %q", d.short(), name), name, columnNames(d.Columns))
		}
		columns[i] = *c
	}
	return columns, nil
}

// distinctValues queries one column at a time: the columns have different
// types, so one statement cannot return them.
func distinctValues(ctx context.Context, db udf.Querier, d Dataset, columns []Column, n int,
	in tools.Input,
) (rows, error) {
	var found [][]byte
	for _, c := range columns[:min(len(columns), MaxSampledColumns)] {
		sql := fmt.Sprintf(`SELECT %s AS "column", coalesce(list(v ORDER BY n DESC, v)[1:%d], []) AS "values", count(*) > %d AS "more" `+
			`FROM (SELECT %s AS v, count(*) AS n FROM %s GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %d)`,
			engine.Literal(c.Name), n, n, engine.Identifier(c.Name), qualified(d), n+1)
		r, err := sampled(ctx, db, sql, 1, in)
		if err != nil {
			return rows{}, err
		}
		found = append(found, r.lines...)
	}
	out, err := fit(found, extentOf(in.Limits, MaxSampledColumns))
	out.truncated = out.truncated || len(columns) > MaxSampledColumns
	return out, err
}
