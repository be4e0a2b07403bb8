package repl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// statement is one statement of a script.
type statement struct {
	SQL    string // without the semicolon
	Line   int    // start in the script, from 1
	Column int    // in characters, from 1
	typed  string // with leading blanks and the semicolon
}

// place is a position in a script.
type place struct{ line, column int }

// splitter splits lines into statements at the semicolons outside literals and
// comments.
type splitter struct {
	text  strings.Builder // text after the last complete statement
	start place           // start of text
	end   place           // start of the next line
}

func newSplitter() *splitter {
	return &splitter{start: place{1, 1}, end: place{1, 1}}
}

// add appends one line, given without its line break.
func (s *splitter) add(line string) error {
	if s.text.Len()+len(line) > maxStatement {
		return fmt.Errorf("the statement is longer than %d bytes", maxStatement)
	}
	if s.text.Len() == 0 {
		s.start = s.end
	}
	s.text.WriteString(line)
	s.text.WriteByte('\n')
	s.end.line++
	return nil
}

// skip counts a line outside any statement, and drops comments before it.
func (s *splitter) skip() {
	s.end.line++
	s.text.Reset()
}

// here is the start of the next line.
func (s *splitter) here() place { return s.end }

// idle reports whether no statement is pending: the remaining text is blank or
// complete comments.
func (s *splitter) idle() bool {
	const probe = ";" // a separate token unless a literal or comment is open
	tokens := sqltree.Scan(s.text.String() + probe)
	return len(tokens) == 1 && tokens[0].Start == s.text.Len()
}

// take removes the statements that are complete.
func (s *splitter) take() []statement {
	text := s.text.String()
	if !strings.Contains(text, ";") {
		return nil
	}
	statements, end, at := split(text, s.start)
	if end == 0 {
		return nil
	}
	s.start = at
	s.text.Reset()
	if strings.TrimSpace(text[end:]) != "" {
		s.text.WriteString(text[end:])
	}
	return statements
}

// rest removes the last statement, which may lack its semicolon.
func (s *splitter) rest() []statement {
	text := s.text.String()
	s.text.Reset()
	tokens := sqltree.Scan(text)
	if len(tokens) == 0 {
		return nil
	}
	return []statement{cut(text, 0, tokens, s.start)}
}

// split returns the complete statements of text, the end of the last one, and
// that position. at is the position of the start.
func split(text string, at place) (statements []statement, end int, _ place) {
	tokens := sqltree.Scan(text)
	first := 0
	for i, t := range tokens {
		if !t.Is(text, ";") {
			continue
		}
		if i > first {
			statements = append(statements, cut(text[:t.End], end, tokens[first:i], at))
		}
		at = at.after(text[end:t.End])
		end, first = t.End, i+1
	}
	return statements, end, at
}

// cut builds a statement from tokens. from is the end of the previous statement
// in text, and at is its position.
func cut(text string, from int, tokens []sqltree.Token, at place) statement {
	begin, end := tokens[0].Start, tokens[len(tokens)-1].End
	at = at.after(text[from:begin])
	return statement{SQL: text[begin:end], Line: at.line, Column: at.column, typed: strings.Trim(text[from:], "\n")}
}

// after is the position after text that starts at p.
func (p place) after(text string) place {
	if n := strings.Count(text, "\n"); n > 0 {
		p.line += n
		p.column = 1
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.column += utf8.RuneCountInString(text)
	return p
}

// lines reads a script line by line.
type lines struct {
	scanner *bufio.Scanner
	begun   bool
}

func newLines(r io.Reader) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxStatement)
	return &lines{scanner: s}
}

// next returns the next line, io.EOF after the last one.
func (l *lines) next() (string, error) {
	if !l.scanner.Scan() {
		if err := l.scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
			return "", fmt.Errorf("a line is longer than %d bytes", maxStatement)
		} else if err != nil {
			return "", fmt.Errorf("read script: %w", err)
		}
		return "", io.EOF
	}
	line := l.scanner.Text()
	if !l.begun {
		l.begun = true
		line = strings.TrimPrefix(line, "\ufeff")
	}
	return line, nil
}
