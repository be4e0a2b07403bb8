package isolate

import (
	"context"
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// numberKey is the context key of the number of a statement.
type numberKey struct{}

// serve runs statements one after another.
func (s *server) serve() {
	for st := range s.statements {
		ctx := context.WithValue(st.ctx, numberKey{}, st.Number)
		s.number.Store(int64(st.Number))
		err := s.prepare(ctx, st.query)
		unprepared := err != nil
		if err == nil && st.SQL != "" {
			err = s.run(ctx, st.query, st.params)
		}
		st.cancel()
		busy := !s.db.Quiet(endWait) // a parent that has cancelled it does not wait as long
		err = s.out.send(kindEnd, end{Error: newProblem(err), Unprepared: unprepared, Busy: busy, Data: dataBytes()})
		if err != nil {
			return // the parent is gone
		}
	}
}

// run runs a statement to its end. The error is an [*engine.Error], or an error of
// the pipe.
func (s *server) run(ctx context.Context, q query, given []byte) error {
	params, err := readParams(given)
	if err != nil {
		return err
	}
	detach, err := s.attach(ctx, q.Tables)
	defer detach()
	if err != nil {
		return err
	}
	req := engine.Request{
		SQL: q.SQL, Params: params, Trusted: true, Parts: q.Parts,
		Limits: engine.Limits{Timeout: q.Timeout, MaxRows: q.MaxRows, MaxBytes: q.MaxBytes},
	}
	if q.Describe {
		about, err := s.db.Describe(ctx, req)
		if err != nil {
			return err
		}
		if err := s.out.writeJSON(kindAbout, about); err != nil {
			return notSent("the description", err, "select fewer columns at once")
		}
		return nil
	}
	rows, err := s.db.Query(ctx, req)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := checkTypes(rows.Columns()); err != nil {
		return notSent("the rows", err, "select parts of the value: v.member")
	}
	if err := checkRoom(rows.Columns()); err != nil {
		return notSent("the rows", err, "select fewer columns at once, or a slice of an ARRAY as a LIST: a[1:100]")
	}
	if err := s.out.writeJSON(kindColumns, rows.Columns()); err != nil {
		return notSent("the columns", err, "select fewer at once")
	}
	e := newEncoder(rows.Columns(), s.out)
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return err
		}
		if err := e.add(chunk); err != nil {
			return notSent("the rows", err, "select less at once")
		}
		if rows.Ready() {
			continue
		}
		if err := errors.Join(e.write(), s.out.flush()); err != nil {
			return err
		}
	}
	return e.write()
}

// prepare creates what the statement needs. The plans of earlier statements are
// outdated then.
func (s *server) prepare(ctx context.Context, q query) error {
	if len(q.Files)+len(q.Definitions) == 0 {
		return nil
	}
	for _, sql := range q.Files {
		if err := s.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := s.db.AddBatches(q.Batches...); err != nil {
		return err
	}
	for _, t := range q.Streams {
		s.db.SetStream(t.Name, &engine.Stream{Columns: t.Columns, Rows: t.Rows, Open: s.openTable(t)})
	}
	return s.db.Publish(ctx, engine.NewCatalog(engine.Contents{}), func(tx *engine.Tx) error {
		for _, sql := range q.Definitions {
			if err := tx.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
}

func notSent(what string, err error, hint string) *engine.Error {
	return engine.NewError(errcode.Limit, hint, "%s cannot be sent by the worker: %s", what, err)
}

// attach attaches stored results; detach undoes it.
func (s *server) attach(ctx context.Context, tables []engine.Table) (detach func(), err error) {
	var attached []string
	detach = func() {
		for _, name := range attached {
			_ = s.db.Exec(context.WithoutCancel(ctx), "DETACH DATABASE IF EXISTS "+engine.Identifier(name))
		}
	}
	for _, t := range tables {
		attached = append(attached, t.Database) // Exec may attach it and still return the error of ctx
		sql := "ATTACH IF NOT EXISTS " + engine.Literal(t.Path) + " AS " + engine.Identifier(t.Database) + " (READ_ONLY)"
		if err := s.db.Exec(ctx, sql); err != nil {
			return detach, err
		}
	}
	return detach, nil
}

// call asks the parent to call one of the runtime's own functions.
func (s *server) call(ctx context.Context, handler, input string) (string, error) {
	number, _ := ctx.Value(numberKey{}).(int)
	id := s.lastID.Add(1)
	ch := make(chan answer, 1)
	s.calls.Store(id, ch)
	defer s.calls.Delete(id)
	if err := s.out.send(kindCall, call{number, id, handler, input}); err != nil {
		return "", fmt.Errorf("the input of %s cannot be sent by the worker: %w", handler, err)
	}
	select {
	case a := <-ch:
		if a.Error != nil {
			return "", errors.New(*a.Error)
		}
		return a.Output, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
