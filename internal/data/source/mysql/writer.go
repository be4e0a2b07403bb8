package mysql

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// writer writes to a table.
type writer struct {
	server *server
	target target
}

// Table returns the columns and keys of the table.
func (w *writer) Table() *engine.OutsideTable { return &w.target.OutsideTable }

// Check refuses what the server has no statement for.
func (w *writer) Check(r *engine.RowChange) error {
	at := w.server.config.address()
	switch {
	case r.Conflict == dml.ConflictUpdate && !w.target.returns:
		return engine.NewError(errcode.Refused,
			"UPDATE the rows that are there, and INSERT … ON CONFLICT DO NOTHING the others; MariaDB has what "+
				"it takes since 10.5",
			"ON CONFLICT DO UPDATE is refused: ON DUPLICATE KEY UPDATE of the MySQL server %s looks at all unique keys, has "+
				"no WHERE, and assigns one column after the other", at)
	case r.Conflict == dml.ConflictUpdate:
		return w.target.checkUpdate(r)
	case r.Verb == dml.VerbInsert && r.Returning && !w.target.returns:
		return engine.NewError(errcode.Refused,
			"leave RETURNING out, and SELECT the rows by their keys; MariaDB has INSERT … RETURNING since 10.5",
			"INSERT … RETURNING is refused: the MySQL server %s does not have it", at)
	case r.Verb == dml.VerbUpdate && r.Returning && slices.ContainsFunc(r.Default, func(name string) bool {
		return slices.Contains(r.Key, name)
	}):
		return engine.NewError(errcode.Refused, "leave RETURNING out",
			"UPDATE … RETURNING is refused where a column of the key gets its default")
	}
	return nil
}

// writeSettings are those of a transaction: values that do not fit are errors, 0 is 0, and
// errors are in English: one is matched by its text.
const writeSettings = "SET lc_messages = 'en_US', sql_mode = " +
	"'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO'"

const readCommitted = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

// Begin begins a transaction.
func (w *writer) Begin(ctx context.Context) (engine.WriteTx, error) {
	if err := w.server.BeginWrite(ctx); err != nil {
		return nil, err
	}
	r, err := w.server.Acquire(ctx)
	if err != nil {
		w.server.EndWrite()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := fault.Of(err)
		return nil, dbproxy.StateError(errcode.Execution, dbproxy.StateEnded, f.Hint, "%s; nothing was written", f.Message)
	}
	t := &transaction{writer: w, connection: r}
	begin := []string{writeSettings, readCommitted, "START TRANSACTION"}
	if end, ok := ctx.Deadline(); ok { // a statement that waits for a lock ends then, too
		begin = append(begin, fmt.Sprintf("SET innodb_lock_wait_timeout = %d",
			max(1, int(math.Ceil(time.Until(end).Seconds())))))
	}
	for _, sql := range begin {
		if _, err := t.run(ctx, sql, 0, nil); err != nil {
			t.Rollback()
			return nil, w.explain(err)
		}
	}
	return t, nil
}

// transaction is a transaction of the server.
type transaction struct {
	*writer
	connection *puddle.Resource[*connection] // nil when it has ended
	failed     bool                          // the connection cannot be used any more
}

// Lock locks rows as the statement that follows would.
func (t *transaction) Lock(ctx context.Context, r *engine.RowChange) error {
	return t.explain(t.selectRows(ctx, r.Key, r.Values, "1", 1, func([]*string) error { return nil }))
}

// selectRows locks the rows with the keys, with which the values begin, and selects
// something of them.
func (t *transaction) selectRows(ctx context.Context, key []string, values [][]*string, what string, columns int,
	row func([]*string) error,
) error {
	return t.target.batches(len(values[0]), "SELECT "+what+" FROM "+t.target.table()+" WHERE ", func(i int) string {
		return t.target.byKey(key, values, i)
	}, " OR ", " ORDER BY "+names(key)+" FOR UPDATE", func(sql string) error {
		_, err := t.run(ctx, sql, columns, row)
		return err
	})
}

