package engine

import (
	"sync/atomic"

	"github.com/duckdb/duckdb-go/v2/mapping"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/plural"
)

// commits counts the commits of statements that change rows. A plan embeds the
// statistics of the tables at planning time and skips the data they rule out.
// DuckDB does not invalidate it, so it is valid only until the next such commit
// begins.
type commits struct{ began, ended atomic.Uint64 }

// run runs a commit.
func (c *commits) run(commit func() error) error {
	c.began.Add(1)
	defer c.ended.Add(1)
	return commit()
}

// noRevision is the revision of a plan that no later statement may use, and of
// one that reads nothing that statements can change.
const noRevision = 0

// revision numbers the state of the data for plans made from now on; it is
// noRevision during a commit.
func (c *commits) revision() uint64 {
	ended := c.ended.Load() // read first: a commit that ended by now began earlier
	began := c.began.Load()
	if began != ended {
		return noRevision
	}
	return began + 1
}

// holds reports whether no commit has begun since revision was taken.
func (c *commits) holds(revision uint64) bool { return c.began.Load()+1 == revision }

// begin begins a transaction, unless one is open.
func (p *producer) begin() error {
	if p.open || p.joined != nil {
		return nil
	}
	p.open = true
	return p.c.exec("BEGIN TRANSACTION")
}

// commit commits a write after everything else, unless its caller has given up or it is a
// part of a [Transaction], and sends what it returns. DuckDB does not stream such a result: the statement has
// run to the end. From here on the outcome that the caller learns does not depend on
// its context.
func (p *producer) commit() error {
	p.active = false
	if !p.rows.claim() {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	chunks, err := p.returned()
	if err == nil && p.joined == nil {
		err = p.db.commits.run(func() error { return p.conclude("COMMIT") })
	}
	if err != nil {
		destroyAll(chunks)
		return p.explain(err)
	}
	if p.joined != nil {
		p.joined.changed()
	}
	p.open, p.rows.written = false, true
	for _, c := range chunks {
		p.rows.chunks <- c // does not block: the channel has room
	}
	return nil
}

// returned fetches what a write returns, the number of rows or those of RETURNING. What
// is over a limit is an error, so that nothing is written.
func (p *producer) returned() (chunks []*Chunk, err error) {
	var rows, size int64
	for raw := mapping.FetchChunk(p.result); raw.Ptr != nil; raw = mapping.FetchChunk(p.result) {
		if err := checkChunk(raw, p.rows.columns); err != nil {
			mapping.DestroyDataChunk(&raw)
			return chunks, err
		}
		c := loadChunk(raw, p.rows.columns)
		chunks = append(chunks, c)
		rows, size = rows+int64(c.Len()), size+p.size(c)
		if err := p.checkReturned(rows, len(chunks), size); err != nil {
			return chunks, err
		}
	}
	return chunks, nil
}

// mostReturned is how many rows a write may return.
func (p *producer) mostReturned() int64 {
	most := int64(cap(p.rows.chunks) * ChunkRows)
	if limit := p.rows.limits.MaxRows; limit > 0 {
		most = min(most, limit)
	}
	return most
}

// TooManyReturned is the error of a write that returns more rows than it may.
func TooManyReturned(most int64) *Error {
	return NewError(errcode.Limit, "change fewer rows at once, or leave RETURNING out",
		"RETURNING gives more than %s; nothing was written", plural.Of(int(most), "row"))
}

// checkReturned returns an error if what a write returns is over a limit.
func (p *producer) checkReturned(rows int64, chunks int, size int64) error {
	limits := p.rows.limits
	switch most := p.mostReturned(); {
	case rows > most || chunks > cap(p.rows.chunks):
		return TooManyReturned(most)
	case limits.MaxBytes > 0 && size > limits.MaxBytes:
		return NewError(errcode.Limit, "return fewer columns, change fewer rows at once, or raise runtime.query.max_bytes",
			"RETURNING gives more than %d bytes; nothing was written", limits.MaxBytes)
	}
	return nil
}

func destroyAll(chunks []*Chunk) {
	for _, c := range chunks {
		c.Destroy()
	}
}

// conclude ends the transaction of a write, without interrupts.
func (p *producer) conclude(sql string) error {
	p.c.interrupter.mu.Lock()
	defer p.c.interrupter.mu.Unlock()
	return p.c.exec(sql)
}
