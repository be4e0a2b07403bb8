package engine

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// change is a parsed INSERT, UPDATE or DELETE. The span of a part that the
// statement does not have is zero.
type change struct {
	verb     verb
	target   sqltree.Relation // as written
	relation Relation         // as declared; set by base
	alias    string
	byName   bool            // INSERT … BY NAME
	columns  []sqltree.Token // of INSERT's list or of SET
	values   []sqltree.Span  // of SET, one for each column; zero: DEFAULT
	rows     sqltree.Span    // the query of an INSERT; zero: DEFAULT VALUES
	where    sqltree.Span
}

// verb is what a change does.
type verb string

const (
	verbInsert verb = "insert"
	verbUpdate verb = "update"
	verbDelete verb = "delete"
)

// changeParser reads the tokens of a change from left to right.
type changeParser struct {
	text     string
	tokens   []sqltree.Token
	next     int
	reserved map[string]bool
	change   change
}

// parseChange parses a statement by this grammar, in which a query and an expr
// are any tokens with balanced brackets:
//
//	INSERT INTO name [BY NAME] [(column, …)] {query | DEFAULT VALUES}
//	UPDATE name [[AS] alias] SET column = {expr | DEFAULT}, … [WHERE expr]
//	DELETE FROM name [[AS] alias] [WHERE expr]
func (b *Builtins) parseChange(text string, tokens []sqltree.Token) (*change, error) {
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(text, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	p := &changeParser{text: text, tokens: tokens, next: 1, reserved: b.reserved}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.change.verb = verb(sqltree.Fold(tokens[0].Text(text)))
	var err error
	switch p.change.verb {
	case verbInsert:
		err = p.insert()
	case verbUpdate:
		err = p.update()
	case verbDelete:
		err = p.remove()
	}
	return &p.change, err
}

// check refuses a text that is not one statement with every literal and bracket
// closed, or that has a clause outside the grammar.
func (p *changeParser) check() error {
	if all := sqltree.Scan(p.text + "\n;"); !all[len(all)-1].Is(p.text+"\n;", ";") {
		return p.fail(errcode.Parse, len(p.tokens)-1, "close it", "the statement ends inside a quoted text")
	}
	var open []string
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}
	for i, t := range p.tokens {
		word := t.Text(p.text)
		switch {
		case t.Kind == sqltree.Ident && len(open) == 0:
			if err := p.checkClause(i); err != nil {
				return err
			}
		case t.Kind != sqltree.Symbol:
		case word == ";":
			return p.fail(errcode.Refused, i, "send one statement at a time", "expected one statement, got more")
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
		return p.fail(errcode.Parse, len(p.tokens)-1, "", "syntax error: %q is missing at the end", open[len(open)-1])
	}
	return nil
}

// checkClause refuses a clause that begins at token i, outside of brackets.
func (p *changeParser) checkClause(i int) error {
	refuse := func(hint, clause string) error {
		return p.fail(errcode.Refused, i, hint, "%s is refused", clause)
	}
	at := func(word string) bool { return keyword(p.text, p.tokens, i, word) }
	after := func(word string) bool { return i > 0 && keyword(p.text, p.tokens, i-1, word) }
	switch changed := keyword(p.text, p.tokens, 0, string(verbUpdate)); {
	case at("returning") && !after("as") && !p.symbol(i-1, "."):
		return refuse("read the rows with a separate SELECT", "RETURNING")
	case at("conflict") && after("on") && (keyword(p.text, p.tokens, i+1, "do") || keyword(p.text, p.tokens, i+1, "on") || p.symbol(i+1, "(")):
		return refuse("read the existing rows first", "ON CONFLICT")
	case at("using") && keyword(p.text, p.tokens, 0, string(verbDelete)):
		return refuse("write WHERE … IN (SELECT …)", "DELETE … USING")
	case at("from") && changed && !after("distinct"):
		return refuse("write SET a = (SELECT … FROM …)", "UPDATE … FROM")
	case at("or") && i == 1:
		return refuse("read the existing rows first", "INSERT OR …")
	}
	return nil
}

func (p *changeParser) insert() error {
	if err := p.expect("into"); err != nil {
		return err
	}
	if err := p.name(); err != nil {
		return err
	}
	if p.accept("by") {
		if err := p.expect("name"); err != nil {
			return err
		}
		p.change.byName = true
	}
	p.columnList()
	if p.accept("default") {
		if err := p.expect("values"); err != nil {
			return err
		}
		return p.end()
	}
	if p.next == len(p.tokens) {
		return p.unexpected()
	}
	p.change.rows = p.span(p.next, len(p.tokens))
	return nil
}

// columnList reads (a, b). A bracket with anything else in it begins the
// query.
func (p *changeParser) columnList() {
	if !p.symbol(p.next, "(") {
		return
	}
	for i := p.next + 1; i+1 < len(p.tokens) && isName(p.tokens[i]); i += 2 {
		p.change.columns = append(p.change.columns, p.tokens[i])
		if p.symbol(i+1, ")") {
			p.next = i + 2
			return
		}
		if !p.symbol(i+1, ",") {
			break
		}
	}
	p.change.columns = nil
}

func (p *changeParser) update() error {
	if err := p.name(); err != nil {
		return err
	}
	if err := p.alias("set"); err != nil {
		return err
	}
	if err := p.expect("set"); err != nil {
		return err
	}
	for {
		if err := p.assignment(); err != nil {
			return err
		}
		if !p.symbol(p.next, ",") {
			return p.condition()
		}
		p.next++
	}
}

// assignment reads column = expr.
func (p *changeParser) assignment() error {
	if p.next >= len(p.tokens) || !isName(p.tokens[p.next]) {
		return p.unexpected()
	}
	column := p.tokens[p.next]
	p.next++
	if !p.symbol(p.next, "=") {
		return p.unexpected()
	}
	p.next++
	start := p.next
	value, err := p.expression()
	if err != nil {
		return err
	}
	if p.next == start+1 && keyword(p.text, p.tokens, start, "default") {
		value = sqltree.Span{}
	}
	p.change.columns, p.change.values = append(p.change.columns, column), append(p.change.values, value)
	return nil
}

func (p *changeParser) remove() error {
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

// condition reads an optional WHERE expr up to the end of the statement.
func (p *changeParser) condition() error {
	if !p.accept("where") {
		return p.end()
	}
	var err error
	if p.change.where, err = p.expression(); err != nil {
		return err
	}
	return p.end()
}

// expression reads up to a comma or WHERE outside of brackets.
func (p *changeParser) expression() (sqltree.Span, error) {
	start, depth := p.next, 0
	for ; p.next < len(p.tokens); p.next++ {
		switch word := p.tokens[p.next].Text(p.text); {
		case p.tokens[p.next].Kind == sqltree.Symbol && strings.Contains("([{", word):
			depth++
		case p.tokens[p.next].Kind == sqltree.Symbol && strings.Contains(")]}", word):
			depth--
		case depth == 0 && (p.symbol(p.next, ",") || keyword(p.text, p.tokens, p.next, "where")):
			if p.next == start {
				return sqltree.Span{}, p.unexpected()
			}
			return p.span(start, p.next), nil
		}
	}
	if p.next == start {
		return sqltree.Span{}, p.unexpected()
	}
	return p.span(start, p.next), nil
}

// name reads the target: name, schema.name or catalog.schema.name.
func (p *changeParser) name() error {
	var parts []string
	first := p.next
	for {
		if p.next >= len(p.tokens) || !isName(p.tokens[p.next]) || len(parts) == 3 {
			return p.unexpected()
		}
		parts = append(parts, p.tokens[p.next].Name(p.text))
		p.next++
		if !p.symbol(p.next, ".") {
			break
		}
		p.next++
	}
	catalog, schema, table := pathOf(parts)
	p.change.target = sqltree.Relation{Catalog: catalog, Schema: schema, Name: table, Offset: p.tokens[first].Start}
	return nil
}

// alias reads [AS] alias, if the keyword that may follow does not come first.
func (p *changeParser) alias(before string) error {
	explicit := p.accept("as")
	if !explicit && (p.next >= len(p.tokens) || keyword(p.text, p.tokens, p.next, before)) {
		return nil
	}
	if p.next >= len(p.tokens) || !isName(p.tokens[p.next]) {
		return p.unexpected()
	}
	t := p.tokens[p.next]
	if t.Kind == sqltree.Ident && p.reserved[sqltree.Fold(t.Text(p.text))] {
		return p.unexpected()
	}
	p.change.alias = t.Name(p.text)
	p.next++
	return nil
}

func (p *changeParser) end() error {
	if p.next < len(p.tokens) {
		return p.unexpected()
	}
	return nil
}

func (p *changeParser) expect(word string) error {
	if !p.accept(word) {
		return p.unexpected()
	}
	return nil
}

func (p *changeParser) accept(word string) bool {
	ok := keyword(p.text, p.tokens, p.next, word)
	if ok {
		p.next++
	}
	return ok
}

func (p *changeParser) symbol(i int, s string) bool {
	return i >= 0 && i < len(p.tokens) && p.tokens[i].Is(p.text, s)
}

// span is the text of the tokens from first to before end.
func (p *changeParser) span(first, end int) sqltree.Span {
	return sqltree.Span{Start: p.tokens[first].Start, End: p.tokens[end-1].End}
}

// unexpected is the error at the next token.
func (p *changeParser) unexpected() error {
	if p.next >= len(p.tokens) {
		return newError(errcode.Parse, hintChange, "syntax error at end of input").at(p.text, p.tokens[len(p.tokens)-1].End)
	}
	return p.fail(errcode.Parse, p.next, hintChange, "syntax error at or near %q", p.tokens[p.next].Text(p.text))
}

func (p *changeParser) fail(code errcode.Code, token int, hint, format string, args ...any) error {
	return newError(code, hint, format, args...).at(p.text, p.tokens[token].Start)
}

func isName(t sqltree.Token) bool { return t.Kind == sqltree.Ident || t.Kind == sqltree.QuotedIdent }
