package dml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Part is a part of a statement: text[Span], at offset At of the SELECT that is judged.
type Part struct {
	sqltree.Span
	At int
}

// Has reports whether an offset of the judged SELECT is in the part.
func (p Part) Has(offset int) bool { return offset >= p.At && offset <= p.At+p.End-p.Start }

// Judged is a statement whose parts were judged, as parts of a SELECT: see [Statement.Query].
type Judged struct {
	Text  string // of the statement
	Parts []Part
	Edits []sqltree.Edit // of the judged SELECT
}

// Offset maps an offset of the judged SELECT to the text; an offset outside the parts becomes
// other.
func (j *Judged) Offset(offset, other int) int {
	for _, p := range j.Parts {
		if p.Has(offset) {
			return p.Start + offset - p.At
		}
	}
	return other
}

// Assembler composes a statement from judged parts and from text that is not the caller's, and
// records where each piece comes from. What DuckDB gets is text of an Assembler only, so that it
// never gets what was not judged.
type Assembler struct {
	Judged *Judged
	// Streamed is a query instead of what a worker computes (the rows of an INSERT, the rows and
	// values of an UPDATE or DELETE); "": that itself.
	Streamed string

	b      strings.Builder
	pieces []piece
	used   int // how many edits of the judged SELECT are in the statement
}

// piece begins at an offset of the assembled text; back maps offsets in it to the statement.
type piece struct {
	at   int
	back func(int) int
}

func (a *Assembler) add(text string, back func(int) int) {
	a.pieces = append(a.pieces, piece{a.b.Len(), back})
	a.b.WriteString(text)
}

// Own adds text that is not the caller's.
func (a *Assembler) Own(text string) { a.add(text, func(int) int { return -1 }) }

// Part adds a judged part, or a piece of one, with its edits.
func (a *Assembler) Part(s sqltree.Span) {
	j := a.Judged
	p := j.Parts[slices.IndexFunc(j.Parts, func(p Part) bool { return p.Start <= s.Start && s.End <= p.End })]
	at, length := p.At+s.Start-p.Start, s.End-s.Start
	var inside []sqltree.Edit
	for _, e := range j.Edits {
		if e.Start >= at && e.End <= at+length {
			inside = append(inside, sqltree.Edit{Span: sqltree.Span{Start: e.Start - at, End: e.End - at}, New: e.New})
		}
	}
	a.used += len(inside)
	edited, back := sqltree.Apply(j.Text[s.Start:s.End], inside)
	a.add(edited+"\n", func(offset int) int { return s.Start + back(min(offset, len(edited))) })
}

// Within adds a judged part between two texts.
func (a *Assembler) Within(before string, s sqltree.Span, after string) {
	a.Own(before)
	a.Part(s)
	a.Own(after)
}

// List adds a judged list of columns after a text. A column with a call has what the caller
// wrote as its name, unless it has a name or the edits of its call give it one: DuckDB would name
// it by the body of the function.
func (a *Assembler) List(before string, list sqltree.Span) {
	text := a.Judged.Text
	for _, item := range items(text, list) {
		span := sqltree.Span{Start: item[0].Start, End: item[len(item)-1].End}
		used := a.used
		a.Within(before, span, "")
		if a.used == used && called(text, item) && !named(text, item) {
			a.Own(" AS " + sqltree.Identifier(text[span.Start:span.End]))
		}
		before = ", "
	}
}

// items returns the tokens of each item of a list that is separated by commas.
func items(text string, list sqltree.Span) (all [][]sqltree.Token) {
	depth, item := 0, []sqltree.Token(nil)
	for _, t := range sqltree.Scan(text) {
		if t.Start < list.Start || t.End > list.End {
			continue
		}
		switch {
		case t.Is(text, "("), t.Is(text, "["), t.Is(text, "{"):
			depth++
		case t.Is(text, ")"), t.Is(text, "]"), t.Is(text, "}"):
			depth--
		case depth == 0 && t.Is(text, ","):
			all, item = append(all, item), nil
			continue
		}
		item = append(item, t)
	}
	all = append(all, item)
	return slices.DeleteFunc(all, func(item []sqltree.Token) bool { return len(item) == 0 }) // of a comma at the end
}

