package infer

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// casts are the parameters $1, $2, … that a text casts, by their names: for each
// the type that is written at its first cast.
func casts(sql string) map[string]string {
	found := map[string]string{}
	r := scanner{sql, sqltree.Scan(sql)}
	for i := range r.tokens {
		name, at := r.cast(i)
		if at == 0 || found[name] != "" {
			continue
		}
		if end := r.typeEnd(at); end <= len(r.tokens) && end > at {
			found[name] = sql[r.tokens[at].Start:r.tokens[end-1].End]
		}
	}
	return found
}

// maxPart is how many tokens a type or a value that is compared may have: they
// are looked for at each parameter.
const maxPart = 64

// scanner looks at the tokens of a text.
type scanner struct {
	sql    string
	tokens []sqltree.Token
}

func (r scanner) text(i int) string { return r.sql[r.tokens[i].Start:r.tokens[i].End] }

func (r scanner) is(i int, words ...string) bool {
	for j, word := range words {
		if i+j < 0 || i+j >= len(r.tokens) || !strings.EqualFold(r.text(i+j), word) {
			return false
		}
	}
	return true
}

// param is the name of the numbered parameter at token i; "" if there is none.
func (r scanner) param(i int) string {
	name, numbered := strings.CutPrefix(r.text(i), "$")
	if r.tokens[i].Kind != sqltree.Param || !numbered {
		return ""
	}
	return name
}

// cast returns the name of a parameter that is cast, and the token with which
// its type begins; 0 if token i is not one.
func (r scanner) cast(i int) (name string, at int) {
	name = r.param(i)
	switch {
	case name == "":
	case r.is(i+1, "::"):
		return name, i + 2
	case r.is(i-2, "cast", "(") && r.is(i+1, "as"):
		return name, i + 2
	}
	return name, 0
}

// typeEnd is the token behind a type that begins with token i, as in
// pg_catalog.int4[] or TIMESTAMP (3) WITH TIME ZONE, or i for one that is too
// long.
func (r scanner) typeEnd(i int) int {
	first := i
	for r.is(i+1, ".") && i < first+maxPart {
		i += 2
	}
	end := i + 1
	if r.is(i, "double", "precision") || r.is(end, "varying") {
		end++
	}
	if r.is(end, "(") {
		for depth := 0; end < len(r.tokens); end++ {
			if end > first+maxPart {
				return first
			}
			if r.is(end, "(") {
				depth++
			}
			if r.is(end, ")") {
				if depth--; depth == 0 {
					end++
					break
				}
			}
		}
	}
	if (r.is(i, "time") || r.is(i, "timestamp")) && (r.is(end, "with", "time", "zone") || r.is(end, "without", "time", "zone")) {
		end += 3
	}
	for r.is(end, "[") {
		for end < len(r.tokens) && !r.is(end, "]") {
			if end++; end > first+maxPart {
				return first
			}
		}
		end++
	}
	return end
}

// castTo is parameter i, cast to its type; "" if it has no type here, or is cast
// already.
func (r scanner) castTo(i int, types map[string]uint32) string {
	if name, at := r.cast(i); at == 0 && types[name] != 0 {
		return "CAST($" + name + " AS " + wire.SQLType(types[name]) + ")"
	}
	return ""
}

// null replaces parameter i where only types count: a NULL of the type of its
// cast, or of its type here; "" if it has neither.
func (r scanner) null(i int, types map[string]uint32) string {
	name, at := r.cast(i)
	switch {
	case at > 0:
		return "NULL"
	case types[name] != 0:
		return "CAST(NULL AS " + wire.SQLType(types[name]) + ")"
	}
	return ""
}

// listOf is a list of the value to which the elements of parameter i are
// compared, as [x] for $1 in x = ANY ($1); "" for other parameters.
func (r scanner) listOf(i int) string {
	if !r.is(i-1, "(") || !r.is(i+1, ")") || !(r.is(i-2, "any") || r.is(i-2, "all")) {
		return ""
	}
	near := r.tokens[max(0, i-maxPart):i]
	last := len(near) - 3
	for last >= 0 && near[last].Kind == sqltree.Symbol && !near[last].Is(r.sql, ")") { // the operator
		last--
	}
	from := sqltree.TermStart(r.sql, near, last)
	if from < 0 {
		return ""
	}
	return "[" + r.sql[near[from].Start:near[last].End] + "]"
}

// replaceParams writes what with returns for each numbered parameter;
// "" leaves one as it is.
func replaceParams(sql string, with func(r scanner, i int) string) string {
	var edits []sqltree.Edit
	r := scanner{sql, sqltree.Scan(sql)}
	for i, t := range r.tokens {
		if r.param(i) == "" {
			continue
		}
		if text := with(r, i); text != "" {
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: text})
		}
	}
	text, _ := sqltree.Apply(sql, edits)
	return text
}
