package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// The guard judges a statement by DuckDB's own parse tree, never by its text: one
// statement, SELECT-like, only declared relations, no function that accesses
// files, the network, settings or other SQL. It also makes a declared function
// behave like a built-in one (docs/decisions): a literal or parameter argument
// gets the cast that DuckDB gives it for its own functions, and an argument that
// changes with each evaluation is bound once per call.

// verdict describes a statement that may run.
type verdict struct {
	text   string        // what DuckDB gets
	origin func(int) int // offset in text → offset in the caller's statement
	called
	traits Traits
	// explain is what precedes the statement in text, such as "EXPLAIN ANALYZE "; else "".
	explain string
	write   bool // it is an INSERT, UPDATE or DELETE
	writeTarget

	hidden bool // it calls functions that are hidden from the caller, by names that no function has

	over *sqltree.LimitError // it is over a limit of the runtime's process; else nil

	alone bool // it is a call of [Function.Alone], or has an [Input.Alone]
	input bool // it has a [Request.Input]
	parameters
	workerNeeds
	// waits is what the statement may have to wait for.
	waits waits
	// failed is [Contents.Failed] of a statement that reads files; else nil.
	failed func(*Error) *Error
}

// callSite is a call of a declared function, by its offset in the statement.
type callSite struct {
	offset   int
	function *Function
}

// judge judges one text. It has what all of its steps need: the connection that parses, the
// catalog, the request and the names that its caller may use, and the stored results that the
// statement reads, which it holds.
type judge struct {
	db    *DB
	c     *conn
	cat   *Catalog
	req   Request
	names Names
	held  *held
}

// judgeText returns the verdict on the request's statement under cat, without what depends on
// approvals. h then holds the stored results that the statement reads.
//
// A verdict that is cached serves every caller who may name every relation. It must therefore
// depend on the text, the catalog and the kinds of the parameters alone: a verdict on a statement
// with restricted names, stored results or hidden functions is made for its request. What reaches
// DuckDB is never the caller's text: it is composed of parts that were judged, and the offsets of
// the verdict and of errors are mapped back to that text.
func (db *DB) judgeText(ctx context.Context, c *conn, cat *Catalog, req Request, h *held) (*verdict, error) {
	hides := cat.hides(ctx, &req)
	sharable := req.Allow == nil
	if v := cat.verdictFor(req.SQL, &req); sharable && v != nil && v.serves(&req) && !v.callsHidden(hides) {
		return v, nil
	}
	tokens, err := db.checkText(req.SQL)
	if err != nil {
		return nil, err
	}
	explain, start, err := explainPrefix(req.SQL, tokens)
	if err != nil {
		return nil, err
	}
	g := &judge{db, c, cat, req, cat.namesFor(req, hides), h}
	text, relocate, err := db.prepareText(c, cat, g.names, req.SQL, tokens, start)
	if err != nil {
		return nil, err
	}
	var v *verdict
	if explain == "" && dml.Begins(req.SQL, tokens) {
		v, err = g.change(ctx, text)
	} else {
		v, err = g.query(ctx, text, explain)
	}
	if err != nil {
		return nil, moveError(err, req.SQL, relocate)
	}
	if explain != "" && v.traits.Protected {
		return nil, NewError(errcode.Refused, "run the statement itself",
			"EXPLAIN is refused for tables with a row filter or a column mask: a plan reveals hidden rows").at(req.SQL,
			tokens[0].Start)
	}
	v = v.moved(relocate)
	v.input = req.Input != nil
	if sharable && len(h.tables) == 0 && !v.hidden {
		cat.cache(req.SQL, v)
	}
	return v, nil
}

// serves reports whether a cached verdict is one on the request, too.
func (v *verdict) serves(req *Request) bool {
	return (req.Write || !v.write) && v.input == (req.Input != nil)
}

