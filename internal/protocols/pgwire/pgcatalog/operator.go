package pgcatalog

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// operator rewrites OPERATOR(pg_catalog.~), where token i is OPERATOR.
func (r *rewriter) operator(i int) int {
	end := r.partner[i+1]
	if end < i+5 || r.operatorEnd(i+4) != end-1 {
		return i + 1
	}
	op := r.sql[r.tokens[i+4].Start:r.tokens[end-1].End]
	if text, macro := matching(op); macro != "" {
		r.replace(i, end, " "+text+" ")
		r.pattern(end+1, macro)
	} else {
		r.replace(i, end, " "+op+" ")
	}
	return end + 1
}

// matching is DuckDB's operator for one of PostgreSQL's that match a regular
// expression, with the macro that its pattern needs, or "".
func matching(op string) (duck, macro string) {
	switch op {
	case "~", "!~":
		return op, "pattern"
	case "~*", "!~*":
		return op[:len(op)-1], "ipattern"
	}
	return "", ""
}

// match rewrites the operators ~, ~*, !~ and !~* at token i: in statements that are not on
// the catalog only those that DuckDB lacks.
func (r *rewriter) match(i int) int {
	end := r.operatorEnd(i)
	op := r.sql[r.tokens[i].Start:r.tokens[end].End]
	text, macro := matching(op)
	if !r.catalog && text == op { // DuckDB's, which matches the whole text
		macro = ""
	}
	if macro == "" || r.isOperator(i-1) || !r.pattern(end+1, macro) {
		return end + 1
	}
	if text != op {
		r.replace(i, end, text)
	}
	return end + 1
}

// anyOf rewrites x = ANY (column), where token i is the "=": DuckDB takes it for
// a subquery, which cannot stand in the condition of an outer join.
func (r *rewriter) anyOf(i int) int {
	end := 0
	if word := r.keywordAt(i + 1); (word == "any" || word == "some") && r.isSymbol(i+2, "(") {
		end = r.partner[i+2]
	}
	if !r.isColumn(i+3, end-1) {
		return i + 1
	}
	r.replace(i, i+2, " IN ")
	if r.nameAt(end-1) == "proargtypes" {
		r.wrap(i+3, end-1, "vector")
	}
	r.replace(end, end, " ")
	return i + 3
}

// like adds to a pattern of LIKE, a string at token i, that \ escapes: without
// ESCAPE nothing does in DuckDB. In statements that are not on the catalog it does so where
// each \ stands before what it can escape, as clients write it, and not in a path of Windows.
func (r *rewriter) like(i int) {
	word, text := r.keywordAt(i-1), r.tokens[i].Text(r.sql)
	escapes := strings.Contains(text, `\`) && (r.catalog || !strings.Contains(escaped.Replace(text), `\`))
	if escapes && (word == "like" || word == "ilike") && r.keywordAt(i+1) != "escape" && !r.isOperator(i+1) {
		r.insert(r.tokens[i].End, " ESCAPE chr(92)")
	}
}

var escaped = strings.NewReplacer(`\\`, "", `\%`, "", `\_`, "")

// operatorEnd returns the last token of the operator that starts with token i,
// or i-1 if none does.
func (r *rewriter) operatorEnd(i int) int {
	end := i - 1
	for r.isOperator(end+1) && (end < i || r.tokens[end+1].Start == r.tokens[end].End) {
		end++
	}
	return end
}

// isOperator reports whether token i is a character of an operator.
func (r *rewriter) isOperator(i int) bool {
	return r.isKind(i, sqltree.Symbol) && strings.Contains("~!*=<>@&|+-/%^#", r.tokens[i].Text(r.sql))
}

// pattern makes the operand from token i on a pattern that matches anywhere,
// and reports whether it did.
func (r *rewriter) pattern(i int, macro string) bool {
	last, ok := r.operandEnd(i)
	if !ok || r.nameAt(i) == Schema &&
		(r.nameAt(i+2) == macroPrefix+"pattern" || r.nameAt(i+2) == macroPrefix+"ipattern") {
		return false
	}
	r.wrap(i, last, macro)
	return true
}

// operandEnd returns the last token of the value that starts with token i.
func (r *rewriter) operandEnd(i int) (last int, ok bool) {
	switch {
	case i >= len(r.tokens):
		return 0, false
	case r.isOpening(i):
		last = r.partner[i]
	case r.nameAt(i) != "":
		if notCalled[r.keywordAt(i)] {
			return 0, false
		}
		for last = i; r.isSymbol(last+1, ".") && r.nameAt(last+2) != ""; {
			last += 2
		}
		if r.isSymbol(last+1, "(") {
			last = r.partner[last+1]
		}
	case r.isKind(i, sqltree.Symbol):
		return 0, false
	default:
		last = i
	}
	for {
		switch name, end := r.typeAt(last + 2); {
		case r.isSymbol(last+1, "["): // a subscript, or the type x[]
			last = r.partner[last+1]
		case r.isSymbol(last+1, "::") && name != "":
			last = end
		default:
			return last, true
		}
	}
}

// placing rewrites overlay(x PLACING y FROM n FOR m), whose name is token i.
func (r *rewriter) placing(i int) {
	for j := i + 2; j < r.partner[i+1]; j++ {
		switch word := r.keywordAt(j); {
		case r.isOpening(j):
			j = r.partner[j]
		case word == "placing" || word == "from" || word == "for":
			r.replace(j, j, ",")
			r.rewritten[j] = true
		}
	}
}
