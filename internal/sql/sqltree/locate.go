package sqltree

import (
	"cmp"
	"slices"
	"strings"
)

// Span is a part of a text: text[Start:End]. The zero Span means no text.
type Span struct{ Start, End int }

// Site is the position of a [Call] in the text.
type Site struct {
	Path Span   // its name with catalog and schema, as written
	Args []Span // one for each argument of the call; of a chained call x.f(), the first is x
	Dot  Span   // of a chained call: from the dot after x through the opening bracket
	Open Span   // the opening bracket
	End  Span   // the closing bracket
}

// Whole returns the span of the call.
func (s Site) Whole() Span {
	if s.Dot != (Span{}) {
		return Span{s.Args[0].Start, s.End.End}
	}
	return Span{s.Path.Start, s.End.End}
}

// Locate finds call in the text it was parsed from, split into tokens by [Scan].
// It reports false when text and tree do not agree on the name or the number of
// arguments; the text must not be edited then.
func Locate(sql string, tokens []Token, call Call) (Site, bool) {
	i := tokenAt(tokens, call.Offset)
	if i < 0 {
		return Site{}, false
	}
	first := i
	for i+2 < len(tokens) && tokens[i].IsName() && tokens[i+1].Is(sql, ".") {
		i += 2
	}
	if !tokens[i].IsName() || Fold(tokens[i].Name(sql)) != Fold(call.Name) ||
		i+1 >= len(tokens) || !tokens[i+1].Is(sql, "(") {
		return Site{}, false
	}
	args, end, ok := argSpans(sql, tokens[i+2:])
	site := Site{Path: Span{tokens[first].Start, tokens[i].End}, Args: args, Open: spanOf(tokens[i+1]), End: end}
	if !ok || len(args) == len(call.Args) {
		return site, ok
	}
	start := objectStart(sql, tokens, first, i)
	if start < 0 || len(args) != len(call.Args)-1 {
		return Site{}, false
	}
	site.Path.Start = tokens[i].Start
	site.Dot = Span{tokens[i-1].Start, tokens[i+1].End}
	site.Args = append([]Span{{tokens[start].Start, tokens[i-2].End}}, args...)
	return site, true
}

// objectStart returns the token at which the object of a chained call starts, or
// -1: x in x.f(), g(1) in g(1).f(), (a + b) in (a + b).f(). The call's path is the
// tokens from first to name.
func objectStart(sql string, tokens []Token, first, name int) int {
	if first < name { // x.f(), t.x.f()
		return first
	}
	for i := name; i >= 2 && tokens[i-1].Is(sql, "."); {
		i -= 2
		switch {
		case tokens[i].Is(sql, ")"):
			if i = callStart(sql, tokens, opening(sql, tokens, i)); i < 0 {
				return -1
			}
		case !tokens[i].IsName():
			return -1
		}
		if i == 0 || !tokens[i-1].Is(sql, ".") {
			return i
		}
	}
	return -1
}

// TermStart returns the first token of the term that ends with token last, or -1
// when that is ambiguous. A term is a name, a literal such as 1 or
// DATE '2024-02-29', a call, an expression in parentheses, or a cast of one, as in
// f(t.x)::DECIMAL(9, 2).
func TermStart(sql string, tokens []Token, last int) int {
	for i := last; i >= 0; i -= 2 {
		switch {
		case tokens[i].Is(sql, ")"):
			if i = callStart(sql, tokens, opening(sql, tokens, i)); i < 0 {
				return -1
			}
		case tokens[i].Kind == Symbol, isReserved(sql, tokens[i]):
			return -1
		case tokens[i].Kind == String && i > 0 && tokens[i-1].IsName() && !isReserved(sql, tokens[i-1]):
			i--
		}
		for i >= 2 && tokens[i-1].Is(sql, ".") && tokens[i].IsName() && tokens[i-2].IsName() {
			i -= 2
		}
		if i < 2 || !tokens[i-1].Is(sql, "::") {
			return i
		}
	}
	return -1
}

// TermEnd returns the token after the term that begins with token first, or first
// when that is ambiguous. A cast after the term is not part of it.
func TermEnd(sql string, tokens []Token, first int) int {
	i := first + 1
	switch t := tokens[first]; {
	case isReserved(sql, t):
		return first
	case t.IsName():
		if i < len(tokens) && tokens[i].Kind == String {
			return i + 1
		}
		for i+1 < len(tokens) && tokens[i].Is(sql, ".") && tokens[i+1].IsName() {
			i += 2
		}
	case t.Is(sql, "(") || t.Is(sql, "["):
		i = first
	case t.Kind == Symbol:
		return first
	}
	for i < len(tokens) && (tokens[i].Is(sql, "(") || tokens[i].Is(sql, "[")) {
		end := closing(sql, tokens, i)
		if end < 0 {
			return first
		}
		i = end + 1
	}
	return i
}

// callStart returns the first token of the term with the opening bracket at i: the
// function's name before it, the bracket itself if there is no name, or -1 when that
// is ambiguous.
func callStart(sql string, tokens []Token, i int) int {
	if i <= 0 {
		return i
	}
	before := tokens[i-1]
	switch {
	case before.Is(sql, ")") || before.Is(sql, "]"):
		return -1
	case !before.IsName() || isReserved(sql, before):
		return i
	case i > 1 && tokens[i-2].Is(sql, ")"): // FILTER (…), OVER (…)
		return -1
	}
	return i - 1
}