// query judges a text that only reads, without the prefix EXPLAIN that it has, or "". Offsets in
// the verdict and in errors are offsets in text.
func (g *judge) query(ctx context.Context, text, explain string) (*verdict, error) {
	given := g.req.given()
	st, edits, wrote, err := g.db.examine(ctx, g.c, g.names, text, inStatement, given, g.held)
	if err != nil {
		return nil, err
	}
	if g.req.Allow != nil && len(st.Shows) > 0 {
		return nil, NewError(errcode.Refused, "query the tables by name",
			"SHOW TABLES is refused to callers who may not read every table")
	}
	st, hidden := withoutHidden(st, g.names)
	edited, origin := sqltree.Apply(text, edits)
	input := g.req.Input
	v := &verdict{
		text: explain + edited, explain: explain,
		origin: func(offset int) int { return origin(max(offset-len(explain), 0)) },
		called: callsOf(st, g.cat, unmoved), hidden: hidden, over: st.Over,
		traits: g.db.traits(text, st, g.cat), alone: (wrote.alone || input != nil && input.Alone) && explain == "",
		parameters: parameters{wrote.params, given.kinds(wrote.params), wrote.types},
	}
	v.traits.Volatile = v.traits.Volatile || len(g.held.tables) > 0 || explain != "" // ANALYZE returns times
	if v.callsConditional() || len(v.gated) > 0 {
		v.traits.Caller, v.traits.Volatile = true, true // not to be cached
	}
	if len(st.Shows) == 0 && input == nil {
		here := explain == "" && len(edited) <= maxLookUp && g.cat.readsHere(st)
		v.workerNeeds = workerNeeds{g.cat.dependencies(st), g.cat.conditions(st), here}
	}
	if g.cat.contents.Open != nil {
		v.waits = g.cat.waits(st)
	}
	if failed := g.cat.contents.Failed; failed != nil && v.traits.Files {
		relations, functions := g.cat.named(st)
		v.failed = func(e *Error) *Error { return failed(relations, functions, e) }
	}
	return v, nil
}

// examine returns the parse tree of text, if all of it may run, the edits to apply
// before it runs, and what these write. given is nil if the values of parameters are not
// known. h then holds the stored results that it reads.
func (db *DB) examine(ctx context.Context, c *conn, names Names, text string, in usage, given *Params,
	h *held,
) (*sqltree.Statement, []sqltree.Edit, written, error) {
	st, err := parse(c, text, names)
	if err != nil {
		return nil, nil, written{}, err
	}
	edits, wrote, err := db.check(text, st, names, in)
	if err != nil {
		return nil, nil, written{}, err
	}
	refs, err := h.resolve(ctx, db.refs.Load(), text, st)
	if err != nil {
		return nil, nil, written{}, err
	}
	if len(refs) > 0 {
		apart := true
		if edits, apart = sqltree.Merge(edits, refs); !apart {
			return nil, nil, written{},
				NewError(errcode.Argument, "read it in a CTE: WITH r AS (FROM ref('r_…')) …",
					"ref cannot be used in a subquery for a table argument").at(text, 0)
		}
	}
	keyed, macros, params := db.byKey(text, st, names, given)
	wrote.params = params
	if all, apart := sqltree.Merge(edits, keyed); apart && len(keyed) > 0 {
		edits, wrote.keys = all, macros
	}
	if len(edits) == 0 {
		return st, nil, wrote, nil
	}
	edited, _ := sqltree.Apply(text, edits)
	return st, edits, wrote, db.verify(c, edited, names, wrote, h)
}

// verify judges the edited text: an edit at a wrong position could turn part of a
// literal into code. wrote is what the edits wrote.
func (db *DB) verify(c *conn, text string, names Names, wrote written, h *held) error {
	other := NewError(errcode.Refused, "simplify its literals and its calls of declared functions",
		"the statement is ambiguous")
	st, err := parse(c, text, names)
	var judged *Error
	switch {
	case errors.As(err, &judged) && judged.nesting: // with the subqueries of the edits
		return NewError(judged.Code, judged.Hint, "%s", judged.Message)
	case errors.As(err, &judged):
		return other
	case err != nil:
		return err
	}
	if checkHidden(text, st) != nil {
		return other
	}
	for _, r := range st.Relations {
		if !h.has(r) && checkRelation(text, r, names) != nil {
			return other
		}
	}
	var found written
	for _, call := range st.Calls {
		if !db.verifyCall(text, call, names, &found) {
			return other
		}
	}
	if !sameNames(found.tables, wrote.tables) || !sameNames(found.direct, wrote.direct) ||
		!sameNames(found.keys, wrote.keys) {
		return other
	}
	return nil
}

