package documents

import (
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// Match is a place where grep_documents found its pattern.
type Match struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Line   int      `json:"line"`   // from 1
	Offset int      `json:"offset"` // in characters of the document, from 0
	Length int      `json:"length"` // in characters
	Text   string   `json:"text"`   // the line in which it begins
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// grepResult is the answer of grep_documents.
type grepResult struct {
	Matches []Match `json:"matches"`
	More    bool    `json:"more"`          // there are further matches
	Cut     int     `json:"cut,omitempty"` // documents that are too long: only their beginning was searched
}

// grep answers grep_documents. The statement selects the documents that have a match, with the
// expression that is searched here for the places: DuckDB and Go both have RE2.
func (t *toolset) grep(ctx context.Context, d *definition, in tools.Input) (any, error) {
	pattern, _ := in.Arguments["pattern"].(string)
	isRegex, _ := in.Arguments["regex"].(bool)
	literal := strings.ReplaceAll(pattern, "\r\n", "\n")
	text := regexp.QuoteMeta(literal)
	if isRegex {
		text = pattern
	}
	if _, err := regexp.Compile(text); err != nil { // by itself: a)(b is valid within a group
		return nil, badExpression(pattern, err)
	}
	expression, err := regexp.Compile("(?m)(?:" + text + ")")
	if err != nil {
		return nil, badExpression(pattern, err)
	}
	req, err := t.request(d, in, map[string]any{
		"most": int64(MaxSearched), "expression": expression.String(), "pattern": literal, "regex": isRegex,
	})
	if err != nil {
		return nil, err
	}
	g := &grepping{expression: expression, context: int(number(in, "context_lines", 0)), most: limitOf(in, 50)}
	return g.run(ctx, t.env, req)
}

func badExpression(pattern string, err error) error {
	why := ""
	var fault *syntax.Error
	if errors.As(err, &fault) {
		why = ": " + fault.Code.String()
	}
	return tools.NewError(errcode.InvalidArguments, quoted(pattern)+" is not a regular expression of RE2"+why,
		`escape characters such as ( [ { * + ? . | with \, or leave regex out to find the text as it is`)
}

// grepping is a search for a pattern.
type grepping struct {
	expression *regexp.Regexp
	context    int // lines before and after
	most       int
	bytes      int // of the lines in the result
	result     grepResult
}

func (g *grepping) run(ctx context.Context, env Env, req engine.Request) (any, error) {
	rows, err := env.SQL.Query(ctx, req)
	if err != nil {
		return nil, builtin.SQLError(err)
	}
	defer rows.Close()
	g.result.Matches = []Match{}
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return nil, builtin.SQLError(err)
		}
		for i := range chunk.Len() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			of := Match{ID: string(chunk.Column(0).Bytes(i)), Name: string(chunk.Column(1).Bytes(i))}
			if g.document(of, string(chunk.Column(2).Bytes(i))); g.result.More {
				return g.result, nil
			}
			if len(chunk.Column(3).Bytes(i)) > 0 {
				g.result.Cut++
			}
		}
	}
	return g.result, nil
}

// maxFound limits the places that are looked at in one document; those without a text are not shown.
const maxFound = 10_000

// document adds the matches in a text. It searches the text with line feeds alone, and counts the
// carriage returns before them, so that $ matches at each end of a line and offsets are those of the
// document.
func (g *grepping) document(of Match, original string) {
	p := place{original: original, text: strings.ReplaceAll(original, "\r\n", "\n"), line: 1}
	found := g.expression.FindAllStringIndex(p.text, maxFound)
	for _, span := range found {
		if span[0] == span[1] {
			continue
		}
		if len(g.result.Matches) == g.most || g.bytes > MaxMatches {
			g.result.More = true
			return
		}
		p.move(span[0])
		end := p
		end.move(span[1])
		m := of
		m.Line, m.Offset, m.Length = p.line, p.characters, end.characters-p.characters
		m.Text = p.shown()
		m.Before, m.After = p.before(g.context), end.after(g.context)
		g.result.Matches = append(g.result.Matches, m)
		g.bytes += len(m.Text) + len(strings.Join(m.Before, "\n")) + len(strings.Join(m.After, "\n"))
	}
	g.result.More = len(found) == maxFound
}

// place is a position in a text, which only moves forward, so that a search for many matches reads the
// text once.
type place struct {
	original, text string
	at, from       int // bytes of text and of original
	start          int // of the line, in text
	line           int
	characters     int // of original
}

func (p *place) move(to int) {
	for ; p.at < to; p.at++ {
		if p.text[p.at] == '\n' {
			if p.original[p.from] == '\r' {
				p.from++
				p.characters++
			}
			p.line++
			p.start = p.at + 1
		}
		if utf8.RuneStart(p.text[p.at]) {
			p.characters++
		}
		p.from++
	}
}

// shown returns the line, or the part of a long one that is around the place.
func (p *place) shown() string {
	const half = MaxLine / 2
	start, dots := p.start, ""
	if p.at-start > half*utf8.UTFMax {
		start, dots = p.at, "…"
		for range half {
			_, n := utf8.DecodeLastRuneInString(p.text[p.start:start])
			start -= n
		}
	}
	return dots + lineAt(p.text, start)
}

// lineAt returns what the line has from a byte on.
func lineAt(text string, start int) string {
	rest := text[start:min(len(text), start+(MaxLine+1)*utf8.UTFMax)]
	line, _, _ := strings.Cut(rest, "\n")
	return truncate.Runes(strings.ToValidUTF8(line, ""), MaxLine)
}

// before returns up to n lines before that of the place.
func (p *place) before(n int) (lines []string) {
	for end := p.start; n > 0 && end > 0; n-- {
		start := strings.LastIndexByte(p.text[:end-1], '\n') + 1
		lines = append(lines, lineAt(p.text[:end-1], start))
		end = start
	}
	slices.Reverse(lines)
	return lines
}

// after returns up to n lines after that of the place.
func (p *place) after(n int) (lines []string) {
	for at := p.at; n > 0; n-- {
		next := strings.IndexByte(p.text[at:], '\n')
		if next < 0 || at+next+1 == len(p.text) {
			break
		}
		at += next + 1
		lines = append(lines, lineAt(p.text, at))
	}
	return lines
}
