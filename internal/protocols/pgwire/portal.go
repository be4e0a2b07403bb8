package pgwire

import (
	"context"
	"encoding/binary"
	"iter"
	"strconv"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// portal is a statement with its parameters, ready to run, running, or done.
type portal struct {
	name    string
	plan    *plan
	params  []any
	formats []int16  // of the columns
	columns []column // as the client was told
	simple  bool     // of a simple query: the columns are told when it runs
	cursor  bool     // made by DECLARE
	hold    bool     // it outlives the transaction
	fresh   bool     // made in the transaction block that is open
	skip    bool     // rows are passed over, not sent
	size    int      // bytes that are held for it
	result  *result  // while it runs
	done    bool     // all was read
	failed  bool     // it cannot be run any more
}

// result is the rows of a statement that runs. Close it.
type result struct {
	rows     *query.Rows
	stop     context.CancelCauseFunc
	release  func()      // of the principal's place
	unhook   func() bool // release from the end of the statement's time
	encoders []encoder
	copying  *copying // of a COPY

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
		r.unhook()
		r.rows.Close()
	}
	if r.release != nil {
		r.release()
	}
	r.stop(nil)
}

// execute runs a portal, or goes on with it, and sends at most limit rows; 0
// is all.
func (c *conn) execute(ctx context.Context, p *portal, limit int64) error {
	switch {
	case p.plan.text == "":
		p.done = true
		c.out.empty('I') // EmptyQueryResponse
		return nil
	case p.plan.command != nil:
		return c.runCommand(ctx, p)
	}
	sent, more, err := c.advance(ctx, p, p.formats, limit)
	switch {
	case err != nil:
		return err
	case more:
		c.out.empty('s') // PortalSuspended
	case p.plan.verb == "INSERT":
		c.complete("INSERT 0 " + strconv.FormatInt(sent, 10))
	case p.plan.verb == "EXPLAIN":
		c.complete("EXPLAIN")
	default:
		c.complete(p.plan.verb + " " + strconv.FormatInt(sent, 10))
	}
	return nil
}

// advance starts a portal's statement if it has not been, and sends its rows
// up to the limit. It returns their number, or of a statement that writes how
// many rows it wrote, and whether there may be more.
func (c *conn) advance(ctx context.Context, p *portal, formats []int16, limit int64) (sent int64, more bool, err error) {
	switch {
	case p.failed:
		return 0, false, failure(stateNotReady, "", "portal %q cannot be run", p.name)
	case p.done:
		return 0, false, nil
	case p.plan.counted, p.plan.copy != nil:
		limit = 0 // it has no rows, or they come whatever the limit
	}
	if err := c.renew(); err != nil {
		return 0, false, err
	}
	if p.result == nil {
		if err := c.startPortal(ctx, p, limit); err != nil {
			p.failed = true
			return 0, false, p.plan.placed(err)
		}
	} else {
		c.resume(p.result.stop)
	}
	defer c.finish()
	if err = c.encoders(p, formats); err == nil {
		sent, more, err = c.sendRows(p, limit)
	}
	if err == nil && p.result.copying != nil {
		c.endCopy(p.result.copying)
	}
	if err != nil {
		p.failed = true
		p.result.rows.Failed(err)
	}
	if !more || err != nil {
		c.endPortal(p)
	}
	if err != nil {
		return sent, false, p.plan.placed(err)
	}
	return sent, more, nil
}

// startPortal starts a portal's statement. What it began goes on, see finish,
// unless it fails.
func (c *conn) startPortal(ctx context.Context, p *portal, limit int64) error {
	if limit > 0 && c.open >= maxOpen {
		return failure(stateLimit, "read or close them", "a connection can have %d portals with rows left", maxOpen)
	}
	ctx, stop := c.begin(ctx)
	r := &result{stop: stop}
	req := c.request(p.plan, p.params)
	var err error
	if r.release, err = c.principal.Begin(); err == nil {
		r.rows, err = c.server.opts.Query.Query(ctx, req)
	} else {
		c.server.opts.Query.Denied(ctx, req, audit.RateLimited)
	}
	if err != nil {
		c.finish()
		r.close()
		return err
	}
	r.unhook = context.AfterFunc(r.rows.Context(), r.release)
	p.result = r
	c.open++
	return nil
}

func (c *conn) endPortal(p *portal) {
	p.done = true
	if p.result != nil {
		p.result.close()
		p.result = nil
		c.open--
	}
}

// closePortal ends a portal and forgets it. A nil one is none.
func (c *conn) closePortal(p *portal) {
	if p == nil {
		return
	}
	c.endPortal(p)
	if c.portals[p.name] == p {
		delete(c.portals, p.name)
		c.held -= p.size
	}
}

func (c *conn) closePortals(which func(*portal) bool) {
	for _, p := range c.portals {
		if which(p) {
			c.closePortal(p)
		}
	}
}

