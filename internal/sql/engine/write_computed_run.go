package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
)

// supplied reports whether a worker computes the rows of the write.
func (p *producer) supplied() bool {
	return p.verdict.source != nil && p.req.Isolate && p.db.opts.Isolator != nil && p.req.Input == nil
}

// supply runs the write over the rows that a worker computes.
func (p *producer) supply() (err error) {
	if p.req.describe {
		return p.describeSupplied()
	}
	judged, s := p.verdict, p.verdict.source
	read, err := p.compute(s.query)
	if unbound(err) && s.query.Text != s.plain.Text {
		p.end() // the transaction of its snapshot
		read, err = p.compute(s.plain)
	}
	if err != nil {
		return err
	}
	defer read.rows.Close()
	from, remove := p.db.AddStream(&Stream{Columns: read.rows.Columns(), Open: read.open})
	defer remove()
	p.verdict = judged.as(s.write)
	p.verdict.text = strings.Replace(p.verdict.text, streamed, from+strings.Repeat(" ", len(streamed)-len(from)), 1)
	natives := newNativeCalls(p.rows.ctx, nil)
	close(natives.begun)
	p.db.running.Store(p.c.id, natives)
	if err := p.begin(); err != nil {
		return err
	}
	pending, stmt, err := p.planSupplied()
	if err == nil {
		defer p.c.prepared.Delete(stmt.key) // its stream ends
		err = p.execute(pending, stmt)
	}
	if read.err != nil && !p.rows.written {
		p.verdict = judged.as(read.query)
		return p.explainRemote(read.err)
	}
	return err
}

// unbound reports whether DuckDB refused a query before it ran.
func unbound(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Ran || e.Crashed {
		return false
	}
	switch e.Code {
	case errcode.Parse, errcode.Argument, errcode.NotFound, errcode.Execution:
		return true
	}
	return false
}

// as returns a verdict on a phase of the write.
func (v *verdict) as(ph dml.Phase) *verdict {
	out := *v
	out.text, out.origin, out.workerNeeds = ph.Text, ph.Origin, v.source.needs
	return &out
}

// planSupplied prepares the write over the stream and starts DuckDB.
func (p *producer) planSupplied() (pending mapping.PendingResult, s *stmt, err error) {
	if s, err = p.c.prepare(p.verdict.text, p.catalog.serial, noRevision); err != nil {
		return pending, nil, p.explain(err)
	}
	if err = s.checkResult(true); err == nil {
		err = s.bind(phaseParams(p.verdict.source.write, p.req.Params))
	}
	if err != nil {
		return pending, s, p.explain(err)
	}
	if duckdb.PendingPreparedStreaming(s.raw, &pending) != mapping.StateSuccess {
		err = p.c.failure(mapping.PendingError(pending))
		mapping.DestroyPending(&pending)
		return pending, s, p.explain(err)
	}
	p.active, p.ran = true, true
	return pending, s, nil
}

// computed are the rows of a worker for a write.
type computed struct {
	query  dml.Phase
	rows   RemoteRows
	opened bool
	err    error // of the rows
}

// compute begins a query in a worker. If it reads what only this process can read, all of its
// rows are there when it returns.
func (p *producer) compute(q dml.Phase) (*computed, error) {
	judged := p.verdict
	defer func() { p.verdict = judged }()
	p.verdict = judged.as(q)
	job, tables := p.job(phaseParams(q, p.req.Params)), p.tables()
	job.Limits = Limits{Timeout: p.rows.limits.Timeout}
	if job.Whole = len(tables) > 0; job.Whole {
		job.Snapshot = func() (s *Snapshot, err error) {
			p.reads, err = p.snapshot(tables)
			return p.reads, err
		}
	}
	rows, err := p.db.opts.Isolator.Run(p.rows.ctx, job)
	switch {
	case errors.Is(err, errStale):
		return nil, err
	case err != nil:
		return nil, p.explainRemote(err)
	case job.Whole:
		if err := rows.Wait(p.rows.ctx); err != nil {
			rows.Close()
			return nil, p.explainRemote(err)
		}
	}
	return &computed{query: q, rows: rows}, nil
}

// open is [Stream.Open] for rows that are read once.
func (c *computed) open(_ context.Context, columns []int) (StreamReader, error) {
	if c.opened {
		return nil, errors.New("internal error: the rows of a write are read twice")
	}
	c.opened = true
	return &computedReader{c, columns}, nil
}

type computedReader struct {
	*computed
	columns []int
}

// Next implements [StreamReader].
func (r *computedReader) Next() (*Chunk, error) {
	chunk, err := r.rows.Next()
	if r.err = err; chunk == nil || err != nil {
		return nil, err
	}
	return chunk.only(r.columns), nil
}

// Close implements [StreamReader]: supply closes the rows.
func (r *computedReader) Close() {}

// describeSupplied describes a write whose rows a worker computes.
func (p *producer) describeSupplied() error {
	judged, s := p.verdict, p.verdict.source
	about, err := p.describeRemote(s.typed, s.into)
	if unbound(err) { // such as a table with columns that DuckDB computes
		about, err = p.describeRemote(s.plain)
	}
	if err != nil {
		return err
	}
	p.verdict = judged.as(s.rest)
	rest, err := p.c.prepare(s.rest.Text, p.catalog.serial, noRevision)
	if err != nil {
		return p.explain(err)
	}
	d := rest.description(judged)
	d.Params = slices.Concat(namedByStatement(s.typed, about.Params), namedByStatement(s.rest, d.Params))
	slices.SortStableFunc(d.Params, func(a, b Param) int { return numberOf(a.Name) - numberOf(b.Name) })
	d.Params = slices.CompactFunc(d.Params, func(a, b Param) bool { return a.Name == b.Name })
	p.rows.described = d.with(p.declared)
	return nil
}

// describeRemote describes a phase in a worker.
func (p *producer) describeRemote(ph dml.Phase, more ...*Dependency) (*Description, error) {
	judged := p.verdict
	defer func() { p.verdict = judged }()
	p.verdict = judged.as(ph)
	job := p.job(Params{})
	job.Describe, job.Dependencies = true, append(slices.Clip(job.Dependencies), more...)
	remote, err := p.db.opts.Isolator.Run(p.rows.ctx, job)
	if err != nil {
		return nil, p.explainRemote(err)
	}
	defer remote.Close()
	return remote.Description(), nil
}

// namedByStatement returns the parameters of the phase as the statement names them.
func namedByStatement(ph dml.Phase, params []Param) []Param {
	out := slices.Clone(params)
	for i := range out {
		if n := numberOf(out[i].Name); n >= 1 && n <= len(ph.Params) {
			out[i].Name = strconv.Itoa(ph.Params[n-1])
		}
	}
	return out
}

// numberOf returns the number of a parameter, 0 for one with a name.
func numberOf(name string) int {
	n, _ := strconv.Atoi(name)
	return n
}
