package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Transaction is a transaction of a client: statements whose changes are committed or undone
// together. The zero value has changed nothing. It must not be copied; end it with Commit or
// Rollback.
//
//	var tx engine.Transaction
//	rows, err := db.Query(ctx, engine.Request{SQL: "INSERT …", Write: true, Transaction: &tx})
//	…
//	_, err = tx.Commit()
//
// It is one transaction of DuckDB, on a connection that it holds from the first statement
// that changes rows to its end. Since then, its statements that change rows run there, and
// those that read what statements can change: no others see its changes. All the rest, and
// what came before the first change, runs as outside of a transaction. Statements on the
// connection see the catalog of the first change, and what that refers to, such as the files
// of its datasets, stays for it. That, and what an idle transaction would do to others who
// change the same rows, is why its time is limited.
//
// One statement at a time uses the connection. A statement that fails there after it has
// changed rows, or so that DuckDB ends the transaction, undoes all of its changes: DuckDB has
// no savepoints.
type Transaction struct {
	once   sync.Once
	turn   chan struct{}        // has a value while a statement or an end uses what follows
	holder atomic.Pointer[Rows] // of the turn, of a statement
	work   *transactionWork     // nil: nothing is changed
	lost   *Error               // why its changes were undone
	timer  *time.Timer          // of idle
	marked atomic.Int64         // see Mark
	wait   atomic.Int64         // see SetIdle
}

// transactionWork is what a transaction holds since its first change.
type transactionWork struct {
	db       *DB
	c        *conn
	catalog  *Catalog
	epoch    uint64
	target   Relation // that it changed first
	database string   // in which target is
	share    string   // of the caller
	began    time.Time
	used     time.Time   // when the last statement ended
	alive    func() bool // stops waiting for the end of the database
	settled  bool        // a statement has succeeded: DuckDB's transaction has its view of the catalog
}

// Limits of transactions that have changed rows.
const (
	DefaultIdle = time.Minute
	MaxIdle     = 10 * time.Minute

	maxTransactionAge     = 30 * time.Minute // when its last statement begins
	maxTransactions       = 64
	maxTransactionsCaller = 16
)

// SQLSTATEs of transactions.
const (
	stateUnsupported   = "0A000"
	stateObjectInUse   = "55006"
	stateNoTransaction = "25P01"
	stateAborted       = "25P02"
	stateIdle          = "25P03" // idle_in_transaction_session_timeout
	stateTooOld        = "25P04" // transaction_timeout
	stateTransactions  = "53400" // configuration_limit_exceeded
)

// failTransaction returns an error with a SQLSTATE.
func failTransaction(code errcode.Code, state, hint, format string, args ...any) *Error {
	e := NewError(code, hint, format, args...)
	e.State = state
	return e
}

// transactions counts those that have changed rows.
type transactions struct {
	mu    sync.Mutex
	open  int
	by    map[string]int // callers' shares
	ended sync.WaitGroup
}

func (t *transactions) add(share string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	const hint = "COMMIT or ROLLBACK others"
	switch {
	case t.by[share] >= maxTransactionsCaller:
		return failTransaction(errcode.Busy, stateTransactions, hint,
			"a caller can have %d open transactions that have changed rows", maxTransactionsCaller)
	case t.open >= maxTransactions:
		return failTransaction(errcode.Busy, stateTransactions, "try again in a moment",
			"more than %d transactions that have changed rows are open", maxTransactions)
	}
	if t.by == nil {
		t.by = map[string]int{}
	}
	t.ended.Add(1)
	t.open++
	t.by[share]++
	return nil
}

func (t *transactions) remove(share string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended.Done()
	t.open--
	if t.by[share]--; t.by[share] == 0 {
		delete(t.by, share)
	}
}

// take waits for the turn. A statement whose rows are read in parts has it for as long as
// there are some left, so it is not waited for.
func (tx *Transaction) take(ctx context.Context) error {
	tx.once.Do(func() { tx.turn = make(chan struct{}, 1) })
	select {
	case tx.turn <- struct{}{}:
		return nil
	default:
	}
	if r := tx.holder.Load(); r != nil && !r.closed.Load() && !r.ended.Load() && r.ctx.Err() == nil {
		return failTransaction(errcode.Refused, stateObjectInUse, "read them to the end, or close the cursor",
			"rows of a statement that reads in this transaction, after its first change, are not all read")
	}
	select {
	case tx.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return NewError(errcode.Cancelled, "", "the statement was cancelled")
	}
}

func (tx *Transaction) pass() {
	tx.holder.Store(nil)
	<-tx.turn
}

// Mark returns the number of the statements that have changed rows, for Restore.
func (tx *Transaction) Mark() int { return int(tx.marked.Load()) }

