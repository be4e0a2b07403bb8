package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Tx is the write transaction that makes a generation. It is valid during the call
// of the function it is passed to and is used by one goroutine. An error while
// DuckDB runs, rather than binds, a statement aborts the transaction.
type Tx struct {
	session
	committed []func()
	switched  []func()
}

// Exec runs one internal statement, which is not guarded.
func (tx *Tx) Exec(sql string) error {
	return tx.session.Exec(sql)
}

// Run calls f and interrupts what it runs in the transaction when ctx ends; the error is then that
// of ctx.
func (tx *Tx) Run(ctx context.Context, f func() error) error { return interruptible(ctx, tx.c, f) }

// Publish runs build in a transaction and makes its changes and next visible to
// new statements in one step; running statements keep what they see. If build
// fails, or ctx or the database ends, nothing changes. Publications run one at a
// time; an error of DuckDB is an [*Error].
func (db *DB) Publish(ctx context.Context, next *Catalog, build func(*Tx) error) error {
	db.write.Lock()
	defer db.write.Unlock()
	if db.life.Err() != nil { // the writer may be gone
		return ErrClosing
	}
	return db.publish(ctx, next, build)
}

// publish is [DB.Publish] for the holder of db.write.
func (db *DB) publish(ctx context.Context, next *Catalog, build func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	writer := db.duck.Load().writer
	tx := &Tx{session: session{writer}}
	if err := tx.Exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	if err := db.build(ctx, tx, build); err != nil {
		return errors.Join(err, writer.exec("ROLLBACK"))
	}
	// DuckDB takes COMMIT for an aborted transaction and rolls it back.
	if err := tx.Exec("SELECT 1"); err != nil {
		return errors.Join(err, writer.exec("ROLLBACK"))
	}
	if err := db.planned(ctx); err != nil {
		return errors.Join(err, writer.exec("ROLLBACK"))
	}
	if err := db.commitCatalog(next, tx.switched); err != nil {
		return err
	}
	for _, f := range tx.committed {
		f()
	}
	return nil
}

// planned waits for the plans of statements that earlier publications made plan again.
func (db *DB) planned(ctx context.Context) error {
	ctx, stop := db.living(ctx)
	defer stop()
	db.planning.wait(ctx, maxPlanning)
	return context.Cause(ctx)
}

// build runs f in tx. A panic of f rolls back, so that the writer stays usable,
// and propagates.
func (db *DB) build(ctx context.Context, tx *Tx, f func(*Tx) error) error {
	returned := false
	defer func() {
		if !returned {
			_ = db.duck.Load().writer.exec("ROLLBACK")
		}
	}()
	ctx, stop := db.living(ctx)
	defer stop()
	err := interruptible(ctx, db.duck.Load().writer, func() error { return f(tx) })
	returned = true
	if db.life.Err() != nil {
		return ErrClosing
	}
	return err
}

// commitCatalog ends the transaction and swaps the catalog. A statement that is
// being bound meanwhile sees the new epoch and binds again.
func (db *DB) commitCatalog(next *Catalog, switched []func()) error {
	db.commit.Lock()
	db.epoch.Add(1)
	if err := db.duck.Load().writer.exec("COMMIT"); err != nil {
		db.epoch.Add(1)
		db.commit.Unlock()
		return fmt.Errorf("commit generation %d: %w", next.Generation, err)
	}
	last := db.current
	next.serial = db.serial.Add(1)
	next.users.Add(1) // the database's own use
	next.gone = func() { db.drain.remove(next.serial) }
	db.drain.add(next.serial)
	db.current = next
	db.versions.publish(next)
	if next.contents.Published != nil {
		next.contents.Published()
	}
	for _, f := range switched {
		f()
	}
	db.epoch.Add(1)
	db.commit.Unlock()
	if next.Generation > 0 && db.Lost() {
		db.crashes.keep(next.Generation)
		db.recovery.end(db.duck.Load())
	}
	for _, p := range db.pools {
		p.forgetBefore(next.serial)
	}
	if last != nil {
		last.release()
	}
	return nil
}

// Parse returns DuckDB's parse tree of an internal SELECT-like text. The error for
// any other text is an [*Error].
func (db *DB) Parse(ctx context.Context, text string) (*sqltree.Statement, error) {
	tokens, err := db.checkText(text)
	if err != nil {
		return nil, err
	}
	pool, err := db.poolFor(ctx)
	if err != nil {
		return nil, err
	}
	c, err := pool.get(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.put(c)
	return parseWith(c, plainText(text, tokens), NewCatalog(Contents{}), sqltree.Options{Filter: true})
}

// publicError converts DuckDB's error about sql to an [*Error].
func publicError(err error, sql string) error {
	var e *duckError
	if errors.As(err, &e) {
		return e.describe(sql, func(offset int) int { return offset })
	}
	return err
}
