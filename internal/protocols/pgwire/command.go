package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// command is a statement that is answered without the engine. One that returns
// rows has columns or is a fetch.
type command struct {
	tag     string
	columns []string                     // of run's rows, which are text
	run     func(c *conn) ([]row, error) // nil for the two below
	fetch   *fetch                       // of a cursor
	declare *declare                     // a cursor
	aborted bool                         // it can run in a failed transaction
}

// row is one of texts.
type row []string

// words reads a command's tokens one after the other.
type words struct {
	sql    string
	tokens []sqltree.Token
	at     int
}

func newWords(sql string) *words { return &words{sql: sql, tokens: sqltree.Scan(sql)} }

// peek is the next word in lower case, or the text of what is none; "" at the
// end.
func (w *words) peek() string {
	if w.at >= len(w.tokens) {
		return ""
	}
	t := w.tokens[w.at]
	if t.Kind == sqltree.Ident {
		return sqltree.Fold(t.Text(w.sql))
	}
	return t.Text(w.sql)
}

// take goes over the next words if they are these.
func (w *words) take(these ...string) bool {
	for i, word := range these {
		if w.at+i >= len(w.tokens) || !strings.EqualFold(w.tokens[w.at+i].Text(w.sql), word) {
			return false
		}
	}
	w.at += len(these)
	return true
}

// takeOne goes over the next word if it is one of these.
func (w *words) takeOne(these ...string) bool {
	return slices.ContainsFunc(these, func(word string) bool { return w.take(word) })
}

// name takes an identifier, which folds unless it is quoted.
func (w *words) name() (string, error) {
	if w.at >= len(w.tokens) {
		return "", w.wrong()
	}
	t := w.tokens[w.at]
	switch t.Kind {
	case sqltree.Ident:
		w.at++
		return sqltree.Fold(t.Text(w.sql)), nil
	case sqltree.QuotedIdent:
		w.at++
		return t.Name(w.sql), nil
	}
	return "", w.wrong()
}

// end fails unless all is read.
func (w *words) end() error {
	if w.at < len(w.tokens) {
		return w.wrong()
	}
	return nil
}

// wrong is a syntax error at the next token.
func (w *words) wrong() error {
	if w.at >= len(w.tokens) {
		return &stateError{state: stateSyntax, message: "syntax error at end of input", place: len([]rune(w.sql)) + 1}
	}
	t := w.tokens[w.at]
	e := failure(stateSyntax, "", "syntax error at or near %q", t.Text(w.sql))
	e.place = len([]rune(w.sql[:t.Start])) + 1
	return e
}

// parseCommand returns the command that a statement is, or nil for one of the
// engine's.
func parseCommand(w *words) (*command, error) {
	first := w.peek()
	parse, ok := commands[first]
	if !ok {
		return nil, nil
	}
	w.at++
	return parse(w)
}

// commands are the parsers of what follows a command's first word.
var commands = map[string]func(*words) (*command, error){
	"begin": parseBegin, "start": parseBegin,
	"commit": parseCommit, "end": parseCommit,
	"rollback": parseRollback, "abort": parseRollback,
	"savepoint": parseSavepoint, "release": parseRelease,
	"set": parseSet, "reset": parseReset, "show": parseShow,
	"discard": parseDiscard, "deallocate": parseDeallocate,
	"declare": parseDeclare, "fetch": parseFetch, "move": parseMove, "close": parseClose,
	"listen": parseSilent("LISTEN"), "unlisten": parseSilent("UNLISTEN"), "notify": refuse("NOTIFY"),
	"prepare": refuse("PREPARE"), "execute": refuse("EXECUTE"), "lock": refuse("LOCK"),
}

// refuse is the parser of what is PostgreSQL's and not served.
func refuse(tag string) func(*words) (*command, error) {
	hint := map[string]string{"PREPARE": "prepare through the driver", "EXECUTE": "prepare through the driver"}[tag]
	return func(*words) (*command, error) { return nil, failure(stateUnsupported, hint, "%s is not served", tag) }
}

func parseSilent(tag string) func(*words) (*command, error) {
	return func(*words) (*command, error) {
		return &command{tag: tag, run: func(*conn) ([]row, error) { return nil, nil }}, nil
	}
}

// do is a command without rows.
func do(tag string, f func(c *conn) error) *command {
	return &command{tag: tag, run: func(c *conn) ([]row, error) { return nil, f(c) }}
}

