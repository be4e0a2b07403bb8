package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// After some errors of its own, DuckDB refuses all further statements of a process until it
// is opened again. This file notices that, makes new statements wait, and replaces DuckDB.
// Whoever opened the database fills the new one: see [Options.Lost] and [DB.Renew].

// recovery is what statements wait for after an instance was lost.
type recovery struct {
	mu   sync.Mutex
	done chan struct{} // closed when statements can run again; nil: they can
}

// recoveryWait is how long a statement waits. Rows that are loaded again take longer;
// what reads them has errors of its own.
const recoveryWait = 10 * time.Second

// newLostError returns the error of what did not begin because its instance was lost.
func newLostError() *Error {
	e := NewError(errcode.Loading, "try again in a moment", "DuckDB is opened again after an internal error")
	e.lost = true
	return e
}

// isLost reports whether another attempt can succeed once DuckDB was opened again.
func isLost(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.lost
}

// invalidated reports whether DuckDB's message is about an earlier error of another
// statement, which the message quotes.
func invalidated(message string) bool {
	return strings.Contains(message, "database has been invalidated")
}

// failure returns an error of DuckDB on this connection.
func (c *conn) failure(text string) *duckError {
	e := newDuckError(text)
	if c.in.db.opts.Lost == nil {
		return e
	}
	switch {
	case invalidated(e.message):
		e.lost = true
		c.in.lose()
	case e.internal():
		c.in.check()
	}
	return e
}

// internal reports whether the error is a fault of DuckDB.
func (e *duckError) internal() bool { return e.kind == "FATAL" || e.kind == "INTERNAL" }

// check finds out whether DuckDB still runs statements.
func (in *instance) check() {
	if c, err := in.connect("SELECT 1"); err == nil { // an error is noticed by failure
		c.close()
	}
}

// lose notes that DuckDB refuses all statements.
func (in *instance) lose() {
	if in.retired.Load() || in.lost.Swap(true) {
		return
	}
	in.db.recovery.begin()
	in.db.opts.Lost()
}

func (r *recovery) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		r.done = make(chan struct{})
	}
}

// end lets statements run in the instance, unless it is lost, too.
func (r *recovery) end(in *instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done != nil && !in.lost.Load() {
		close(r.done)
		r.done = nil
	}
}

// pending returns what closes when statements can run again; nil if they can.
func (r *recovery) pending() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// wait waits until statements can run, for recoveryWait at most.
func (r *recovery) wait(ctx context.Context) error {
	done := r.pending()
	if done == nil {
		return nil
	}
	timer := time.NewTimer(recoveryWait)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		e := newLostError()
		e.lost = false // it has waited
		return e
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lost reports whether statements wait for [DB.Renew], and for a publication after it.
func (db *DB) Lost() bool { return db.recovery.pending() != nil }

// Openings counts how often DuckDB was opened, from 1.
func (db *DB) Openings() uint64 { return db.duck.Load().serial }

// Renew replaces DuckDB by a new, empty one, and publishes next with what build makes in it.
// Nothing else of the old one is there: attached databases, secrets, views, functions and
// tables, stages. Statements that run in the old one go on, and the last one closes it.
// Statements of callers wait until a catalog with a generation is published.
func (db *DB) Renew(ctx context.Context, next *Catalog, build func(*Tx) error) error {
	db.write.Lock()
	defer db.write.Unlock()
	if db.life.Err() != nil {
		return ErrClosing
	}
	db.recovery.begin()
	in, err := db.renewed()
	if err != nil {
		if in != nil {
			in.close(true)
		}
		return err
	}
	db.duck.Swap(in).retire()
	return db.publish(ctx, next, build)
}

// renewed opens another instance as the present one is: locked, with its native functions.
func (db *DB) renewed() (*instance, error) {
	in, err := db.openInstance()
	if err != nil {
		return in, err
	}
	db.batches.mu.Lock()
	defer db.batches.mu.Unlock()
	for name, t := range db.batches.types {
		if err := in.registerBatches(name, t); err != nil {
			return in, err
		}
	}
	if err := in.openLabeled(); err != nil || db.roots == nil {
		return in, err
	}
	return in, in.lock(db.roots)
}

// explainInternal returns the error of a statement after a fault of DuckDB; nil for any
// other error. What DuckDB says about the statement of another caller is never shown.
func (p *producer) explainInternal(e *duckError) error {
	switch {
	case e.lost && !p.ran:
		return newLostError()
	case e.lost:
		return NewError(errcode.Internal, "try again",
			"another statement made DuckDB fail with an internal error, which ended this one")
	case e.internal() && p.c != nil && p.c.in.lost.Load():
		p.db.crashes.add(p.rows.ctx, p.catalog.Generation, p.req.SQL)
		message, _, _ := strings.Cut(e.message, "\n")
		out := NewError(errcode.Internal,
			"change the statement, and report it: DuckDB refuses all statements after this error and is opened again",
			"DuckDB failed with an internal error: %s", message)
		out.Class, out.Ran = e.kind, p.ran
		return p.redact(out)
	}
	return nil
}
