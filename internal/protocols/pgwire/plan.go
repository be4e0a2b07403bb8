package pgwire

import (
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// plan is what is known of a statement by its text.
type plan struct {
	sql   string   // the client's
	given []uint32 // the types that the client gave to parameters; 0: unknown
	text  string   // what runs; "" for an empty statement
	start int      // where text begins in sql, if it is a part of it
	verb  string   // SELECT, INSERT, UPDATE, DELETE, EXPLAIN or COPY
	copies
	counted bool     // its one row is the number of rows it wrote
	command *command // nil: the engine runs it
	dialect dialect  // what PostgreSQL does otherwise

	params     []uint32          // the types of the parameters
	columns    []wire.Column     // of the result
	found      map[string]uint32 // see infer.Result
	described  bool
	files      bool   // the description is of files: any that was made before may be outdated
	generation uint64 // of the description
}

// newPlan makes the plan of a statement.
func newPlan(w *words, given []uint32, rewrite func(string) (string, bool),
	isCatalog func(string) bool,
) (*plan, error) {
	p := &plan{sql: w.SQL, given: given}
	tokens := w.Tokens
	for len(tokens) > 0 && w.Is(len(tokens)-1, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return p, nil
	}
	p.text = w.SQL[:tokens[len(tokens)-1].End]
	var err error
	w = &words{Cursor: sqltree.Cursor{SQL: p.text, Tokens: tokens}}
	if w.Accept("copy") {
		p.verb = "COPY"
		var c copyStatement
		c, err = parseCopy(w)
		p.text, p.start, p.copy, p.copyIn = c.query, c.start, c.out, c.in
	} else if p.command, err = parseCommand(w); p.command == nil {
		p.verb, p.counted = verbOf(p.text, tokens)
		p.dialect.titles = titlesOf(p.text, tokens)
		if len(tokens) == 2 && w.Is(0, "show") && tokens[1].IsName() {
			p.dialect.shown = tokens[1].Name(p.text)
		}
	}
	if err != nil || p.command != nil {
		return p, err
	}
	if p.copy == nil && p.copyIn == nil {
		p.text, p.dialect.empty = fill(p.text, tokens)
	}
	if text, rewritten := rewrite(p.text); rewritten {
		p.text, p.dialect.catalog = text, isCatalog(text)
	}
	return p, nil
}

// verbs are the words that begin a statement, and what it is called when it
// has run.
var verbs = map[string]string{
	"select": "SELECT", "from": "SELECT", "values": "SELECT", "table": "SELECT", "describe": "SELECT",
	"summarize": "SELECT",
	"show":      "SELECT", "pivot": "SELECT", "unpivot": "SELECT",
	"insert": "INSERT", "update": "UPDATE", "delete": "DELETE", "explain": "EXPLAIN",
}

// verbOf returns the verb of a statement, behind its WITH if it has one, and
// whether its result is a count: it writes, without RETURNING.
func verbOf(sql string, tokens []sqltree.Token) (verb string, counted bool) {
	verb, depth, name := "SELECT", 0, false
	found := false
	for i, t := range tokens {
		word := strings.ToLower(sql[t.Start:t.End])
		switch {
		case word == "(":
			depth++
		case word == ")":
			depth--
		case depth > 0 || t.Kind != sqltree.Ident:
			name = word == "," && depth == 0 // of a CTE
		case found:
			if word == "returning" {
				return verb, false
			}
		case i == 0 && word == "with", word == "recursive":
			name = true
		case name:
			name = false
		default:
			if known, ok := verbs[word]; ok {
				verb, found = known, true
			}
		}
	}
	return verb, writes(verb)
}

// writes reports whether the statement changes data.
func (p *plan) writes() bool { return writes(p.verb) || p.copyIn != nil }

func writes(verb string) bool { return verb == "INSERT" || verb == "UPDATE" || verb == "DELETE" }

// outdate drops a description of files: they may have been replaced since.
func (p *plan) outdate() { p.described = p.described && !p.files }

// renamed reports whether a column of a file has another name than was
// announced. The names of expressions with parameters depend on the parameters.
func (p *plan) renamed(announced, name string) bool {
	return p.files && announced != unnamed && announced != name &&
		(len(p.params) == 0 || plainName.MatchString(announced) && plainName.MatchString(name))
}

// unnamed is the name that DuckDB gives to a column that depends on parameters.
const unnamed = "unknown"

var plainName = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// changed drops the description and returns the error of a result with other columns.
func (p *plan) changed() error {
	p.described = false
	return wire.ErrChanged
}

// positioned is err with its position in the client's text, if that is what ran.
func (p *plan) positioned(err error) error {
	if e := asError(err); p.dialect.shown != "" && e.Code == sqlstate.NoTable {
		return sqlstate.Errorf(sqlstate.UnknownSetting, "SHOW ALL lists the settings, SHOW TABLES the tables",
			"unrecognized configuration parameter %q, and there is no table of that name", p.dialect.shown)
	}
	if !strings.HasPrefix(p.sql[p.start:], p.text) {
		return asError(err)
	}
	return positioned(err, p.sql, p.start)
}