// verifyCall adds to found what a call of the edited text names. It reports whether the call may run.
func (db *DB) verifyCall(text string, call sqltree.Call, names Names, found *written) bool {
	if macro, ok := keyMacro(call); ok {
		found.keys = append(found.keys, macro)
		return true
	}
	if f := directForm(call, names); f != nil {
		found.direct = append(found.direct, f.Name)
		return true
	}
	if db.checkCall(text, call, names) != nil {
		return false
	}
	if f := declared(call, names); f != nil {
		for i, a := range asFunction(call).Args {
			if f.Args[position(a, i, f)].Table {
				found.tables = append(found.tables, a.Text)
			}
		}
	} else if readsTable(call) {
		found.tables = append(found.tables, call.Args[0].Text)
	}
	return true
}

// callSites returns the calls of declared functions; relocate maps an offset of
// the judged text to the caller's.
func callSites(st *sqltree.Statement, cat *Catalog, relocate func(int) int) []callSite {
	var sites []callSite
	for _, call := range st.Calls {
		if f := declared(call, cat); f != nil {
			sites = append(sites, callSite{relocate(call.Offset), f})
		}
	}
	return sites
}

// checkText refuses a text that cannot be a statement.
func (db *DB) checkText(sql string) ([]sqltree.Token, error) {
	if len(sql) > db.opts.MaxSQL {
		return nil, NewError(errcode.Limit, "send data as parameters or declare it as a dataset",
			"the statement has %d bytes; the limit is %d", len(sql), db.opts.MaxSQL)
	}
	if !utf8.ValidString(sql) {
		at := 0
		for at < len(sql) {
			r, n := utf8.DecodeRuneInString(sql[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, NewError(errcode.Parse, "send the text as UTF-8", "the statement is not UTF-8: byte %d", at).at(sql, at)
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return nil, NewError(errcode.Parse, "remove it", "the statement has a NUL byte").at(sql, i)
	}
	tokens := sqltree.Scan(sql)
	if len(tokens) == 0 {
		return nil, NewError(errcode.Parse, "send one SELECT statement", "the statement is empty")
	}
	if i := sqltree.Shifts(sql, tokens); i >= 0 {
		return nil, NewError(errcode.Parse, "send it as a parameter, or write a quote in a text as '', not \\'",
			"a name or a text contains white space beyond ASCII, which DuckDB might read as a space").at(sql, tokens[i].Start)
	}
	if e := sqltree.CheckCases(sql, tokens); e != nil {
		return nil, refuseLimit(sql, e)
	}
	return tokens, nil
}

// plainText is sql as DuckDB's parser gets it, of the same length: without
// comments, and with parameters written :name as $name.
func plainText(sql string, tokens []sqltree.Token) string {
	b := []byte(sqltree.Plain(sql, tokens))
	for _, t := range tokens {
		if t.Kind == sqltree.NamedParam {
			b[t.Start] = '$'
		}
	}
	return string(b)
}

// quoteNames quotes reserved words used as argument names, as in f(limit := 5),
// which DuckDB's parser rejects, in the part of sql from start on.
func (b *Builtins) quoteNames(sql string, tokens []sqltree.Token, start int) []sqltree.Edit {
	var edits []sqltree.Edit
	for i := 0; i+1 < len(tokens); i++ {
		t, next := tokens[i], tokens[i+1]
		if t.Start < start || t.Kind != sqltree.Ident || !next.Is(sql, ":=") && !next.Is(sql, "=>") ||
			!b.reserved[sqltree.Fold(t.Text(sql))] {
			continue
		}
		edits = append(edits, sqltree.Edit{
			Span: sqltree.Span{Start: t.Start - start, End: t.End - start}, New: Identifier(sqltree.Fold(t.Text(sql))),
		})
	}
	return edits
}

// parse returns the parse tree of text, or why it may not run.
func parse(c *conn, text string, names Names) (*sqltree.Statement, error) {
	return parseWith(c, text, names, sqltree.Options{Filter: true})
}

// parseWith is parse with options.
func parseWith(c *conn, text string, names Names, o sqltree.Options) (*sqltree.Statement, error) {
	tree, err := c.serialize(text)
	if err != nil {
		return nil, err
	}
	o.Inlines = sqltree.Inlines(text)
	o.Copies = func(c sqltree.Call) bool {
		f := declared(c, names)
		return f != nil && (f.Once || f.NotOnce != "")
	}
	st, err := sqltree.Parse(tree, o)
	if err == nil {
		return st, nil
	}
	var syntax *sqltree.SyntaxError
	var limit *sqltree.LimitError
	switch {
	case errors.As(err, &limit):
		return nil, refuseLimit(text, limit)
	case !errors.As(err, &syntax):
		return nil, NewError(errcode.Refused, "", "%s", err.Error())
	case syntax.Offset < 0:
		return nil, refuseKind(text, syntax)
	}
	return nil, c.syntaxError(text, syntax)
}

// refuseKind explains why a text that is SQL but not one SELECT may not run.
func refuseKind(text string, syntax *sqltree.SyntaxError) error {
	tokens := sqltree.Scan(text)
	switch {
	case syntax.Type == "parser":
		return syntaxError(text, syntax)
	case syntax.Type == "count" || len(tokens) == 0 || tokens[0].Kind != sqltree.Ident:
		e := NewError(errcode.Parse, "send one SELECT at a time", "%s", syntax.Message)
		e.Class = NotOneStatement
		return e
	}
	word := strings.ToUpper(tokens[0].Text(text))
	hint := "only one SELECT-like statement (SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, EXPLAIN) may run"
	switch word {
	case "INSERT", "UPDATE", "DELETE":
		hint = "run it as a separate statement"
	case "WITH":
		if at, verb := dml.Inside(text, tokens); verb != "" {
			return NewError(errcode.Refused, "put the WITH into its query", "WITH … %s is refused", verb).at(text, at)
		}
		return refusePivot(text, tokens, syntax)
	case "SELECT", "FROM", "PIVOT", "PIVOT_WIDER":
		return refusePivot(text, tokens, syntax)
	}
	return NewError(errcode.Refused, hint, "%s statements are refused", word).at(text, tokens[0].Start)
}

// Check judges the parsed text by names and returns the edits that make its calls
// of declared functions behave like calls of built-in ones. Errors are [*Error]s
// with offsets in text.
func (db *DB) Check(text string, st *sqltree.Statement, names Names) ([]sqltree.Edit, error) {
	for _, c := range st.Calls {
		if why := onlyInStatements[sqltree.Fold(c.Name)]; c.Table && why != "" && declared(c, names) == nil {
			return nil, NewError(errcode.Refused, "write it in the statement that reads the view or calls the function",
				"%s(…) is refused in views and functions: %s", sqltree.Fold(c.Name), why).at(text, c.Offset)
		}
		if readsTable(c) && declared(c, names) == nil {
			return nil, NewError(errcode.Refused, "write FROM and the name of the table", "function %q is refused here",
				c.Name).at(text, c.Offset)
		}
	}
	edits, _, err := db.check(text, st, names, inBody)
	return edits, err
}

// check is Check for a text that is used in any way, and also returns the names that the
// edits write.
func (db *DB) check(text string, st *sqltree.Statement, names Names,
	in usage,
) (edits []sqltree.Edit, wrote written, err error) {
	if err := checkShows(text, st, in); err != nil {
		return nil, wrote, err
	}
	if err := checkHidden(text, st); err != nil {
		return nil, wrote, err
	}
	for _, r := range st.Relations {
		if err := checkRelation(text, r, names); err != nil {
			return nil, wrote, err
		}
	}
	for _, c := range st.Calls {
		if err := db.checkCall(text, c, names); err != nil {
			return nil, wrote, err
		}
	}
	return db.rewrite(text, st, names, in)
}

// declared returns the declared function that a call names, or nil. Any other
// schema is the object of a chained call, x.f().
func declared(c sqltree.Call, names Names) *Function {
	schema := sqltree.Fold(c.Schema)
	if foreignSchemas[schema] || schema == Public && c.Catalog != "" && sqltree.Fold(c.Catalog) != CatalogName {
		return nil
	}
	return names.Function(c.Name)
}

// foreignSchemas contain no declared functions.
var foreignSchemas = set("main system pg_catalog information_schema " + System + " " + Core + " " + Prelude)

// asFunction returns a call x.f(y) of a declared function, where x is a column
// that DuckDB's parser took for a schema, as f(x, y).
func asFunction(c sqltree.Call) sqltree.Call {
	if schema := sqltree.Fold(c.Schema); schema == "" || schema == Public || c.Table {
		return c
	}
	object := sqltree.Arg{Kind: sqltree.ColumnRef, Parts: []string{c.Schema}}
	if c.Catalog != "" {
		object.Parts = []string{c.Catalog, c.Schema}
	}
	c.Catalog, c.Schema = "", ""
	c.Args = append([]sqltree.Arg{object}, c.Args...)
	return c
}

func (db *DB) checkCall(text string, c sqltree.Call, names Names) error {
	if sqltree.Fold(c.Schema) == Core {
		return NewError(errcode.Refused, "call it by its own name", "schema %q is internal", c.Schema).at(text, c.Offset)
	}
	f := declared(c, names)
	if f == nil {
		if isCtx(c) {
			return checkCtx(text, c)
		}
		if db.builtins.refuses(sqltree.Fold(c.Name), c.Table) && !readsTable(c) && !showsTimeZone(c) {
			return refusal(c).at(text, c.Offset)
		}
		if e := unserved(names, ObjectFunction, "", c.Name); e != nil && !foreignSchemas[sqltree.Fold(c.Schema)] &&
			!db.builtins.Has(c.Name) {
			return e.at(text, c.Offset)
		}
		return checkStructure(text, c)
	}
	if f.Table != c.Table {
		hint := fmt.Sprintf("write SELECT … FROM %s(…)", f.Name)
		if c.Table {
			hint = fmt.Sprintf("write SELECT %s(…)", f.Name)
		}
		return NewError(errcode.Argument, hint, "%s is a %s function", f.Signature, kindName(f)).at(text, c.Offset)
	}
	if c.Window {
		return NewError(errcode.Argument, "remove OVER", "%s is a scalar function, not a window function",
			f.Signature).at(text, c.Offset)
	}
	return checkArgs(text, asFunction(c), f)
}

func kindName(f *Function) string {
	if f.Table {
		return "table"
	}
	return "scalar"
}

// checkArgs refuses a wrong number of arguments and wrong names; DuckDB checks
// the types.
func checkArgs(text string, c sqltree.Call, f *Function) error {
	fail := func(hint, format string, args ...any) error {
		return NewError(errcode.Argument, hint, "%s: %s", f.Signature, fmt.Sprintf(format, args...)).at(text, c.Offset)
	}
	optional := slices.ContainsFunc(f.Args, func(a FunctionArg) bool { return a.Optional })
	given, named := make([]bool, len(f.Args)), ""
	for i, a := range c.Args {
		at := i
		switch {
		case a.Name != "":
			named = a.Name
			if at = position(a, i, f); at < 0 {
				return fail(nearest.Hint(a.Name, f.argNames(), "the arguments are "+strings.Join(f.argNames(), ", ")),
					"there is no argument named %q", a.Name)
			}
		case named != "":
			return fail("put it before them, or name it", "argument %d has no name and follows %q, which has one", i+1, named)
		case at >= len(f.Args) && optional:
			return fail("", "expected at most %s, got %d", plural.Of(len(f.Args), "argument"), len(c.Args))
		case at >= len(f.Args):
			return fail("", "expected %s, got %d", plural.Of(len(f.Args), "argument"), len(c.Args))
		}
		if given[at] {
			return fail("", "argument %q was given more than once", f.Args[at].Name)
		}
		given[at] = true
	}
	for i, ok := range given {
		if ok || f.Args[i].Optional {
			continue
		}
		if named == "" && !optional {
			return fail("", "expected %s, got %d", plural.Of(len(f.Args), "argument"), len(c.Args))
		}
		return fail("", "argument %q is missing", f.Args[i].Name)
	}
	return nil
}

func (f *Function) argNames() []string {
	names := make([]string, len(f.Args))
	for i, a := range f.Args {
		names[i] = a.Name
	}
	return names
}