// Apply changes rows.
func (t *transaction) Apply(ctx context.Context, r *engine.RowChange) (*engine.Changed, error) {
	changed := &engine.Changed{}
	var err error
	switch r.Verb {
	case dml.VerbInsert:
		err = t.insert(ctx, r, changed)
	case dml.VerbUpdate:
		err = t.update(ctx, r, changed)
	case dml.VerbDelete:
		err = t.delete(ctx, r, changed)
	}
	return changed, t.explain(err)
}

func (t *transaction) insert(ctx context.Context, r *engine.RowChange, changed *engine.Changed) error {
	returning, columns := "", 0
	if r.Returning {
		returning, columns = " RETURNING "+t.target.returning(), len(t.target.columns)
	}
	row := dbproxy.Returned(r, changed)
	exec := func(sql string) error {
		n, err := t.run(ctx, sql, columns, row)
		changed.Count += n
		return err
	}
	if len(r.Values) == 0 {
		return t.skip(r, exec("INSERT INTO "+t.target.table()+" () VALUES ()"+returning))
	}
	if r.Conflict == dml.ConflictUpdate {
		return t.upsert(ctx, r, changed)
	}
	before, part := t.target.insert(r)
	if r.Conflict == dml.ConflictFails {
		return t.target.batches(len(r.Values[0]), before, part, ", ", returning, exec)
	}
	for i := range r.Values[0] { // an INSERT of one row fails alone
		if err := t.target.batches(1, before, func(int) string {
			return part(i)
		}, "", returning, func(sql string) error { return t.skip(r, exec(sql)) }); err != nil {
			return err
		}
	}
	return nil
}

// skip is the error of an INSERT of one row, unless ON CONFLICT DO NOTHING skips the row.
func (t *transaction) skip(r *engine.RowChange, err error) error {
	var e *serverError
	if r.Conflict != dml.ConflictNothing || !errors.As(err, &e) || e.Number != duplicateEntry {
		return err
	}
	if len(r.Target) == 0 {
		return nil
	}
	for _, k := range t.target.keys {
		if sameColumns(k.columns, r.Target) && e.isAbout(k.name, t.target.name) {
			return nil
		}
	}
	return err
}

