package engine

import (
	"context"
	"fmt"
	"time"
)

// Isolator runs judged statements outside this process.
type Isolator interface {
	// Run begins the job. The error is an [*Error]. Rows can be read until ctx
	// ends, which also ends the job.
	Run(ctx context.Context, job Job) (RemoteRows, error)
}

// Job is a judged statement for an [Isolator].
type Job struct {
	Catalog *Catalog // that it was judged under; in use until the job's rows are closed
	SQL     string   // as DuckDB gets it
	Params  Params
	Tables  []Table // stored results that it reads
	Limits  Limits
	// Describe asks for [RemoteRows.Description] and no rows.
	Describe bool
	// Native answers the statement's calls of [Native].
	Native func(ctx context.Context, handler, input string) (string, error)
}

// RemoteRows are the rows of a job.
type RemoteRows interface {
	Columns() []Column
	// Description is the result of a job with Describe.
	Description() *Description
	// Next returns a chunk made by [NewChunk], which the caller owns, or nil at the
	// end. The error is an [*Error] whose offset is one in the job's SQL.
	Next() (*Chunk, error)
	// Close ends the job. It may be called at any time and more than once.
	Close()
}

// Script calls [Contents.Script].
func (c *Catalog) Script() []string {
	if c.contents.Script == nil {
		return nil
	}
	return c.contents.Script()
}

// Serial numbers the published catalogs of a database, from 1. Each publication
// has its own, even one that changes only data.
func (c *Catalog) Serial() uint64 { return c.serial }

// Native calls the handler of that name as a statement would.
func (db *DB) Native(ctx context.Context, handler, input string) (string, error) {
	h, ok := db.handlers.Load(handler)
	if !ok {
		return "", fmt.Errorf("there is no handler %q", handler)
	}
	return h.(Handler)(WithNesting(ctx, Nesting(ctx)+1), input)
}

// Quiet waits at most patience until DuckDB runs no statement, including closed
// and failed ones, and reports whether that is the case. No statement may begin
// meanwhile.
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
	remote, err := p.db.opts.Isolator.Run(p.rows.ctx, Job{
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

// feedRemote sends the chunks of another process to the reader.
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
		if err := p.send(chunk.raw, size); err != nil {
			return err
		}
	}
}

// explainRemote is explain for an error of another process about the judged text.
func (p *producer) explainRemote(err error) error {
	if p.rows.ctx.Err() != nil {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	e := *AsError(err)
	if e.Offset >= 0 {
		e.at(p.req.SQL, p.verdict.origin(e.Offset))
	}
	return p.redact(&e)
}
