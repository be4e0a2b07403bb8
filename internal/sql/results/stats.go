package results

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// stats returns statistics of the columns of a result, an object for each. They are
// optional: on failure it returns nil. A worker reads the rows: the runtime would keep them in
// memory.
func (s *Store) stats(ctx context.Context, r *Result) []json.RawMessage {
	if len(r.Columns) > statsColumns {
		return nil
	}
	rows, err := s.opts.DB.Query(ctx,
		engine.Request{SQL: statsSQL(r), Isolate: true, Limits: engine.Limits{Timeout: statsTimeout}})
	if err != nil {
		return nil
	}
	defer rows.Close()
	var text bytes.Buffer
	form, _ := format.ByName("ndjson")
	if _, err := format.Copy(form.NewWriter(&text), rows); err != nil {
		return nil
	}
	var byColumn map[string]json.RawMessage
	if json.Unmarshal(text.Bytes(), &byColumn) != nil {
		return nil
	}
	list := make([]json.RawMessage, len(r.Columns))
	for i := range list {
		list[i] = byColumn[strconv.Itoa(i)]
	}
	return list
}

// statsSQL returns a statement with one row that has a struct for each column, named
// by its number.
func statsSQL(r *Result) string {
	list := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		list[i] = fmt.Sprintf("{%s} AS %s", columnStats(c), engine.Identifier(strconv.Itoa(i)))
	}
	return fmt.Sprintf("SELECT %s FROM %s(%s)", strings.Join(list, ", "), engine.Ref, engine.Literal(r.Name))
}

// columnStats returns the members of a column's struct.
func columnStats(c engine.Column) string {
	name := engine.Identifier(c.Name)
	members := "'name': " + engine.Literal(c.Name)
	least, greatest := "min("+name+")", "max("+name+")"
	switch {
	case c.Type.ID == engine.Varchar && !c.Type.JSON:
		cut := ", " + strconv.Itoa(statsText) + ")"
		members += ", 'min': left(" + least + cut + ", 'max': left(" + greatest + cut
	case ordered(c.Type):
		members += ", 'min': " + least + ", 'max': " + greatest
	}
	members += ", 'nulls': count(*) - count(" + name + ")"
	if !nested(c.Type) {
		members += ", 'approx_distinct': approx_count_distinct(" + name + ")"
	}
	return members
}

// ordered reports whether the smallest and largest values are informative.
func ordered(t *engine.Type) bool {
	switch t.ID {
	case engine.Varchar, engine.Blob, engine.Bit, engine.UUID:
		return false
	}
	return !nested(t)
}

func nested(t *engine.Type) bool {
	switch t.ID {
	case engine.List, engine.Array, engine.Map, engine.Struct, engine.Union:
		return true
	}
	return false
}
