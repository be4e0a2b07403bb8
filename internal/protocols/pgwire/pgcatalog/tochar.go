package pgcatalog

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// pattern is a pattern of PostgreSQL's to_char for times: the format of strftime,
// or an expression of the time t. With FM it has no leading zeros or blanks.
type pattern struct{ name, format, plain, expr string }

// patterns are those that to_char is translated for, the longest of a beginning
// first.
var patterns = []pattern{
	{"YYYY", "%Y", "%Y", ""},
	{"IYYY", "%G", "%G", ""},
	{"YY", "%y", "%-y", ""},
	{"MONTH", "", "upper(strftime(t, '%B'))", "rpad(upper(strftime(t, '%B')), 9, ' ')"},
	{"Month", "", "strftime(t, '%B')", "rpad(strftime(t, '%B'), 9, ' ')"},
	{"month", "", "lower(strftime(t, '%B'))", "rpad(lower(strftime(t, '%B')), 9, ' ')"},
	{"MON", "", "", "upper(strftime(t, '%b'))"},
	{"Mon", "%b", "%b", ""},
	{"mon", "", "", "lower(strftime(t, '%b'))"},
	{"DAY", "", "upper(strftime(t, '%A'))", "rpad(upper(strftime(t, '%A')), 9, ' ')"},
	{"Day", "", "strftime(t, '%A')", "rpad(strftime(t, '%A'), 9, ' ')"},
	{"day", "", "lower(strftime(t, '%A'))", "rpad(lower(strftime(t, '%A')), 9, ' ')"},
	{"DY", "", "", "upper(strftime(t, '%a'))"},
	{"Dy", "%a", "%a", ""},
	{"dy", "", "", "lower(strftime(t, '%a'))"},
	{"HH24", "%H", "%-H", ""},
	{"HH12", "%I", "%-I", ""},
	{"HH", "%I", "%-I", ""},
	{"MI", "%M", "%-M", ""},
	{"MM", "%m", "%-m", ""},
	{"MS", "%g", "%g", ""},
	{"DDD", "%j", "%-j", ""},
	{"DD", "%d", "%-d", ""},
	{"SS", "%S", "%-S", ""},
	{"US", "%f", "%f", ""},
	{"IW", "%V", "%V", ""},
	{"ID", "%u", "%u", ""},
	{"Q", "", "", "quarter(t)::VARCHAR"},
	{"D", "", "", "(dayofweek(t) + 1)::VARCHAR"},
	{"AM", "%p", "%p", ""},
	{"PM", "%p", "%p", ""},
	{"am", "", "", "lower(strftime(t, '%p'))"},
	{"pm", "", "", "lower(strftime(t, '%p'))"},
	{"TZ", "UTC", "UTC", ""},
	{"OF", "+00", "+00", ""},
}

// timeText is the expression of a time t that PostgreSQL's to_char gives for a
// pattern, unless the pattern has parts that are not translated.
func timeText(text string) (expr string, ok bool) {
	var parts []string
	format := "" // of strftime, for what was read last
	end := func() {
		if format != "" {
			parts = append(parts, "strftime(t, "+engine.Literal(format)+")")
			format = ""
		}
	}
	for text != "" {
		fill := strings.HasPrefix(text, "FM")
		text = strings.TrimPrefix(text, "FM")
		i := slices.IndexFunc(patterns, func(p pattern) bool { return strings.HasPrefix(text, p.name) })
		switch {
		case i >= 0:
			p := patterns[i]
			text = text[len(p.name):]
			if strings.HasPrefix(text, "TH") || strings.HasPrefix(text, "th") {
				return "", false
			}
			how, value := p.format, p.expr
			if fill && p.format != "" {
				how = p.plain
			} else if fill && p.plain != "" {
				value = p.plain
			}
			if how != "" {
				format += how
				continue
			}
			end()
			parts = append(parts, value)
		case text == "": // nothing is after FM
		case text[0] == '"':
			literal, rest, closed := strings.Cut(text[1:], `"`)
			if !closed {
				return "", false
			}
			format, text = format+strings.ReplaceAll(literal, "%", "%%"), rest
		case letter(text[0]) || text[0] == '%' || text[0] == '\\' || text[0] >= '0' && text[0] <= '9':
			return "", false
		default:
			format, text = format+text[:1], text[1:]
		}
	}
	end()
	return "(" + strings.Join(parts, " || ") + ")", len(parts) > 0
}

// toChar rewrites a call of to_char, whose name with its schema are tokens from to
// i, to what PostgreSQL gives. A pattern of strftime stays one; all others fail.
func (r *rewriter) toChar(from, i int) int {
	first, end := i+2, r.other[i+1]
	commas := r.commas(first, end)
	if len(commas) != 1 {
		return i + 1
	}
	comma := commas[0]
	r.title(from, end, "to_char")
	if comma+2 != end || !r.kind(comma+1, sqltree.String) {
		r.replaceSpan(from, end, "error('the pattern of to_char must be a literal; write strftime(t, format) for one that is computed')::VARCHAR")
		return end + 1
	}
	text := unquoted(r.tokens[comma+1].Text(r.sql))
	expr, ok := timeText(text)
	switch {
	case strings.Contains(text, "%"):
		r.replace(from, i, "strftime")
		return i + 1
	case !ok:
		r.replaceSpan(from, end, "error("+engine.Literal("to_char does not serve the pattern "+text+"; write strftime(t, format) for times, or printf and format for numbers")+")::VARCHAR")
		return end + 1
	}
	r.replace(from, i+1, "list_transform([")
	r.replace(comma, end, "], lambda t: "+expr+")[1]")
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
