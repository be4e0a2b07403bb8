package pgwire

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/infer"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A statement's life is in this file from top to bottom. The extended protocol
// has a message for each step (see extended); a simple query takes them at once
// (see simpleStatement).
//
//	parse     finds out what the text is: a command of the protocol's (command.go),
//	          a COPY (copy.go) or a statement of the engine, with the names of
//	          PostgreSQL's catalog rewritten (package pgcatalog). The plan is cached.
//	describe  asks the engine for the types of parameters and columns, which
//	          package infer completes.
//	bind      decodes the values of the parameters (package wire) and makes a
//	          portal, which is the statement ready to run.
//	execute   runs the portal: a command by its function, a COPY FROM with what the
//	          client sends (copyin.go), a statement in the engine. Package wire encodes the rows (portal.go).

// parse returns the plan of a statement.
func (c *conn) parse(w *words, given []uint32) (*plan, error) {
	key := planKey{w.SQL, fmt.Sprint(given) + c.session.values[searchPath]}
	if p := c.store.plans[key]; p != nil {
		return p, nil
	}
	key.sql = strings.Clone(w.SQL) // it may be a part of a long script
	p, err := newPlan(&words{Cursor: sqltree.Cursor{SQL: key.sql, Tokens: w.Tokens}}, slices.Clone(given), c.rewrite,
		c.server.opts.Catalog)
	if err == nil && len(w.SQL)+oidSize*len(given) <= maxPlanText {
		if len(c.store.plans) >= maxPlans {
			clear(c.store.plans)
		}
		c.store.plans[key] = p
	}
	return p, err
}

// describe finds out about a plan's parameters and columns, unless they are known
// for the current generation.
func (c *conn) describe(ctx context.Context, p *plan) error {
	generation := c.server.opts.Generation()
	switch {
	case p.text == "" || p.described && p.generation == generation:
		return nil
	case p.command != nil:
		return c.describeCommand(ctx, p)
	}
	if err := c.client.renew(c.server.opts.Keys()); err != nil {
		return err
	}
	leave, err := c.enter(ctx, p, nil)
	if err != nil {
		return err
	}
	defer leave()
	types, err := c.infer(ctx, p)
	if err != nil {
		return p.positioned(err)
	}
	p.text, p.params, p.found = types.Text, types.Params, types.Found
	p.columns = p.dialect.show(wire.Columns(types.Columns, c.style(p), types.AnyScale))
	if p.copyIn != nil {
		p.copyIn.columns = types.Columns
	}
	if p.counted || p.copy != nil || p.copyIn != nil {
		p.columns = nil
	}
	p.described, p.files, p.generation = true, types.Files, generation
	return nil
}

