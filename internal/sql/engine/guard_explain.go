package engine

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// explainPrefix returns "EXPLAIN " or "EXPLAIN ANALYZE " if sql begins with it, with
// the options that it may have, else "", and where the SELECT-like text after it starts.
func explainPrefix(sql string, tokens []sqltree.Token) (prefix string, start int, err error) {
	if !sqltree.Are(sql, tokens, 0, "explain") {
		return "", 0, nil
	}
	next, prefix := 1, "EXPLAIN "
	if sqltree.Are(sql, tokens, 1, "analyze") || sqltree.Are(sql, tokens, 1, "analyse") {
		next, prefix = 2, "EXPLAIN ANALYZE "
	}
	if next < len(tokens) && tokens[next].Is(sql, "(") {
		options, after := explainOptions(sql, tokens, next+1)
		if (options == "" || next == 2) && !sqltree.Are(sql, tokens, next+1, "select") { // EXPLAIN (SELECT …)
			return "", 0, NewError(errcode.Refused,
				"write EXPLAIN (ANALYZE, FORMAT json), EXPLAIN or EXPLAIN ANALYZE and then the SELECT",
				"EXPLAIN takes the options ANALYZE and FORMAT only").at(sql, tokens[0].Start)
		}
		if options != "" {
			next, prefix = after, "EXPLAIN ("+options+") "
		}
	}
	if next >= len(tokens) {
		return "", 0, NewError(errcode.Refused, "write EXPLAIN and then the SELECT", "EXPLAIN has no statement").at(sql,
			tokens[0].Start)
	}
	return prefix, tokens[next].Start, nil
}

// explainFormats are the formats of EXPLAIN.
var explainFormats = set("text json html graphviz yaml mermaid")

// explainOptions returns the options of EXPLAIN from token i on, as they are written
// out, and the token after their bracket; "" if they are not options.
func explainOptions(sql string, tokens []sqltree.Token, i int) (options string, after int) {
	var list []string
	for ; i+1 < len(tokens); i++ {
		switch {
		case sqltree.Are(sql, tokens, i, "analyze"):
			list = append(list, "ANALYZE")
			i++
		case sqltree.Are(sql, tokens, i, "format") && i+2 < len(tokens):
			name := sqltree.Fold(strings.Trim(tokens[i+1].Name(sql), "'"))
			if !explainFormats[name] {
				return "", 0
			}
			list = append(list, "FORMAT "+name)
			i += 2
		default:
			return "", 0
		}
		switch {
		case tokens[i].Is(sql, ")"):
			return strings.Join(list, ", "), i + 1
		case !tokens[i].Is(sql, ","):
			return "", 0
		}
	}
	return "", 0
}
