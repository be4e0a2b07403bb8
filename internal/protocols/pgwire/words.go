package pgwire

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// words reads a statement's tokens one after the other.
type words struct {
	sql    string
	start  int // where it begins in a script
	tokens []sqltree.Token
	at     int
}

func newWords(sql string) *words { return &words{sql: sql, tokens: sqltree.Scan(sql)} }

// several reports whether there is more than one statement.
func (w *words) several() bool {
	begun, ended := false, false
	for i := range w.tokens {
		switch {
		case w.is(i, ";"):
			ended = begun
		case ended:
			return true
		default:
			begun = true
		}
	}
	return false
}

// split separates the statements of a script: what is between semicolons,
// without those and without blanks and comments around it. It uses up the tokens.
func (w *words) split() []*words {
	var parts []*words
	first := 0
	for i := range len(w.tokens) + 1 {
		if i < len(w.tokens) && !w.is(i, ";") {
			continue
		}
		if i > first {
			tokens := w.tokens[first:i]
			start, end := tokens[0].Start, tokens[len(tokens)-1].End
			for n := range tokens {
				tokens[n].Start, tokens[n].End = tokens[n].Start-start, tokens[n].End-start
			}
			parts = append(parts, &words{sql: w.sql[start:end], start: start, tokens: tokens})
		}
		first = i + 1
	}
	return parts
}

func (w *words) text(i int) string { return w.sql[w.tokens[i].Start:w.tokens[i].End] }

// is reports whether token i is a symbol.
func (w *words) is(i int, symbol string) bool {
	return i < len(w.tokens) && w.tokens[i].Kind == sqltree.Symbol && w.text(i) == symbol
}

// peek is the next token in lower case; "" at the end.
func (w *words) peek() string {
	if w.at >= len(w.tokens) {
		return ""
	}
	return strings.ToLower(w.text(w.at))
}

// take goes over the next words if they are these.
func (w *words) take(these ...string) bool {
	for i, word := range these {
		if w.at+i >= len(w.tokens) || !strings.EqualFold(w.text(w.at+i), word) {
			return false
		}
	}
	w.at += len(these)
	return true
}

// takeOne goes over the next word if it is one of these.
func (w *words) takeOne(these ...string) bool {
	return slices.ContainsFunc(these, func(word string) bool { return w.take(word) })
}

// name takes an identifier, which folds unless it is quoted.
func (w *words) name() (string, error) {
	if w.at >= len(w.tokens) {
		return "", w.wrong()
	}
	t := w.tokens[w.at]
	switch t.Kind {
	case sqltree.Ident:
		w.at++
		return sqltree.Fold(t.Text(w.sql)), nil
	case sqltree.QuotedIdent:
		w.at++
		return t.Name(w.sql), nil
	}
	return "", w.wrong()
}

// end fails unless all is read.
func (w *words) end() error {
	if w.at < len(w.tokens) {
		return w.wrong()
	}
	return nil
}

// wrong is a syntax error at the next token.
func (w *words) wrong() error {
	if w.at >= len(w.tokens) {
		return &sqlstate.Error{Code: sqlstate.Syntax, Message: "syntax error at end of input", Position: len([]rune(w.sql)) + 1}
	}
	t := w.tokens[w.at]
	e := sqlstate.Errorf(sqlstate.Syntax, "", "syntax error at or near %q", w.text(w.at))
	e.Position = len([]rune(w.sql[:t.Start])) + 1
	return e
}
