package rowsearch

import (
	"context"
	"fmt"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// MaxWhere is the length of a condition.
const MaxWhere = 64 << 10

// Searcher is a [Querier] that can parse. *[engine.DB] is one.
type Searcher interface {
	Querier
	Parse(ctx context.Context, text string) (*sqltree.Statement, error)
}

// The text around a condition when it is parsed by itself: a line before it, so that positions are
// easy to convert, and a line after it, which ends a comment.
const (
	whereStart = "SELECT (\n"
	whereEnd   = "\n)"
)

// CheckWhere refuses a condition that is not a single expression, before it is put in parentheses
// in a statement.
func CheckWhere(ctx context.Context, db Searcher, where string) error {
	const advice = "give one SQL condition, such as year > 2020 AND status = 'open'"
	switch {
	case where == "":
		return nil
	case len(where) > MaxWhere:
		return engine.NewError(errcode.Limit, "make it shorter", "where has %d bytes; the limit is %d", len(where), MaxWhere)
	case leaves(where):
		return engine.NewError(errcode.Argument, advice, "where is more than one condition")
	}
	st, err := db.Parse(ctx, whereStart+where+whereEnd)
	if err != nil {
		return whereError("where", err)
	}
	shape := st.Shape
	if !shape.Plain || shape.From || shape.Columns != 1 || shape.Alias || shape.Star || len(st.Params) > 0 {
		return engine.NewError(errcode.Argument, advice, "where is not a condition")
	}
	return nil
}

// leaves reports whether text has unbalanced brackets, or a comma or semicolon outside brackets.
func leaves(text string) bool {
	var open []string
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}
	for _, t := range sqltree.Scan(text) {
		if t.Kind != sqltree.Symbol {
			continue
		}
		switch s := t.Text(text); s {
		case "(", "[", "{":
			open = append(open, closing[s])
		case ")", "]", "}":
			if len(open) == 0 || open[len(open)-1] != s {
				return true
			}
			open = open[:len(open)-1]
		case ",", ";":
			if len(open) == 0 || s == ";" {
				return true
			}
		}
	}
	return len(open) > 0
}

// whereError converts a statement's error to one of the condition in it, which begins on the second
// line.
func whereError(what string, err error) error {
	e := *engine.AsError(err)
	e.Line, e.Message = max(e.Line-1, 0), fmt.Sprintf("%s: %s", what, e.Message)
	switch e.Code {
	case errcode.Parse, errcode.NotFound:
		e.Code = errcode.Argument
	}
	return &e
}
