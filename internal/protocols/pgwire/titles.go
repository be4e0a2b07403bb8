package pgwire

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// dialect is what PostgreSQL does with a statement otherwise than DuckDB.
type dialect struct {
	catalog bool     // it reads PostgreSQL's catalog
	empty   bool     // SELECT FROM t: its rows have no columns
	titles  []string // the names of the columns; "": DuckDB's
}

// fill writes an item for each empty SELECT list that PostgreSQL allows and DuckDB
// does not: that of the statement itself and of EXISTS (SELECT FROM …).
func fill(sql string, tokens []sqltree.Token) (text string, empty bool) {
	var edits []sqltree.Edit
	for i, t := range tokens {
		whole := i == 0
		if !isWord(sql, t, "select") || !whole && (i < 2 || !isWord(sql, tokens[i-1], "(") || !isWord(sql, tokens[i-2], "exists")) {
			continue
		}
		if i+1 == len(tokens) || !slices.ContainsFunc(afterList, func(word string) bool { return isWord(sql, tokens[i+1], word) }) {
			continue
		}
		edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.End, End: t.End}, New: " NULL"})
		empty = empty || whole
	}
	if len(edits) == 0 {
		return sql, false
	}
	text, _ = sqltree.Apply(sql, edits)
	return text, empty
}

// isWord reports whether a token is a symbol or a word, in small letters.
func isWord(sql string, t sqltree.Token, word string) bool {
	return t.Is(sql, word) || t.Kind == sqltree.Ident && strings.EqualFold(t.Text(sql), word)
}

// afterList are the words that may follow a SELECT list.
var afterList = []string{"from", "where", "limit", "order", "group", ")"}

// titlesOf returns the names that PostgreSQL gives to the columns of a statement,
// for items of its SELECT list that are one call, CASE or EXISTS without an
// alias. It returns nil unless the list has an item for each column.
func titlesOf(sql string, tokens []sqltree.Token) []string {
	if len(tokens) == 0 || !isWord(sql, tokens[0], "select") {
		return nil
	}
	var titles []string
	first, depth, some := 1, 0, false
	for i := 1; i <= len(tokens); i++ {
		switch end := i == len(tokens); {
		case end, depth == 0 && (isWord(sql, tokens[i], ",") || isWord(sql, tokens[i], "from")):
			title, one := titleOf(sql, tokens[first:i])
			if !one {
				return nil
			}
			titles, some, first = append(titles, title), some || title != "", i+1
			if end || isWord(sql, tokens[i], "from") {
				if !some {
					return nil
				}
				return titles
			}
		case isWord(sql, tokens[i], "(") || isWord(sql, tokens[i], "[") || isWord(sql, tokens[i], "{"):
			depth++
		case isWord(sql, tokens[i], ")") || isWord(sql, tokens[i], "]") || isWord(sql, tokens[i], "}"):
			depth--
		}
	}
	return nil
}

// titleOf returns the name of an item, and whether the item is one column.
func titleOf(sql string, item []sqltree.Token) (title string, one bool) {
	n := len(item)
	is := func(i int, text string) bool { return i >= 0 && i < n && isWord(sql, item[i], text) }
	switch {
	case n == 0, is(n-1, "*"), is(0, "distinct"), is(0, "columns"), is(0, "*"), is(0, "unnest"), is(0, "struct"), is(n-2, ".") && is(n-1, "*"):
		return "", false
	case slices.ContainsFunc(item, func(t sqltree.Token) bool { return isWord(sql, t, "columns") || isWord(sql, t, "exclude") }):
		return "", false
	case is(0, "case") && is(n-1, "end"):
		return "case", true
	}
	name := 0 // of a call, behind its schema
	for is(name+1, ".") {
		name += 2
	}
	if !is(name+1, "(") || !item[name].IsName() {
		return "", true
	}
	depth := 0
	for i := name + 1; i < n; i++ {
		switch {
		case is(i, "("):
			depth++
		case is(i, ")"):
			depth--
		}
		if depth > 0 {
			continue
		}
		rest := item[i+1:]
		over := len(rest) > 1 && (isWord(sql, rest[0], "over") || isWord(sql, rest[0], "filter")) && isWord(sql, rest[len(rest)-1], ")")
		if len(rest) > 0 && !over {
			return "", true
		}
		return call(sqltree.Fold(item[name].Name(sql))), true
	}
	return "", true
}

// call is the name of the column of a call.
func call(function string) string {
	switch function {
	case "cast", "try_cast", "grouping", "row":
		return ""
	}
	return strings.TrimPrefix(function, "compat_")
}

// show gives the columns of a result the names that clients see.
func (d dialect) show(columns []wire.Column) []wire.Column {
	if d.empty {
		return []wire.Column{}
	}
	if len(d.titles) != len(columns) {
		return columns
	}
	for i, title := range d.titles {
		if title != "" {
			columns[i].Title = title
		}
	}
	return columns
}