// Restore undoes what was changed since mark, which Mark returned then. DuckDB has no
// savepoints: it succeeds if nothing was changed since, or nothing before.
func (tx *Transaction) Restore(mark int) error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := tx.take(ctx); err != nil {
		return err
	}
	defer tx.pass()
	switch {
	case mark == 0:
		tx.reset()
		return nil
	case tx.lost == nil && mark == tx.Mark():
		return nil
	}
	return failTransaction(errcode.Refused, stateUnsupported, "ROLLBACK the whole transaction",
		"ROLLBACK TO SAVEPOINT cannot keep what the transaction changed before the savepoint: DuckDB has no savepoints")
}

// Commit keeps the changes, and reports whether there are any. After an error there are none.
// The transaction has ended, as has a statement whose rows are not all read.
func (tx *Transaction) Commit() (changed bool, err error) {
	tx.closeRows()
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := tx.take(ctx); err != nil {
		tx.Rollback()
		return false, err
	}
	defer tx.pass()
	defer tx.end() // ends DuckDB's transaction if COMMIT did not
	w := tx.work
	switch {
	case tx.lost != nil:
		return false, tx.lost
	case w == nil:
		return false, nil
	}
	if err = w.db.commits.run(func() error { return w.c.exec("COMMIT") }); err != nil {
		err = publicError(err, "")
	}
	return err == nil, err
}

// Rollback undoes the changes, reports whether there were any, and ends the transaction. A
// statement that ignores its interrupt is not waited for: the changes are undone when it ends.
func (tx *Transaction) Rollback() (changed bool) {
	changed = tx.Mark() > 0
	tx.closeRows()
	undone := make(chan struct{})
	go func() {
		defer close(undone)
		tx.turn <- struct{}{} // before any later statement: who waits longest is first
		defer tx.pass()
		tx.end()
	}()
	patience := time.NewTimer(closePatience)
	defer patience.Stop()
	select {
	case <-undone:
	case <-patience.C:
	}
	return changed
}

// closeRows ends the statement that has the turn.
func (tx *Transaction) closeRows() {
	tx.once.Do(func() { tx.turn = make(chan struct{}, 1) })
	if r := tx.holder.Load(); r != nil {
		r.Close()
	}
}

// reset makes the transaction one that has changed nothing.
func (tx *Transaction) reset() {
	tx.undo()
	tx.marked.Store(0)
	tx.lost = nil
}

// errEnded is the error of a statement that comes after the end of its transaction.
var errEnded = failTransaction(errcode.Refused, stateNoTransaction, "begin another", "the transaction has ended")

// end ends the transaction. A statement that was on its way to it fails: what it
// changes would not be committed.
func (tx *Transaction) end() {
	tx.reset()
	tx.lost = errEnded
}

// undo ends DuckDB's transaction and frees what it held.
func (tx *Transaction) undo() {
	w := tx.work
	if w == nil {
		return
	}
	tx.work = nil
	if tx.timer != nil {
		tx.timer.Stop()
	}
	w.alive()
	w.c.prepared.DeleteFunc(func(stmtKey, *stmt) bool { return true })
	w.db.snapshots.put(w.c) // with ROLLBACK
	w.catalog.release()
	w.db.transactions.remove(w.share)
}

// lose undoes the changes before the end of the transaction, which all later statements and
// Commit report.
func (tx *Transaction) lose(why *Error) {
	tx.undo()
	tx.lost = why
}

// SetIdle sets how long the transaction may wait for its next statement once it has changed
// rows, at most [MaxIdle]. It is [DefaultIdle] at first.
func (tx *Transaction) SetIdle(limit time.Duration) { tx.wait.Store(int64(min(limit, MaxIdle))) }

// idle is the limit for the next statement.
func (tx *Transaction) idle() time.Duration {
	return cmp.Or(time.Duration(tx.wait.Load()), DefaultIdle)
}

// expire undoes the changes of a transaction that waits for its next statement for too long.
func (tx *Transaction) expire(w *transactionWork, idle time.Duration) {
	select {
	case tx.turn <- struct{}{}:
	default:
		return // a statement runs; its end begins the wait again
	}
	defer tx.pass()
	if tx.work == w && time.Since(w.used) >= idle {
		tx.lose(failTransaction(errcode.Timeout, stateIdle,
			"COMMIT or ROLLBACK sooner, or SET idle_in_transaction_session_timeout",
			"the transaction was rolled back: it was idle for more than %s", idle))
	}
}

// close undoes the changes when the database closes.
func (tx *Transaction) close() {
	tx.turn <- struct{}{}
	defer tx.pass()
	if tx.work != nil {
		tx.lose(ErrClosing)
	}
}

// changed notes that a statement has changed rows.
func (tx *Transaction) changed() {
	tx.work.settled = true
	tx.marked.Add(1)
}

// The rest is the part of a statement.

// joins reports whether the judged statement runs in its transaction.
func (p *producer) joins() bool {
	switch tx := p.req.Transaction; {
	case tx == nil || p.req.describe:
		return false
	case p.verdict.write:
		return true
	default:
		return p.verdict.traits.Written && tx.Mark() > 0
	}
}

