package sqltree

import (
	"slices"
	"strings"
)

// Cursor reads the tokens of a text from left to right.
type Cursor struct {
	SQL    string
	Tokens []Token
	Next   int // the token that is read next
}

// NewCursor returns a cursor at the first token of sql.
func NewCursor(sql string) Cursor { return Cursor{SQL: sql, Tokens: Scan(sql)} }

// Text returns the text of token i.
func (c *Cursor) Text(i int) string { return c.Tokens[i].Text(c.SQL) }

// Is reports whether the tokens from i on are these keywords or symbols.
func (c *Cursor) Is(i int, words ...string) bool { return Are(c.SQL, c.Tokens, i, words...) }

// Done reports whether all tokens have been read.
func (c *Cursor) Done() bool { return c.Next >= len(c.Tokens) }

// Peek returns the next token in lower case; "" at the end.
func (c *Cursor) Peek() string {
	if c.Done() {
		return ""
	}
	return strings.ToLower(c.Text(c.Next))
}

// Accept reads the next tokens if they are these keywords or symbols.
func (c *Cursor) Accept(words ...string) bool {
	if !c.Is(c.Next, words...) {
		return false
	}
	c.Next += len(words)
	return true
}

// AcceptOne reads the next token if it is one of these keywords or symbols.
func (c *Cursor) AcceptOne(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return c.Accept(word) })
}

// AcceptName reads the next token if it is an identifier.
func (c *Cursor) AcceptName() (Token, bool) {
	if c.Done() || !c.Tokens[c.Next].IsName() {
		return Token{}, false
	}
	c.Next++
	return c.Tokens[c.Next-1], true
}

// Span returns the span of the tokens from first to before end.
func (c *Cursor) Span(first, end int) Span {
	return Span{c.Tokens[first].Start, c.Tokens[end-1].End}
}

// Are reports whether the tokens from i on are these keywords, in any case, or
// symbols.
func Are(sql string, tokens []Token, i int, words ...string) bool {
	if i < 0 || i+len(words) > len(tokens) {
		return false
	}
	for j, word := range words {
		if !strings.EqualFold(tokens[i+j].Text(sql), word) {
			return false
		}
	}
	return true
}
