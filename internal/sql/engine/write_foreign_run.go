package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
)

// A write to a table that is not DuckDB's. DuckDB evaluates the values before the
// transaction of the [Writer] begins. Those of an UPDATE or DELETE are evaluated again
// when their rows are locked: other statements may have changed the rows meanwhile. What
// RETURNING lists is evaluated before COMMIT, so that an error leaves nothing written.
// All of it runs in one transaction of DuckDB, which is rolled back, under one catalog.

// Limits of the values that one statement writes to a table that is not DuckDB's.
const (
	maxOutsideRows  = 100_000
	maxOutsideBytes = 64 << 20
)

// gather evaluates the values of the write.
func (p *producer) gather() (err error) {
	p.gathered = nil
	o := p.verdict.outside
	if o.rows.Text != "" {
		p.gathered, err = p.keyedValues(len(o.change.Key) + len(o.change.Columns))
	}
	return err
}

// keyedValues returns the values of the write, which begin with those of the key.
func (p *producer) keyedValues(columns int) ([][]*string, error) {
	o := p.verdict.outside
	values, err := p.values(o.rows, columns)
	if err != nil {
		return nil, err
	}
	for i, name := range o.change.Key {
		if slices.Contains(values[i], nil) {
			return nil, NewError(errcode.Refused, "correct the row at the server, or leave it out by WHERE",
				"a row has a value of the key column %q that DuckDB does not have, such as the date 0000-00-00; "+
					"nothing was written", name)
		}
	}
	return values, nil
}

// writeOutside does the write.
func (p *producer) writeOutside() error {
	p.describeRows()
	tx, err := p.verdict.outside.writer.Begin(p.rows.ctx)
	if err != nil {
		return p.explain(err)
	}
	defer tx.Rollback()
	change, err := p.rowChange(tx)
	if err != nil {
		return p.explain(err)
	}
	changed := &Changed{}
	if change.changes() {
		change.MaxRows = p.mostReturned()
		if changed, err = tx.Apply(p.rows.ctx, change); err != nil {
			return p.explain(err)
		}
	}
	chunks, err := p.outcome(changed)
	if err == nil && !p.rows.claim() {
		err = stopped(p.rows.ctx, p.rows.limits)
	}
	if err == nil {
		err = p.db.commits.run(func() error { return tx.Commit(context.WithoutCancel(p.rows.ctx)) })
	}
	if err != nil {
		destroyAll(chunks)
		return p.explain(err)
	}
	p.rows.written = true
	for _, c := range chunks {
		p.rows.chunks <- c // does not block: the channel has room
	}
	return nil
}

// rowChange returns the change with its values. Those of an UPDATE or DELETE are evaluated when
// tx has locked the rows.
func (p *producer) rowChange(tx WriteTx) (*RowChange, error) {
	o := p.verdict.outside
	change := o.change
	change.Values = p.gathered
	if err := p.constants(&change); err != nil || change.Verb == dml.VerbInsert || !change.changes() {
		return &change, err
	}
	locked := map[string]bool{}
	for i := range change.Values[0] {
		locked[change.rowKey(i)] = true
	}
	if err := tx.Lock(p.rows.ctx, &change); err != nil {
		return nil, err
	}
	var err error
	if change.Values, err = p.keyedValues(len(change.Values)); err != nil {
		return nil, err
	}
	change.keep(func(row int) bool { return locked[change.rowKey(row)] })
	return &change, nil
}

// constants evaluates the constants of DO UPDATE. Other statements have the same verdict,
// so that the expressions are copied.
func (p *producer) constants(change *RowChange) error {
	o := p.verdict.outside
	if o.constants.Text == "" {
		return nil
	}
	values, err := p.values(o.constants, 2*len(o.values))
	if err != nil {
		return err
	}
	known := map[*dml.Expr]*dml.Expr{}
	for i, v := range o.values {
		copied := *v
		copied.Text = values[2*i][0]
		if t := values[2*i+1][0]; t != nil {
			copied.Type = *t
		}
		known[v] = &copied
	}
	set := make([]Assignment, len(change.Set))
	for i, a := range change.Set {
		set[i] = Assignment{a.Column, a.Value.With(known)}
	}
	change.Set, change.Where = set, change.Where.With(known)
	return nil
}

