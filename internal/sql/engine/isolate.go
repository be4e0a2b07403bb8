package engine

import (
	"context"
	"fmt"
	"time"
)

// Isolator runs judged statements outside of this process.
type Isolator interface {
	// Run begins the job. The error is an [*Error]. Rows come until the end of
	// ctx, which also ends the job.
	Run(ctx context.Context, job Job) (RemoteRows, error)
}

// Job is a judged statement for an [Isolator].
type Job struct {
	Catalog *Catalog // what it was judged by; in use until the job's rows are closed
	SQL     string   // as DuckDB gets it
	Params  Params
	Tables  []Table // kept results that it reads
	Limits  Limits
	// Describe asks for [RemoteRows.Description] and no rows.
	Describe bool
	// Native answers the calls that the statement makes of the runtime's own
	// functions.
	Native func(ctx context.Context, handler, input string) (string, error)
}

// RemoteRows are the rows of a job.
type RemoteRows interface {
	Columns() []Column
	// Description is what a job with Describe asks for.
	Description() *Description
	// Next returns a chunk made by [NewChunk], which is the caller's, or nil at
	// the end. The error is an [*Error]; its offset is one in the job's SQL.
	Next() (*Chunk, error)
	// Close ends the job. It may be called at any time and more than once.
	Close()
}

// UseIsolator sets where statements with [Request.Isolate] run. Call it before
// statements run.
func (db *DB) UseIsolator(i Isolator) { db.isolator = i }

// Script sets what makes a database in which the catalog's judged statements
// run: statements in the order in which they are executed. Call it before
// Publish; f is called at most once for each worker.
func (c *Catalog) Script(f func() []string) { c.script = f }

// MakeScript returns what [Catalog.Script] set.
func (c *Catalog) MakeScript() []string {
	if c.script == nil {
		return nil
	}
	return c.script()
}

// Serial numbers the published catalogs of a database, from 1: each publication,
// also one that changes data alone, has its own.
func (c *Catalog) Serial() uint64 { return c.serial }

// Native calls the handler of that name as a statement would.
func (db *DB) Native(ctx context.Context, handler, input string) (string, error) {
	h, ok := db.handlers.Load(handler)
	if !ok {
		return "", fmt.Errorf("there is no handler %q", handler)
	}
	return h.(Handler)(WithNesting(ctx, Nesting(ctx)+1), input)
}

// HandleOthers makes the handler of every name that has none: a worker hands
// the calls on. Call it before statements run.
func (db *DB) HandleOthers(f func(ctx context.Context, handler, input string) (string, error)) {
	db.others = f
}

// QueryTrusted runs a statement that another process of ours has judged. The
// guard does not look at it.
func (db *DB) QueryTrusted(ctx context.Context, req Request) (*Rows, error) {
	req.trusted = true
	return db.Query(ctx, req)
}

// Quiet waits until DuckDB works on no statement any more, also on none that
// was closed or has failed, and not longer than patience. It reports whether it
// came to that. No statement must begin meanwhile.
func (db *DB) Quiet(patience time.Duration) bool {
	for _, p := range db.pools {
		if !p.quiet(patience) {
			return false
		}
	}
	return true
}

// isolate begins the statement in another process.
func (p *producer) isolate() error {
	remote, err := p.db.isolator.Run(p.rows.ctx, Job{
		Catalog: p.catalog, SQL: p.verdict.text, Params: p.req.Params, Tables: p.held.tables,
		Limits: p.rows.limits, Describe: p.req.describe, Native: p.db.Native,
	})
	if err != nil {
		return p.explainRemote(err)
	}
	p.remote = remote
	p.rows.columns, p.rows.described = remote.Columns(), remote.Description()
	if p.rows.described != nil {
		p.rows.described.Files = p.verdict.traits.Files
	}
	p.describeRows()
	return nil
}

// feedRemote hands the chunks of another process over until the end.
func (p *producer) feedRemote() error {
	defer p.remote.Close()
	var size int64
	for {
		chunk, err := p.remote.Next()
		if err != nil {
			return p.explainRemote(err)
		}
		if chunk == nil {
			return nil
		}
		size += p.size(chunk.raw)
		if err := p.hand(chunk.raw, size); err != nil {
			return err
		}
	}
}

// explainRemote is explain for what another process says of the judged text.
func (p *producer) explainRemote(err error) error {
	if p.rows.ctx.Err() != nil {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	e := *AsError(err)
	if e.Offset >= 0 {
		e.at(p.req.SQL, p.verdict.origin(e.Offset))
	}
	return p.shown(&e)
}
