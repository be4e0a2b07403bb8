package pgwire

import (
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// words reads a statement's tokens one after the other.
type words struct {
	sqltree.Cursor
	start int // where the statement begins in a script
}

func newWords(sql string) *words { return &words{Cursor: sqltree.NewCursor(sql)} }

// several reports whether there is more than one statement.
func (w *words) several() bool {
	begun, ended := false, false
	for i := range w.Tokens {
		switch {
		case w.Is(i, ";"):
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
	for i := range len(w.Tokens) + 1 {
		if i < len(w.Tokens) && !w.Is(i, ";") {
			continue
		}
		if i > first {
			tokens := w.Tokens[first:i]
			start, end := tokens[0].Start, tokens[len(tokens)-1].End
			for n := range tokens {
				tokens[n].Start, tokens[n].End = tokens[n].Start-start, tokens[n].End-start
			}
			parts = append(parts, &words{Cursor: sqltree.Cursor{SQL: w.SQL[start:end], Tokens: tokens}, start: start})
		}
		first = i + 1
	}
	return parts
}

// name takes an identifier, which folds unless it is quoted.
func (w *words) name() (string, error) {
	t, ok := w.AcceptName()
	switch {
	case !ok:
		return "", w.wrong()
	case t.Kind == sqltree.Ident:
		return sqltree.Fold(t.Text(w.SQL)), nil
	}
	return t.Name(w.SQL), nil
}

// end fails unless all is read.
func (w *words) end() error {
	if !w.Done() {
		return w.wrong()
	}
	return nil
}

// wrong is a syntax error at the next token.
func (w *words) wrong() error {
	if w.Done() {
		return &sqlstate.Error{
			Code: sqlstate.Syntax, Message: "syntax error at end of input",
			Position: len([]rune(w.SQL)) + 1,
		}
	}
	t := w.Tokens[w.Next]
	e := sqlstate.Errorf(sqlstate.Syntax, "", "syntax error at or near %q", w.Text(w.Next))
	e.Position = len([]rune(w.SQL[:t.Start])) + 1
	return e
}
