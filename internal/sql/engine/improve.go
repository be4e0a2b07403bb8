package engine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// improve says in the runtime's own words what DuckDB cannot know: the
// signature of a declared function, and names that come close.
func (db *DB) improve(out *Error, e *duckError, v *verdict, cat *Catalog) {
	switch {
	case e.kind == "Binder" && e.subtype == "" && v != nil:
		for _, call := range v.calls {
			if call.offset == out.Offset {
				if f := missingColumn.FindStringSubmatch(e.message); f != nil {
					out.Message = fmt.Sprintf("the table given for %q of %s has no column %q", call.function.tableArg(f[1]), call.function.Signature, f[2])
					out.Hint = fmt.Sprintf("give one that has it, or a subquery: (SELECT … AS %s FROM …)", f[2])
					return
				}
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

// Source is the name under which the body of a table function reads its table
// argument of that number, from 1.
func Source(n int) string { return fmt.Sprintf("__spiced_source_%d", n) }

// missingColumn is DuckDB's error about a column that a [Source] lacks.
var missingColumn = regexp.MustCompile(`"__spiced_source_(\d+)" does not have a column named "(.*)"`)

// tableArg is the name of the table argument of that number.
func (f *Function) tableArg(number string) string {
	n, _ := strconv.Atoi(number)
	for _, a := range f.Args {
		if n--; n == 0 {
			return a.Name
		}
	}
	return number
}

func firstType(f *Function) string {
	for _, a := range f.Args {
		if !a.Table {
			return a.Type
		}
	}
	return "VARCHAR"
}

// refusePivot says why a query is not one SELECT to DuckDB: it has a PIVOT whose
// values DuckDB would look for in a first statement. The word is reserved.
func refusePivot(text string, tokens []sqltree.Token, syntax *sqltree.SyntaxError) error {
	for i, t := range tokens {
		if keyword(text, tokens, i, "pivot") || keyword(text, tokens, i, "pivot_wider") {
			return newError(CodeRefused, "name the values that become columns: PIVOT t ON year IN (2023, 2024) USING sum(v)",
				"PIVOT without IN is refused: its columns would depend on the data").at(text, t.Start)
		}
	}
	return newError(CodeParse, "", "%s", syntax.Message)
}