// encoders chooses how the columns are encoded. That the types are those which
// the client was told is not certain: a new generation may have come between.
func (c *conn) encoders(p *portal, formats []int16) error {
	columns := p.result.rows.Columns()
	if err := checkColumns(len(columns)); err != nil {
		return err
	}
	p.result.encoders = p.result.encoders[:0]
	switch {
	case p.plan.counted, p.skip:
		return nil
	case p.plan.copy != nil:
		for _, col := range columns {
			t := c.styled(p.plan.typeOf(col.Type))
			p.result.encoders = append(p.result.encoders, t.encoder(p.plan.copy.format == copyBinary))
		}
		var err error
		p.result.copying, err = c.beginCopy(p.plan.copy, columns)
		return err
	}
	if p.simple {
		p.columns = p.plan.columnsOf(columns)
		c.rowDescription(p.columns, formats)
	}
	if len(columns) != len(p.columns) {
		return p.plan.changed()
	}
	encoders := p.result.encoders
	for i, col := range columns {
		told := p.columns[i].typ
		t := c.styled(p.plan.typeAs(told.oid, col.Type))
		switch {
		case told.text == nil: // unsettled
			encoders = append(encoders, t.text)
		case told.oid != t.oid, p.plan.renamed(p.columns[i].name, col.Name):
			return p.plan.changed()
		default:
			encoders = append(encoders, t.encoder(formatOf(formats, i) == formatBinary))
		}
	}
	p.result.encoders = encoders
	return nil
}

// styled is a type whose values are written as the session wants them.
func (c *conn) styled(t wireType) wireType {
	if c.session.value("IntervalStyle") == isoIntervals {
		return t.inISO()
	}
	return t
}

// sendRows sends rows up to the limit.
func (c *conn) sendRows(p *portal, limit int64) (sent int64, more bool, err error) {
	r := p.result
	if limit > 0 || r.next != nil {
		return c.sendSome(r, limit)
	}
	for chunk, err := range r.rows.Chunks() {
		if err != nil {
			return sent, false, err
		}
		if p.plan.counted {
			sent += engine.Value[int64](chunk.Column(0), 0)
			continue
		}
		if err := c.sendChunk(r, chunk, 0, chunk.Len()); err != nil {
			return sent, false, err
		}
		sent += int64(chunk.Len())
	}
	return sent, false, nil
}

// sendSome sends rows up to the limit and keeps the place. As in PostgreSQL
// there may be more unless fewer were there than asked for.
func (c *conn) sendSome(r *result, limit int64) (sent int64, more bool, err error) {
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
		if err := c.sendChunk(r, r.chunk, r.at, r.at+n); err != nil {
			return sent, false, err
		}
		r.at += n
		sent += int64(n)
	}
	return sent, true, nil
}

// sendChunk sends rows, each in a DataRow message or in a CopyData. Without
// encoders they are passed over.
func (c *conn) sendChunk(r *result, chunk *engine.Chunk, from, to int) error {
	if len(r.encoders) == 0 {
		return nil
	}
	kind := byte('D')
	if r.copying != nil {
		kind = 'd'
	}
	unsent := len(c.out.buf)
	for i := from; i < to; i++ {
		start := c.out.begin(kind)
		if r.copying != nil {
			c.out.buf = r.copying.appendRow(c.out.buf, r.encoders, chunk, i)
		} else {
			c.out.buf = appendRow(c.out.buf, r.encoders, chunk, i)
		}
		c.out.finish(start)
		if len(c.out.buf) < writeChunk {
			continue
		}
		if len(c.out.buf)-start > maxRow {
			c.out.buf = c.out.buf[:start-1]
			return failure(stateProgram, "select less", "a row has more than %d bytes", maxRow)
		}
		r.rows.Sent(int64(len(c.out.buf) - unsent))
		unsent = 0
		if err := c.out.flush(); err != nil {
			return err
		}
	}
	r.rows.Sent(int64(len(c.out.buf) - unsent))
	return nil
}

// appendRow appends a row: the number of its values, and the values.
func appendRow(buf []byte, encoders []encoder, chunk *engine.Chunk, i int) []byte {
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(encoders)))
	for n, encode := range encoders {
		buf = appendValue(buf, encode, chunk.Column(n), i)
	}
	return buf
}

// rowDescription describes the columns of rows that follow.
func (c *conn) rowDescription(columns []column, formats []int16) {
	start := c.out.begin('T')
	buf := binary.BigEndian.AppendUint16(c.out.buf, uint16(len(columns)))
	for i, col := range columns {
		buf = append(append(buf, col.name...), 0)
		buf = append(buf, 0, 0, 0, 0, 0, 0) // of no table
		buf = binary.BigEndian.AppendUint32(buf, col.typ.oid)
		buf = binary.BigEndian.AppendUint16(buf, uint16(col.typ.size))
		buf = binary.BigEndian.AppendUint32(buf, uint32(col.typ.modifier))
		buf = binary.BigEndian.AppendUint16(buf, uint16(formatOf(formats, i)))
	}
	c.out.buf = buf
	c.out.finish(start)
}

func (c *conn) rowsOrNoData(columns []column, formats []int16) {
	if len(columns) == 0 {
		c.out.empty('n') // NoData
		return
	}
	c.rowDescription(columns, formats)
}

// textRow sends a row of texts.
func (c *conn) textRow(r row) {
	start := c.out.begin('D')
	c.out.buf = binary.BigEndian.AppendUint16(c.out.buf, uint16(len(r)))
	for _, s := range r {
		c.out.buf = binary.BigEndian.AppendUint32(c.out.buf, uint32(len(s)))
		c.out.buf = append(c.out.buf, s...)
	}
	c.out.finish(start)
}

// complete says that a statement is done.
func (c *conn) complete(tag string) {
	start := c.out.begin('C')
	c.out.buf = append(append(c.out.buf, tag...), 0)
	c.out.finish(start)
}
