package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/spiced-sql/spiced/tools"
)

// listedDataset is a dataset in the form of Spice's tool of the same name.
type listedDataset struct {
	Table       string         `json:"table"`
	Searchable  bool           `json:"can_search_documents"`
	Description *string        `json:"description"`
	Metadata    map[string]any `json:"metadata"`
}

func newListDatasets(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "list_datasets",
		Description: "Lists the available tables, the data that can be queried: each with its full name, what it holds " +
			"and whether search can look into its text. " +
			"Use it first when it is not known which data there is.",
		Returns: json.RawMessage(`{"type":"array","items":{"type":"object","properties":{
			"table":{"type":"string","description":"Name to use in SQL."},
			"can_search_documents":{"type":"boolean","description":"Whether search can look into it."},
			"description":{"type":["string","null"]},
			"metadata":{"type":"object"}},
			"required":["table","can_search_documents","description","metadata"]}}`),
		Tags: []string{"data", "catalog"},
	})
	return tools.Typed(def, func(_ context.Context, _ struct{}, in tools.Input) (rows, error) {
		var lines [][]byte
		for _, d := range visible(env.Datasets(), c.access(in.Scope)) {
			shown := listedDataset{Table: d.Table(), Searchable: len(d.searchable()) > 0, Metadata: map[string]any{}}
			if d.Description != "" {
				shown.Description = &d.Description
			}
			for key, value := range d.Metadata {
				shown.Metadata[key] = encodable(value)
			}
			line, err := json.Marshal(shown)
			if err != nil {
				return rows{}, fmt.Errorf("encode %s: %w", shown.Table, err)
			}
			lines = append(lines, line)
		}
		return fit(lines, extentOf(in.Limits, math.MaxInt))
	})
}

// encodable converts numbers of a Spicepod that JSON does not have, infinities
// and NaN, to text.
func encodable(value any) any {
	switch v := value.(type) {
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Sprint(v)
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = encodable(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = encodable(item)
		}
		return out
	}
	return value
}
