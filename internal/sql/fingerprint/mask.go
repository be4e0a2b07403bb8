package fingerprint

import (
	"bytes"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// mask returns the statement's tokens with a ? for each literal and without
// comments. ok is false if the last literal or quoted name is not closed: then the
// roles of the quotes before it may be reversed.
func mask(sql string) (masked string, ok bool) {
	tokens := sqltree.Scan(sql)
	if n := len(tokens); n > 0 && !closed(tokens[n-1], sql) {
		tokens, ok = tokens[:n-1], false
	} else {
		ok = true
	}
	var b []byte
	last := "" // the last word written
	for i, t := range tokens {
		word := t.Text(sql)
		switch t.Kind {
		case sqltree.String, sqltree.Number:
			word = "?"
		case sqltree.Ident:
			word = strings.ToValidUTF8(word, "\uFFFD")
			if i > 0 && tokens[i-1].Kind == sqltree.Number && adjacent(tokens, i) {
				continue // 0xFF: DuckDB reads a number and a name, the author meant one number
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

// flat puts a quoted name on one line.
func flat(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

func adjacent(tokens []sqltree.Token, i int) bool { return tokens[i-1].End == tokens[i].Start }

// spaced reports whether a space is written between two tokens. Except within
// operators, it does not depend on the layout of the statement.
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

// closed reports whether a literal or quoted name has its closing quote.
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
