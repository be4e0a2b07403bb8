package pgcatalog

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// operator rewrites OPERATOR(pg_catalog.~), where token i is OPERATOR.
func (r *rewriter) operator(i int) int {
	end := r.other[i+1]
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
	if macro == "" || r.operatorAt(i-1) || !r.pattern(end+1, macro) {
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
	if word := r.word(i + 1); (word == "any" || word == "some") && r.is(i+2, "(") {
		end = r.other[i+2]
	}
	if !r.column(i+3, end-1) {
		return i + 1
	}
	r.replace(i, i+2, " IN ")
	if r.name(end-1) == "proargtypes" {
		r.wrap(i+3, end-1, "vector")
	}
	r.replace(end, end, " ")
	return i + 3
}

// like adds to a pattern of LIKE, a string at token i, that \ escapes: without
// ESCAPE nothing does in DuckDB. In statements that are not on the catalog it does so where
// each \ stands before what it can escape, as clients write it, and not in a path of Windows.
func (r *rewriter) like(i int) {
	word, text := r.word(i-1), r.tokens[i].Text(r.sql)
	escapes := strings.Contains(text, `\`) && (r.catalog || !strings.Contains(escaped.Replace(text), `\`))
	if escapes && (word == "like" || word == "ilike") && r.word(i+1) != "escape" && !r.operatorAt(i+1) {
		r.insert(r.tokens[i].End, " ESCAPE chr(92)")
	}
}

var escaped = strings.NewReplacer(`\\`, "", `\%`, "", `\_`, "")

// operatorEnd returns the last token of the operator that starts with token i,
// or i-1 if none does.
func (r *rewriter) operatorEnd(i int) int {
	end := i - 1
	for r.operatorAt(end+1) && (end < i || r.tokens[end+1].Start == r.tokens[end].End) {
		end++
	}
	return end
}

// operatorAt reports whether token i is a character of an operator.
func (r *rewriter) operatorAt(i int) bool {
	return r.kind(i, sqltree.Symbol) && strings.Contains("~!*=<>@&|+-/%^#", r.tokens[i].Text(r.sql))
}

// pattern makes the operand from token i on a pattern that matches anywhere,
// and reports whether it did.
func (r *rewriter) pattern(i int, macro string) bool {
	last, ok := r.operandEnd(i)
	if !ok || r.name(i) == Schema && (r.name(i+2) == macroPrefix+"pattern" || r.name(i+2) == macroPrefix+"ipattern") {
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
	case r.opens(i):
		last = r.other[i]
	case r.name(i) != "":
		if notCalled[r.word(i)] {
			return 0, false
		}
		for last = i; r.is(last+1, ".") && r.name(last+2) != ""; {
			last += 2
		}
		if r.is(last+1, "(") {
			last = r.other[last+1]
		}
	case r.kind(i, sqltree.Symbol):
		return 0, false
	default:
		last = i
	}
	for {
		switch name, end := r.typeAt(last + 2); {
		case r.is(last+1, "["): // a subscript, or the type x[]
			last = r.other[last+1]
		case r.is(last+1, "::") && name != "":
			last = end
		default:
			return last, true
		}
	}
}

// placing rewrites overlay(x PLACING y FROM n FOR m), whose name is token i.
func (r *rewriter) placing(i int) {
	for j := i + 2; j < r.other[i+1]; j++ {
		switch word := r.word(j); {
		case r.opens(j):
			j = r.other[j]
		case word == "placing" || word == "from" || word == "for":
			r.replace(j, j, ",")
			r.done[j] = true
		}
	}
}
