package pgwire

import (
	"context"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// declare is DECLARE name CURSOR FOR statement.
type declare struct {
	name  string
	hold  bool
	sql   string // the statement
	start int    // where it stands
}

// fetch is FETCH or MOVE of so many rows of a cursor; all is -1.
type fetch struct {
	name  string
	count int64
	move  bool // the rows are passed over
}

const fetchAll = -1

func parseDeclare(w *words) (*command, error) {
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	d := &declare{name: name}
	for !w.take("cursor") {
		switch {
		case w.take("binary"):
			return nil, failure(stateUnsupported, "ask for binary when it is read", "BINARY cursors are not served")
		case w.take("no", "scroll"), w.takeOne("insensitive", "asensitive"):
		case w.take("scroll"): // forward is served
		default:
			return nil, w.wrong()
		}
	}
	if d.hold = w.take("with", "hold"); !d.hold {
		w.take("without", "hold")
	}
	if !w.take("for") || w.at >= len(w.tokens) {
		return nil, w.wrong()
	}
	d.start = w.tokens[w.at].Start
	d.sql = w.sql[d.start:]
	return &command{tag: "DECLARE CURSOR", declare: d}, nil
}

// parseFetch reads FETCH [direction] [FROM | IN] name. Only forward is served.
func parseFetch(w *words) (*command, error) {
	f := &fetch{count: 1}
	switch {
	case w.take("next"):
	case w.takeOne("all"):
		f.count = fetchAll
	case w.take("forward"):
		if w.take("all") {
			f.count = fetchAll
		} else if err := w.number(&f.count); err != nil {
			return nil, err
		}
	case w.takeOne("prior", "first", "last", "absolute", "relative", "backward", "-"):
		return nil, failure(stateNotReady, "FETCH [FORWARD] n", "cursor can only scan forward")
	default:
		if err := w.number(&f.count); err != nil {
			return nil, err
		}
	}
	w.takeOne("from", "in")
	var err error
	if f.name, err = w.lastName(); err != nil {
		return nil, err
	}
	return &command{tag: "FETCH", fetch: f}, nil
}

func parseMove(w *words) (*command, error) {
	cmd, err := parseFetch(w)
	if err == nil {
		cmd.tag, cmd.fetch.move = "MOVE", true
	}
	return cmd, err
}

// number takes a number if one comes next.
func (w *words) number(n *int64) error {
	if w.at >= len(w.tokens) || w.tokens[w.at].Kind != sqltree.Number {
		return nil
	}
	v, err := strconv.ParseInt(w.tokens[w.at].Text(w.sql), 10, 64)
	if err != nil || v < 1 {
		return w.wrong()
	}
	*n = v
	w.at++
	return nil
}

func parseClose(w *words) (*command, error) {
	if w.take("all") {
		return do("CLOSE CURSOR ALL", func(c *conn) error {
			c.closePortals(func(p *portal) bool { return p.cursor })
			return nil
		}), w.end()
	}
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return do("CLOSE CURSOR", func(c *conn) error {
		p := c.portals[name]
		if p == nil || name == "" {
			return noCursor(name)
		}
		c.closePortal(p)
		return nil
	}), nil
}

func noCursor(name string) error { return failure(stateNoCursor, "", "cursor %q does not exist", name) }

// declared is the plan of a cursor's statement, described.
func (c *conn) declared(ctx context.Context, d *declare) (*plan, error) {
	p, err := c.planOf(d.sql)
	if err == nil && (p.command != nil || p.counted || p.copy != nil) {
		err = failure(stateSyntax, "", "a cursor is FOR a SELECT")
	}
	if err == nil {
		p.outdate()
		err = c.describe(ctx, p)
	}
	return p, err
}

func (c *conn) runDeclare(ctx context.Context, own *portal, d *declare) error {
	switch {
	case d.name == "":
		return failure(stateNoCursor, "give it a name", "invalid cursor name: must not be empty")
	case c.session.tx == txIdle && !d.hold:
		return failure(stateNoTransaction, "BEGIN first, or add WITH HOLD", "DECLARE CURSOR can only be used in transaction blocks")
	case c.portals[d.name] != nil:
		return failure(stateDuplicateCursor, "close it first", "cursor %q already exists", d.name)
	case len(c.portals) >= maxPortals:
		return failure(stateLimit, "close some", "a connection can have %d portals", maxPortals)
	}
	plan, err := c.declared(ctx, d)
	if err != nil {
		return moved(err, own.plan.sql[:d.start])
	}
	size := len(d.name) + len(d.sql) + own.size
	if err := c.hold(size); err != nil {
		return err
	}
	name := strings.Clone(d.name) // of a statement that is not kept
	c.portals[name] = &portal{
		name: name, plan: plan, params: own.params, columns: plan.columns, size: size,
		cursor: true, hold: d.hold, fresh: c.session.tx != txIdle,
	}
	c.complete("DECLARE CURSOR")
	return nil
}

// cursorOf is the portal that a FETCH reads.
func (c *conn) cursorOf(f *fetch) (*portal, error) {
	p := c.portals[f.name]
	if p == nil || p.plan.command != nil || p.plan.writes() || f.name == "" {
		return nil, noCursor(f.name)
	}
	return p, nil
}

func (c *conn) runFetch(ctx context.Context, own *portal, f *fetch) error {
	p, err := c.cursorOf(f)
	if err != nil {
		return err
	}
	limit := f.count
	if limit == fetchAll {
		limit = 0
	}
	var sent int64
	if f.move {
		sent, err = c.skipRows(ctx, p, limit)
	} else {
		sent, _, err = c.advance(ctx, p, own.formats, limit)
	}
	if err != nil {
		return err
	}
	tag := "FETCH "
	if f.move {
		tag = "MOVE "
	}
	c.complete(tag + strconv.FormatInt(sent, 10))
	return nil
}

// skipRows passes over rows.
func (c *conn) skipRows(ctx context.Context, p *portal, limit int64) (int64, error) {
	p.skip = true
	defer func() { p.skip = false }()
	sent, _, err := c.advance(ctx, p, nil, limit)
	return sent, err
}
