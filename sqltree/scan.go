package sqltree

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a [Token].
type Kind uint8

// The kinds of tokens. Comments and white space are not tokens.
const (
	Ident       Kind = iota // unquoted identifier or keyword
	QuotedIdent             // "quoted identifier"
	String                  // 'literal', e'literal' or $tag$literal$tag$
	Number                  // 1, 1.5, 1e3, 1_000, 0x1F
	Param                   // ?, $1 or $name
	NamedParam              // :name, in a place where it can be one
	Symbol                  // one character of an operator or bracket; "::", ":=" and "=>" are one token
)

// Token is one lexical element of SQL text: text[Start:End].
type Token struct {
	Kind       Kind
	Start, End int
}

// Text is the token's own text within sql.
func (t Token) Text(sql string) string { return sql[t.Start:t.End] }

// Is reports whether the token is the symbol s.
func (t Token) Is(sql, s string) bool { return t.Kind == Symbol && t.Text(sql) == s }

// Name is the identifier the token stands for: unquoted, case kept.
func (t Token) Name(sql string) string {
	s := t.Text(sql)
	if t.Kind == QuotedIdent && len(s) >= 2 {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// Scan splits DuckDB SQL into tokens. It never fails: an unterminated literal
// or comment extends to the end of the text, where the parser reports it.
func Scan(sql string) []Token {
	s := scanner{sql: sql, tokens: make([]Token, 0, len(sql)/4+8)}
	for s.pos < len(sql) {
		s.next()
	}
	return s.tokens
}

type scanner struct {
	sql      string
	pos      int
	brackets []byte // open brackets, innermost last
	tokens   []Token
}

func (s *scanner) peek(n int) byte {
	if s.pos+n < len(s.sql) {
		return s.sql[s.pos+n]
	}
	return 0
}

func (s *scanner) emit(k Kind, end int) {
	s.tokens = append(s.tokens, Token{k, s.pos, end})
	s.pos = end
}

func (s *scanner) next() {
	c := s.sql[s.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
		s.pos++
	case c == '-' && s.peek(1) == '-':
		s.pos = until(s.sql, s.pos, "\n")
	case c == '/' && s.peek(1) == '*':
		s.pos = blockComment(s.sql, s.pos)
	case c == '\'':
		s.emit(String, quoted(s.sql, s.pos, '\'', false))
	case (c == 'e' || c == 'E') && s.peek(1) == '\'':
		s.emit(String, quoted(s.sql, s.pos+1, '\'', true))
	case (c == 'x' || c == 'X' || c == 'b' || c == 'B') && s.peek(1) == '\'':
		s.emit(String, quoted(s.sql, s.pos+1, '\'', false))
	case c == '"':
		s.emit(QuotedIdent, quoted(s.sql, s.pos, '"', false))
	case c == '$':
		s.dollar()
	case c == '?':
		s.emit(Param, s.pos+1)
	case isDigit(c) || c == '.' && isDigit(s.peek(1)):
		s.emit(Number, number(s.sql, s.pos))
	case isIdentStart(c):
		s.emit(Ident, identifier(s.sql, s.pos))
	default:
		s.symbol(c)
	}
}

// dollar scans $1, $name and $tag$literal$tag$.
func (s *scanner) dollar() {
	i := s.pos + 1
	for i < len(s.sql) && isIdentPart(s.sql[i]) && s.sql[i] != '$' {
		i++
	}
	if i < len(s.sql) && s.sql[i] == '$' && !isDigit(s.peek(1)) {
		tag := s.sql[s.pos : i+1]
		s.emit(String, until(s.sql, i+1, tag))
		return
	}
	if i == s.pos+1 {
		s.emit(Symbol, i)
		return
	}
	s.emit(Param, i)
}

func (s *scanner) symbol(c byte) {
	two := ""
	if s.pos+1 < len(s.sql) {
		two = s.sql[s.pos : s.pos+2]
	}
	switch {
	case two == "::" || two == ":=" || two == "=>":
		s.emit(Symbol, s.pos+2)
		return
	case c == ':' && isIdentStart(s.peek(1)) && s.namedParamHere():
		s.emit(NamedParam, identifier(s.sql, s.pos+1))
		return
	case c == '(' || c == '[' || c == '{':
		s.brackets = append(s.brackets, c)
	case (c == ')' || c == ']' || c == '}') && len(s.brackets) > 0:
		s.brackets = s.brackets[:len(s.brackets)-1]
	}
	s.emit(Symbol, s.pos+1)
}

// namedParamHere tells :name from the colon of a slice, a[1:n], and of a
// struct or map, {k:v}: inside those brackets a colon after an operand
// separates, everywhere else it can only start a parameter.
func (s *scanner) namedParamHere() bool {
	if n := len(s.brackets); n == 0 || s.brackets[n-1] == '(' || len(s.tokens) == 0 {
		return true
	}
	last := s.tokens[len(s.tokens)-1]
	if last.Kind != Symbol {
		return false
	}
	t := last.Text(s.sql)
	return t != ")" && t != "]" && t != "}"
}

// until returns the position after the next mark at or after pos, or the end.
func until(sql string, pos int, mark string) int {
	if i := strings.Index(sql[pos:], mark); i >= 0 {
		return pos + i + len(mark)
	}
	return len(sql)
}

// blockComment returns the end of the comment at pos; comments nest.
func blockComment(sql string, pos int) int {
	depth := 0
	for i := pos; i < len(sql); i++ {
		switch {
		case strings.HasPrefix(sql[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(sql[i:], "*/"):
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(sql)
}

// quoted returns the end of the literal whose opening quote is at pos.
func quoted(sql string, pos int, quote byte, backslash bool) int {
	for i := pos + 1; i < len(sql); i++ {
		switch {
		case backslash && sql[i] == '\\':
			i++
		case sql[i] == quote:
			if i+1 < len(sql) && sql[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(sql)
}

func number(sql string, pos int) int {
	i := pos
	for i < len(sql) {
		c := sql[i]
		exponentSign := (c == '+' || c == '-') && (sql[i-1] == 'e' || sql[i-1] == 'E') &&
			!strings.HasPrefix(sql[pos:], "0x") && !strings.HasPrefix(sql[pos:], "0X")
		if !isDigit(c) && c != '.' && c != '_' && !isLetter(c) && (i == pos || !exponentSign) {
			break
		}
		i++
	}
	return i
}

func identifier(sql string, pos int) int {
	i := pos
	for i < len(sql) && isIdentPart(sql[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool      { return c >= '0' && c <= '9' }
func isLetter(c byte) bool     { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isIdentStart(c byte) bool { return isLetter(c) || c == '_' || c >= utf8.RuneSelf }
func isIdentPart(c byte) bool  { return isIdentStart(c) || isDigit(c) || c == '$' }
