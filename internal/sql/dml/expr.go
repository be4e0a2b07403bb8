package dml

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// What DO UPDATE sets depends on rows that only the server of the table has: it evaluates
// the expressions, which are parsed here by a small grammar, never text of the caller.
// What has no column in it is a constant, which DuckDB evaluates.
//
//	expr:    expr {OR | AND | = | <> | != | < | > | <= | >= | || | + | - | *} expr
//	         NOT expr    expr IS [NOT] NULL    expr IS [NOT] DISTINCT FROM expr
//	         {coalesce | greatest | least} (expr, …)    (expr)    column    constant
//	column:  [excluded. | table.] name

// Expr is an expression over the columns of a row and of the row that an INSERT could
// not add.
type Expr struct {
	Op Op
	// Column is the column of [OpColumn] and [OpExcluded]; of [OpValue], the column whose
	// type the value has or is compared with, if there is one.
	Column string
	Args   []*Expr

	Text *string // of [OpValue]
	Type string  // of [OpValue], in DuckDB; "": that of the column
}

// Op is an operator or function, as SQL writes it in upper case, or one of the leaves.
type Op string

// The leaves of expressions, and the operators with one operand.
const (
	OpColumn    Op = "column"
	OpExcluded  Op = "excluded"
	OpValue     Op = "value"
	OpNot       Op = "NOT"
	OpIsNull    Op = "IS NULL"
	OpIsNotNull Op = "IS NOT NULL"
)

// binding has the operators with two operands and how strongly each binds.
var binding = map[Op]int{
	"OR": 1, "AND": 2, "IS DISTINCT FROM": 4, "IS NOT DISTINCT FROM": 4,
	"=": 5, "<>": 5, "<": 5, ">": 5, "<=": 5, ">=": 5, "||": 6, "+": 7, "-": 7, "*": 8,
}

const (
	bindsNot        = 3
	bindsIs         = 4
	bindsComparison = 5
)

// Function reports whether the operator is written as a function.
func (o Op) Function() bool { return o == "COALESCE" || o == "GREATEST" || o == "LEAST" }

const hintExpr = "columns, excluded.…, constants, + - * ||, comparisons, AND, OR, NOT, IS NULL, coalesce, greatest " +
	"and least can be used; compute others in the query of the INSERT"

// ExprParser parses the expressions of DO UPDATE.
type ExprParser struct {
	Judged *Judged
	// Name returns the name of a column of the table as the table has it; false if it has none.
	Name    func(written string) (string, bool)
	Columns []int // offsets of columns in the text; -1: one is elsewhere

	// Constants are the constants that were parsed, and Spans where they are.
	Constants []*Expr
	Spans     []sqltree.Span

	sqltree.Cursor
}

// Parse parses the expression of a span. Column is the column that it is for, "" for none. Errors
// are [*Error]s.
func (p *ExprParser) Parse(s sqltree.Span, column string) (*Expr, error) {
	var tokens []sqltree.Token
	for _, t := range sqltree.Scan(p.Judged.Text) {
		if t.Start >= s.Start && t.End <= s.End {
			tokens = append(tokens, t)
		}
	}
	p.Cursor = sqltree.Cursor{SQL: p.Judged.Text, Tokens: tokens}
	if p.constant(0, len(tokens)) {
		v := p.value(0, len(tokens))
		if v.Column = column; column != "" {
			v.Type = ""
		}
		return v, nil
	}
	e, err := p.expression(0)
	if err == nil && !p.Done() {
		err = p.refuse()
	}
	return e, err
}

// constant reports whether no column is in the tokens from first to before end.
func (p *ExprParser) constant(first, end int) bool {
	s := p.Span(first, end)
	return !slices.ContainsFunc(p.Columns, func(at int) bool { return at < 0 || at >= s.Start && at < s.End })
}

// value returns the constant of the tokens from first to before end.
func (p *ExprParser) value(first, end int) *Expr {
	v := &Expr{Op: OpValue, Type: "?"}
	p.Spans, p.Constants = append(p.Spans, p.Span(first, end)), append(p.Constants, v)
	return v
}

func (p *ExprParser) refuse() error {
	at := len(p.SQL)
	if !p.Done() {
		at = p.Tokens[p.Next].Start
	} else if len(p.Tokens) > 0 {
		at = p.Tokens[len(p.Tokens)-1].Start
	}
	return fail(errcode.Refused, at, hintExpr, "DO UPDATE cannot compute this for a table that is not DuckDB's")
}

// expression parses operators that bind more strongly than least.
func (p *ExprParser) expression(least int) (*Expr, error) {
	var left *Expr
	var err error
	if p.Accept("not") {
		if left, err = p.expression(bindsNot - 1); err == nil {
			left = &Expr{Op: OpNot, Args: []*Expr{left}}
		}
	} else {
		left, err = p.operand()
	}
	for err == nil {
		op, tokens := p.operator()
		binds := binding[op]
		if op == OpIsNull || op == OpIsNotNull {
			binds = bindsIs
		}
		if binds <= least {
			break
		}
		p.Next += tokens
		e := &Expr{Op: op, Args: []*Expr{left}}
		if binding[op] > 0 {
			var right *Expr
			if right, err = p.expression(binds); err != nil {
				break
			}
			e.Args = append(e.Args, right)
			if binds == bindsComparison || binds == bindsIs {
				e.relate()
			}
		}
		left = e
	}
	return left, err
}

