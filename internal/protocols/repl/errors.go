package repl

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/spiced-sql/spiced/internal/kit/visible"
)

// ServerError is the server's response to a failed statement.
type ServerError struct {
	Status  int    // HTTP status
	Code    string // such as not_found, or ""
	Message string
	Hint    string
	Line    int // in the statement, from 1; 0 when unknown
	Column  int // in characters, from 1
}

// Error is the message with its code.
func (e *ServerError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Message + " [" + e.Code + "]"
}

// StatementError is a failed statement or command of a script or session.
type StatementError struct {
	Script string // file of the script; "" for the main input
	Line   int    // line of the statement in the script, from 1; 0 at a terminal
	Column int    // in characters, from 1
	SQL    string // "" for a command
	Err    error
}

// Error is the position in the script and the cause, in one line.
func (e *StatementError) Error() string {
	if place := e.place(); place != "" {
		return place + ": " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *StatementError) Unwrap() error { return e.Err }

// place is the position of the error: the server's if it gave one, else the
// start of the statement.
func (e *StatementError) place() string {
	if e.Line == 0 {
		return ""
	}
	at := place{e.Line, e.Column}
	if failed := (*ServerError)(nil); errors.As(e.Err, &failed) && failed.Line > 0 {
		if failed.Line > 1 {
			at.column = 1
		}
		at.line += failed.Line - 1
		at.column += failed.Column - 1
	}
	if e.Script == "" {
		return fmt.Sprintf("line %d", at.line)
	}
	return fmt.Sprintf("%s:%d:%d", e.Script, at.line, at.column)
}

// WriteText prints the error for users: the position, the message, the line of
// the statement with a caret, the hint.
func (e *StatementError) WriteText(w io.Writer) {
	var b strings.Builder
	if place := e.place(); place != "" {
		b.WriteString(place + ": ")
	}
	fmt.Fprintf(&b, "error: %s\n", printable(e.Err.Error()))
	if failed := (*ServerError)(nil); errors.As(e.Err, &failed) {
		e.caret(&b, failed)
		if failed.Hint != "" {
			fmt.Fprintf(&b, "hint: %s\n", printable(failed.Hint))
		}
	}
	io.WriteString(w, b.String())
}

// shownWidth is the number of characters shown of a line with a caret.
const shownWidth = 100

// caret writes the line of the server's error position, and a caret under the
// column.
func (e *StatementError) caret(b *strings.Builder, failed *ServerError) {
	lines := strings.Split(e.SQL, "\n")
	if failed.Line < 1 || failed.Line > len(lines) {
		return
	}
	number := failed.Line
	if e.Line > 0 {
		number += e.Line - 1
	}
	line := []rune(strings.TrimRight(lines[failed.Line-1], "\r"))
	column := min(max(failed.Column, 1)-1, len(line))
	if from := column - shownWidth/2; from > 0 {
		line, column = line[from:], column-from
	}
	line = line[:min(len(line), shownWidth)]
	margin := fmt.Sprintf("%4d | ", number)
	fmt.Fprintf(b, "%s%s\n", margin, printable(string(line)))
	blank := strings.Repeat(" ", len(margin)-2) + "| "
	width := runewidth.StringWidth(printable(string(line[:column])))
	fmt.Fprintf(b, "%s%s^\n", blank, strings.Repeat(" ", width))
}

// printable replaces control characters: a message may quote data, which must
// not control the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || !visible.Hidden(r) {
			return r
		}
		return ' '
	}, text)
}

// located adds the line of a script to an error without one.
func located(script string, at place, err error) error {
	if failed := (*StatementError)(nil); errors.Is(err, errQuit) || errors.As(err, &failed) {
		return err
	}
	return &StatementError{Script: script, Line: at.line, Column: at.column, Err: err}
}
