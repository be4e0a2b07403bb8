package pgwire

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// plan is what is known of a statement by its text.
type plan struct {
	sql     string   // the client's
	text    string   // what runs; "" for an empty statement
	start   int      // where text stands in sql, if it does
	verb    string   // SELECT, INSERT, UPDATE, DELETE, EXPLAIN or COPY
	copy    *copyOut // how its rows are written instead of as such
	counted bool     // its one row is the number of rows it wrote
	command *command // nil: the engine runs it
	given   []uint32 // the types that the client tells of the parameters; 0: none
	catalog bool     // it is about PostgreSQL's catalog

	found map[string]uint32 // the types of parameters that the text tells, by their names: see settle

	params     []uint32 // the types of the parameters
	columns    []column // of the result
	described  bool
	files      bool   // the description is of files: any that was made before may be outdated
	generation uint64 // of the description
}

// writes reports whether the statement changes data.
func (p *plan) writes() bool { return writes(p.verb) }

func writes(verb string) bool { return verb == "INSERT" || verb == "UPDATE" || verb == "DELETE" }

// planKey is what plans are remembered by.
type planKey struct {
	sql, given string
}

// oidSize is about what a type that the client tells takes in a key and a plan.
const oidSize = 16

// planOf returns the plan for a client's statement. It keeps a copy of that,
// which may be a part of a long script.
func (c *conn) planOf(sql string, given ...uint32) (*plan, error) {
	if len(sql)+oidSize*len(given) > maxPlanText {
		return c.newPlan(strings.Clone(sql), given)
	}
	key := planKey{sql, fmt.Sprint(given)}
	if p := c.plans[key]; p != nil {
		return p, nil
	}
	key.sql = strings.Clone(sql)
	p, err := c.newPlan(key.sql, given)
	if err != nil {
		return p, err
	}
	if len(c.plans) >= maxPlans {
		clear(c.plans)
	}
	c.plans[key] = p
	return p, nil
}

func (c *conn) newPlan(sql string, given []uint32) (*plan, error) {
	p := &plan{sql: sql, given: slices.Clone(given)}
	tokens := sqltree.Scan(sql)
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(sql, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return p, nil
	}
	p.text = sql[:tokens[len(tokens)-1].End]
	var err error
	w := newWords(p.text)
	if w.take("copy") {
		p.verb = "COPY"
		p.text, p.start, p.copy, err = parseCopy(w)
	} else if p.command, err = parseCommand(w); p.command == nil {
		p.verb, p.counted = verbOf(sql, tokens)
	}
	if err != nil || p.command != nil {
		return p, err
	}
	if text, rewritten := c.server.opts.Rewrite(p.text); rewritten {
		p.text, p.catalog = text, c.server.opts.Catalog(p.text)
	}
	return p, nil
}

// verbs are the words that begin a statement, and what it is called when it
// has run.
var verbs = map[string]string{
	"select": "SELECT", "from": "SELECT", "values": "SELECT", "table": "SELECT", "describe": "SELECT", "summarize": "SELECT",
	"show": "SELECT", "pivot": "SELECT", "unpivot": "SELECT",
	"insert": "INSERT", "update": "UPDATE", "delete": "DELETE", "explain": "EXPLAIN",
}

