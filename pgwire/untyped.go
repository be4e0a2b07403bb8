package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/sqltree"
)

// asText describes a statement whose columns depend on parameters of no type,
// as in SELECT $1, $2, with these parameters as text: PostgreSQL takes them so,
// and clients want to know the columns before they send values. It returns nil
// when the statement is none with text in their place.
func (c *conn) asText(ctx context.Context, p *plan, d *engine.Description) (text string, described *engine.Description) {
	untyped := func(param engine.Param) bool { return param.Type == nil }
	unknown := func(column engine.Column) bool { return column.Type == nil }
	if p.typed || !slices.ContainsFunc(d.Columns, unknown) || !slices.ContainsFunc(d.Params, untyped) {
		return "", nil
	}
	text = castParams(p.text, func(name string) bool {
		return slices.ContainsFunc(d.Params, func(param engine.Param) bool { return untyped(param) && param.Name == name })
	})
	req := c.request(p, nil)
	req.SQL, req.Probe = text, true
	described, err := c.server.opts.Query.Describe(ctx, req)
	if err != nil || slices.ContainsFunc(described.Columns, unknown) {
		return "", nil
	}
	return text, described
}

// castParams makes text of the parameters $1, $2, … that are to be, but for
// those that are cast already.
func castParams(sql string, which func(name string) bool) string {
	var edits []sqltree.Edit
	tokens := sqltree.Scan(sql)
	for i, t := range tokens {
		name, numbered := strings.CutPrefix(t.Text(sql), "$")
		cast := i+1 < len(tokens) && (tokens[i+1].Is(sql, "::") || i > 1 && tokens[i-1].Is(sql, "(") && strings.EqualFold(tokens[i-2].Text(sql), "cast"))
		if t.Kind == sqltree.Param && numbered && which(name) && !cast {
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: "CAST(" + t.Text(sql) + " AS VARCHAR)"})
		}
	}
	text, _ := sqltree.Apply(sql, edits)
	return text
}
