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
	shown   string   // SHOW name, which is a setting for PostgreSQL and may be a table for DuckDB
}

// fill writes an item for each empty SELECT list that PostgreSQL allows and DuckDB
// does not: that of the statement itself and of EXISTS (SELECT FROM …).
func fill(sql string, tokens []sqltree.Token) (text string, empty bool) {
	var edits []sqltree.Edit
	for i, t := range tokens {
		whole := i == 0
		if !isWord(sql, t, "select") ||
			!whole && (i < 2 || !isWord(sql, tokens[i-1], "(") || !isWord(sql, tokens[i-2], "exists")) {
			continue
		}
		if i+1 == len(tokens) ||
			!slices.ContainsFunc(afterList, func(word string) bool { return isWord(sql, tokens[i+1], word) }) {
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

// titlesOf returns the names that PostgreSQL would give to the columns of a statement, ""
// for those that DuckDB names. It names an item of the SELECT list that is a single
// expression without an alias: see [figure]. It returns nil if an item may be more than
// one column.
func titlesOf(sql string, tokens []sqltree.Token) []string {
	first, depth := 0, 0
	if len(tokens) > 0 && isWord(sql, tokens[0], "with") {
		for first < len(tokens) && (depth > 0 || !isWord(sql, tokens[first], "select")) {
			depth += tokens[first].Nesting(sql)
			first++
		}
	}
	if first == len(tokens) || !isWord(sql, tokens[first], "select") {
		return nil
	}
	first++
	var titles []string
	some := false
	for i := first; i <= len(tokens); i++ {
		end := i == len(tokens) || depth == 0 && isWord(sql, tokens[i], "from")
		if !end && (depth > 0 || !isWord(sql, tokens[i], ",")) {
			depth += tokens[i].Nesting(sql)
			continue
		}
		title, one := titleOf(sql, tokens[first:i])
		if !one {
			return nil
		}
		titles, some, first = append(titles, title), some || title != "", i+1
		if end {
			break
		}
	}
	if !some {
		return nil
	}
	return titles
}

// titleOf returns the name of an item, "" for DuckDB's, and whether the item is one
// column.
func titleOf(sql string, item []sqltree.Token) (title string, one bool) {
	n := len(item)
	is := func(i int, text string) bool { return i >= 0 && i < n && isWord(sql, item[i], text) }
	switch {
	case n == 0, is(n-1, "*"), is(0, "distinct"), is(0, "columns"), is(0, "*"), is(0, "unnest"), is(0, "struct"),
		is(n-2, ".") && is(n-1, "*"):
		return "", false
	case slices.ContainsFunc(item, func(t sqltree.Token) bool {
		return isWord(sql, t, "columns") || isWord(sql, t, "exclude")
	}):
		return "", false
	case !slices.ContainsFunc(item, func(t sqltree.Token) bool { return !t.IsName() && !t.Is(sql, ".") }):
		return "", true // a column: its own name, or an alias
	}
	title, _ = figure(sql, item)
	return title, true
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