// reserved are the words of DuckDB that cannot be names, nor names of functions
// when a bracket follows.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`and as asc asymmetric between both by case collate desc distinct else end except
		from glob group having ilike in intersect is isnull lambda lateral leading like limit not notnull offset
		on or order qualify returning select similar symmetric then to trailing union using values when where with`) {
		m[w] = true
	}
	return m
}()

// Reserved returns the first unquoted word of sql that is reserved and one of names, or
// "".
func Reserved(sql string, names []string) string {
	for _, t := range Scan(sql) {
		if word := t.Text(sql); isReserved(sql, t) && slices.ContainsFunc(names, func(n string) bool {
			return Fold(n) == Fold(word)
		}) {
			return word
		}
	}
	return ""
}

func isReserved(sql string, t Token) bool { return t.Kind == Ident && reserved[Fold(t.Text(sql))] }

// closing returns the token of the bracket that the one at i opens, or -1.
func closing(sql string, tokens []Token, i int) int {
	for depth := 0; i < len(tokens); i++ {
		if depth += tokens[i].Nesting(sql); depth == 0 {
			return i
		}
	}
	return -1
}

// opening returns the token of the bracket that the one at i closes, or -1.
func opening(sql string, tokens []Token, i int) int {
	for depth := 0; i >= 0; i-- {
		if depth -= tokens[i].Nesting(sql); depth == 0 {
			return i
		}
	}
	return -1
}

// LocateRelation finds the name of a relation, with catalog and schema as written.
func LocateRelation(sql string, tokens []Token, r Relation) (Span, bool) {
	i := tokenAt(tokens, r.Offset)
	if i < 0 {
		return Span{}, false
	}
	start := tokens[i].Start
	for i+2 < len(tokens) && tokens[i].IsName() && tokens[i+1].Is(sql, ".") {
		i += 2
	}
	return Span{start, tokens[i].End}, tokens[i].IsName() && Fold(tokens[i].Name(sql)) == Fold(r.Name)
}

// LocateColumn finds the first part of a column's name.
func LocateColumn(sql string, tokens []Token, c Column) (Span, bool) {
	i := tokenAt(tokens, c.Offset)
	if !names(sql, tokens, i, c.Parts[0]) {
		return Span{}, false
	}
	return spanOf(tokens[i]), true
}

func tokenAt(tokens []Token, offset int) int {
	i, found := slices.BinarySearchFunc(tokens, offset, func(t Token, offset int) int { return t.Start - offset })
	if !found {
		return -1
	}
	return i
}

func spanOf(t Token) Span { return Span{t.Start, t.End} }

// argSpans returns the arguments up to the closing bracket. The span of a named
// argument excludes the name, x := or x =>.
func argSpans(sql string, tokens []Token) (args []Span, end Span, ok bool) {
	depth, first := 0, 0
	for i, t := range tokens {
		switch n := t.Nesting(sql); {
		case n > 0 || n < 0 && depth > 0:
			depth += n
		case depth == 0 && (t.Is(sql, ",") || t.Is(sql, ")")):
			if i > first {
				args = append(args, argSpan(sql, tokens[first:i]))
			}
			if t.Is(sql, ")") {
				return args, spanOf(t), true
			}
			first = i + 1
		}
	}
	return nil, Span{}, false
}

func argSpan(sql string, tokens []Token) Span {
	if len(tokens) > 2 && tokens[0].IsName() && (tokens[1].Is(sql, ":=") || tokens[1].Is(sql, "=>")) {
		tokens = tokens[2:]
	}
	return Span{tokens[0].Start, tokens[len(tokens)-1].End}
}

// Edit replaces text[Span] with New.
type Edit struct {
	Span
	New string
}

// Apply makes the edits, which are sorted by Start and End and do not overlap;
// several may be insertions at one position. It also returns a function that maps
// an offset of the new text to one of the old.
func Apply(sql string, edits []Edit) (string, func(int) int) {
	if len(edits) == 0 {
		return sql, func(offset int) int { return offset }
	}
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(out, sql[last:e.Start]...)
		out = append(out, e.New...)
		last = e.End
	}
	out = append(out, sql[last:]...)
	return string(out), func(offset int) int { return oldOffset(edits, offset) }
}

func oldOffset(edits []Edit, offset int) int {
	shift := 0
	for _, e := range edits {
		start := e.Start + shift
		if offset < start {
			break
		}
		if offset < start+len(e.New) {
			return e.Start
		}
		shift += len(e.New) - (e.End - e.Start)
	}
	return offset - shift
}

// Merge returns the edits of both lists in the order that [Apply] requires, and
// whether no edit of one overlaps an edit of the other.
func Merge(a, b []Edit) ([]Edit, bool) {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Edit) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End))
	})
	for i := 1; i < len(all); i++ {
		if all[i].Start < all[i-1].End {
			return nil, false
		}
	}
	return all, true
}
