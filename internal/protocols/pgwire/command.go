package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
)

// command is a statement that is answered without the engine. One that returns
// rows has columns or is a fetch.
type command struct {
	tag     string
	columns []string                                    // of run's rows, which are text
	run     func(context.Context, *conn) ([]row, error) // nil for the two below
	fetch   *fetch                                      // of a cursor
	declare *declare                                    // a cursor
	aborted bool                                        // it can run in a failed transaction
	ends    bool                                        // it ends a transaction block
}

// row is one of texts.
type row []string

// parseCommand returns the command that a statement is, or nil for one of the
// engine's.
func parseCommand(w *words) (*command, error) {
	first := w.Peek()
	parse, ok := commands[first]
	if !ok {
		return nil, nil
	}
	w.Next++
	return parse(w)
}

// commands are the parsers of what follows a command's first word.
var commands = map[string]func(*words) (*command, error){
	"begin": parseBegin, "start": parseBegin,
	"commit": parseCommit, "end": parseCommit,
	"rollback": parseRollback, "abort": parseRollback,
	"savepoint": parseSavepoint, "release": parseRelease,
	"set": parseSet, "reset": parseReset, "show": parseShow, "select": parseSetConfig,
	"discard": parseDiscard, "deallocate": parseDeallocate,
	"declare": parseDeclare, "fetch": parseFetch, "move": parseMove, "close": parseClose,
	"listen": parseSilent("LISTEN"), "unlisten": parseSilent("UNLISTEN"), "notify": refuse("NOTIFY"),
	"prepare": refuse("PREPARE"), "execute": refuse("EXECUTE"), "lock": refuse("LOCK"),
}

// refuse is the parser of what is PostgreSQL's and not served.
func refuse(tag string) func(*words) (*command, error) {
	hint := map[string]string{"PREPARE": "prepare through the driver", "EXECUTE": "prepare through the driver"}[tag]
	return func(*words) (*command, error) {
		return nil, sqlstate.Errorf(sqlstate.Unsupported, hint, "%s is not served", tag)
	}
}

func parseSilent(tag string) func(*words) (*command, error) {
	return func(*words) (*command, error) {
		return &command{tag: tag, run: func(context.Context, *conn) ([]row, error) { return nil, nil }}, nil
	}
}

// do is a command without rows.
func do(tag string, f func(c *conn) error) *command {
	return &command{tag: tag, run: func(_ context.Context, c *conn) ([]row, error) { return nil, f(c) }}
}

func parseBegin(w *words) (*command, error) {
	tag := "BEGIN"
	if strings.EqualFold(w.Text(0), "start") {
		tag = "START TRANSACTION"
		if !w.Accept("transaction") {
			return nil, w.wrong()
		}
	} else {
		w.AcceptOne("work", "transaction")
	}
	modes, err := w.modes()
	if err != nil {
		return nil, err
	}
	return do(tag, func(c *conn) error {
		switch {
		case c.block.script: // goes on as a block
			c.block.script = false
		case c.session.tx != txIdle:
			c.out.send(sqlstate.Notice(sqlstate.Active, "there is already a transaction in progress"))
			return nil
		default:
			c.block.begin()
		}
		return modes.set(c, "transaction_", true)
	}), nil
}

// modes are those of a transaction: settings without their prefix.
type modes [][2]string

func (w *words) modes() (modes, error) {
	var m modes
	for !w.Done() {
		i := slices.IndexFunc(transactionModes, func(mode [3]string) bool { return w.Accept(strings.Fields(mode[0])...) })
		switch {
		case i >= 0:
			m = append(m, [2]string(transactionModes[i][1:]))
		case w.Accept("isolation", "level"), !w.Accept(","):
			return nil, w.wrong()
		}
	}
	return m, nil
}

// transactionModes are the words of each mode, its setting and the value.
var transactionModes = [][3]string{
	{"isolation level serializable", "isolation", "serializable"},
	{"isolation level repeatable read", "isolation", "repeatable read"},
	{"isolation level read committed", "isolation", "read committed"},
	{"isolation level read uncommitted", "isolation", "read uncommitted"},
	{"read only", "read_only", "on"},
	{"read write", "read_only", "off"},
	{"deferrable", "deferrable", "on"},
	{"not deferrable", "deferrable", "off"},
}

func (m modes) set(c *conn, prefix string, local bool) error {
	for _, mode := range m {
		if err := c.session.set(prefix+mode[0], mode[1], local); err != nil {
			return err
		}
	}
	return nil
}

func parseCommit(w *words) (*command, error) {
	if err := w.endOfBlock(); err != nil {
		return nil, err
	}
	return &command{tag: "COMMIT", aborted: true, ends: true, run: func(ctx context.Context, c *conn) ([]row, error) {
		return nil, c.block.end(ctx, true)
	}}, nil
}

