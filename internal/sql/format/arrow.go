package format

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Limits of a record batch: small enough to stay in a processor's cache between
// DuckDB's vectors and the network, large enough that the overhead of a batch is
// negligible.
const (
	batchBytes = 1 << 20
	batchRows  = 1 << 17
	appendRows = 512 // rows added between checks of the size
)

// arrowStream writes an Arrow IPC stream. Many DuckDB vectors make one record
// batch; each value is copied once, a column at a time.
type arrowStream struct {
	w       io.Writer
	ipc     *ipc.Writer
	batcher *Batcher
}

func newArrow(w io.Writer) Writer { return &arrowStream{w: w} }

func (a *arrowStream) Begin(columns []engine.Column) error {
	a.batcher = NewBatcher(columns)
	a.ipc = ipc.NewWriter(a.w, ipc.WithSchema(a.batcher.Schema()))
	return nil
}

func (a *arrowStream) Write(chunk *engine.Chunk) error { return a.batcher.Add(chunk, a.ipc.Write) }

func (a *arrowStream) Flush() error { return a.batcher.Emit(a.ipc.Write) }

func (a *arrowStream) End() error {
	if err := a.Flush(); err != nil {
		return err
	}
	return a.ipc.Close()
}

// Batcher converts DuckDB's vectors to Arrow record batches, for Arrow IPC and
// Flight. It is used by one goroutine.
type Batcher struct {
	schema  *arrow.Schema
	columns []column
	rows    int
}

// NewBatcher makes a Batcher for results with these columns, in exact types.
func NewBatcher(columns []engine.Column) *Batcher { return Exact.NewBatcher(columns) }

// NewBatcher makes a Batcher for results with these columns.
func (a ArrowTypes) NewBatcher(columns []engine.Column) *Batcher {
	b := &Batcher{schema: a.Schema(columns)}
	for i, c := range columns {
		b.columns = append(b.columns, newColumn(c.Type, b.schema.Field(i).Type))
	}
	return b
}

// Schema describes the batches.
func (b *Batcher) Schema() *arrow.Schema { return b.schema }

// Add adds the rows of a chunk and calls emit with every full batch. A batch is valid
// until emit returns: its memory is reused.
func (b *Batcher) Add(chunk *engine.Chunk, emit func(arrow.RecordBatch) error) error {
	for from := 0; from < chunk.Len(); from += appendRows {
		if err := b.add(chunk, from, min(appendRows, chunk.Len()-from), emit); err != nil {
			return err
		}
	}
	return nil
}

// AddRows adds some rows of a chunk, in ascending order, as Add does.
func (b *Batcher) AddRows(chunk *engine.Chunk, rows []int, emit func(arrow.RecordBatch) error) error {
	for len(rows) > 0 {
		n := 1
		for n < min(len(rows), appendRows) && rows[n] == rows[0]+n {
			n++
		}
		if err := b.add(chunk, rows[0], n, emit); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// add adds n rows.
func (b *Batcher) add(chunk *engine.Chunk, from, n int, emit func(arrow.RecordBatch) error) error {
	size := 0
	for i, c := range b.columns {
		if err := c.append(chunk.Column(i), from, n); err != nil {
			return err
		}
		size += c.size()
	}
	if b.rows += n; size >= batchBytes || b.rows >= batchRows {
		return b.Emit(emit)
	}
	return nil
}

// Emit calls emit with the rows that have not been emitted yet, if any.
func (b *Batcher) Emit(emit func(arrow.RecordBatch) error) error {
	if b.rows == 0 {
		return nil
	}
	arrays := make([]arrow.Array, len(b.columns))
	for i, c := range b.columns {
		data := c.data()
		arrays[i] = array.MakeFromData(data)
		data.Release()
	}
	batch := array.NewRecordBatch(b.schema, arrays, int64(b.rows))
	err := emit(batch)
	batch.Release()
	for i, c := range b.columns {
		arrays[i].Release()
		c.reset()
	}
	b.rows = 0
	return err
}

// PayloadFunc takes the messages of an Arrow stream. It implements [ipc.PayloadWriter].
type PayloadFunc func(ipc.Payload) error

// Start implements [ipc.PayloadWriter].
func (PayloadFunc) Start() error { return nil }

// WritePayload implements [ipc.PayloadWriter].
func (f PayloadFunc) WritePayload(p ipc.Payload) error { return f(p) }

// Close implements [ipc.PayloadWriter].
func (PayloadFunc) Close() error { return nil }