func sameColumns(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// isAbout reports whether the error is about a key of a table: its message ends with the
// name of the key, in quotes, which MySQL writes after that of the table.
func (e *serverError) isAbout(key, table string) bool {
	return strings.HasSuffix(e.Message, "'"+key+"'") || strings.HasSuffix(e.Message, "'"+table+"."+key+"'")
}

func (t *transaction) update(ctx context.Context, r *engine.RowChange, changed *engine.Changed) error {
	for i := range r.Values[0] {
		if err := t.target.batches(1, "", func(int) string { return t.target.update(r, i) }, "", "", func(sql string) error {
			n, err := t.run(ctx, sql, 0, nil)
			changed.Count += n
			return err
		}); err != nil {
			return err
		}
	}
	if !r.Returning {
		return nil
	}
	after := make([][]*string, len(r.Key)) // the keys that the rows have now
	for i, name := range r.Key {
		after[i] = r.Values[i]
		if at := slices.Index(r.Columns, name); at >= 0 {
			after[i] = r.Values[len(r.Key)+at]
		}
	}
	if err := t.selectRows(ctx, r.Key, after, t.target.returning(), len(t.target.columns),
		dbproxy.Returned(r, changed)); err != nil {
		return err
	}
	if int64(len(changed.Rows)) != changed.Count {
		return engine.NewError(errcode.Refused, "leave RETURNING out",
			"a trigger of the table %q changed the keys of the rows, which cannot be returned; nothing was written",
			t.target.name)
	}
	return nil
}

func (t *transaction) delete(ctx context.Context, r *engine.RowChange, changed *engine.Changed) error {
	if r.Returning { // the rows are locked
		if err := t.selectRows(ctx, r.Key, r.Values, t.target.returning(), len(t.target.columns),
			dbproxy.Returned(r, changed)); err != nil {
			return err
		}
	}
	return t.target.batches(len(r.Values[0]), "DELETE FROM "+t.target.table()+" WHERE ", func(row int) string {
		return t.target.byKey(r.Key, r.Values, row)
	}, " OR ", "", func(sql string) error {
		n, err := t.run(ctx, sql, 0, nil)
		changed.Count += n
		return err
	})
}

// run runs a statement, calls row with each of its rows, and returns how many it changed.
// An error of the server is as the server reports it.
func (t *transaction) run(ctx context.Context, sql string, columns int, row func([]*string) error) (int64, error) {
	c := t.connection.Value()
	stop := context.AfterFunc(ctx, func() {
		if t.server.kill(c.thread) != nil {
			c.SetDeadline(past)
		}
	})
	n, err := c.execute(sql, columns, row)
	if !stop() { // the connection may still be killed
		t.failed = true
		return 0, ctx.Err()
	}
	var refusal *serverError
	var own *engine.Error
	switch {
	case err == nil, errors.As(err, &refusal):
		return n, err
	case errors.As(err, &own):
		t.failed = true // it is cheaper to end the connection than to read the other rows
		return 0, err
	}
	t.failed = true
	return 0, dbproxy.StateError(errcode.Execution, dbproxy.StateEnded,
		"", "the connection to the MySQL server %s ended; nothing was written", t.server.config.address())
}

// Commit commits.
func (t *transaction) Commit(context.Context) error {
	c := t.connection.Value()
	err := c.within(dbproxy.CommitLimit, func() error { return c.do(commandQuery, "COMMIT") })
	var refusal *serverError
	switch {
	case errors.As(err, &refusal):
		return t.explain(err)
	case err != nil:
		t.failed = true
		return dbproxy.StateError(errcode.Execution, dbproxy.StateUnknown, "read the rows to see whether they were written",
			"the connection to the MySQL server %s ended during COMMIT: it is not known whether the rows were written",
			t.server.config.address())
	}
	t.Rollback() // ends the use of the connection
	return nil
}

// Rollback ends the transaction, unless Commit has.
func (t *transaction) Rollback() {
	switch {
	case t.connection == nil:
		return
	case t.failed:
		t.connection.Destroy()
	default:
		t.server.giveBack(t.connection)
	}
	t.connection = nil
	t.server.EndWrite()
}

const duplicateEntry = 1062

// states are the SQLSTATEs of PostgreSQL for errors of servers, whose own are of classes
// only: https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html.
var states = map[uint16]string{
	duplicateEntry: "23505", 1586: "23505", // unique_violation
	1451: "23503", 1452: "23503", 1216: "23503", 1217: "23503", // foreign_key_violation
	1048: "23502", 1364: "23502", // not_null_violation
	3819: "23514", 4025: "23514", // check_violation
	1264: "22003", 1690: "22003", // numeric_value_out_of_range
	1406: "22001",                // string_data_right_truncation
	1265: "22P02", 1366: "22P02", // invalid_text_representation
	1292: "22007", 1411: "22007", // invalid_datetime_format
	1213: "40P01",                               // deadlock_detected
	1205: "55P03",                               // lock_not_available
	1317: "57014", 1969: "57014", 3024: "57014", // query_canceled
	1044: "42501", tableAccessDenied: "42501", 1143: "42501", 1227: "42501", 1370: "42501", // insufficient_privilege
	1054: "42703",                               // undefined_column
	1146: "42P01",                               // undefined_table
	1290: "25006", 1792: "25006", 1836: "25006", // read_only_sql_transaction
}

// explain returns an error of the server with its state; others as they are.
func (w *writer) explain(err error) error {
	var e *serverError
	if !errors.As(err, &e) {
		return err
	}
	state := states[e.Number]
	code, hint := errcode.Execution, ""
	switch {
	case state == "42501":
		code, hint = errcode.Refused, "grant it to the user "+w.server.config.user+" of the dataset"
	case state == "57014":
		code = errcode.Timeout
	case state == "40P01", state == "55P03":
		hint = "another statement changed the same rows; try again"
	case strings.HasPrefix(state, "42"):
		hint = "reload the Spicepod if the table has changed"
	case state == "" && e.State != "HY000":
		state = e.State
	}
	return dbproxy.StateError(code, state, hint, "%s", e.Message)
}
