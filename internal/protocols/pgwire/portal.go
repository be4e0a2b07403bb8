package pgwire

import (
	"context"
	"iter"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// portal is a statement with its parameters, ready to run, running, or done.
type portal struct {
	name    string
	plan    *plan
	params  []any
	formats []int16       // of the columns
	columns []wire.Column // as the client knows them
	simple  bool          // of a simple query: the columns are described when it runs
	cursor  bool          // made by DECLARE
	hold    bool          // it outlives the transaction
	fresh   bool          // made in the transaction block that is open
	skip    bool          // rows are skipped, not sent
	size    int           // bytes that are stored for it
	result  *result       // while it runs
	done    bool          // all rows were read
	failed  bool          // it cannot run any more
}

// result is the rows of a statement that runs. Close it.
type result struct {
	rows    *query.Rows
	stop    context.CancelCauseFunc
	release func()     // of the principal's slot, which it has while it is read
	encoder *wire.Rows // nil: rows are not sent

	// For a portal that is read in parts:
	next    func() (*engine.Chunk, error, bool)
	endNext func()
	chunk   *engine.Chunk
	at      int // the first row of chunk that was not sent
}

func (r *result) close() {
	if r.endNext != nil {
		r.endNext()
	}
	if r.rows != nil {
		r.rows.Close()
	}
	if r.release != nil {
		r.release()
	}
	r.stop(nil)
}

// send sends rows up to the limit; 0 is all. It returns their number, or the
// number that the one row of a counted result has.
func (r *result) send(out *output, counted bool, limit int64) (sent int64, more bool, err error) {
	if limit > 0 || r.next != nil {
		return r.sendSome(out, limit)
	}
	for chunk, err := range r.rows.Chunks() {
		if err != nil {
			return sent, false, err
		}
		if counted {
			sent += engine.Value[int64](chunk.Column(0), 0)
			continue
		}
		n := chunk.Len()
		if err := r.sendChunk(out, chunk, 0, n); err != nil {
			return sent, false, err
		}
		sent += int64(n)
	}
	return sent, false, nil
}

// sendSome sends rows up to the limit and keeps the position. As in PostgreSQL
// there may be more unless there were fewer than the limit.
func (r *result) sendSome(out *output, limit int64) (sent int64, more bool, err error) {
	if r.next == nil {
		r.next, r.endNext = iter.Pull2(r.rows.Chunks())
	}
	for limit == 0 || sent < limit {
		if r.chunk == nil || r.at == r.chunk.Len() {
			chunk, err, ok := r.next()
			if err != nil || !ok {
				return sent, false, err
			}
			r.chunk, r.at = chunk, 0
		}
		n := r.chunk.Len() - r.at
		if limit > 0 {
			n = int(min(int64(n), limit-sent))
		}
		if err := r.sendChunk(out, r.chunk, r.at, r.at+n); err != nil {
			return sent, false, err
		}
		r.at += n
		sent += int64(n)
	}
	return sent, true, nil
}

// sendChunk sends rows of a chunk.
func (r *result) sendChunk(out *output, chunk *engine.Chunk, from, to int) (err error) {
	for r.encoder != nil && from < to {
		unsent := len(out.buf)
		out.buf, from, err = r.encoder.Append(out.buf, chunk, from, to)
		if err != nil {
			return err
		}
		r.rows.Sent(int64(len(out.buf) - unsent))
		if len(out.buf) < wire.Chunk {
			continue
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
	return nil
}
