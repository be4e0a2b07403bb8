package sqltree

import "slices"

// Pivot is a PIVOT statement some of whose ON columns have no values (IN): the values that the
// rows have become columns.
type Pivot struct {
	With, Source string // what is before PIVOT, and what is pivoted
	Columns      []PivotColumn
}

// PivotColumn is a column without values.
type PivotColumn struct {
	Name string // as it is written
	End  int    // byte offset after it, where IN can be written
}

// OpenPivot returns the PIVOT of a text that is one, or ends with one after a WITH clause, if it
// has columns without values; else nil. What is not a plain column there has values.
func OpenPivot(sql string) *Pivot {
	tokens := Scan(sql)
	at := findWord(sql, tokens, 0, "pivot", "pivot_wider")
	if at < 0 || at > 0 && !Are(sql, tokens, 0, "with") {
		return nil
	}
	on := findWord(sql, tokens, at+1, "on")
	if on < 0 {
		return nil
	}
	out := &Pivot{With: sql[:tokens[at].Start], Source: sql[tokens[at].End:tokens[on].Start]}
	end := findWord(sql, tokens, on+1, "using", "group", "order", "limit", "offset")
	if end < 0 {
		end = len(tokens)
	}
	for tokens[end-1].Is(sql, ";") {
		end--
	}
	for from := on + 1; from < end; {
		to := from
		for depth := 0; to < end && (depth > 0 || !tokens[to].Is(sql, ",")); to++ {
			depth += tokens[to].Nesting(sql)
		}
		if column := tokens[from]; to == from+1 && column.IsName() { // DuckDB takes no qualified ones
			out.Columns = append(out.Columns, PivotColumn{column.Text(sql), column.End})
		}
		from = to + 1
	}
	if len(out.Columns) == 0 {
		return nil
	}
	return out
}

// findWord returns the first of the words from a token on that is not in brackets, or -1.
func findWord(sql string, tokens []Token, from int, any ...string) int {
	depth := 0
	for i := from; i < len(tokens); i++ {
		depth += tokens[i].Nesting(sql)
		if depth == 0 && slices.ContainsFunc(any, func(word string) bool { return Are(sql, tokens, i, word) }) {
			return i
		}
	}
	return -1
}
