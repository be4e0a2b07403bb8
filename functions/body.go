package functions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// parsed is DuckDB's parse of a body within the text that makes it a statement.
// Offsets in st and tokens are those of text.
type parsed struct {
	text   string
	start  int // of the body in text
	length int // of the body
	st     *sqltree.Statement
	tokens []sqltree.Token
}

// body is the SQL of a function, which can be rendered for any [Target].
type body struct {
	text     string
	declared func(int) int // maps its offsets to the declared body; nil: they are equal, see ctes.go
	edits    []edit
	parsed   *parsed
	subquery bool // it has one itself
	// inPlace are the edits that put the arguments into the direct form, in addition to edits; nil
	// if there is no such form.
	inPlace []edit
	args    []edit  // the columns that name arguments; text is their name. nil: not all are known
	outer   *outer  // nil if the body is not one query with a WHERE, see cachedform.go
	lookup  *lookup // nil if calls share a statement only by reading everything
}

// edit replaces a part of the body with text, in which the published name of a
// function becomes the target's, or with the name of a relation.
type edit struct {
	sqltree.Span
	text     string
	function string // as declared, "" for none
	relation *engine.Relation
	literal  bool // the relation's name is a string, for query_table
	// reference is how the body refers to the relation, nil if only the relation itself can
	// be there.
	reference *sqltree.Relation
	inner     bool // an argument in a subquery
}

// render returns the body for a target, and a function that maps its offsets to
// those of the declared body.
func (b *body) render(t Target) (string, func(int) int) {
	return b.renderEdits(t, b.edits)
}

func (b *body) renderEdits(t Target, all []edit) (string, func(int) int) {
	edits := make([]sqltree.Edit, len(all))
	for i, e := range all {
		edits[i] = sqltree.Edit{Span: e.Span, New: e.text}
		switch {
		case e.function != "":
			edits[i].New = strings.Replace(e.text, engine.Qualified(engine.Public, e.function),
				t.function(public, e.function, fold(e.function)), 1)
		case e.relation != nil && e.literal:
			if name, ok := t.relations[*e.relation]; ok {
				edits[i].New = engine.Literal(name)
			}
		case e.relation != nil:
			edits[i].New = t.relation(*e.relation)
		}
	}
	return sqltree.Apply(b.text, edits)
}

// callOffset is the offset at which the body calls the function, or -1.
func (b *body) callOffset(name string) int {
	if b.parsed == nil { // it is not SQL
		return -1
	}
	for _, c := range b.parsed.st.Calls {
		if fold(c.Name) == fold(name) {
			return b.inDeclared(c.Offset - b.parsed.start)
		}
	}
	return -1
}

// bodyText is the body without a semicolon at the end, which users often write.
func bodyText(text string) string {
	tokens := sqltree.Scan(text)
	end := len(text)
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(text, ";") {
		end = tokens[len(tokens)-1].Start
		tokens = tokens[:len(tokens)-1]
	}
	return text[:end]
}

// problemAt is a problem at a byte of the body.
type problemAt struct {
	offset        int
	message, hint string
	missing       string // the function that is not there, when that is the problem
	waits         string // the component that it calls and that has a fault, when that is the problem
}

func (p *problemAt) Error() string { return p.message }

func at(offset int, message, hint string) *problemAt {
	return &problemAt{offset: offset, message: message, hint: hint}
}

// parse parses prefix + body + suffix; an error has its offset in the body.
func parse(ctx context.Context, db *engine.DB, prefix, text, suffix string) (*parsed, error) {
	p := &parsed{text: prefix + text + suffix, start: len(prefix), length: len(text)}
	st, err := db.Parse(ctx, p.text)
	if err != nil {
		return nil, p.bodyError(err)
	}
	for i := range st.Calls {
		st.Calls[i].Entry = false // it names no column
	}
	p.st, p.tokens = st, sqltree.Scan(p.text)
	return p, nil
}

// bodyError moves an engine's error about p.text to the body.
func (p *parsed) bodyError(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Offset >= p.start+p.length { // in the suffix
		return at(p.length, "it ends too early", "")
	}
	return at(p.offset(e.Offset), e.Message, e.Hint)
}

// offset converts an offset of p.text to one of the body.
func (p *parsed) offset(of int) int { return min(max(of-p.start, 0), p.length) }

// parse parses the text of the body.
func (f *Function) parse(ctx context.Context, db *engine.DB) (err error) {
	if f.IsTable() {
		f.body.parsed, err = parseTable(ctx, db, f.body.text, f.inputs())
	} else {
		f.body.parsed, err = parseScalar(ctx, db, f.body.text)
	}
	return err
}

const exprAdvice = "The body must be a single SQL expression using the function's argument names."

