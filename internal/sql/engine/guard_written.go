package engine

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Written is a table function without a function: the guard writes a query in place of each call
// ([Contents.Written]), before it judges the statement. The query is thus judged as if the caller
// had written it, under the names, the row filters and the limits of the caller.
type Written func(WrittenCall) (query string, err error)

// WrittenCall is a call of a [Written] table function.
type WrittenCall struct {
	Args  []sqltree.Arg
	Names Names
	// Parse returns the parse tree of a text that is to become a part of the query.
	Parse func(text string) (*sqltree.Statement, error)
}

// written returns the text with queries in place of the calls of [Contents.Written], and a
// function that maps its offsets to those of text. What is inside such a call maps to the call.
func (db *DB) writeCalls(c *conn, cat *Catalog, names Names, text string) (string, func(int) int, error) {
	if !cat.mayCallWritten(text) {
		return text, unmoved, nil
	}
	numbered, back := sqltree.Apply(text, numberedParams(text, sqltree.Scan(text))) // a query may repeat a parameter
	st, err := parse(c, numbered, names)
	if err != nil {
		return text, unmoved, nil // it is refused when it is examined
	}
	var edits []sqltree.Edit
	tokens := sqltree.Scan(numbered)
	for _, call := range st.Calls {
		write := cat.writer(call, names)
		if write == nil {
			continue
		}
		query, err := write(WrittenCall{call.Args, names, func(part string) (*sqltree.Statement, error) {
			return parse(c, part, names)
		}})
		if err != nil {
			e := *AsError(err)
			return text, unmoved, e.at(text, back(call.Offset))
		}
		site, ok := sqltree.Locate(numbered, tokens, call)
		if !ok || site.Dot != (sqltree.Span{}) {
			return text, unmoved, NewError(errcode.Refused, "write FROM "+call.Name+"(…)",
				"this form of a call of %s is not supported", call.Name).at(text, back(call.Offset))
		}
		if query = "(" + query + ")"; !call.Alias {
			query += " AS " + Identifier(call.Name)
		}
		edits = append(edits, sqltree.Edit{Span: site.Whole(), New: query})
	}
	if len(edits) == 0 {
		return text, unmoved, nil
	}
	out, second := sqltree.Apply(numbered, edits)
	return out, func(offset int) int { return back(second(offset)) }, nil
}

// writer returns what writes the query of a call; nil: the call is of another function.
func (c *Catalog) writer(call sqltree.Call, names Names) Written {
	if !call.Table || call.Catalog != "" || foreignSchemas[sqltree.Fold(call.Schema)] || names.Function(call.Name) != nil {
		return nil
	}
	return c.contents.Written[sqltree.Fold(call.Name)]
}

// mayCallWritten reports whether a text has the name of a written function before a bracket.
func (c *Catalog) mayCallWritten(text string) bool {
	if len(c.contents.Written) == 0 {
		return false
	}
	tokens := sqltree.Scan(text)
	return slices.ContainsFunc(tokens, func(t sqltree.Token) bool {
		return t.IsName() && c.contents.Written[sqltree.Fold(t.Name(text))] != nil
	})
}
