package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

type topNSampleArgs struct {
	Dataset string `json:"dataset" doc:"Name of the table, as list_datasets shows it."`
	Limit   int    `json:"limit" min:"1" max:"1000" doc:"How many rows."`
	OrderBy string `json:"order_by" doc:"One column, and ASC (the default) or DESC: amount DESC."`
}

// newTopNSample returns the tool that returns the first rows in an order.
func newTopNSample(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "top_n_sample",
		Description: "Returns the first rows of a table in the order of one column, for example the largest amounts or " +
			"the latest dates. " +
			"Use it to see extreme or recent rows. Long strings are cut.",
		Returns: rowsSchema,
		Tags:    []string{"data", "sample"},
	})
	return tools.Typed(def, func(ctx context.Context, a topNSampleArgs, in tools.Input) (rows, error) {
		d, err := env.find(c.access(in.Scope), a.Dataset)
		if err != nil {
			return rows{}, err
		}
		order, err := orderBy(a.OrderBy, d.Columns)
		if err != nil {
			return rows{}, err
		}
		n := clamp(a.Limit, 1, MaxSample)
		sql := fmt.Sprintf("SELECT * FROM %s ORDER BY %s LIMIT %d", qualified(d), order, n)
		return sampled(ctx, env.SQL, sql, n, in)
	})
}

// orderBy parses "column", "column ASC" or "column DESC" and writes it with the
// name of the declared column. No part of the text is copied to the SQL.
func orderBy(text string, columns []Column) (string, error) {
	name, direction := strings.TrimSpace(text), ""
	if c := column(columns, unquoted(name)); c != nil {
		return engine.Identifier(c.Name), nil
	}
	if at := strings.LastIndexAny(name, " \t\r\n\""); at >= 0 {
		switch word := strings.ToUpper(name[at+1:]); word {
		case "ASC", "DESC":
			name, direction = strings.TrimSpace(name[:len(name)-len(word)]), " "+word
		}
	}
	if c := column(columns, unquoted(name)); c != nil {
		return engine.Identifier(c.Name) + direction, nil
	}
	message := "Invalid order_by '" + text +
		"' for top_n_sample. Provide a single column reference optionally followed by ASC or DESC."
	return "", unknownColumn(message, unquoted(name), columnNames(columns))
}
