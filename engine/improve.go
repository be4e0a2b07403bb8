package engine

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/nearest"
)

// improve says in the runtime's own words what DuckDB cannot know: the
// signature of a declared function, and names that come close.
func (db *DB) improve(out *Error, e *duckError, v *verdict, cat *Catalog) {
	switch {
	case e.kind == "Binder" && e.subtype == "" && v != nil:
		for _, call := range v.calls {
			if call.offset == out.Offset {
				out.Message = fmt.Sprintf("%s does not take these arguments: no implicit cast fits them", call.function.Signature)
				out.Hint = "cast them, for example CAST(x AS " + firstType(call.function) + ")"
				return
			}
		}
	case e.subtype == "MISSING_ENTRY" && e.name != "":
		var candidates []string
		switch {
		case e.object == "Table":
			candidates = cat.RelationNames()
		case strings.HasSuffix(e.object, "Function"):
			out.Message = fmt.Sprintf("there is no function %q", e.name)
			candidates = append(cat.FunctionNames(), db.builtins.allowed()...)
		}
		if near := nearest.Name(e.name, candidates); near != "" {
			out.Hint = fmt.Sprintf("did you mean %q?", near)
		}
	}
}

func firstType(f *Function) string {
	for _, a := range f.Args {
		if !a.Table {
			return a.Type
		}
	}
	return "VARCHAR"
}
