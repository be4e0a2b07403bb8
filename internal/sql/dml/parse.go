package dml

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Statement is a parsed INSERT, UPDATE or DELETE. The span of a part that the statement does not
// have is zero.
type Statement struct {
	Verb     Verb
	Target   sqltree.Relation // as written
	Alias    string           // "": none was written; the caller sets it to the name of the table
	ByName   bool             // INSERT … BY NAME
	Columns  []sqltree.Token  // of INSERT's list
	Rows     sqltree.Span     // the query of an INSERT; zero: DEFAULT VALUES
	Conflict Conflict         // what an INSERT does with rows that are there
	Keys     []sqltree.Token  // of ON CONFLICT
	Set      []sqltree.Token  // the columns of SET
	Values   []sqltree.Span   // of SET, one for each column; zero: DEFAULT
	Where    sqltree.Span

	Returning sqltree.Span
}

// Conflict is the action of ON CONFLICT.
type Conflict string

// The actions of ON CONFLICT.
const (
	ConflictFails   Conflict = "" // no ON CONFLICT
	ConflictNothing Conflict = "DO NOTHING"
	ConflictUpdate  Conflict = "DO UPDATE"
)

// Verb is what a statement does with rows.
type Verb string

// The verbs.
const (
	VerbInsert Verb = "insert"
	VerbUpdate Verb = "update"
	VerbDelete Verb = "delete"
)

// parser reads the tokens of a statement from left to right.
type parser struct {
	sqltree.Cursor
	reserved  map[string]bool
	statement Statement
}

