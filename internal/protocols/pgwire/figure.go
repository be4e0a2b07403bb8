package pgwire

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// strength says whether a name outlives a cast, CASE and brackets, as in PostgreSQL's
// FigureColname.
type strength int

const (
	nameless strength = iota // a literal, an operator
	weak                     // the type of a cast, CASE
	strong                   // a column, a function
)

// maxFigured limits how deep figure looks into an expression, since each level reads the
// tokens of those below it again.
const maxFigured = 16

// expression reads an expression of a SELECT list.
type expression struct {
	words
	depth int // how many expressions it is in
}

// figure returns the name that PostgreSQL gives to the column of an expression, as its
// FigureColname does; "" if that is "?column?", for which DuckDB has a better name, or if
// the expression is nested too deeply.
func figure(sql string, tokens []sqltree.Token) (string, strength) {
	return (&expression{words: words{Cursor: sqltree.Cursor{SQL: sql, Tokens: tokens}}}).read()
}

// inner returns a part of the expression.
func (e *expression) inner(tokens []sqltree.Token) *expression {
	return &expression{words: words{Cursor: sqltree.Cursor{SQL: e.SQL, Tokens: tokens}}, depth: e.depth + 1}
}

// read reads the whole expression.
func (e *expression) read() (string, strength) {
	if e.depth > maxFigured {
		return "", nameless
	}
	name, s := e.primary()
	for {
		if e.Accept("::") {
			name, s = e.cast(name, s)
		} else if e.Is(e.Next, "[") { // an element of a list
			e.inBrackets()
		} else {
			break
		}
	}
	if !e.Done() {
		return "", nameless
	}
	return name, s
}

// cast reads the type of a cast.
func (e *expression) cast(name string, s strength) (string, strength) {
	typ := e.typeName()
	if s == strong || typ == "" {
		return name, s
	}
	return typ, weak
}

// primary reads what a cast may follow. What it cannot read remains.
func (e *expression) primary() (string, strength) {
	switch {
	case e.Done():
		return "", nameless
	case e.Is(e.Next, "("):
		return e.bracketed()
	case e.Is(e.Next, "case"):
		return e.choice()
	case e.Is(e.Next, "cast", "("), e.Is(e.Next, "try_cast", "("):
		return e.castCall()
	case e.Is(e.Next, "array", "["):
		e.Next++
		e.inBrackets()
		return "array", strong
	case e.Is(e.Next, "null"), e.Is(e.Next, "true"), e.Is(e.Next, "false"):
		e.Next++
		return "", nameless
	case !e.Tokens[e.Next].IsName():
		if k := e.Tokens[e.Next].Kind; k == sqltree.String || k == sqltree.Number || k == sqltree.Param {
			e.Next++
		}
		return "", nameless
	}
	first := e.Next
	if typ := e.typeName(); typ != "" && !e.Done() && e.Tokens[e.Next].Kind == sqltree.String { // DATE '2024-02-29'
		e.Next++
		return typ, weak
	}
	e.Next = first
	return e.named()
}

// bracketed reads (expression).
func (e *expression) bracketed() (string, strength) {
	inner := e.inBrackets()
	if len(inner) > 0 && isWord(e.SQL, inner[0], "select") {
		return "", nameless
	}
	return e.inner(inner).read()
}

// choice reads CASE, which has the name of what follows its ELSE, if that is strong.
func (e *expression) choice() (string, strength) {
	depth, otherwise := 0, -1
	for first := e.Next; !e.Done(); e.Next++ {
		switch {
		case e.Is(e.Next, "case"):
			depth++
		case depth == 1 && e.Is(e.Next, "else"):
			otherwise = e.Next + 1
		case e.Is(e.Next, "end"):
			depth--
		}
		if depth > 0 {
			continue
		}
		end := e.Next
		e.Next++
		if otherwise > first {
			if name, s := e.inner(e.Tokens[otherwise:end]).read(); s == strong {
				return name, s
			}
		}
		return "case", weak
	}
	return "", nameless
}

// castCall reads CAST(expression AS type).
func (e *expression) castCall() (string, strength) {
	e.Next++
	inner, depth := e.inBrackets(), 0
	for i, t := range inner {
		depth += t.Nesting(e.SQL)
		if depth == 0 && isWord(e.SQL, t, "as") {
			name, s := e.inner(inner[:i]).read()
			return e.inner(inner[i+1:]).cast(name, s)
		}
	}
	return "", nameless
}

// named reads a column or a call.
func (e *expression) named() (name string, s strength) {
	s = strong
	for {
		var err error
		if name, err = e.name(); err != nil {
			return "", nameless
		}
		if !e.Accept(".") {
			break
		}
	}
	if e.Is(e.Next, "(") {
		e.inBrackets()
		for e.Is(e.Next, "filter", "(") || e.Is(e.Next, "over", "(") {
			e.Next++
			e.inBrackets()
		}
		if e.Is(e.Next, "over") {
			e.Next += 2 // a window's name
		}
		if name == "grouping" || name == "row" {
			return "", nameless
		}
		name = strings.TrimPrefix(name, "compat_")
	}
	return name, s
}

// inBrackets reads what brackets enclose.
func (e *expression) inBrackets() []sqltree.Token {
	first, depth := e.Next+1, 0
	for !e.Done() {
		depth += e.Tokens[e.Next].Nesting(e.SQL)
		e.Next++
		if depth == 0 {
			return e.Tokens[first : e.Next-1]
		}
	}
	return nil
}

// typeName reads a type and returns its name in pg_type, or "" if there is no type. For a
// list it returns the name of the type of the elements.
func (e *expression) typeName() string {
	t, ok := e.AcceptName()
	for ok && e.Accept(".") {
		t, ok = e.AcceptName()
	}
	if !ok {
		return ""
	}
	name := t.Name(e.SQL)
	if t.Kind == sqltree.Ident {
		name = sqltree.Fold(name)
		switch {
		case name == "double":
			e.Accept("precision")
		case name == "bit" && e.Accept("varying"):
			name = "varbit"
		case slices.Contains([]string{"character", "char", "nchar"}, name) && e.Accept("varying"):
			name = "varchar"
		}
		if internal, ok := internalNames[name]; ok {
			name = internal
		}
	}
	if e.Is(e.Next, "(") {
		e.inBrackets()
	}
	switch {
	case e.Accept("with", "time", "zone"):
		name += "tz"
	case e.Accept("without", "time", "zone"):
	}
	for e.Is(e.Next, "[") {
		e.inBrackets()
	}
	return name
}

// internalNames are the names in pg_type of the types that are keywords.
var internalNames = map[string]string{
	"int": "int4", "integer": "int4", "smallint": "int2", "bigint": "int8", "real": "float4", "float": "float8",
	"double":  "float8",
	"decimal": "numeric", "dec": "numeric", "boolean": "bool", "character": "bpchar", "char": "bpchar", "nchar": "bpchar",
}