// endOfBlock reads what may follow COMMIT and ROLLBACK.
func (w *words) endOfBlock() error {
	w.AcceptOne("work", "transaction")
	if w.Accept("and", "chain") {
		return sqlstate.Errorf(sqlstate.Unsupported, "write BEGIN", "AND CHAIN is not served")
	}
	w.Accept("and", "no", "chain")
	return w.end()
}

func parseRollback(w *words) (*command, error) {
	w.AcceptOne("work", "transaction")
	if !w.Accept("to") {
		if err := w.endOfBlock(); err != nil {
			return nil, err
		}
		return &command{tag: "ROLLBACK", aborted: true, ends: true, run: func(ctx context.Context, c *conn) ([]row, error) {
			return nil, c.block.end(ctx, false)
		}}, nil
	}
	w.Accept("savepoint")
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	cmd := inBlock("ROLLBACK", func(c *conn) error { return c.block.rollbackTo(name) })
	cmd.aborted = true
	return cmd, nil
}

func (w *words) lastName() (string, error) {
	name, err := w.name()
	if err != nil {
		return "", err
	}
	return name, w.end()
}

// inBlock is a command that needs a transaction block.
func inBlock(tag string, f func(c *conn) error) *command {
	return do(tag, func(c *conn) error {
		if c.session.tx == txIdle {
			return sqlstate.Errorf(sqlstate.NoTransaction, "BEGIN first", "%s can only be used in transaction blocks", tag)
		}
		return f(c)
	})
}

func parseSavepoint(w *words) (*command, error) {
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return inBlock("SAVEPOINT", func(c *conn) error { return c.block.savepoint(name) }), nil
}

func parseRelease(w *words) (*command, error) {
	w.Accept("savepoint")
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return inBlock("RELEASE", func(c *conn) error { return c.block.release(name) }), nil
}

func parseDiscard(w *words) (*command, error) {
	what := strings.ToUpper(w.Peek())
	if !w.AcceptOne("all", "plans", "sequences", "temp", "temporary") {
		return nil, w.wrong()
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	return do("DISCARD "+what, func(c *conn) error {
		if what != "ALL" {
			return nil
		}
		if c.session.tx != txIdle {
			return sqlstate.Errorf(sqlstate.Active, "COMMIT first", "DISCARD ALL cannot run inside a transaction block")
		}
		c.store.closePortals(func(*portal) bool { return true })
		c.store.forgetStatements()
		c.session.resetAll()
		return nil
	}), nil
}

func parseDeallocate(w *words) (*command, error) {
	w.Accept("prepare")
	if w.Accept("all") {
		return do("DEALLOCATE ALL", func(c *conn) error {
			c.store.forgetStatements()
			return nil
		}), w.end()
	}
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return do("DEALLOCATE", func(c *conn) error {
		_, err := c.store.statement(name)
		c.store.forgetStatement(name)
		return err
	}), nil
}

// describeCommand finds out about the columns and parameters of a command.
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
		p.columns = append(p.columns, wire.Column{Name: name, Type: wire.Unknown})
	}
	return nil
}

// count takes what a statement that is answered without the engine takes of the
// limits of its principal; leave gives back its slot. The end of a transaction
// block takes nothing: the block could not end.
func (c *conn) count(ctx context.Context, p *plan) (leave func(), err error) {
	c.round.counted = true
	if c.endsBlock(p) {
		return func() {}, nil
	}
	if err := c.client.renew(c.server.opts.Keys()); err != nil {
		return nil, err
	}
	if p.command != nil && p.command.declare != nil { // takes a slot when it describes its statement
		leave, err = func() {}, c.client.principal.Spend()
	} else {
		leave, err = c.client.principal.Begin()
	}
	if err != nil {
		c.server.opts.Query.Denied(ctx, c.request(p, nil), audit.RateLimited)
	}
	return leave, err
}

// runCommand answers a command. Its rows are sent in the formats asked for,
// which for text are the same.
func (c *conn) runCommand(ctx context.Context, p *portal) error {
	cmd := p.plan.command
	switch {
	case cmd.fetch != nil:
		return c.runFetch(ctx, p, cmd.fetch)
	case cmd.declare != nil:
		return c.runDeclare(ctx, p, cmd.declare)
	}
	failed := c.session.tx == txFailed
	rows, err := cmd.run(ctx, c)
	if err != nil {
		return err
	}
	for _, r := range rows {
		values := make([][]byte, len(r))
		for i, s := range r {
			values[i] = []byte(s)
		}
		c.out.send(&pgproto3.DataRow{Values: values})
	}
	tag := cmd.tag
	if failed && tag == "COMMIT" {
		tag = "ROLLBACK" // what it did
	}
	c.out.complete(tag)
	return nil
}
