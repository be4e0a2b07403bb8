package engine

import (
	"cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Written is a table function without a function: the guard writes a query in place of each call
// ([Contents.Written]), before it judges the statement. The query is thus judged as if the caller
// had written it, under the names, the row filters and the limits of the caller.
type Written func(WrittenCall) (query string, err error)

// Metric is the table function of metrics, which is [Written] where metrics are declared.
const Metric = "metric"

// onlyInStatements are the functions of [Contents.Written], with why views and functions cannot call
// them.
var onlyInStatements = map[string]string{
	Metric:          "metrics are made of them",
	"vector_search": searched, "text_search": searched, "rrf": searched, "rerank": searched,
}

const searched = "a search depends on its caller and on the index of the moment"

// WrittenCall is a call of a [Written] table function.
type WrittenCall struct {
	Args  []sqltree.Arg
	Texts []string // of the values of Args, as written
	Names Names
	// Alias is that of the call, else its name.
	Alias string
	// Conditions are those that WHERE connects by AND, if the call is the only entry of FROM.
	// Parameters have numbers, so that a text may be repeated.
	Conditions []string
	// Parse returns the parse tree of a text that is to become a part of the query.
	Parse func(text string) (*sqltree.Statement, error)
}

// Inner returns a call inside of an argument, such as one of vector_search in rrf.
func (c WrittenCall) Inner(text string) (name string, inner WrittenCall, err error) {
	const start = "SELECT * FROM "
	st, err := c.Parse(start + text)
	if err != nil || len(st.Calls) == 0 || !st.Calls[0].Table {
		return "", inner, err
	}
	call := st.Calls[0]
	site, ok := sqltree.Locate(start+text, sqltree.Scan(start+text), call)
	if !ok || site.Dot != (sqltree.Span{}) {
		return "", inner, nil
	}
	inner = WrittenCall{Args: call.Args, Texts: valuesOf(start+text, site, call), Names: c.Names, Parse: c.Parse}
	return call.Name, inner, nil
}

// valuesOf returns the texts of the values of arguments.
func valuesOf(text string, site sqltree.Site, call sqltree.Call) []string {
	list := make([]string, len(call.Args))
	for i, a := range call.Args {
		list[i] = text[site.Args[i].Start:site.Args[i].End]
		if a.Name == "" {
			continue
		}
		for _, t := range sqltree.Scan(list[i]) {
			if t.Is(list[i], ":=") || t.Is(list[i], "=>") {
				list[i] = list[i][t.End:]
				break
			}
		}
	}
	return list
}

// writeCalls returns the text with queries in place of the calls of [Contents.Written], and a
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
		site, ok := sqltree.Locate(numbered, tokens, call)
		if !ok || site.Dot != (sqltree.Span{}) {
			return text, unmoved, NewError(errcode.Refused, "write FROM "+call.Name+"(…)",
				"this form of a call of %s is not supported", call.Name).at(text, back(call.Offset))
		}
		wc := WrittenCall{
			Args: call.Args, Texts: valuesOf(numbered, site, call), Names: names, Alias: call.Name,
			Parse: func(part string) (*sqltree.Statement, error) { return parse(c, part, names) },
		}
		if only, ok := sqltree.OnlyCall(numbered, tokens, site); ok {
			wc.Alias = cmp.Or(only.Alias, wc.Alias)
			for _, s := range only.Conditions {
				wc.Conditions = append(wc.Conditions, numbered[s.Start:s.End])
			}
		}
		query, err := write(wc)
		if err != nil {
			e := *AsError(err)
			return text, unmoved, e.at(text, back(call.Offset))
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
	for i, t := range tokens {
		if t.IsName() && sqltree.Are(text, tokens, i+1, "(") && c.contents.Written[sqltree.Fold(t.Name(text))] != nil {
			return true
		}
	}
	return false
}
