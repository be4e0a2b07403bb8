package registry

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spiced-sql/spiced/tools"
)

// ReadTakers reads the arguments of all tools, as the first hint does.
func (c *Catalog) ReadTakers() { newTakers(c.entries) }

// NextToolsOf returns the hints for a result of the tool.
func (c *Catalog) NextToolsOf(name string) []NextTool {
	return c.nextTools(name, json.RawMessage(`[{}]`), tools.Scope{})
}

// StoredVectors are the rows of spiced.tool_embeddings: tool, computed, dimensions, numbers.
func (r *Registry) StoredVectors() []string {
	var list []string
	for _, x := range embeddingRows(r.reader(context.Background())) {
		vector, _ := x["vector"].([]float32)
		list = append(list, fmt.Sprint(x["tool"], " ", x["computed"], " ", x["dimensions"], " ", len(vector)))
	}
	return list
}

// LearnedQueries are the rows of spiced.learned_queries that a caller reads, as JSON.
func LearnedQueries(r *Registry, scope tools.Scope) string {
	rows := learnedRows(r.reader(WithScope(context.Background(), scope)))
	text, err := json.Marshal(append([]row{}, rows...))
	if err != nil {
		panic(err)
	}
	return string(text)
}
