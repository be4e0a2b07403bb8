package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// assembler composes a statement from judged parts of a change.
type assembler struct {
	composer
	text  string
	parts []part
	edits []sqltree.Edit // of the judged SELECT
	used  int            // how many of them are in the statement
	rows  string         // see source.write: a query instead of what a worker computes; "": that itself
}

// part adds a judged part, or a piece of one, with its edits.
func (a *assembler) part(s sqltree.Span) {
	p := a.parts[slices.IndexFunc(a.parts, func(p part) bool { return p.Start <= s.Start && s.End <= p.End })]
	at, length := p.at+s.Start-p.Start, s.End-s.Start
	var inside []sqltree.Edit
	for _, e := range a.edits {
		if e.Start >= at && e.End <= at+length {
			inside = append(inside, sqltree.Edit{Span: sqltree.Span{Start: e.Start - at, End: e.End - at}, New: e.New})
		}
	}
	a.used += len(inside)
	edited, back := sqltree.Apply(a.text[s.Start:s.End], inside)
	a.add(edited+"\n", func(offset int) int { return s.Start + back(min(offset, len(edited))) })
}

// within adds a judged part between two texts.
func (a *assembler) within(before string, s sqltree.Span, after string) {
	a.own(before)
	a.part(s)
	a.own(after)
}

// phase is a statement that a write is composed of, or its beginning.
type phase struct {
	text   string
	origin func(int) int
	// params has the numbers that its parameters have in the whole statement: DuckDB wants
	// $1, $2, … of each.
	params []int
	names  []string // of its named parameters
}

// phase returns what was assembled, with its parameters numbered from 1.
func (a *assembler) phase() phase {
	text := a.b.String()
	var p phase
	var edits []sqltree.Edit
	for _, t := range sqltree.Scan(text) {
		name := strings.TrimPrefix(t.Text(text), "$")
		n, err := strconv.Atoi(name)
		switch {
		case t.Kind == sqltree.NamedParam || t.Kind == sqltree.Param && err != nil:
			p.names = append(p.names, name)
		case t.Kind == sqltree.Param:
			at := slices.Index(p.params, n)
			if at < 0 {
				at, p.params = len(p.params), append(p.params, n)
			}
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: "$" + strconv.Itoa(at+1)})
		}
	}
	edited, back := sqltree.Apply(text, edits)
	p.text, p.origin = edited, func(offset int) int { return a.origin(back(offset)) }
	return p
}

// values returns the parameters of the phase.
func (p phase) values(given Params) Params {
	var out Params
	for name, v := range given.Named {
		if slices.ContainsFunc(p.names, func(n string) bool { return strings.EqualFold(n, name) }) {
			if out.Named == nil {
				out.Named = map[string]any{}
			}
			out.Named[name] = v
		}
	}
	for _, n := range p.params {
		if n >= 1 && n <= len(given.Positional) {
			out.Positional = append(out.Positional, given.Positional[n-1])
		}
	}
	return out
}

func (p phase) moved(relocate func(int) int) phase {
	if p.text == "" {
		return p
	}
	origin := p.origin
	p.origin = func(offset int) int {
		if at := origin(offset); at >= 0 {
			return relocate(at)
		}
		return -1
	}
	return p
}

// composer writes a statement from pieces and records where they come from.
type composer struct {
	b      strings.Builder
	pieces []piece
}

type piece struct {
	at   int // in the statement
	back func(int) int
}

// own adds text that is not the caller's.
func (c *composer) own(text string) { c.add(text, func(int) int { return -1 }) }

// name adds a name from the caller's text, quoted.
func (c *composer) name(text string, t sqltree.Token) {
	c.add(Identifier(t.Name(text)), func(int) int { return t.Start })
}

// names adds a list of names in brackets, if there are any.
func (c *composer) names(text string, list []sqltree.Token) {
	for i, t := range list {
		c.own([]string{" (", ", "}[min(i, 1)])
		c.name(text, t)
	}
	if len(list) > 0 {
		c.own(")")
	}
}

func (c *composer) add(text string, back func(int) int) {
	c.pieces = append(c.pieces, piece{c.b.Len(), back})
	c.b.WriteString(text)
}

// origin maps an offset of the statement to the caller's text; -1 when the text
// there is not the caller's.
func (c *composer) origin(offset int) int {
	i, found := slices.BinarySearchFunc(c.pieces, offset, func(p piece, offset int) int { return p.at - offset })
	if !found {
		i--
	}
	if i < 0 {
		return -1
	}
	return c.pieces[i].back(offset - c.pieces[i].at)
}
