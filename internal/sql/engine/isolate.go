package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Isolator runs judged statements outside this process.
type Isolator interface {
	// Run begins the job. The error is an [*Error]. Rows can be read until ctx
	// ends, which also ends the job.
	Run(ctx context.Context, job Job) (RemoteRows, error)
	// Waiting is the number of jobs that have not begun.
	Waiting() int
}

// Job is a judged statement for an [Isolator]. The files that it reads stay until
// its rows are closed.
type Job struct {
	SQL          string // as DuckDB gets it
	Params       Params
	Dependencies []*Dependency // that it needs, each after those that it uses
	Tables       []Table       // stored results that it reads
	Limits       Limits
	Parts        bool // see [Request.Parts]
	// Whole says that the rows are spooled for [RemoteRows.Wait], also to a file.
	Whole bool
	// Describe asks for [RemoteRows.Description] and no rows.
	Describe bool
	// Corrupts says that the statement may damage the memory of its process: no other
	// may run in it afterwards.
	Corrupts bool
	// Native answers the statement's calls of [Native].
	Native func(ctx context.Context, handler, input string) (string, error)
	// Snapshot begins to read the tables of the Dependencies, once a process can run the
	// job; nil if they have none. Its error is that of Run. The database closes it.
	Snapshot func() (*Snapshot, error)
	// Batch answers its calls of the functions in the Dependencies that are not SQL. Their
	// arguments have the types of the [BatchFunction].
	Batch BatchHandler
}

// RemoteRows are the rows of a job.
type RemoteRows interface {
	Columns() []Column
	// Description is the result of a job with Describe.
	Description() *Description
	// Next returns a chunk made by [NewChunk], which the caller owns, or nil at the
	// end. The error is an [*Error] whose offset is one in the job's SQL.
	Next() (*Chunk, error)
	// Wait waits for the end of a job with Whole, which has closed its Snapshot then, and
	// returns its error.
	Wait(ctx context.Context) error
	// Close ends the job. It may be called at any time and more than once.
	Close()
}

// Dependency is a part of a catalog that statements need: a function, a view, or an
// attached database. An [Isolator] creates it where a statement runs.
type Dependency struct {
	Name    string   // unique in a catalog, such as "function f"
	Version string   // of the object and of all that it uses; equal versions are interchangeable
	Create  []string // SQL statements
	Drop    []string // SQL statements that undo Create
	File    bool     // it holds a file open

	Batch *BatchFunction // that Create calls; nil: none
	Table *SnapshotTable // whose stream Create reads; nil: none

	uses []*Dependency
}

// NewDependency makes an object that uses others.
func NewDependency(name string, create, drop []string, uses ...*Dependency) *Dependency {
	h := sha256.New()
	for _, sql := range create {
		fmt.Fprintf(h, "%d %s", len(sql), sql)
	}
	for _, u := range uses {
		io.WriteString(h, u.Version)
	}
	return &Dependency{Name: name, Version: string(h.Sum(nil)), Create: create, Drop: drop, uses: uses}
}

// NewTable makes an object whose statements read the stream of a table.
func NewTable(name string, t *SnapshotTable, create, drop []string) *Dependency {
	columns := make([]string, 0, 2*len(t.Columns))
	for _, c := range t.Columns {
		columns = append(columns, c.Name, c.Type.String())
	}
	d := NewDependency(name, create, drop, NewDependency("", columns, nil))
	d.Table = t
	return d
}

// workerNeeds is what a statement needs in another process.
type workerNeeds struct {
	// dependencies returns what another process needs for it; the error is why it cannot
	// have that. Nil: only this process can run the statement.
	dependencies func() ([]*Dependency, error)
	conditions   *conditions // for the tables of the dependencies
	here         bool        // this process runs it: see readsHere
}

// dependencies returns [workerNeeds.dependencies] of a statement.
func (c *Catalog) dependencies(st *sqltree.Statement) func() ([]*Dependency, error) {
	relations, declared := c.named(st)
	var functions []string
	for _, f := range declared {
		functions = append(functions, f.Name)
	}
	for _, call := range st.Calls {
		if c.internal(call) {
			functions = append(functions, sqltree.Fold(call.Schema)+"."+sqltree.Fold(call.Name))
		}
	}
	if len(relations)+len(functions) == 0 {
		return func() ([]*Dependency, error) { return nil, nil }
	}
	if c.contents.Dependencies == nil {
		return nil
	}
	return sync.OnceValues(func() ([]*Dependency, error) { return c.contents.Dependencies(relations, functions) })
}

// internal reports whether a call may name a function of the runtime itself, such as
// those of PostgreSQL's catalog, by the schema of relations.
func (c *Catalog) internal(call sqltree.Call) bool {
	return c.schemas[sqltree.Fold(call.Schema)] && declared(call, c) == nil
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
	free, err := hold(ctx, int64(len(input)))
	if err != nil {
		return "", err
	}
	defer free()
	return h.(Handler)(WithNesting(ctx, Nesting(ctx)+1), input)
}

