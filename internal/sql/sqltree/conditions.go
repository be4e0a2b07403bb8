package sqltree

// Only is what a SELECT with one entry in FROM, a table function, says about it.
type Only struct {
	Alias      string // "" if it has none
	Conditions []Span // those that WHERE connects by AND
}

// OnlyCall returns what the query around a call says about it; false if the call is not the only
// entry of its FROM, or if its columns are renamed.
func OnlyCall(sql string, tokens []Token, site Site) (o Only, ok bool) {
	first, last := -1, -1
	for i, t := range tokens {
		if t.Start == site.Path.Start {
			first = i
		}
		if t.Start == site.End.Start {
			last = i
		}
	}
	if first < 1 || last < 0 || !wordIs(sql, tokens[first-1], "FROM") {
		return o, false
	}
	i := last + 1
	word := func(words ...string) bool {
		return i < len(tokens) && wordIs(sql, tokens[i], words...)
	}
	if word("AS") {
		i++
	}
	if i < len(tokens) && tokens[i].IsName() && !word(clauses...) {
		o.Alias = tokens[i].Name(sql)
		i++
	}
	if !word("WHERE") {
		return o, i == len(tokens) || word(clauses...) || tokens[i].Is(sql, ")") || tokens[i].Is(sql, ";")
	}
	i++
	o.Conditions = conditionSpans(sql, tokens, i)
	return o, true
}

// clauses are the words that may follow an entry of FROM, or end a WHERE.
var clauses = []string{
	"WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "FETCH",
	"USING", "SELECT", "RETURNING",
}

// conditionSpans splits the text from a token to the end of its clause at each AND that is not
// inside brackets, BETWEEN or CASE. With an OR there, all of it is one condition.
func conditionSpans(sql string, tokens []Token, from int) (list []Span) {
	depth, between, start := 0, 0, from
	or := false
	end := len(tokens)
	for i := from; i < len(tokens); i++ {
		t := tokens[i]
		if n := t.Nesting(sql); n != 0 {
			if depth += n; depth < 0 {
				end = i
				break
			}
			continue
		}
		if wordIs(sql, t, "CASE") {
			depth++
		} else if wordIs(sql, t, "END") {
			depth--
		}
		if depth > 0 {
			continue
		}
		if wordIs(sql, t, clauses...) || t.Is(sql, ";") {
			end = i
			break
		}
		switch {
		case wordIs(sql, t, "BETWEEN"):
			between++
		case wordIs(sql, t, "OR"):
			or = true
		case wordIs(sql, t, "AND") && between > 0:
			between--
		case wordIs(sql, t, "AND"):
			if i > start {
				list = append(list, Span{tokens[start].Start, tokens[i-1].End})
			}
			start = i + 1
		}
	}
	if end > start {
		list = append(list, Span{tokens[start].Start, tokens[end-1].End})
	}
	if or && len(list) > 1 {
		return []Span{{list[0].Start, list[len(list)-1].End}}
	}
	return list
}

// wordIs reports whether a token is one of some keywords.
func wordIs(sql string, t Token, words ...string) bool {
	if t.Kind != Ident {
		return false
	}
	text := t.Text(sql)
	for _, w := range words {
		if len(text) == len(w) && Fold(text) == Fold(w) {
			return true
		}
	}
	return false
}

// Names returns the names in an expression that may be columns: dotted names, each with its parts,
// which are no functions and no types. false: it has a subquery, a window or a parameter of a
// lambda, or something else that is not understood.
func Names(sql string, tokens []Token) (names [][]string, ok bool) {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case wordIs(sql, t, "SELECT", "OVER", "LAMBDA", "COLUMNS", "VALUES", "EXISTS"), t.Is(sql, "->"):
			return nil, false
		case !t.IsName() || t.Kind == Ident && expressionWords[Fold(t.Text(sql))]:
			continue
		}
		parts := []string{t.Name(sql)}
		for i+2 < len(tokens) && tokens[i+1].Is(sql, ".") && tokens[i+2].IsName() {
			i += 2
			parts = append(parts, tokens[i].Name(sql))
		}
		switch {
		case i+1 < len(tokens) && tokens[i+1].Is(sql, "("): // a function
		case i+1 < len(tokens) && tokens[i+1].Kind == String: // a type before its literal
		case i >= 1 && (tokens[i-1].Is(sql, "::") || wordIs(sql, tokens[i-1], "AS")): // a type
		case i >= 1 && len(parts) == 1 && intervalUnit(sql, tokens, i):
		default:
			names = append(names, parts)
		}
	}
	return names, true
}

// intervalUnit reports whether the name at i is that of a unit: INTERVAL 7 DAYS.
func intervalUnit(sql string, tokens []Token, i int) bool {
	return i >= 2 && wordIs(sql, tokens[i-2], "INTERVAL") && (tokens[i-1].Kind == Number || tokens[i-1].Kind == String)
}

var expressionWords = wordSet(`and or not in is null like ilike between true false case when then else end cast try_cast as
	similar to glob escape distinct from interval collate at zone using any all some isnull notnull unknown`)
