package pgcatalog

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// pattern is a pattern of PostgreSQL's to_char, to_timestamp and to_date for times: the
// format of strftime, or an expression of the time t, which with FM have no leading zeros
// or blanks, and the format of strptime, "" for what is not read.
type pattern struct{ name, format, plain, expr, parse string }

// patterns are those that are translated, the longest of a beginning first.
var patterns = []pattern{
	{"YYYY", "%Y", "%Y", "", "%Y"},
	{"IYYY", "%G", "%G", "", ""},
	{"YY", "%y", "%-y", "", ""},
	{"MONTH", "", "upper(strftime(t, '%B'))", "rpad(upper(strftime(t, '%B')), 9, ' ')", "%B"},
	{"Month", "", "strftime(t, '%B')", "rpad(strftime(t, '%B'), 9, ' ')", "%B"},
	{"month", "", "lower(strftime(t, '%B'))", "rpad(lower(strftime(t, '%B')), 9, ' ')", "%B"},
	{"MON", "", "", "upper(strftime(t, '%b'))", "%b"},
	{"Mon", "%b", "%b", "", "%b"},
	{"mon", "", "", "lower(strftime(t, '%b'))", "%b"},
	{"DAY", "", "upper(strftime(t, '%A'))", "rpad(upper(strftime(t, '%A')), 9, ' ')", ""},
	{"Day", "", "strftime(t, '%A')", "rpad(strftime(t, '%A'), 9, ' ')", ""},
	{"day", "", "lower(strftime(t, '%A'))", "rpad(lower(strftime(t, '%A')), 9, ' ')", ""},
	{"DY", "", "", "upper(strftime(t, '%a'))", ""},
	{"Dy", "%a", "%a", "", ""},
	{"dy", "", "", "lower(strftime(t, '%a'))", ""},
	{"HH24", "%H", "%-H", "", "%H"},
	{"HH12", "%I", "%-I", "", "%I"},
	{"HH", "%I", "%-I", "", "%I"},
	{"MI", "%M", "%-M", "", "%M"},
	{"MM", "%m", "%-m", "", "%m"},
	{"MS", "%g", "%g", "", "%f"},
	{"DDD", "%j", "%-j", "", "%j"},
	{"DD", "%d", "%-d", "", "%d"},
	{"SS", "%S", "%-S", "", "%S"},
	{"US", "%f", "%f", "", "%f"},
	{"IW", "%V", "%V", "", ""},
	{"ID", "%u", "%u", "", ""},
	{"Q", "", "", "quarter(t)::VARCHAR", ""},
	{"D", "", "", "(dayofweek(t) + 1)::VARCHAR", ""},
	{"AM", "%p", "%p", "", "%p"},
	{"PM", "%p", "%p", "", "%p"},
	{"am", "", "", "lower(strftime(t, '%p'))", "%p"},
	{"pm", "", "", "lower(strftime(t, '%p'))", "%p"},
	{"TZ", "UTC", "UTC", "", ""},
	{"OF", "+00", "+00", "", ""},
}

// piece is a part of a text of patterns: a pattern, or what is between them.
type piece struct {
	pattern *pattern
	fill    bool // FM is in front of it
	literal string
}

// piecesOf splits a text of patterns. It is false for a text with parts that are not
// translated.
func piecesOf(text string) (pieces []piece, ok bool) {
	for text != "" {
		fill := strings.HasPrefix(text, "FM")
		text = strings.TrimPrefix(text, "FM")
		i := slices.IndexFunc(patterns, func(p pattern) bool { return strings.HasPrefix(text, p.name) })
		switch {
		case i >= 0:
			text = text[len(patterns[i].name):]
			if strings.HasPrefix(text, "TH") || strings.HasPrefix(text, "th") {
				return nil, false
			}
			pieces = append(pieces, piece{pattern: &patterns[i], fill: fill})
		case text == "": // nothing is after FM
		case text[0] == '"':
			literal, rest, closed := strings.Cut(text[1:], `"`)
			if !closed {
				return nil, false
			}
			pieces, text = append(pieces, piece{literal: literal}), rest
		case letter(text[0]) || text[0] == '%' || text[0] == '\\' || text[0] >= '0' && text[0] <= '9':
			return nil, false
		default:
			pieces, text = append(pieces, piece{literal: text[:1]}), text[1:]
		}
	}
	return pieces, len(pieces) > 0
}

