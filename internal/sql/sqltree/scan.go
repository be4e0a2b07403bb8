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
	Number                  // 1, 1.5, 1e3, 1_000
	Param                   // ?, ?1, $1 or $name
	NamedParam              // :name, where the grammar allows one
	Symbol                  // one character of an operator or bracket; "::", ":=" and "=>" are one token
)

// Token is one lexical element of SQL text: text[Start:End].
type Token struct {
	Kind       Kind
	Start, End int
}

// Text returns the token's text within sql.
func (t Token) Text(sql string) string { return sql[t.Start:t.End] }

// Is reports whether the token is the symbol s.
func (t Token) Is(sql, s string) bool { return t.Kind == Symbol && t.Text(sql) == s }

// IsName reports whether the token is an identifier.
func (t Token) IsName() bool { return t.Kind == Ident || t.Kind == QuotedIdent }

// Nesting returns 1 for an opening bracket, -1 for a closing one, and 0 otherwise.
func (t Token) Nesting(sql string) int {
	if t.Kind == Symbol {
		switch t.Text(sql) {
		case "(", "[", "{":
			return 1
		case ")", "]", "}":
			return -1
		}
	}
	return 0
}

// Name returns the identifier without quotes, with its case.
func (t Token) Name(sql string) string {
	s := t.Text(sql)
	if t.Kind == QuotedIdent && len(s) >= 2 {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// Scan splits DuckDB SQL into tokens, as DuckDB's own lexer does. It never fails:
// an unterminated literal or comment extends to the end of the text, where the
// parser reports it.
func Scan(sql string) []Token {
	s := scanner{sql: sql, tokens: make([]Token, 0, len(sql)/4+8)}
	for s.pos < len(sql) {
		s.next()
	}
	return s.tokens
}

// Plain returns the text with spaces for everything between tokens: comments, and
// white space that is not ASCII, which DuckDB replaces with a shorter one so that
// its offsets would be those of another text. The result means the same to DuckDB,
// has the same length and contains nothing that Scan did not see.
func Plain(sql string, tokens []Token) string {
	b := []byte(sql)
	last := 0
	for i := range len(tokens) + 1 {
		end, next := len(sql), len(sql)
		if i < len(tokens) {
			end, next = tokens[i].Start, tokens[i].End
		}
		for j := last; j < end; j++ {
			if b[j] != '\n' && b[j] != '\r' {
				b[j] = ' '
			}
		}
		last = next
	}
	return string(b)
}

type scanner struct {
	sql      string
	pos      int
	brackets []byte // open brackets, innermost last
	escapes  bool   // the last String is e'…'
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
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		s.pos++
	case c >= utf8.RuneSelf && wideSpace(s.sql[s.pos:]) > 0:
		s.pos += wideSpace(s.sql[s.pos:])
	case c == '-' && s.peek(1) == '-':
		s.pos = lineEnd(s.sql, s.pos)
	case c == '/' && s.peek(1) == '*':
		s.pos = blockComment(s.sql, s.pos)
	case c == '\'':
		s.literal(0, s.escapes && s.continues())
	case (c == 'e' || c == 'E') && s.peek(1) == '\'':
		s.literal(1, true)
	case (c == 'x' || c == 'X' || c == 'b' || c == 'B') && s.peek(1) == '\'':
		s.literal(1, false)
	case c == '"':
		s.emit(QuotedIdent, quoted(s.sql, s.pos, '"', false))
	case c == '$':
		s.dollar()
	case c == '?':
		s.emit(Param, digits(s.sql, s.pos+1))
	case isDigit(c) || c == '.' && isDigit(s.peek(1)):
		s.emit(Number, number(s.sql, s.pos))
	case isIdentStart(c):
		s.emit(Ident, identifier(s.sql, s.pos))
	default:
		s.symbol(c)
	}
}

// literal scans a literal whose quote comes after a prefix; with escapes, a
// backslash escapes the next character.
func (s *scanner) literal(prefix int, escapes bool) {
	s.escapes = escapes
	s.emit(String, quoted(s.sql, s.pos+prefix, '\'', escapes))
}

// continues reports whether a quote here continues the literal before it: only
// white space with a line break is between them.
func (s *scanner) continues() bool {
	n := len(s.tokens)
	return n > 0 && s.tokens[n-1].Kind == String && strings.ContainsAny(s.sql[s.tokens[n-1].End:s.pos], "\r\n")
}

// dollar scans $1, $name and $tag$literal$tag$.
func (s *scanner) dollar() {
	i := s.pos + 1
	if isDigit(s.peek(1)) {
		s.emit(Param, digits(s.sql, i))
		return
	}
	for i < len(s.sql) && s.sql[i] != '$' && identPartAt(s.sql, i) {
		i++
	}
	if i < len(s.sql) && s.sql[i] == '$' {
		tag := s.sql[s.pos : i+1]
		s.escapes = false
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
	case c == ':' && isIdentStart(s.peek(1)) && wideSpace(s.sql[s.pos+1:]) == 0 && s.namedParamHere():
		s.emit(NamedParam, identifier(s.sql, s.pos+1))
		return
	case c == '[' && s.subscripts():
		s.brackets = append(s.brackets, subscript)
	case c == '(' || c == '[' || c == '{':
		s.brackets = append(s.brackets, c)
	case (c == ')' || c == ']' || c == '}') && len(s.brackets) > 0:
		s.brackets = s.brackets[:len(s.brackets)-1]
	}
	s.emit(Symbol, s.pos+1)
}

// subscript is the bracket of a[1] among open brackets; that of [1, 2] is '['.
const subscript = 's'

// subscripts reports whether a bracket here belongs to the value before it.
func (s *scanner) subscripts() bool {
	if len(s.tokens) == 0 {
		return false
	}
	last := s.tokens[len(s.tokens)-1]
	switch last.Kind {
	case Symbol:
		t := last.Text(s.sql)
		return t == ")" || t == "]" || t == "}"
	case Ident:
		return !beforeValue[Fold(last.Text(s.sql))]
	}
	return true
}

// beforeValue are reserved words that a value may follow.
var beforeValue = func() map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(`all and any array as by case distinct else from having ilike in is like limit not
		offset on or qualify returning select similar some then to using values when where between lambda set by`) {
		m[word] = true
	}
	return m
}()