// parseScalar parses the body of a scalar function and refuses anything but one
// expression. The body is parsed in the brackets in which it is created. The tokens
// show what closes the brackets early, and a list of expressions, which would
// become a row.
func parseScalar(ctx context.Context, db *engine.DB, text string) (*parsed, error) {
	if offset := outside(text); offset >= 0 {
		return nil, moreThanOne(offset)
	}
	p, err := parse(ctx, db, "SELECT (\n", text, "\n)")
	if err != nil {
		return nil, notExpression(err)
	}
	shape := p.st.Shape
	if !shape.Plain || shape.From || shape.Columns != 1 || shape.Alias || shape.Star {
		return nil, moreThanOne(0)
	}
	return p, nil
}

func moreThanOne(offset int) error {
	return at(offset, "failed to parse function body as a SQL expression: it is more than one expression. "+exprAdvice,
		"put a query in parentheses: (SELECT max(v) FROM t)")
}

// outside returns the offset of the first comma or closing bracket outside all
// brackets of text, or of the first word of a query, or -1.
func outside(text string) int {
	depth := 0
	for i, t := range sqltree.Scan(text) {
		if i == 0 && t.Kind == sqltree.Ident && queryWords[fold(t.Text(text))] {
			return t.Start
		}
		depth += t.Nesting(text)
		if depth < 0 || depth == 0 && t.Is(text, ",") {
			return t.Start
		}
	}
	return -1
}

func notExpression(err error) error {
	var p *problemAt
	if !errors.As(err, &p) {
		return err
	}
	return at(p.offset, "failed to parse function body as a SQL expression: "+p.message+". "+exprAdvice,
		cmp.Or(p.hint, "write one expression, such as x + 1, or a query in parentheses: (SELECT max(v) FROM t)"))
}

// quoteReserved adds a hint to the error of a body that uses an argument with a reserved
// name.
func quoteReserved(f *Function, err error) error {
	names := make([]string, len(f.Args))
	for i, a := range f.Args {
		names[i] = a.Name
	}
	var p *problemAt
	if word := sqltree.Reserved(f.body.text, names); word != "" && errors.As(err, &p) {
		return at(p.offset, p.message,
			fmt.Sprintf("the argument %s has the name of a reserved word: write it in quotes, %q", word, word))
	}
	return err
}

// parseTable parses the body of a table function, with its inputs as CTEs.
func parseTable(ctx context.Context, db *engine.DB, text string, inputs []string) (*parsed, error) {
	if _, err := parse(ctx, db, "", text, ""); err != nil {
		return nil, notQuery(text, err)
	}
	var prefix strings.Builder
	for i, name := range inputs {
		prefix.WriteString([]string{"WITH ", ", "}[min(i, 1)] + engine.Identifier(name) + " AS (SELECT 1)")
	}
	p, err := parse(ctx, db, prefix.String()+" SELECT * FROM (\n", text, "\n)")
	if err != nil {
		return nil, notQuery(text, err)
	}
	if len(p.st.Shows) > 0 {
		return nil, at(0, "SQL table function body must be a single SELECT query: expected a SELECT query", "")
	}
	return p, nil
}

func notQuery(text string, err error) error {
	var p *problemAt
	if !errors.As(err, &p) {
		return err
	}
	tokens := sqltree.Scan(text)
	statements := 1
	for _, t := range tokens {
		if t.Is(text, ";") {
			statements++
		}
	}
	switch {
	case statements > 1 && len(tokens) > 0:
		return at(p.offset, "SQL table function body must be a single SELECT query: expected one statement, got "+
			itoa(statements), "keep one SELECT")
	case len(tokens) > 0 && tokens[0].Kind == sqltree.Ident && !queryWords[fold(tokens[0].Text(text))]:
		return at(tokens[0].Start, "SQL table function body must be a single SELECT query: expected a SELECT query",
			"begin with SELECT or WITH")
	}
	return at(p.offset, "failed to parse SQL table function body: "+p.message, p.hint)
}

var queryWords = map[string]bool{"select": true, "with": true, "from": true, "values": true, "table": true}

// bodyProblem converts err, about the body of f, to a problem in the Spicepod.
func (f *Function) bodyProblem(pod *spicepod.Pod, err error) spicepod.Problem {
	var p *problemAt
	if !errors.As(err, &p) {
		p = at(0, err.Error(), "")
	}
	hint := nearest.Hint(p.missing, callable(pod, p.missing), p.hint)
	problem := pod.TextProblem(f.Path+".body", f.body.inDeclared(max(p.offset, 0)), p.message, hint)
	problem.Component = "function " + f.Name
	if p.waits != "" {
		problem = problem.Waits(p.waits, "calls")
	}
	return problem
}

// callable returns the names that may be meant by missing: declared functions, those of
// the prelude and DuckDB's.
func callable(pod *spicepod.Pod, missing string) []string {
	if missing == "" {
		return nil
	}
	names := slices.Concat(preludeNames, engine.BuiltinNames())
	for i := range pod.Functions {
		names = append(names, pod.Functions[i].Name)
	}
	return names
}