// join moves the statement to the connection and the catalog of its transaction, which it
// begins with the first change.
func (p *producer) join() (err error) {
	tx := p.req.Transaction
	if p.verdict.outside != nil {
		return failTransaction(errcode.Refused, stateUnsupported, hintAutocommit,
			"%q cannot be written in a transaction: its rows are at another server", p.verdict.target.Name)
	}
	if err := tx.take(p.rows.ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tx.pass()
		}
	}()
	if err := p.mayJoin(); err != nil {
		return err
	}
	if tx.work == nil {
		if err := p.beginTransaction(); err != nil {
			return err
		}
	}
	w := tx.work
	natives, _ := p.db.running.LoadAndDelete(p.c.id)
	p.db.running.Store(w.c.id, natives)
	p.c = p.c.instead(p.rows.ctx, w.c)
	p.catalog.release()
	w.catalog.users.Add(1)
	p.catalog, p.epoch, p.joined = w.catalog, w.epoch, tx
	tx.holder.Store(p.rows)
	return nil
}

// planJoined is plan on the connection of the transaction.
func (p *producer) planJoined() (mapping.PendingResult, *stmt, error) {
	if err := p.join(); err != nil {
		return mapping.PendingResult{}, nil, err
	}
	return p.plan()
}

const hintAutocommit = "write it with autocommit (psycopg: autocommit=True, SQLAlchemy: " +
	"isolation_level=\"AUTOCOMMIT\"), outside of BEGIN and COMMIT"

// mayJoin refuses what the transaction cannot run.
func (p *producer) mayJoin() error {
	tx := p.req.Transaction
	w := tx.work
	switch {
	case tx.lost == errEnded, tx.lost != nil && (tx.lost.State == stateIdle || tx.lost.State == stateTooOld):
		return tx.lost
	case tx.lost != nil:
		return failTransaction(errcode.Refused, stateAborted, "ROLLBACK first", "the transaction has ended, because of: %s",
			tx.lost.Message)
	case w == nil:
		return nil
	case time.Since(w.began) > maxTransactionAge:
		tx.lose(failTransaction(errcode.Timeout, stateTooOld, "COMMIT sooner",
			"the transaction was rolled back: it took more than %s", maxTransactionAge))
		return tx.lost
	case p.verdict.write && p.verdict.database != w.database:
		return failTransaction(errcode.Refused, stateUnsupported,
			fmt.Sprintf("COMMIT what changed %q first, and write %q in another transaction", w.target.Name,
				p.verdict.target.Name),
			"%q cannot be written in this transaction, which has changed %q: they are in different databases, and "+
				"a transaction changes one", p.verdict.target.Name, w.target.Name)
	}
	return nil
}

// beginTransaction begins DuckDB's transaction.
func (p *producer) beginTransaction() error {
	share := p.c.share
	if err := p.db.transactions.add(share); err != nil {
		return err
	}
	c, err := p.db.snapshots.get(p.db)
	if err != nil {
		p.db.transactions.remove(share)
		return err
	}
	catalog, epoch := p.db.acquire()
	tx := p.req.Transaction
	tx.work = &transactionWork{
		db: p.db, c: c, catalog: catalog, epoch: epoch, share: share, began: time.Now(),
		target: p.verdict.target, database: p.verdict.database,
		alive: context.AfterFunc(p.db.life, tx.close),
	}
	// DuckDB begins the transaction of each database when it is first read. That of the
	// declared relations and of the table that is changed begin now, so that they are those of
	// the catalog.
	if err = c.exec("BEGIN TRANSACTION"); err == nil {
		err = c.exec("SELECT NULL FROM " + Qualified(p.verdict.target.Schema, p.verdict.target.Name) + " LIMIT 0")
	}
	if err != nil {
		tx.undo()
	}
	return err
}

// leave ends the statement's part in its transaction.
func (p *producer) leave(err error) {
	tx := p.joined
	if tx == nil {
		return
	}
	p.joined = nil
	defer tx.pass()
	w := tx.work
	p.db.running.Delete(w.c.id)
	wrote := p.verdict != nil && p.verdict.write
	switch {
	case err == nil:
	case !w.settled:
		tx.undo() // there is nothing to lose
		return
	case wrote && p.ran || w.c.exec("SELECT 1") != nil:
		tx.lose(AsError(err))
		return
	}
	idle := tx.idle()
	w.used = time.Now()
	if tx.timer != nil {
		tx.timer.Stop()
	}
	tx.timer = time.AfterFunc(idle, func() { tx.expire(w, idle) })
}

// databaseOf returns the qualifier of a qualified name of a table.
func databaseOf(table string) string {
	tokens := sqltree.Scan(table)
	var end int
	dots := 0
	for i := len(tokens) - 1; i >= 0; i-- {
		if tokens[i].Is(table, ".") {
			if dots++; dots == 2 {
				end = tokens[i].Start
			}
		}
	}
	return strings.ToLower(table[:end])
}
