package fingerprint

import (
	"bytes"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// mask returns the statement's tokens with a ? for each literal and none of
// its comments. It is not ok when the last literal or quoted name has no end:
// then the quotes before may have been read the wrong way round.
func mask(sql string) (masked string, ok bool) {
	tokens := sqltree.Scan(sql)
	if n := len(tokens); n > 0 && !closed(tokens[n-1], sql) {
		tokens, ok = tokens[:n-1], false
	} else {
		ok = true
	}
	var b []byte
	last := "" // what was written last
	for i, t := range tokens {
		word := t.Text(sql)
		switch t.Kind {
		case sqltree.String, sqltree.Number:
			word = "?"
		case sqltree.Ident:
			word = strings.ToValidUTF8(word, "\uFFFD")
			if i > 0 && tokens[i-1].Kind == sqltree.Number && adjacent(tokens, i) {
				continue // 0xFF: DuckDB reads a number and a name, its author meant one number
			}
		case sqltree.QuotedIdent:
			word = strings.ToValidUTF8(flat(word), "\uFFFD")
		}
		if last == "," && word == "?" && endsInList(b) {
			b = b[:len(b)-1]
			last = "?"
			continue
		}
		if i > 0 && spaced(last, word, adjacent(tokens, i)) {
			b = append(b, ' ')
		}
		b = append(b, word...)
		last = word
	}
	return string(b), ok
}

// endsInList reports whether the text ends in a literal and a comma, so that
// one more literal adds nothing: in (?, ?, ?) becomes in (?).
func endsInList(s []byte) bool { return bytes.HasSuffix(s, []byte("?,")) }

// flat makes a quoted name one line.
func flat(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

func adjacent(tokens []sqltree.Token, i int) bool { return tokens[i-1].End == tokens[i].Start }

// spaced decides about a space between two tokens: always the same one,
// however the statement was laid out, except within operators.
func spaced(last, next string, adjacent bool) bool {
	switch {
	case next == "," || next == ")" || next == "]" || next == ";" || next == "." || next == "::":
		return false
	case last == "(" || last == "[" || last == "." || last == "::":
		return false
	case next == "(" || next == "[":
		return !adjacent
	case isOperator(last) && isOperator(next):
		return !adjacent
	}
	return true
}

func isOperator(s string) bool { return len(s) > 0 && strings.Contains("<>=!|&*/%+-~^@#:", s[:1]) }

// closed reports whether a literal or quoted name has its closing mark.
func closed(t sqltree.Token, sql string) bool {
	s := t.Text(sql)
	switch t.Kind {
	case sqltree.QuotedIdent:
		return closedBy(s, '"')
	case sqltree.String:
		if s[0] != '$' {
			return closedBy(s[strings.IndexByte(s, '\''):], '\'')
		}
		tag := s[:strings.IndexByte(s[1:], '$')+2]
		return len(s) >= 2*len(tag) && strings.HasSuffix(s, tag)
	}
	return true
}

// closedBy reports whether s, which begins with the quote, ends with one that
// is not part of a pair.
func closedBy(s string, quote byte) bool {
	n := 0
	for i := len(s) - 1; i > 0 && s[i] == quote; i-- {
		n++
	}
	return n%2 == 1
}