// namedParamHere distinguishes :name from the colon of a slice, a[1:n], of a struct
// or map, {k:v}, and of a prefix alias, a:expr: inside those brackets a colon after
// an operand separates, as it does directly after a name; everywhere else it can
// only start a parameter.
func (s *scanner) namedParamHere() bool {
	if len(s.tokens) == 0 {
		return true
	}
	last := s.tokens[len(s.tokens)-1]
	if n := len(s.brackets); n == 0 || s.brackets[n-1] == '(' {
		return last.End < s.pos || !last.IsName()
	}
	if last.Kind != Symbol {
		return false
	}
	t := last.Text(s.sql)
	if t == "[" && s.brackets[len(s.brackets)-1] == subscript {
		return false // a[:n]
	}
	return t != ")" && t != "]" && t != "}"
}

// until returns the position after the next mark at or after pos, or the end.
func until(sql string, pos int, mark string) int {
	if i := strings.Index(sql[pos:], mark); i >= 0 {
		return pos + i + len(mark)
	}
	return len(sql)
}

// lineEnd returns the end of the line at pos; as in DuckDB, CR ends a line too.
func lineEnd(sql string, pos int) int {
	if i := strings.IndexAny(sql[pos:], "\r\n"); i >= 0 {
		return pos + i
	}
	return len(sql)
}

// wideSpace returns the length of the non-ASCII white space that s starts with, or
// 0. The list is that of DuckDB, which reads them as spaces outside quotes.
func wideSpace(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r >= 0x2000 && r <= 0x200B:
		return n
	case strings.ContainsRune("\u00A0\u202F\u205F\u2060\u3000\uFEFF", r):
		return n
	}
	return 0
}

// blockComment returns the end of the comment at pos; comments can be nested.
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

// number returns the end of 1, 1_000, 1.5, 1., .5 or 1e-3. DuckDB reads 0x1F as 0
// with the alias x1F.
func number(sql string, pos int) int {
	i := digits(sql, pos)
	if i < len(sql) && sql[i] == '.' && (i+1 == len(sql) || sql[i+1] != '.') {
		i = digits(sql, i+1)
	}
	if i < len(sql) && sql[i]|0x20 == 'e' {
		e := i + 1
		if e < len(sql) && (sql[e] == '+' || sql[e] == '-') {
			e++
		}
		if end := digits(sql, e); end > e {
			return end
		}
	}
	return i
}

// digits returns the end of the digits at pos, which may have single
// underscores between them.
func digits(sql string, pos int) int {
	i := pos
	for i < len(sql) && (isDigit(sql[i]) || i > pos && sql[i] == '_' && i+1 < len(sql) && isDigit(sql[i+1])) {
		i++
	}
	return i
}

func identifier(sql string, pos int) int {
	i := pos
	for i < len(sql) && identPartAt(sql, i) {
		i++
	}
	return i
}

func identPartAt(sql string, i int) bool {
	return isIdentPart(sql[i]) && (sql[i] < utf8.RuneSelf || wideSpace(sql[i:]) == 0)
}

func isDigit(c byte) bool      { return c >= '0' && c <= '9' }
func isLetter(c byte) bool     { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isIdentStart(c byte) bool { return isLetter(c) || c == '_' || c >= utf8.RuneSelf }
func isIdentPart(c byte) bool  { return isIdentStart(c) || isDigit(c) || c == '$' }

// Joined returns sql with one space for everything between two tokens, and without
// white space and comments at both ends and semicolons at the end. A line break is
// kept where it matters: literals on two lines are one.
func Joined(sql string) string {
	var b strings.Builder
	tokens := Scan(sql)
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(sql, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	last := -1
	for _, t := range tokens {
		switch {
		case last < 0 || last == t.Start:
		case sql[last-1] == '\'' && sql[t.Start] == '\'' && strings.ContainsAny(sql[last:t.Start], "\n\r"):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(sql[t.Start:t.End])
		last = t.End
	}
	return b.String()
}

// Shifts returns the first token, or -1, in which DuckDB would take white space
// beyond ASCII for space between tokens. DuckDB shortens such space to one byte
// before it parses, so that its offsets are those of another text. The code that
// does so (StripUnicodeSpaces) loses track of the quotes after \' in a literal, and
// where it may read another $tag$ than DuckDB's parser.
func Shifts(sql string, tokens []Token) int {
	lost := false
	for i, t := range tokens {
		text := t.Text(sql)
		switch t.Kind {
		case String:
			lost = lost || strings.Contains(text, `\'`) || text[0] == '$' && strange(text[:until(text, 1, "$")])
		case Ident:
			lost = lost || strings.Contains(text, "$")
		case Param, NamedParam:
			lost = lost || strange(text)
		}
		if lost && strings.ContainsFunc(text, func(r rune) bool { return wideSpace(string(r)) > 0 }) {
			return i
		}
	}
	return -1
}

// strange reports whether s has characters beyond ASCII.
func strange(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
