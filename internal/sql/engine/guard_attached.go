package engine

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Hidden is the prefix of the names of databases that are attached for datasets.
// Statements read them through declared relations only: a user's file may also
// have macros and types, which no statement may name.
const Hidden = "__"

func hidden(catalog, schema string) bool {
	return strings.HasPrefix(catalog, Hidden) || strings.HasPrefix(schema, Hidden)
}

// checkHidden refuses what an attached file has in addition to tables.
func checkHidden(text string, st *sqltree.Statement) error {
	for _, c := range st.Calls {
		switch {
		case hidden(c.Catalog, c.Schema):
			return NewError(errcode.Refused, "declare the function in the Spicepod",
				"function %q is in an attached database file; only tables can be read there", c.Name).at(text, c.Offset)
		case typedByText[sqltree.Fold(c.Name)] && !plainType(c):
			return NewError(errcode.Refused, "write the types as a text literal",
				"the types of %s must be one text literal without %s", c.Name, Hidden).at(text, c.Offset)
		}
	}
	for _, t := range st.Types {
		if hidden(t.Catalog, t.Schema) {
			return NewError(errcode.Refused,
				"", "type %q is in an attached database file; only tables can be read there", t.Name)
		}
	}
	return nil
}

// typedByText are functions whose last argument is a text that names types. It
// may be computed, and DuckDB's parser does not look into it.
var typedByText = set("from_json from_json_strict json_transform json_transform_strict")

func plainType(c sqltree.Call) bool {
	if len(c.Args) == 0 {
		return true // DuckDB reports the error
	}
	last := c.Args[len(c.Args)-1]
	return last.Kind == sqltree.StringLiteral && !strings.Contains(last.Text, Hidden)
}