// called reports whether an item is one column with a call. What may be several columns keeps
// their names: a star, also with EXCLUDE (…), COLUMNS (…) and unnest(…).
func called(text string, item []sqltree.Token) (call bool) {
	for i, t := range item {
		switch {
		case t.Is(text, "*") && (i == 0 || item[i-1].Is(text, ".")),
			t.IsName() && slices.Contains(several, sqltree.Fold(t.Name(text))):
			return false
		case t.Is(text, "("):
			call = true
		}
	}
	return call
}

// several are the words that make several columns of one item.
var several = []string{"columns", "unnest"}

// named reports whether an item has, or may have, a name for its column: before a colon, or at
// its end after a value or AS, not after an operator or a dot.
func named(text string, item []sqltree.Token) bool {
	if len(item) > 1 && item[1].Is(text, ":") {
		return true
	}
	if len(item) < 2 || !item[len(item)-1].IsName() {
		return false
	}
	before := item[len(item)-2]
	return before.Kind != sqltree.Symbol || before.Is(text, ")") || before.Is(text, "]") || before.Is(text, "}")
}

// name adds a name from the caller's text, quoted.
func (a *Assembler) name(t sqltree.Token) {
	a.add(sqltree.Identifier(t.Name(a.Judged.Text)), func(int) int { return t.Start })
}

// names adds a list of names in brackets, if there are any.
func (a *Assembler) names(list []sqltree.Token) {
	for i, t := range list {
		a.Own([]string{" (", ", "}[min(i, 1)])
		a.name(t)
	}
	if len(list) > 0 {
		a.Own(")")
	}
}

// Text returns what was assembled.
func (a *Assembler) Text() string { return a.b.String() }

// Origin maps an offset of the assembled text to the statement; -1 when the text there is not
// the caller's.
func (a *Assembler) Origin(offset int) int {
	i, found := slices.BinarySearchFunc(a.pieces, offset, func(p piece, offset int) int { return p.at - offset })
	if !found {
		i--
	}
	if i < 0 {
		return -1
	}
	return a.pieces[i].back(offset - a.pieces[i].at)
}

// Phase is a statement that a write is composed of, or its beginning. The zero value has no text.
type Phase struct {
	Text   string
	Origin func(int) int // see [Assembler.Origin]
	// Params has the numbers that its parameters have in the whole statement: DuckDB wants
	// $1, $2, … of each.
	Params []int
	Names  []string // of its named parameters
}

// Phase returns what was assembled, with its parameters numbered from 1.
func (a *Assembler) Phase() Phase {
	text := a.Text()
	var p Phase
	var edits []sqltree.Edit
	for _, t := range sqltree.Scan(text) {
		name := strings.TrimPrefix(t.Text(text), "$")
		n, err := strconv.Atoi(name)
		switch {
		case t.Kind == sqltree.NamedParam || t.Kind == sqltree.Param && err != nil:
			p.Names = append(p.Names, name)
		case t.Kind == sqltree.Param:
			at := slices.Index(p.Params, n)
			if at < 0 {
				at, p.Params = len(p.Params), append(p.Params, n)
			}
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: "$" + strconv.Itoa(at+1)})
		}
	}
	edited, back := sqltree.Apply(text, edits)
	p.Text, p.Origin = edited, func(offset int) int { return a.Origin(back(offset)) }
	return p
}

// Moved returns the phase of a text that contains the statement; relocate maps its offsets.
func (p Phase) Moved(relocate func(int) int) Phase {
	if p.Text == "" {
		return p
	}
	origin := p.Origin
	p.Origin = func(offset int) int {
		if at := origin(offset); at >= 0 {
			return relocate(at)
		}
		return -1
	}
	return p
}
