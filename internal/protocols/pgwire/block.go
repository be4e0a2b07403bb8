package pgwire

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// block is the transaction block of a connection: an [engine.Transaction], which has nothing to
// do until a statement changes rows.
type block struct {
	c      *conn
	tx     *engine.Transaction // nil outside of a block
	script bool                // it is that of a script, without BEGIN
}

// begin begins a transaction block.
func (b *block) begin() {
	b.c.session.open()
	b.tx = &engine.Transaction{}
}

// transaction is what a statement of now is a part of, or nil.
func (b *block) transaction() *engine.Transaction {
	if b.tx == nil || b.c.session.tx != txOpen {
		return nil
	}
	b.tx.SetIdle(cmp.Or(b.c.session.duration("idle_in_transaction_session_timeout"), engine.MaxIdle))
	return b.tx
}

// end ends the transaction block, and its portals but for the cursors that
// are held over from it, or from before. The error is that of COMMIT, which changed nothing.
func (b *block) end(ctx context.Context, commit bool) error {
	if b.c.session.tx == txIdle {
		b.c.out.send(sqlstate.Notice(sqlstate.NoTransaction, "there is no transaction in progress"))
		return nil
	}
	commit = commit && b.c.session.tx == txOpen
	b.closePortals(false)
	err := b.endTransaction(ctx, commit)
	commit = commit && err == nil
	if !commit {
		b.closePortals(true)
	}
	for _, p := range b.c.store.portals {
		p.fresh = false
	}
	b.c.session.close(commit)
	b.script = false
	return err
}

// closePortals closes those that end with the block: held cursors of the block only if it
// is undone.
func (b *block) closePortals(undone bool) {
	for _, p := range b.c.store.portals {
		if !p.hold || p.fresh && undone {
			b.c.store.closePortal(p)
		}
	}
}

// endTransaction keeps or undoes the changes of the block.
func (b *block) endTransaction(ctx context.Context, commit bool) error {
	req := b.c.request(&plan{text: "ROLLBACK"}, nil)
	if commit {
		req.SQL = "COMMIT"
	}
	req.Transaction = b.tx
	b.tx = nil
	return b.c.server.opts.Query.End(ctx, req, commit)
}

// leave undoes the changes of the block that the connection leaves open.
func (b *block) leave(ctx context.Context) {
	if b.tx != nil {
		_ = b.endTransaction(ctx, false) // never fails
	}
}

// inScript begins the transaction of a script, which has no BEGIN, with its first statement
// that writes; endScript ends it.
func (b *block) inScript(w *words) {
	if b.c.session.tx == txIdle && w.changes() {
		b.begin()
		b.script = true
	}
}

func (b *block) endScript(ctx context.Context, err error) error {
	if !b.script {
		return err
	}
	if ended := b.end(ctx, err == nil); err == nil {
		err = ended
	}
	return err
}

// changes reports whether the statement writes.
func (w *words) changes() bool {
	if _, is := commands[w.Peek()]; is {
		return false
	}
	if w.Is(0, "copy") {
		return w.copiesIn()
	}
	verb, _ := verbOf(w.SQL, w.Tokens)
	return writes(verb)
}

// savepoint is a savepoint of a block.
type savepoint struct {
	name string
	mark int // of the transaction
}

// savepoint adds a savepoint.
func (b *block) savepoint(name string) error {
	s := &b.c.session
	if len(s.savepoints) >= maxSavepoints {
		return sqlstate.Errorf(sqlstate.Program, "RELEASE some", "a transaction can have %d savepoints", maxSavepoints)
	}
	if err := checkName(name); err != nil {
		return err
	}
	s.savepoints = append(s.savepoints, savepoint{strings.Clone(name), b.tx.Mark()})
	return nil
}

// find returns the index of the named savepoint.
func (s *session) find(name string) (int, error) {
	for i, have := range slices.Backward(s.savepoints) {
		if have.name == name {
			return i, nil
		}
	}
	return 0, sqlstate.Errorf(sqlstate.NoSavepoint, "", "savepoint %q does not exist", name)
}

// release removes the named savepoint and those after it.
func (b *block) release(name string) error {
	i, err := b.c.session.find(name)
	if err == nil {
		b.c.session.savepoints = b.c.session.savepoints[:i]
	}
	return err
}

// rollbackTo undoes what was changed since the named savepoint, and removes those after it.
func (b *block) rollbackTo(name string) error {
	i, err := b.c.session.find(name)
	if err != nil {
		return err
	}
	if err := b.tx.Restore(b.c.session.savepoints[i].mark); err != nil {
		return err
	}
	b.c.session.savepoints = b.c.session.savepoints[:i+1]
	b.c.session.tx = txOpen
	return nil
}