// infer asks the engine about a plan's statement, as often as it takes within the
// time that one statement has.
func (c *conn) infer(ctx context.Context, p *plan) (types infer.Result, err error) {
	service := c.server.opts.Query
	ctx, stop := c.running.begin(ctx, c.session.timeout)
	defer stop(nil)
	defer c.running.finish()
	end := time.Now().Add(service.Timeout())
	d, err := service.Describe(ctx, c.request(p, nil))
	if err == nil {
		err = checkColumns(len(d.Columns))
	}
	if err != nil {
		return types, err
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	types, err = infer.Infer(ctx, infer.Query{
		SQL: p.sql, Text: p.text, Given: p.given, Found: p.found, Rewrite: c.rewrite,
		Describe: func(ctx context.Context, sql string) (*engine.Description, error) {
			req := c.request(p, nil)
			req.SQL, req.Probe = sql, true
			return service.Describe(ctx, req)
		},
	}, d)
	if err == nil && ctx.Err() != nil { // some of it is not known
		service.Denied(ctx, c.request(p, nil), string(errcode.Cancelled))
		err = sqlstate.Errorf(sqlstate.Cancelled, "give the types of the parameters",
			"the statement was cancelled, or its time was over, while its parameters were looked at")
	}
	return types, err
}

// bind makes a portal of a prepared statement and the values of its parameters.
func (c *conn) bind(ctx context.Context, s *prepared, m *pgproto3.Bind) error {
	if err := c.session.allows(s.plan); err != nil {
		return err
	}
	if err := c.describe(ctx, s.plan); err != nil {
		return err
	}
	columns := s.plan.columns
	same := func(a, b wire.Column) bool { return a.Type.OID == b.Type.OID && !s.plan.renamed(a.Name, b.Name) }
	if s.plan.command == nil && !slices.EqualFunc(s.columns, columns, same) {
		return s.plan.changed()
	}
	if err := wire.CheckFormats("columns", m.ResultFormatCodes, len(columns)); err != nil {
		return err
	}
	if want := len(s.params); len(m.Parameters) != want {
		return sqlstate.Errorf(sqlstate.Protocol,
			"", "bind message supplies %d parameters, but prepared statement %q requires %d", len(m.Parameters),
			m.PreparedStatement, want)
	}
	params, size, err := wire.Params(s.params, m.ParameterFormatCodes, m.Parameters)
	if err != nil {
		return err
	}
	p := &portal{
		name: m.DestinationPortal, plan: s.plan, params: params, formats: slices.Clone(m.ResultFormatCodes),
		columns: columns,
	}
	return c.store.addPortal(p, size+len(p.name)+2*len(p.formats))
}

// execute runs a portal, or continues it, and sends at most limit rows; 0 is all.
func (c *conn) execute(ctx context.Context, p *portal, limit int64) error {
	if p.plan.text == "" || p.plan.command != nil && p.plan.command.fetch == nil {
		leave, err := c.count(ctx, p.plan)
		if err != nil {
			return err
		}
		defer leave()
	}
	switch {
	case p.plan.text == "":
		p.done = true
		c.out.empty('I') // EmptyQueryResponse
		return nil
	case p.plan.command != nil:
		return c.runCommand(ctx, p)
	case p.plan.copyIn != nil:
		p.done = true
		return p.plan.copyIn.run(ctx, c, p.plan)
	}
	sent, more, err := c.advance(ctx, p, p.formats, limit)
	switch {
	case err != nil:
		return err
	case more:
		c.out.empty('s') // PortalSuspended
	case p.plan.verb == "INSERT":
		c.out.complete("INSERT 0 " + strconv.FormatInt(sent, 10))
	case p.plan.verb == "EXPLAIN":
		c.out.complete("EXPLAIN")
	default:
		c.out.complete(p.plan.verb + " " + strconv.FormatInt(sent, 10))
	}
	return nil
}

// advance starts a portal's statement unless it runs, and sends its rows up to
// the limit. It returns their number, or how many rows the statement wrote, and
// whether there may be more.
func (c *conn) advance(ctx context.Context, p *portal, formats []int16,
	limit int64,
) (sent int64, more bool, err error) {
	switch {
	case p.failed:
		return 0, false, sqlstate.Errorf(sqlstate.NotReady, "", "portal %q cannot be run", p.name)
	case p.done:
		return 0, false, nil
	case p.plan.counted, p.plan.copy != nil:
		limit = 0 // it has no rows, or ignores limits
	}
	c.round.counted = true
	if err := c.client.renew(c.server.opts.Keys()); err != nil {
		return 0, false, err
	}
	if p.result == nil {
		if err := c.startPortal(ctx, p, limit); err != nil {
			p.failed = true
			c.store.endPortal(p)
			return 0, false, p.plan.positioned(err)
		}
	} else {
		if err := c.resumePortal(ctx, p); err != nil {
			return 0, false, err
		}
	}
	defer c.running.finish()
	if err = c.encodeRows(p, formats); err == nil {
		sent, more, err = p.result.send(&c.out, p.plan.counted, limit)
	}
	if err == nil && p.plan.copy != nil {
		c.out.buf = p.result.encoder.AppendEnd(c.out.buf)
	}
	if err != nil {
		p.failed = true
		p.result.rows.Failed(err)
		err = p.plan.positioned(err)
	}
	if err != nil || !more {
		c.store.endPortal(p)
	} else {
		p.result.release() // others of the principal run while the client does not read
	}
	return sent, more, err
}

// startPortal starts a portal's statement. Unless it fails, running.finish must
// end what it begins.
func (c *conn) startPortal(ctx context.Context, p *portal, limit int64) (err error) {
	if limit > 0 && c.store.open >= maxOpen {
		return sqlstate.Errorf(sqlstate.Limit, "read or close them",
			"a connection can have %d portals with rows left", maxOpen)
	}
	ctx, stop := c.running.begin(ctx, 0)
	r := &result{stop: stop}
	req := c.request(p.plan, p.params)
	req.Limits.Timeout, req.Parts = c.session.timeout, limit > 0 || p.cursor
	if r.release, err = c.client.principal.Begin(); err == nil {
		r.rows, err = c.server.opts.Query.Query(ctx, req)
	} else {
		c.server.opts.Query.Denied(ctx, req, audit.RateLimited)
	}
	if err != nil {
		c.running.finish()
		r.close()
		return err
	}
	p.result = r
	c.store.open++
	return nil
}

// resumePortal continues a portal's statement, for which its time limit begins
// again.
func (c *conn) resumePortal(ctx context.Context, p *portal) (err error) {
	if p.result.release, err = c.enter(ctx, p.plan, p.params); err != nil {
		p.result.release = func() {}
		return err
	}
	p.result.rows.NextPart()
	c.running.resume(p.result.stop)
	return nil
}

// enter takes a slot of the principal's for a part of a statement.
func (c *conn) enter(ctx context.Context, p *plan, params []any) (leave func(), err error) {
	leave, err = c.client.principal.Enter()
	if err != nil {
		c.server.opts.Query.Denied(ctx, c.request(p, params), audit.RateLimited)
	}
	return leave, err
}

// encodeRows chooses how the rows of a portal are encoded.
func (c *conn) encodeRows(p *portal, formats []int16) (err error) {
	columns, r, style := p.result.rows.Columns(), p.result, c.style(p.plan)
	if p.plan.dialect.empty {
		columns = nil
	}
	if err := checkColumns(len(columns)); err != nil {
		return err
	}
	switch {
	case p.plan.counted, p.skip:
		r.encoder = nil
		return nil
	case p.plan.copy != nil:
		r.encoder, err = wire.NewCopy(p.plan.copy, columns, style)
		if err == nil {
			c.out.buf = r.encoder.AppendStart(c.out.buf)
		}
		return err
	case p.simple:
		p.columns = p.plan.dialect.show(wire.Columns(columns, style, false))
		c.out.send(wire.RowDescription(p.columns, nil))
	}
	same := func(a wire.Column, b engine.Column) bool { return !p.plan.renamed(a.Name, b.Name) }
	r.encoder = wire.NewRows(p.columns, columns, formats, style)
	if r.encoder == nil || !slices.EqualFunc(p.columns, columns, same) {
		return p.plan.changed()
	}
	return nil
}

// style is the form of the values of a plan's result.
func (c *conn) style(p *plan) wire.Style {
	return wire.Style{Catalog: p.dialect.catalog, ISOIntervals: c.session.value("IntervalStyle") == isoIntervals}
}

// request is what runs for a plan.
func (c *conn) request(p *plan, params []any) query.Request {
	who := c.client.caller
	if c.session.readOnly() {
		who.Write = false
	}
	return query.Request{
		Request: engine.Request{
			SQL: p.text, Params: engine.Params{Positional: params}, Input: p.input,
			Transaction: c.block.transaction(),
		},
		Caller: who, Protocol: query.Postgres, Remote: c.remote,
	}
}

// checkColumns refuses a result with more columns than the protocol can describe.
func checkColumns(n int) error {
	if n > maxColumns {
		return sqlstate.Errorf(sqlstate.TooManyColumns, "select fewer", "the result has %d columns; the limit is %d", n,
			maxColumns)
	}
	return nil
}
