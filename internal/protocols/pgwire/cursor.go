package pgwire

import (
	"context"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// declare is DECLARE name CURSOR FOR statement.
type declare struct {
	name  string
	hold  bool
	sql   string // the statement
	start int    // where it begins
}

// fetch is FETCH or MOVE of so many rows of a cursor; all is -1.
type fetch struct {
	name  string
	count int64
	move  bool // the rows are skipped
}

const fetchAll = -1

func parseDeclare(w *words) (*command, error) {
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	d := &declare{name: name}
	for !w.Accept("cursor") {
		switch {
		case w.Accept("binary"):
			return nil, sqlstate.Errorf(sqlstate.Unsupported, "ask for binary when it is read", "BINARY cursors are not served")
		case w.Accept("no", "scroll"), w.AcceptOne("insensitive", "asensitive"):
		case w.Accept("scroll"): // forward is served
		default:
			return nil, w.wrong()
		}
	}
	if d.hold = w.Accept("with", "hold"); !d.hold {
		w.Accept("without", "hold")
	}
	if !w.Accept("for") || w.Done() {
		return nil, w.wrong()
	}
	d.start = w.Tokens[w.Next].Start
	d.sql = w.SQL[d.start:]
	return &command{tag: "DECLARE CURSOR", declare: d}, nil
}

// parseFetch reads FETCH [direction] [FROM | IN] name. Only forward is served.
func parseFetch(w *words) (*command, error) {
	f := &fetch{count: 1}
	switch {
	case w.Accept("next"):
	case w.AcceptOne("all"):
		f.count = fetchAll
	case w.Accept("forward"):
		if w.Accept("all") {
			f.count = fetchAll
		} else if err := w.number(&f.count); err != nil {
			return nil, err
		}
	case w.AcceptOne("prior", "first", "last", "absolute", "relative", "backward", "-"):
		return nil, sqlstate.Errorf(sqlstate.NotReady, "FETCH [FORWARD] n", "cursor can only scan forward")
	default:
		if err := w.number(&f.count); err != nil {
			return nil, err
		}
	}
	w.AcceptOne("from", "in")
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
	if w.Done() || w.Tokens[w.Next].Kind != sqltree.Number {
		return nil
	}
	v, err := strconv.ParseInt(w.Text(w.Next), 10, 64)
	if err != nil || v < 1 {
		return w.wrong()
	}
	*n = v
	w.Next++
	return nil
}

func parseClose(w *words) (*command, error) {
	if w.Accept("all") {
		return do("CLOSE CURSOR ALL", func(c *conn) error {
			c.store.closePortals(func(p *portal) bool { return p.cursor })
			return nil
		}), w.end()
	}
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return do("CLOSE CURSOR", func(c *conn) error {
		p := c.store.portals[name]
		if p == nil || name == "" {
			return noCursor(name)
		}
		c.store.closePortal(p)
		return nil
	}), nil
}

func noCursor(name string) error {
	return sqlstate.Errorf(sqlstate.NoCursor, "", "cursor %q does not exist", name)
}

// declared is the plan of a cursor's statement, described.
func (c *conn) declared(ctx context.Context, d *declare) (*plan, error) {
	p, err := c.parse(newWords(d.sql), nil)
	if err == nil && (p.command != nil || p.counted || p.copy != nil) {
		err = sqlstate.Errorf(sqlstate.Syntax, "", "a cursor is FOR a SELECT")
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
		return sqlstate.Errorf(sqlstate.NoCursor, "give it a name", "invalid cursor name: must not be empty")
	case c.session.tx == txIdle && !d.hold:
		return sqlstate.Errorf(sqlstate.NoTransaction, "BEGIN first, or add WITH HOLD",
			"DECLARE CURSOR can only be used in transaction blocks")
	case d.hold && c.block.tx != nil && c.block.tx.Mark() > 0:
		return sqlstate.Errorf(sqlstate.Unsupported, "declare it after COMMIT, or without WITH HOLD",
			"a cursor WITH HOLD is refused in a transaction that has changed rows")
	}
	if err := c.store.free(d.name); err != nil {
		return err
	}
	plan, err := c.declared(ctx, d)
	if err != nil {
		return moved(err, own.plan.sql[:d.start])
	}
	p := &portal{
		name: strings.Clone(d.name), // of a statement that is not stored
		plan: plan, params: own.params, columns: plan.columns, cursor: true, hold: d.hold, fresh: c.session.tx != txIdle,
	}
	if err := c.store.addPortal(p, len(d.name)+len(d.sql)+own.size); err != nil {
		return err
	}
	c.out.complete("DECLARE CURSOR")
	return nil
}

// cursorOf is the portal that a FETCH reads.
func (c *conn) cursorOf(f *fetch) (*portal, error) {
	p := c.store.portals[f.name]
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
	if p.done { // else the statement of the cursor counts
		leave, err := c.count(ctx, own.plan)
		if err != nil {
			return err
		}
		defer leave()
	}
	limit := f.count
	if limit == fetchAll {
		limit = 0
	}
	p.skip = f.move
	sent, _, err := c.advance(ctx, p, own.formats, limit)
	if err == nil {
		c.out.complete(own.plan.command.tag + " " + strconv.FormatInt(sent, 10))
	}
	return err
}
