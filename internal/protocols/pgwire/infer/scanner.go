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
	r := scanner{sqltree.NewCursor(sql)}
	for i := range r.Tokens {
		name, at := r.cast(i)
		if at == 0 || found[name] != "" {
			continue
		}
		if end := r.typeEnd(at); end <= len(r.Tokens) && end > at {
			found[name] = sql[r.Tokens[at].Start:r.Tokens[end-1].End]
		}
	}
	return found
}

// maxPart is how many tokens a type or a value that is compared may have: they
// are looked for at each parameter.
const maxPart = 64

// scanner looks at the tokens of a text.
type scanner struct{ sqltree.Cursor }

// param is the name of the numbered parameter at token i; "" if there is none.
func (r scanner) param(i int) string {
	name, numbered := strings.CutPrefix(r.Text(i), "$")
	if r.Tokens[i].Kind != sqltree.Param || !numbered {
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
	case r.Is(i+1, "::"):
		return name, i + 2
	case r.Is(i-2, "cast", "(") && r.Is(i+1, "as"):
		return name, i + 2
	}
	return name, 0
}

// typeEnd is the token behind a type that begins with token i, as in
// pg_catalog.int4[] or TIMESTAMP (3) WITH TIME ZONE, or i for one that is too
// long.
func (r scanner) typeEnd(i int) int {
	first := i
	for r.Is(i+1, ".") && i < first+maxPart {
		i += 2
	}
	end := i + 1
	if r.Is(i, "double", "precision") || r.Is(end, "varying") {
		end++
	}
	if r.Is(end, "(") {
		for depth := 0; end < len(r.Tokens); end++ {
			if end > first+maxPart {
				return first
			}
			if r.Is(end, "(") {
				depth++
			}
			if r.Is(end, ")") {
				if depth--; depth == 0 {
					end++
					break
				}
			}
		}
	}
	if (r.Is(i, "time") || r.Is(i, "timestamp")) &&
		(r.Is(end, "with", "time", "zone") || r.Is(end, "without", "time", "zone")) {
		end += 3
	}
	for r.Is(end, "[") {
		for end < len(r.Tokens) && !r.Is(end, "]") {
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

// value is as null, with a value where null has NULL.
func (r scanner) value(i int, types map[string]uint32) string {
	if null := r.null(i, types); null != "" {
		return strings.Replace(null, "NULL", "'0'", 1)
	}
	return ""
}

// listOf is a list of the value to which the elements of parameter i are
// compared, as [x] for $1 in x = ANY ($1); "" for other parameters.
func (r scanner) listOf(i int) string {
	if !r.Is(i-1, "(") || !r.Is(i+1, ")") || !(r.Is(i-2, "any") || r.Is(i-2, "all")) {
		return ""
	}
	near := r.Tokens[max(0, i-maxPart):i]
	last := len(near) - 3
	for last >= 0 && near[last].Kind == sqltree.Symbol && !near[last].Is(r.SQL, ")") { // the operator
		last--
	}
	from := sqltree.TermStart(r.SQL, near, last)
	if from < 0 {
		return ""
	}
	return "[" + r.SQL[near[from].Start:near[last].End] + "]"
}

// replaceParams writes what with returns for each numbered parameter;
// "" leaves one as it is.
func replaceParams(sql string, with func(r scanner, i int) string) string {
	var edits []sqltree.Edit
	r := scanner{sqltree.NewCursor(sql)}
	for i, t := range r.Tokens {
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