// Batch calls a function as a statement would. It is a [BatchHandler].
func (db *DB) Batch(ctx context.Context, id string, returns *Type, args *Chunk) (*Chunk, error) {
	free, err := hold(ctx, args.Size(textSlot))
	if err != nil {
		return nil, err
	}
	defer free()
	result, err := db.opts.Batch(WithNesting(ctx, Nesting(ctx)+1), id, returns, args)
	if err != nil {
		return nil, failStatement(ctx, err)
	}
	if result.Len() != args.Len() || len(result.cols) != 1 || result.Column(0).Type.String() != returns.String() {
		return nil, errors.New("internal error: the values do not fit the rows")
	}
	return result, nil
}

// hold takes memory for what a statement passes to a function.
func hold(ctx context.Context, bytes int64) (free func(), err error) {
	free, err = memory.Hold(ctx, bytes)
	if errors.Is(err, memory.ErrShort) {
		err = failStatement(ctx, NewError(errcode.Busy, "pass less to functions, or run fewer statements at once", "%s", err))
	}
	return free, err
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

// maxLookUp is the size of a look-up that this process runs, in bytes: DuckDB cannot be
// interrupted while it plans one with a very long condition.
const maxLookUp = 4 << 10

// readsHere reports whether this process runs a statement that another one could run: a look-up in
// a table that only this process can read, and would read for the other one. It computes nothing
// for the caller.
func (c *Catalog) readsHere(st *sqltree.Statement) bool {
	if !st.LookUp || st.Over != nil || len(st.Calls) > 0 || unsafeType(st) != "" {
		return false
	}
	named := st.Relations[0]
	r, ok := c.Relation(named.Catalog, named.Schema, named.Name)
	target := c.contents.Targets[r]
	return ok && target.Table != "" && target.Writer == nil && !c.Traits(r).Protected
}

// isolable decides whether the statement runs in another process. One that a client reads in
// parts does, since it would hold a connection for as long as that takes, and so does one of a
// transaction, which an interrupt would end.
func (p *producer) isolable() (bool, error) {
	if p.verdict.here && !p.req.Parts && p.joined == nil {
		return false, nil
	}
	if !p.req.Isolate || p.db.opts.Isolator == nil || p.verdict.write || p.verdict.dependencies == nil {
		return false, nil
	}
	var err error
	p.dependencies, err = p.verdict.dependencies()
	return err == nil, err
}

// isolate begins the statement in another process, which makes the connection
// available to other statements.
func (p *producer) isolate() error {
	if err := p.db.crashes.check(p.rows.ctx, p.catalog.Generation, p.req.SQL, endedWorker); err != nil {
		return err
	}
	p.db.remote.Add(1)
	p.db.remotes.Add(1)
	p.disconnect()
	job := p.job(p.req.Params)
	job.Limits, job.Parts, job.Describe = p.rows.limits, p.req.Parts, p.req.describe
	if tables := p.tables(); len(tables) > 0 && !p.req.describe {
		job.Snapshot = func() (s *Snapshot, err error) {
			p.reads, err = p.snapshot(tables)
			return p.reads, err
		}
	}
	remote, err := p.db.opts.Isolator.Run(p.rows.ctx, job)
	if errors.Is(err, errStale) {
		return err
	}
	if err != nil {
		return p.explainRemote(err)
	}
	p.remote = remote
	p.rows.columns, p.rows.described = remote.Columns(), remote.Description()
	if p.rows.described != nil {
		p.rows.described.Files = p.verdict.traits.Files
		p.rows.described.with(p.declared)
	}
	p.describeRows()
	return nil
}

// runRemote runs what another process does of the statement. After [errStale] it may be planned
// again.
func (p *producer) runRemote() (err error) {
	if !p.isolated {
		if err = p.supply(); errors.Is(err, errStale) {
			p.end()
			p.restart()
		}
		return err
	}
	if err = p.isolate(); errors.Is(err, errStale) {
		if err := p.reconnect(); err != nil {
			return err
		}
		p.restart()
	}
	return err
}

// job returns the job of the judged text.
func (p *producer) job(params Params) Job {
	return Job{
		SQL: p.verdict.text, Params: params, Dependencies: p.dependencies, Tables: p.held.tables,
		Corrupts: p.verdict.traits.corrupts(), Native: p.db.Native, Batch: p.db.Batch,
	}
}

// reconnect takes a connection again for another attempt at the statement.
func (p *producer) reconnect() error {
	pool, err := p.db.poolFor(p.rows.ctx)
	if err != nil {
		return err
	}
	c, err := pool.get(p.rows.ctx)
	if err != nil {
		return waitError(p.rows.ctx, err, p.rows.limits)
	}
	p.c = pool.lend(p.rows.ctx, c, p.rows.grace)
	p.db.remotes.Add(-1)
	p.db.remote.Done()
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
		size += p.size(chunk)
		if err := p.send(chunk, size); err != nil {
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
	if own := failedBy(p.rows.ctx, e.Message); own != nil {
		own.Ran = true
		return p.redact(own)
	}
	if e.Crashed {
		p.db.crashes.add(p.rows.ctx, p.catalog.Generation, p.req.SQL)
	}
	if e.Offset >= 0 {
		e.at(p.req.SQL, p.verdict.origin(e.Offset))
	}
	p.db.improveRemote(&e, p.req.SQL, p.catalog.namesFor(p.req, p.catalog.hides(p.rows.ctx, &p.req)))
	return p.redact(&e).located(p.req.SQL)
}
