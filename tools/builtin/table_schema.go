package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

type tableSchemaArgs struct {
	Tables []string `json:"tables" doc:"Names of the tables, as list_datasets shows them."`
	Output string   `json:"output,omitempty" enum:"full,minimal" default:"full" doc:"full also says whether a column may be NULL and what it means; minimal gives names and types."`
}

// newTableSchema returns the tool that describes columns.
func newTableSchema(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "table_schema",
		Description: "Shows the columns (fields) of one or several tables (datasets) as Markdown: names, types, whether " +
			"they may be NULL and what they mean. " +
			"Use it before writing SQL over a table whose columns are not known.",
		Returns: json.RawMessage(`{"type":"string","description":"A Markdown table for each of the tables."}`),
		Tags:    []string{"data", "catalog", "schema"},
	})
	return tools.Typed(def, func(_ context.Context, a tableSchemaArgs, in tools.Input) (string, error) {
		if len(a.Tables) == 0 || len(a.Tables) > MaxTables {
			return "", tools.NewError(errcode.InvalidArguments, fmt.Sprintf("%d tables are asked for", len(a.Tables)),
				fmt.Sprintf("name 1 to %d", MaxTables))
		}
		access := c.access(in.Scope)
		var out strings.Builder
		for i, name := range a.Tables {
			d, err := env.find(access, name)
			if err != nil {
				return "", err
			}
			if i > 0 {
				out.WriteByte('\n')
			}
			writeSchema(&out, d, a.Output != "minimal")
		}
		if most := extentOf(in.Limits, 1).bytes; int64(out.Len()) > most {
			return "", tools.NewError(errcode.Limit, fmt.Sprintf("the schemas have %d bytes; the limit of a result is %d",
				out.Len(), most), "ask for fewer tables, or for minimal output")
		}
		return out.String(), nil
	})
}

// writeSchema writes a heading and a table of the dataset's columns.
func writeSchema(out *strings.Builder, d Dataset, full bool) {
	out.WriteString("## " + cell(d.Table()) + "\n\n")
	if full && d.Description != "" {
		out.WriteString(cell(d.Description) + "\n\n")
	}
	heading := []string{"column", "type"}
	if full {
		heading = append(heading, "nullable", "description")
	}
	writeLine(out, heading)
	out.WriteString(strings.Repeat("| --- ", len(heading)) + "|\n")
	for _, col := range d.Columns {
		line := []string{col.Name, col.Type}
		if full {
			line = append(line, yesNo(!col.NotNull), col.Description)
		}
		writeLine(out, line)
	}
}

func writeLine(out *strings.Builder, cells []string) {
	for _, text := range cells {
		out.WriteString("| " + cell(text) + " ")
	}
	out.WriteString("|\n")
}

// cell is text on one line, for a cell of a Markdown table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