func parseBegin(w *words) (*command, error) {
	tag := "BEGIN"
	if strings.EqualFold(w.tokens[0].Text(w.sql), "start") {
		tag = "START TRANSACTION"
		if !w.take("transaction") {
			return nil, w.wrong()
		}
	} else {
		w.takeOne("work", "transaction")
	}
	modes, err := w.modes()
	if err != nil {
		return nil, err
	}
	return do(tag, func(c *conn) error {
		if c.session.tx != txIdle {
			c.out.send(notice(stateActive, "there is already a transaction in progress"))
			return nil
		}
		c.session.open()
		return modes.set(c, "transaction_", true)
	}), nil
}

// modes are those of a transaction: settings without their prefix.
type modes [][2]string

func (w *words) modes() (modes, error) {
	var m modes
	for w.at < len(w.tokens) {
		switch {
		case w.take("isolation", "level"):
			level := w.level()
			if level == "" {
				return nil, w.wrong()
			}
			m = append(m, [2]string{"isolation", level})
		case w.take("read", "only"):
			m = append(m, [2]string{"read_only", "on"})
		case w.take("read", "write"):
			m = append(m, [2]string{"read_only", "off"})
		case w.take("deferrable"):
			m = append(m, [2]string{"deferrable", "on"})
		case w.take("not", "deferrable"):
			m = append(m, [2]string{"deferrable", "off"})
		case !w.take(","):
			return nil, w.wrong()
		}
	}
	return m, nil
}

func (w *words) level() string {
	for _, level := range []string{"serializable", "repeatable read", "read committed", "read uncommitted"} {
		if w.take(strings.Fields(level)...) {
			return level
		}
	}
	return ""
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
	return &command{tag: "COMMIT", aborted: true, run: func(c *conn) ([]row, error) {
		c.endBlock(true)
		return nil, nil
	}}, nil
}

// endOfBlock reads what may follow COMMIT and ROLLBACK.
func (w *words) endOfBlock() error {
	w.takeOne("work", "transaction")
	if w.take("and", "chain") {
		return failure(stateUnsupported, "write BEGIN", "AND CHAIN is not served")
	}
	w.take("and", "no", "chain")
	return w.end()
}

// endBlock ends the transaction block, and its portals but for the cursors that
// are held over from it, or from before.
func (c *conn) endBlock(commit bool) {
	if c.session.tx == txIdle {
		c.out.send(notice(stateNoTransaction, "there is no transaction in progress"))
		return
	}
	commit = commit && c.session.tx == txOpen
	for _, p := range c.portals {
		if !p.hold || p.fresh && !commit {
			c.closePortal(p)
		}
		p.fresh = false
	}
	c.session.close(commit)
}

func parseRollback(w *words) (*command, error) {
	w.takeOne("work", "transaction")
	if !w.take("to") {
		if err := w.endOfBlock(); err != nil {
			return nil, err
		}
		return &command{tag: "ROLLBACK", aborted: true, run: func(c *conn) ([]row, error) {
			c.endBlock(false)
			return nil, nil
		}}, nil
	}
	w.take("savepoint")
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	cmd := inBlock("ROLLBACK", func(c *conn) error {
		if err := c.session.leave(name, true); err != nil {
			return err
		}
		c.session.tx = txOpen
		return nil
	})
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
			return failure(stateNoTransaction, "BEGIN first", "%s can only be used in transaction blocks", tag)
		}
		return f(c)
	})
}

func parseSavepoint(w *words) (*command, error) {
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return inBlock("SAVEPOINT", func(c *conn) error { return c.session.savepoint(name) }), nil
}

func parseRelease(w *words) (*command, error) {
	w.take("savepoint")
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return inBlock("RELEASE", func(c *conn) error { return c.session.leave(name, false) }), nil
}

func parseDiscard(w *words) (*command, error) {
	what := strings.ToUpper(w.peek())
	if !w.takeOne("all", "plans", "sequences", "temp", "temporary") {
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
			return failure(stateActive, "COMMIT first", "DISCARD ALL cannot run inside a transaction block")
		}
		c.closePortals(func(*portal) bool { return true })
		c.forgetStatements()
		c.session.resetAll()
		return nil
	}), nil
}

func parseDeallocate(w *words) (*command, error) {
	w.take("prepare")
	if w.take("all") {
		return do("DEALLOCATE ALL", func(c *conn) error {
			c.forgetStatements()
			return nil
		}), w.end()
	}
	name, err := w.lastName()
	if err != nil {
		return nil, err
	}
	return do("DEALLOCATE", func(c *conn) error {
		if c.statements[name] == nil {
			return failure(stateNoStatement, "", "prepared statement %q does not exist", name)
		}
		c.forgetStatement(name)
		return nil
	}), nil
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
	rows, err := cmd.run(c)
	if err != nil {
		return err
	}
	for _, r := range rows {
		c.textRow(r)
	}
	tag := cmd.tag
	if failed && tag == "COMMIT" {
		tag = "ROLLBACK" // what it did
	}
	c.complete(tag)
	return nil
}