// verbOf returns the verb of a statement, behind its WITH if it has one, and
// whether its result is a count: it writes, without RETURNING.
func verbOf(sql string, tokens []sqltree.Token) (verb string, counted bool) {
	verb, depth, name := "SELECT", 0, false
	found := false
	for i, t := range tokens {
		word := strings.ToLower(t.Text(sql))
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

// describe finds out about a plan's parameters and columns, unless that is
// known and still holds.
func (c *conn) describe(ctx context.Context, p *plan) error {
	generation := c.server.opts.Generation()
	switch {
	case p.text == "" || p.described && p.generation == generation:
		return nil
	case p.command != nil:
		return c.describeCommand(ctx, p)
	}
	if err := c.renew(); err != nil {
		return err
	}
	leave, err := c.enter(ctx, p)
	if err != nil {
		return err
	}
	defer leave()
	d, err := c.describeText(ctx, p)
	if err != nil {
		return p.placed(err)
	}
	p.params = p.paramOIDs(d.Params)
	p.columns = p.columnsOf(d.Columns)
	if p.counted || p.copy != nil {
		p.columns = nil
	}
	p.described, p.files, p.generation = true, d.Files, generation
	return nil
}

// outdate drops a description of files: they may have been replaced since.
func (p *plan) outdate() { p.described = p.described && !p.files }

// changed is the error when the columns of a result differ from those that were
// announced. It is PostgreSQL's own: drivers prepare the statement again.
func (p *plan) changed() error {
	p.described = false
	return failure(stateUnsupported, "prepare it again", "cached plan must not change result type")
}

// enter takes a place of the principal's for a description. A connection of
// which a portal has one describes in that.
func (c *conn) enter(ctx context.Context, p *plan) (leave func(), err error) {
	for _, open := range c.portals {
		if open.result != nil && open.result.rows.Context().Err() == nil {
			return func() {}, nil
		}
	}
	leave, err = c.principal.Enter()
	if err != nil {
		c.server.opts.Query.Denied(ctx, c.request(p, nil), audit.RateLimited)
	}
	return leave, err
}

// describeText asks the engine about a plan's statement, as often as it takes
// within the time that one statement has.
func (c *conn) describeText(ctx context.Context, p *plan) (*engine.Description, error) {
	ctx, stop := c.begin(ctx)
	defer stop(nil)
	defer c.finish()
	end := time.Now().Add(c.server.opts.Query.Timeout())
	d, err := c.server.opts.Query.Describe(ctx, c.request(p, nil))
	if err == nil {
		err = checkColumns(len(d.Columns))
	}
	if err == nil {
		err = checkNumbers(d.Params)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	text, d := c.settle(ctx, p, d)
	if ctx.Err() != nil { // some of it is not known
		c.server.opts.Query.Denied(ctx, c.request(p, nil), string(engine.CodeCancelled))
		return nil, failure(stateCancelled, "give the types of the parameters", "the statement was cancelled, or its time was over, while its parameters were looked at")
	}
	p.text = text
	return d, nil
}

func (c *conn) describeCommand(ctx context.Context, p *plan) error {
	cmd := p.command
	switch {
	case cmd.declare != nil:
		inner, err := c.declared(ctx, cmd.declare)
		if err == nil {
			p.params = inner.params
		}
		return err
	case cmd.fetch != nil:
		cursor, err := c.cursorOf(cmd.fetch)
		if err == nil && !cmd.fetch.move {
			p.columns = cursor.columns
		}
		return err
	}
	p.columns = p.columns[:0]
	for _, name := range cmd.columns {
		p.columns = append(p.columns, column{name, unsettled})
	}
	return nil
}

// placed is err with its place in the client's text, if that is what ran.
func (p *plan) placed(err error) error {
	if !strings.HasPrefix(p.sql[p.start:], p.text) {
		return asState(err)
	}
	return placed(err, p.sql, p.start)
}

// request is what runs for a plan.
func (c *conn) request(p *plan, params []any) query.Request {
	who := c.caller
	if c.session.readOnly() {
		who.Write = false
	}
	return query.Request{
		Request: engine.Request{SQL: p.text, Params: engine.Params{Positional: params}},
		Caller:  who, Door: query.Postgres, Remote: c.remote,
	}
}

// begin is the start of work for a client: until finish, its cancel request
// and its leaving end the context. So does statement_timeout.
func (c *conn) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	if c.session.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.session.timeout)
		cancelled := stop
		stop = func(cause error) { cancelled(cause); cancel() }
	}
	c.resume(stop)
	return ctx, stop
}

// resume goes on with work that was begun before.
func (c *conn) resume(stop context.CancelCauseFunc) {
	c.running.set(stop)
	c.in.watch()
}

func (c *conn) finish() {
	c.in.unwatch()
	c.running.set(nil)
}

// allowed refuses what cannot run in the state of the transaction.
func (c *conn) allowed(p *plan) error {
	switch {
	case c.session.tx == txFailed && p.text != "" && (p.command == nil || !p.command.aborted):
		return failure(stateAborted, "ROLLBACK first", "current transaction is aborted, commands ignored until end of transaction block")
	case !p.writes() || !c.session.readOnly():
		return nil
	case c.session.tx != txIdle:
		return failure(stateReadOnly, "use autocommit: ROLLBACK could not take it back", "%s cannot run in a transaction block", p.verb)
	}
	return failure(stateReadOnly, "SET default_transaction_read_only = off", "cannot execute %s in a read-only transaction", p.verb)
}