// Parse parses a statement by this grammar, in which a query and an expr
// are any tokens with balanced brackets:
//
//	INSERT INTO name [AS alias] [BY NAME] [(column, …)] {query | DEFAULT VALUES}
//		[ON CONFLICT [(column, …)] DO {NOTHING | UPDATE SET column = {expr | DEFAULT}, … [WHERE expr]}] [RETURNING list]
//	UPDATE name [[AS] alias] SET column = {expr | DEFAULT}, … [WHERE expr] [RETURNING list]
//	DELETE FROM name [[AS] alias] [WHERE expr] [RETURNING list]
//
// reserved are the words, in lower case, that no alias has without quotes. Errors are [*Error]s.
func Parse(text string, tokens []sqltree.Token, reserved map[string]bool) (*Statement, error) {
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(text, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	p := &parser{Cursor: sqltree.Cursor{SQL: text, Tokens: tokens, Next: 1}, reserved: reserved}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.statement.Verb = Verb(sqltree.Fold(tokens[0].Text(text)))
	var err error
	switch p.statement.Verb {
	case VerbInsert:
		err = p.insert()
	case VerbUpdate:
		err = p.update()
	case VerbDelete:
		err = p.remove()
	}
	return &p.statement, err
}

// check refuses a text that is not one statement with every literal and bracket
// closed, or that has a clause outside the grammar.
func (p *parser) check() error {
	if all := sqltree.Scan(p.SQL + "\n;"); !all[len(all)-1].Is(p.SQL+"\n;", ";") {
		return p.fail(errcode.Parse, len(p.Tokens)-1, "close it", "the statement ends inside a quoted text")
	}
	var open []string
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}
	for i, t := range p.Tokens {
		word := t.Text(p.SQL)
		switch {
		case t.Kind == sqltree.Ident && len(open) == 0:
			if err := p.checkClause(i); err != nil {
				return err
			}
		case t.Kind != sqltree.Symbol:
		case word == ";":
			return p.fail(errcode.Parse, i, "send one statement at a time", "expected one statement, got more")
		case closing[word] != "":
			open = append(open, closing[word])
		case word == ")" || word == "]" || word == "}":
			if len(open) == 0 || open[len(open)-1] != word {
				return p.fail(errcode.Parse, i, "", "syntax error at or near %q", word)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return p.fail(errcode.Parse, len(p.Tokens)-1, "", "syntax error: %q is missing at the end", open[len(open)-1])
	}
	return nil
}

// checkClause refuses a clause that begins at token i, outside of brackets.
func (p *parser) checkClause(i int) error {
	refuse := func(hint, clause string) error {
		return p.fail(errcode.Refused, i, hint, "%s is refused", clause)
	}
	at := func(word string) bool { return p.Is(i, word) }
	after := func(word string) bool { return i > 0 && p.Is(i-1, word) }
	switch changed := p.Is(0, string(VerbUpdate)); {
	case at("on") && p.conflictAt(i) && p.Is(i+2, "on"):
		return refuse("write ON CONFLICT (column, …)", "ON CONFLICT ON CONSTRAINT")
	case at("using") && p.Is(0, string(VerbDelete)):
		return refuse("write WHERE … IN (SELECT …)", "DELETE … USING")
	case at("from") && changed && !after("distinct"):
		return refuse("write SET a = (SELECT … FROM …)", "UPDATE … FROM")
	case at("or") && i == 1:
		return refuse("write ON CONFLICT DO NOTHING or DO UPDATE", "INSERT OR …")
	}
	return nil
}

func (p *parser) insert() error {
	if err := p.expect("into"); err != nil {
		return err
	}
	if err := p.name(); err != nil {
		return err
	}
	if p.Is(p.Next, "as") {
		if err := p.alias(""); err != nil {
			return err
		}
	}
	if p.Accept("by") {
		if err := p.expect("name"); err != nil {
			return err
		}
		p.statement.ByName = true
	}
	p.statement.Columns = p.columnList()
	if p.Accept("default") {
		if err := p.expect("values"); err != nil {
			return err
		}
		return p.onConflict()
	}
	start := p.Next
	p.skip(func() bool { return p.conflictAt(p.Next) })
	if p.Next == start {
		return p.unexpected()
	}
	p.statement.Rows = p.Span(start, p.Next)
	return p.onConflict()
}

// columnList reads (a, b). A bracket with anything else in it begins the
// query.
func (p *parser) columnList() (columns []sqltree.Token) {
	if !p.Is(p.Next, "(") {
		return nil
	}
	for i := p.Next + 1; i+1 < len(p.Tokens) && p.Tokens[i].IsName(); i += 2 {
		columns = append(columns, p.Tokens[i])
		if p.Is(i+1, ")") {
			p.Next = i + 2
			return columns
		}
		if !p.Is(i+1, ",") {
			break
		}
	}
	return nil
}

// conflictAt reports whether ON CONFLICT begins at token i. ON conflict (…) of a
// join is taken for one, too.
func (p *parser) conflictAt(i int) bool {
	return p.Is(i, "on") && p.Is(i+1, "conflict") && (p.Is(i+2, "do") || p.Is(i+2, "on") || p.Is(i+2, "("))
}

// onConflict reads an optional ON CONFLICT and RETURNING.
func (p *parser) onConflict() error {
	if !p.conflictAt(p.Next) {
		return p.returning()
	}
	p.Next += 2
	if p.Is(p.Next, "(") {
		if p.statement.Keys = p.columnList(); p.statement.Keys == nil {
			return p.unexpected()
		}
	}
	if err := p.expect("do"); err != nil {
		return err
	}
	if p.Accept("nothing") {
		p.statement.Conflict = ConflictNothing
		return p.returning()
	}
	if err := p.expect("update"); err != nil {
		return err
	}
	p.statement.Conflict = ConflictUpdate
	return p.assignments()
}

// returning reads an optional RETURNING list up to the end of the statement.
func (p *parser) returning() error {
	if !p.returningAt() {
		return p.end()
	}
	p.Next++
	if p.Done() {
		return p.unexpected()
	}
	for i := p.Next; i < len(p.Tokens); i++ {
		if p.Tokens[i].Kind == sqltree.Param && p.Text(i) == "?" {
			return p.fail(errcode.Refused, i, "write $1, $2, … in the whole statement", "a parameter ? in RETURNING is refused")
		}
	}
	p.statement.Returning = p.Span(p.Next, len(p.Tokens))
	p.Next = len(p.Tokens)
	return nil
}

// returningAt reports whether the next token is RETURNING, which is a reserved word.
func (p *parser) returningAt() bool {
	return p.Is(p.Next, "returning") && p.Tokens[p.Next].Kind == sqltree.Ident && !p.Is(p.Next-1, "as") &&
		!p.Is(p.Next-1, ".")
}

func (p *parser) update() error {
	if err := p.name(); err != nil {
		return err
	}
	if err := p.alias("set"); err != nil {
		return err
	}
	return p.assignments()
}

// assignments reads SET column = {expr | DEFAULT}, … and what may follow.
func (p *parser) assignments() error {
	if err := p.expect("set"); err != nil {
		return err
	}
	for {
		if err := p.assignment(); err != nil {
			return err
		}
		if !p.Is(p.Next, ",") {
			return p.condition()
		}
		p.Next++
	}
}

// assignment reads column = expr.
func (p *parser) assignment() error {
	if p.Done() || !p.Tokens[p.Next].IsName() {
		return p.unexpected()
	}
	column := p.Tokens[p.Next]
	p.Next++
	if !p.Is(p.Next, "=") {
		return p.unexpected()
	}
	p.Next++
	start := p.Next
	value, err := p.expression()
	if err != nil {
		return err
	}
	if p.Next == start+1 && p.Is(start, "default") {
		value = sqltree.Span{}
	}
	p.statement.Set, p.statement.Values = append(p.statement.Set, column), append(p.statement.Values, value)
	return nil
}

func (p *parser) remove() error {
	if err := p.expect("from"); err != nil {
		return err
	}
	if err := p.name(); err != nil {
		return err
	}
	if err := p.alias("where"); err != nil {
		return err
	}
	return p.condition()
}

// condition reads an optional WHERE expr and RETURNING.
func (p *parser) condition() error {
	if !p.Accept("where") {
		return p.returning()
	}
	var err error
	if p.statement.Where, err = p.expression(); err != nil {
		return err
	}
	return p.returning()
}

// expression reads up to a comma or WHERE outside of brackets.
func (p *parser) expression() (sqltree.Span, error) {
	start := p.Next
	p.skip(func() bool { return p.Is(p.Next, ",") || p.Is(p.Next, "where") })
	if p.Next == start {
		return sqltree.Span{}, p.unexpected()
	}
	return p.Span(start, p.Next), nil
}

// skip goes to RETURNING, or to where stop reports true, outside of brackets.
func (p *parser) skip(stop func() bool) {
	for depth := 0; !p.Done(); p.Next++ {
		symbol := p.Tokens[p.Next].Kind == sqltree.Symbol
		switch word := p.Text(p.Next); {
		case symbol && strings.Contains("([{", word):
			depth++
		case symbol && strings.Contains(")]}", word):
			depth--
		case depth == 0 && (stop() || p.returningAt()):
			return
		}
	}
}

// name reads the target: name, schema.name or catalog.schema.name.
func (p *parser) name() error {
	var parts []string
	first := p.Next
	for {
		if p.Done() || !p.Tokens[p.Next].IsName() || len(parts) == 3 {
			return p.unexpected()
		}
		parts = append(parts, p.Tokens[p.Next].Name(p.SQL))
		p.Next++
		if !p.Is(p.Next, ".") {
			break
		}
		p.Next++
	}
	parts = append(make([]string, 3-len(parts)), parts...)
	p.statement.Target = sqltree.Relation{
		Catalog: parts[0], Schema: parts[1], Name: parts[2],
		Offset: p.Tokens[first].Start,
	}
	return nil
}

// alias reads [AS] alias, if the keyword that may follow does not come first.
func (p *parser) alias(before string) error {
	explicit := p.Accept("as")
	if !explicit && (p.Done() || p.Is(p.Next, before) || p.returningAt()) {
		return nil
	}
	if p.Done() || !p.Tokens[p.Next].IsName() {
		return p.unexpected()
	}
	t := p.Tokens[p.Next]
	if t.Kind == sqltree.Ident && p.reserved[sqltree.Fold(t.Text(p.SQL))] {
		return p.unexpected()
	}
	p.statement.Alias = t.Name(p.SQL)
	p.Next++
	return nil
}

func (p *parser) end() error {
	if !p.Done() {
		return p.unexpected()
	}
	return nil
}

func (p *parser) expect(word string) error {
	if !p.Accept(word) {
		return p.unexpected()
	}
	return nil
}

// unexpected is the error at the next token.
func (p *parser) unexpected() error {
	if p.Done() {
		return fail(errcode.Parse, p.Tokens[len(p.Tokens)-1].End, hintForms, "syntax error at end of input")
	}
	return p.fail(errcode.Parse, p.Next, hintForms, "syntax error at or near %q", p.Text(p.Next))
}

func (p *parser) fail(code errcode.Code, token int, hint, format string, args ...any) error {
	return fail(code, p.Tokens[token].Start, hint, format, args...)
}
