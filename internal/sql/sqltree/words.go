package sqltree

import "slices"

// words are the offsets of names, folded, without a dot after them: of keywords, tables and
// aliases. A table that has an alias is not one: its name means no table there, and
// t.a in SELECT t.a FROM t AS u is a column of an outer query.
type words map[string][]int

// findWords notes the words and the queries that have FROM, be it in an expression.
func (in *inliner) findWords() {
	in.words, in.aliases, in.from = words{}, words{}, map[int]bool{}
	renamed := in.renamed()
	for i, t := range in.tokens {
		if !t.IsName() || Are(in.sql, in.tokens, i+1, ".") || renamed[i] {
			continue
		}
		name := Fold(t.Name(in.sql))
		in.words[name] = append(in.words[name], t.Start)
		if isAlias(in.sql, in.tokens, i) {
			in.aliases[name] = append(in.aliases[name], t.Start)
		}
		if name == "from" {
			in.from[in.queryAt(i)] = true
		}
	}
}

// renamed are the tokens that name tables with an alias.
func (in *inliner) renamed() map[int]bool {
	at := map[int]bool{}
	add := func(offset int) {
		i := tokenAt(in.tokens, offset)
		for i >= 0 && Are(in.sql, in.tokens, i+1, ".") {
			i += 2
		}
		at[i] = true
	}
	for _, r := range in.st.Relations {
		if r.Alias != "" {
			add(r.Offset)
		}
	}
	for _, r := range in.st.Reads {
		if r.Alias {
			add(r.Offset)
		}
	}
	return at
}

// has reports whether a part of the text has the word.
func (w words) has(part Span, word string) bool {
	i, _ := slices.BinarySearch(w[word], part.Start)
	return i < len(w[word]) && w[word][i] < part.End
}

// declares reports whether a query in a part of the text has the table of a column that is in
// it, be it in a subquery. Any word of that name in the query counts as the table.
func (in *inliner) declares(part Span, col Column) bool {
	for _, offset := range inside(in.words[Fold(col.Parts[0])], part, func(offset int) int { return offset }) {
		query := in.queryAt(tokenAt(in.tokens, offset))
		if query < 0 || (Span{in.tokens[query].Start, in.startOf(in.match[query])}).holds(col.Offset) {
			return true
		}
	}
	return false
}