// timeText is the expression of a time t that PostgreSQL's to_char gives for a
// pattern, unless the pattern has parts that are not translated.
func timeText(text string) (expr string, ok bool) {
	pieces, ok := piecesOf(text)
	if !ok {
		return "", false
	}
	var parts []string
	format := "" // of strftime, for what was read last
	end := func() {
		if format != "" {
			parts = append(parts, "strftime(t, "+engine.Literal(format)+")")
			format = ""
		}
	}
	for _, piece := range pieces {
		p := piece.pattern
		if p == nil {
			format += strings.ReplaceAll(piece.literal, "%", "%%")
			continue
		}
		how, value := p.format, p.expr
		if piece.fill && p.format != "" {
			how = p.plain
		} else if piece.fill && p.plain != "" {
			value = p.plain
		}
		if how != "" {
			format += how
			continue
		}
		end()
		parts = append(parts, value)
	}
	end()
	return "(" + strings.Join(parts, " || ") + ")", true
}

// timeFormat is the format with which strptime reads what PostgreSQL's to_timestamp reads
// by a pattern. It is false for patterns whose times would differ: without a year, and of
// hours that AM or PM would have to tell apart.
func timeFormat(text string) (format string, ok bool) {
	pieces, ok := piecesOf(text)
	for _, piece := range pieces {
		switch {
		case piece.pattern == nil:
			format += strings.ReplaceAll(piece.literal, "%", "%%")
		case piece.pattern.parse == "":
			return "", false
		default:
			format += piece.pattern.parse
		}
	}
	has := func(part string) bool { return strings.Contains(format, part) }
	return format, ok && has("%Y") && has("%I") == has("%p")
}

// toChar rewrites a call of to_char, whose name with its schema are tokens from to
// i, to what PostgreSQL gives. A pattern of strftime stays one; all others fail.
func (r *rewriter) toChar(from, i int) int {
	first, end := i+2, r.partner[i+1]
	commas := r.commas(first, end)
	if len(commas) != 1 {
		return i + 1
	}
	comma := commas[0]
	r.nameItem(from, end, "to_char")
	if comma+2 != end || !r.isKind(comma+1, sqltree.String) {
		r.replaceSpan(from, end,
			"error('the pattern of to_char must be a literal; write strftime(t, format) for one that is computed')::VARCHAR")
		return end + 1
	}
	text := unquoted(r.tokens[comma+1].Text(r.sql))
	expr, ok := timeText(text)
	switch {
	case strings.Contains(text, "%"):
		r.replace(from, i, "strftime")
		return i + 1
	case !ok:
		r.replaceSpan(from, end,
			"error("+engine.Literal("to_char does not serve the pattern "+text+
				"; write strftime(t, format) for times, or printf and format for numbers")+")::VARCHAR")
		return end + 1
	}
	r.replace(from, i+1, "list_transform([")
	r.replace(comma, end, "], lambda t: "+expr+")[1]")
	return i + 2
}

// timeTypes are the functions that read a time by a pattern, and its type.
var timeTypes = map[string]string{"to_timestamp": "TIMESTAMPTZ", "to_date": "DATE"}

// readTime rewrites a call of one of timeTypes with a text and a pattern, whose name with
// its schema are tokens from to i, to strptime. A pattern of strptime stays one; others
// that are not translated fail.
func (r *rewriter) readTime(from, i int) int {
	name, first, end := r.nameAt(i), i+2, r.partner[i+1]
	commas := r.commas(first, end)
	if len(commas) != 1 { // to_timestamp of seconds is DuckDB's
		return i + 1
	}
	comma, typ := commas[0], timeTypes[name]
	r.nameItem(from, end, name)
	if comma+2 != end || !r.isKind(comma+1, sqltree.String) {
		r.replaceSpan(from, end, "error('the pattern of "+name+
			" must be a literal; write strptime(text, format) for one that is computed')::"+typ)
		return end + 1
	}
	text := unquoted(r.tokens[comma+1].Text(r.sql))
	format, ok := timeFormat(text)
	switch {
	case strings.Contains(text, "%"):
		format = text
	case !ok:
		r.replaceSpan(from, end,
			"error("+engine.Literal(name+" does not serve the pattern "+text+"; write strptime(text, format)")+")::"+typ)
		return end + 1
	}
	r.replace(from, i+1, "CAST(strptime(")
	r.replace(comma, end, ", "+engine.Literal(format)+") AS "+typ+")")
	return i + 2
}

// unquoted returns the text of a literal without escapes: 'a', E'a', $$a$$ or $tag$a$tag$.
func unquoted(literal string) string {
	if inside, ok := strings.CutPrefix(literal, "$"); ok {
		tag, inside, _ := strings.Cut(inside, "$")
		return strings.TrimSuffix(inside, "$"+tag+"$")
	}
	return strings.Trim(strings.TrimLeft(literal, "eE"), "'")
}

// replaceSpan writes text instead of tokens that may span lines, which stay.
func (r *rewriter) replaceSpan(from, last int, text string) {
	old := r.sql[r.tokens[from].Start:r.tokens[last].End]
	r.replace(from, last, text+strings.Repeat("\n", strings.Count(old, "\n")))
}