// values returns the texts that a phase selects, a list for each of its columns.
func (p *producer) values(ph dml.Phase, columns int) ([][]*string, error) {
	out := make([][]*string, columns)
	size := 0
	_, err := p.each(ph, func(c *Chunk) error {
		defer c.Destroy()
		for i := range out {
			v := c.Column(i)
			for row := range c.Len() {
				var text *string
				if v.Valid(row) {
					s := string(v.Bytes(row))
					text, size = &s, size+len(s)
				}
				out[i] = append(out[i], text)
			}
		}
		switch {
		case len(out[0]) > maxOutsideRows:
			return NewError(errcode.Limit, "write fewer rows at once",
				"the statement writes more than %d rows to a table that is not DuckDB's; nothing was written", maxOutsideRows)
		case size > maxOutsideBytes:
			return NewError(errcode.Limit, "write fewer rows at once",
				"the statement writes more than %d bytes to a table that is not DuckDB's; nothing was written", maxOutsideBytes)
		}
		return nil
	})
	return out, err
}

// phaseParams returns the parameters of a phase.
func phaseParams(ph dml.Phase, given Params) Params {
	var out Params
	for name, v := range given.Named {
		if slices.ContainsFunc(ph.Names, func(n string) bool { return strings.EqualFold(n, name) }) {
			if out.Named == nil {
				out.Named = map[string]any{}
			}
			out.Named[name] = v
		}
	}
	for _, n := range ph.Params {
		if n >= 1 && n <= len(given.Positional) {
			out.Positional = append(out.Positional, given.Positional[n-1])
		}
	}
	return out
}

// each runs a phase and calls f with its chunks, and returns its columns.
func (p *producer) each(ph dml.Phase, f func(*Chunk) error) (columns []Column, err error) {
	fail := func(err error) ([]Column, error) {
		var e *duckError
		if p.rows.ctx.Err() == nil && errors.As(err, &e) {
			return nil, p.explainAt(e, ph.Origin)
		}
		return nil, p.explain(err)
	}
	key := stmtKey{p.catalog.serial, ph.Text}
	p.c.prepared.Delete(key) // its plan may be that of other rows
	s, err := p.c.prepare(ph.Text, p.catalog.serial, noRevision)
	if err != nil {
		return fail(err)
	}
	defer p.c.prepared.Delete(key)
	if err = s.bind(phaseParams(ph, p.req.Params)); err != nil {
		return fail(err)
	}
	if err := p.runPhase(s, f); err != nil {
		return fail(err)
	}
	return s.columns, nil
}

// runPhase runs a prepared statement and calls f with its chunks.
func (p *producer) runPhase(s *stmt, f func(*Chunk) error) error {
	var pending mapping.PendingResult
	if duckdb.PendingPreparedStreaming(s.raw, &pending) != mapping.StateSuccess {
		defer mapping.DestroyPending(&pending)
		return p.c.failure(mapping.PendingError(pending))
	}
	defer mapping.DestroyPending(&pending)
	p.active, p.ran = true, true
	p.work = p.c.helpers.begin()
	p.work.watch()
	defer func() {
		p.work.end()
		p.work = nil
	}()
	p.runTasks(pending)
	var result mapping.Result
	defer mapping.DestroyResult(&result)
	if mapping.ExecutePending(pending, &result) != mapping.StateSuccess {
		p.active = false
		return p.c.failure(mapping.ResultError(&result))
	}
	columns := resultColumns(&result)
	for {
		raw := mapping.FetchChunk(result)
		if raw.Ptr == nil {
			p.active = false
			if text := mapping.ResultError(&result); text != "" {
				return p.c.failure(text)
			}
			return nil
		}
		if err := f(loadChunk(raw, columns)); err != nil {
			return err
		}
	}
}

// outcome returns what the statement returns: the number of rows, or those of RETURNING.
func (p *producer) outcome(changed *Changed) ([]*Chunk, error) {
	o := p.verdict.outside
	ph := dml.Phase{Text: fmt.Sprintf("SELECT CAST(%d AS BIGINT) AS \"Count\"", changed.Count), Origin: func(int) int {
		return -1
	}}
	if o.change.Returning {
		rows, err := o.writer.Table().textsFrom(changed.Rows)
		if err != nil {
			return nil, err
		}
		ph = o.returning
		ph.Text += " FROM (" + rows + ") AS " + Identifier(o.alias)
	}
	var chunks []*Chunk
	var size int64
	columns, err := p.each(ph, func(c *Chunk) error {
		chunks = append(chunks, c)
		size += p.size(c)
		return p.checkReturned(int64(len(changed.Rows)), len(chunks), size)
	})
	if err == nil {
		err = checkTypes(columns)
	}
	if err != nil {
		destroyAll(chunks)
		return nil, err
	}
	p.rows.columns = columns
	return chunks, nil
}