// relate lets the constants among the operands know the column that they are compared
// with.
func (e *Expr) relate() {
	column := ""
	for _, arg := range e.Args {
		if arg.Op == OpColumn || arg.Op == OpExcluded {
			column = arg.Column
		}
	}
	for _, arg := range e.Args {
		if arg.Op == OpValue {
			arg.Column = column
		}
	}
}

// operator returns the operator that comes next, and how many tokens it has; "" if there
// is none.
func (p *ExprParser) operator() (Op, int) {
	for _, words := range [][]string{
		{"is", "not", "distinct", "from"}, {"is", "distinct", "from"}, {"is", "not", "null"}, {"is", "null"}, {"or"}, {"and"},
	} {
		if p.Is(p.Next, words...) {
			return Op(strings.ToUpper(strings.Join(words, " "))), len(words)
		}
	}
	end := p.Next
	for end < len(p.Tokens) && p.Tokens[end].Kind == sqltree.Symbol && strings.Contains("+-*/<>=~!@#%^&|", p.Text(end)) &&
		(end == p.Next || p.Tokens[end].Start == p.Tokens[end-1].End) {
		end++
	}
	if end == p.Next {
		return "", 0
	}
	s := p.Span(p.Next, end)
	op := Op(p.SQL[s.Start:s.End])
	if op == "!=" {
		op = "<>"
	}
	if binding[op] == 0 {
		return "", 0
	}
	return op, end - p.Next
}

// operand parses a bracket, a function, a column or a constant.
func (p *ExprParser) operand() (*Expr, error) {
	first := p.Next
	switch {
	case p.Done():
		return nil, p.refuse()
	case p.Is(first, "("):
		return p.bracket(first)
	case p.Tokens[first].IsName() && p.Is(first+1, "("):
		end := p.closing(first + 1)
		if p.constant(first, end) {
			p.Next = end
			return p.cast(first)
		}
		return p.function()
	case p.Tokens[first].Kind == sqltree.Number, p.Tokens[first].Kind == sqltree.String,
		p.Tokens[first].Kind == sqltree.Param, p.Tokens[first].Kind == sqltree.NamedParam,
		p.Is(first, "null"), p.Is(first, "true"), p.Is(first, "false"):
		p.Next++
		return p.cast(first)
	case p.Is(first, "-") && first+1 < len(p.Tokens) && p.Tokens[first+1].Kind == sqltree.Number:
		p.Next += 2
		return p.cast(first)
	case p.Tokens[first].IsName():
		return p.column()
	}
	return nil, p.refuse()
}

// bracket parses (expr), or a constant in brackets.
func (p *ExprParser) bracket(first int) (*Expr, error) {
	end := p.closing(first)
	if p.constant(first, end) {
		p.Next = end
		return p.cast(first)
	}
	p.Next++
	e, err := p.expression(0)
	if err == nil && !p.Accept(")") {
		err = p.refuse()
	}
	return e, err
}

// cast returns the constant from token first on, with ::type if that follows.
func (p *ExprParser) cast(first int) (*Expr, error) {
	for p.Accept("::") {
		if _, ok := p.AcceptName(); !ok {
			return nil, p.refuse()
		}
		if p.Is(p.Next, "(") {
			p.Next = p.closing(p.Next)
		}
	}
	return p.value(first, p.Next), nil
}

// closing returns the token after the bracket that token i opens.
func (p *ExprParser) closing(i int) int {
	depth := 0
	for ; i < len(p.Tokens); i++ {
		if depth += p.Tokens[i].Nesting(p.SQL); depth == 0 {
			return i + 1
		}
	}
	return i
}

func (p *ExprParser) function() (*Expr, error) {
	e := &Expr{Op: Op(strings.ToUpper(p.Tokens[p.Next].Name(p.SQL)))}
	if !e.Op.Function() {
		return nil, p.refuse()
	}
	p.Next += 2
	for {
		arg, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
		switch {
		case p.Accept(")"):
			e.relate()
			return e, nil
		case !p.Accept(","):
			return nil, p.refuse()
		}
	}
}

// column parses the name of a column of the row, or of excluded. DuckDB has bound it.
func (p *ExprParser) column() (*Expr, error) {
	first := p.Next
	p.Next++
	for p.Is(p.Next, ".") && p.Next+1 < len(p.Tokens) && p.Tokens[p.Next+1].IsName() {
		p.Next += 2
	}
	last := p.Next - 1
	name, ok := p.Name(p.Tokens[last].Name(p.SQL))
	if !ok {
		p.Next = first
		return nil, p.refuse()
	}
	e := &Expr{Op: OpColumn, Column: name}
	if last == first+2 && sqltree.Fold(p.Tokens[first].Name(p.SQL)) == Excluded {
		e.Op = OpExcluded
	}
	return e, nil
}

// With returns a copy of the expression with other leaves; nil is no expression.
func (e *Expr) With(leaves map[*Expr]*Expr) *Expr {
	if e == nil {
		return nil
	}
	if leaf := leaves[e]; leaf != nil {
		return leaf
	}
	out := *e
	out.Args = make([]*Expr, len(e.Args))
	for i, a := range e.Args {
		out.Args[i] = a.With(leaves)
	}
	return &out
}
