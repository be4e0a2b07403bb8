package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// writer writes to a table.
type writer struct {
	server *server
	target target
}

// Table returns the columns and keys of the table.
func (w *writer) Table() *engine.OutsideTable { return &w.target.OutsideTable }

// Check refuses nothing: the server has all of it.
func (w *writer) Check(*engine.RowChange) error { return nil }

// settings are those of a transaction: values are read and written in the forms that
// package engine has, whatever the server's settings are.
const settings = "SET LOCAL datestyle = 'ISO'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL bytea_output = 'hex'; " +
	"SET LOCAL extra_float_digits = 1"

// Begin begins a transaction.
func (w *writer) Begin(ctx context.Context) (engine.WriteTx, error) {
	if err := w.server.BeginWrite(ctx); err != nil {
		return nil, err
	}
	tx, err := w.begin(ctx)
	if e := (*engine.Error)(nil); errors.As(err, &e) &&
		(e.State == dbproxy.StateEnded || strings.HasPrefix(e.State, classShutdown)) && ctx.Err() == nil {
		w.server.Reset() // the server may have ended all connections that were idle
		tx, err = w.begin(ctx)
	}
	if err != nil {
		w.server.EndWrite()
		return nil, err
	}
	return tx, nil
}

// classShutdown is operator intervention: the server says why it ends the connection.
const classShutdown = "57P"

func (w *writer) begin(ctx context.Context) (*transaction, error) {
	r, err := w.server.Acquire(ctx)
	if err != nil {
		f := fault.Of(err)
		return nil, dbproxy.StateError(errcode.Execution, dbproxy.StateEnded, f.Hint, "%s; nothing was written", f.Message)
	}
	begin := "BEGIN ISOLATION LEVEL READ COMMITTED; " + settings
	if end, ok := ctx.Deadline(); ok { // the server keeps the limit, too
		begin += fmt.Sprintf("; SET LOCAL statement_timeout = %d", max(0, time.Until(end).Milliseconds())+1000)
	}
	if err := r.Value().Exec(ctx, begin).Close(); err != nil {
		r.Value().abandon()
		r.Destroy()
		return nil, w.explain(err)
	}
	return &transaction{writer: w, connection: r}, nil
}

// transaction is a transaction of the server.
type transaction struct {
	*writer
	connection *puddle.Resource[*connection] // nil when it has ended
	failed     bool                          // the connection cannot be used any more
}

// Lock locks rows as the statement that follows would.
func (t *transaction) Lock(ctx context.Context, r *engine.RowChange) error {
	_, err := t.run(ctx, t.target.lock(r), func([][]byte) error { return nil })
	return err
}

// Apply changes rows with one statement.
func (t *transaction) Apply(ctx context.Context, r *engine.RowChange) (*engine.Changed, error) {
	changed := &engine.Changed{}
	add := dbproxy.Returned(r, changed)
	tag, err := t.run(ctx, t.target.statement(r), func(values [][]byte) error {
		row := make([]*string, len(values))
		for i, v := range values {
			if v != nil {
				text := t.target.columns[i].received(string(v))
				row[i] = &text
			}
		}
		return add(row)
	})
	changed.Count = tag.RowsAffected()
	return changed, err
}

// run runs a statement and calls row with each of its rows.
func (t *transaction) run(ctx context.Context, s *statement,
	row func(values [][]byte) error,
) (pgconn.CommandTag, error) {
	if s.size > maxStatement {
		return pgconn.CommandTag{}, engine.NewError(errcode.Limit, "write fewer rows at once",
			"the values of the statement take more than %d bytes; nothing was written", maxStatement)
	}
	result := t.connection.Value().ExecParams(ctx, s.sql.String(), s.params, nil, nil, nil)
	for result.NextRow() {
		if err := row(result.Values()); err != nil {
			t.failed = true // it is cheaper to end the connection than to read the other rows
			return pgconn.CommandTag{}, err
		}
	}
	tag, err := result.Close()
	if err != nil {
		t.broken(err)
		return tag, t.explain(err)
	}
	return tag, nil
}

const maxStatement = 256 << 20 // bytes of the values of a statement

// broken notes an error after which the connection cannot be used.
func (t *transaction) broken(err error) {
	var e *pgconn.PgError
	t.failed = t.failed || !errors.As(err, &e) || t.connection.Value().IsClosed()
}

// Commit commits. Constraints that are deferred are checked now.
func (t *transaction) Commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dbproxy.CommitLimit)
	defer cancel()
	result := t.connection.Value().ExecParams(ctx, "COMMIT", nil, nil, nil, nil).Read()
	if result.Err != nil {
		t.broken(result.Err)
		var e *pgconn.PgError
		if !errors.As(result.Err, &e) {
			return dbproxy.StateError(errcode.Execution, dbproxy.StateUnknown, "read the rows to see whether they were written",
				"the connection to the PostgreSQL server %s ended during COMMIT: it is not known whether the rows were written",
				t.server.address())
		}
		return t.explain(result.Err)
	}
	t.release()
	return nil
}

// Rollback ends the transaction, unless Commit has.
func (t *transaction) Rollback() {
	if t.connection == nil {
		return
	}
	if !t.failed && t.connection.Value().reset() == nil {
		t.release()
		return
	}
	t.connection.Value().abandon()
	t.connection.Destroy()
	t.connection = nil
	t.server.EndWrite()
}

func (t *transaction) release() {
	t.connection.Release()
	t.connection = nil
	t.server.EndWrite()
}

// explain returns the error of a statement with the code of the server.
func (w *writer) explain(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return dbproxy.StateError(errcode.Execution, dbproxy.StateEnded,
			"", "the connection to the PostgreSQL server %s ended; nothing was written", w.server.address())
	}
	code, hint := errcode.Execution, e.Hint
	switch {
	case e.Code == "42501": // insufficient_privilege
		code, hint = errcode.Refused, "grant it to the user "+w.server.config.User+" of the dataset"
	case e.Code == "57014": // query_canceled: statement_timeout
		code = errcode.Timeout
	// serialization_failure, deadlock_detected, lock_not_available
	case e.Code == "40001" || e.Code == "40P01" || e.Code == "55P03":
		hint = "another statement changed the same rows; try again"
	case strings.HasPrefix(e.Code, "42"):
		hint = "reload the Spicepod if the table has changed"
	}
	message := e.Message
	if e.Detail != "" && strings.HasPrefix(e.Code, "23") {
		message += ": " + strings.TrimSuffix(e.Detail, ".")
	}
	return dbproxy.StateError(code, e.Code, hint, "%s", message)
}
