// Package arrowrows gives DuckDB the rows of Arrow record batches, which clients of
// connectors and bodies of functions return:
//
//	columns := arrowrows.Columns(schema)
//	open := func(ctx context.Context, numbers []int) (engine.StreamReader, error) {
//		batches, err := client.Read(ctx, numbers)
//		…
//		return arrowrows.NewReader(ctx, batches, fields), nil
//	}
//	stream := &engine.Stream{Columns: columns, Open: open}
//
// The batches may be of a hostile server: what is not valid is an error.
package arrowrows

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Batches are record batches, in their order. Next is called by one goroutine at a time.
type Batches interface {
	// Next returns the next batch, which the caller releases, or nil after the last one.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	Close()
}

// Reader is a reader of a stream. It reads a batch while DuckDB takes the one before.
type Reader struct {
	fields  []arrow.Field
	types   []*engine.Type
	batches Batches
	cancel  context.CancelFunc
	ahead   chan ahead    // closed after the last batch
	stop    chan struct{} // closed by Close
	batch   arrow.RecordBatch
	row     int // of batch, the next
}

type ahead struct {
	batch arrow.RecordBatch
	err   error
}

// NewReader returns a reader of batches, which must have the fields in this order.
func NewReader(ctx context.Context, batches Batches, fields []arrow.Field) *Reader {
	ctx, cancel := context.WithCancel(ctx)
	r := &Reader{fields: fields, batches: batches, cancel: cancel, ahead: make(chan ahead, 1), stop: make(chan struct{})}
	for _, f := range fields {
		r.types = append(r.types, TypeOf(f.Type))
	}
	go r.readAhead(ctx)
	return r
}

// readAhead reads until the end, an error or Close.
func (r *Reader) readAhead(ctx context.Context) {
	defer close(r.ahead)
	defer r.batches.Close()
	for {
		next, err := r.next(ctx)
		if next == nil && err == nil {
			return
		}
		select {
		case r.ahead <- ahead{next, err}:
		case <-r.stop:
			if next != nil {
				next.Release()
			}
			return
		}
		if err != nil {
			return
		}
	}
}

var errInvalid = errors.New("the rows are not valid Arrow data")

func (r *Reader) next(ctx context.Context) (batch arrow.RecordBatch, err error) {
	if err := arrowipc.Guard(func() (err error) { batch, err = r.batches.Next(ctx); return err }); batch == nil ||
		err != nil {
		return nil, err
	}
	if err := r.check(batch); err != nil {
		batch.Release()
		return nil, err
	}
	return batch, nil
}

// check returns an error if a batch has other columns.
func (r *Reader) check(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != len(r.fields) {
		return fmt.Errorf("the columns have changed: %d are there instead of %d", batch.NumCols(), len(r.fields))
	}
	for i, f := range r.fields {
		a := batch.Column(i)
		if !arrow.TypeEqual(a.DataType(), f.Type) {
			return fmt.Errorf("the columns have changed: %q is %s instead of %s", f.Name, a.DataType(), f.Type)
		}
		if a.Len() != int(batch.NumRows()) {
			return errInvalid
		}
	}
	return nil
}

// Next implements [engine.StreamReader].
func (r *Reader) Next() (*engine.Chunk, error) {
	for r.batch == nil || int64(r.row) == r.batch.NumRows() {
		if r.batch != nil {
			r.batch.Release()
			r.batch = nil
		}
		next, ok := <-r.ahead
		if !ok || next.err != nil {
			return nil, next.err
		}
		r.batch, r.row = next.batch, 0
	}
	end := min(r.row+engine.ChunkRows, int(r.batch.NumRows()))
	chunk, err := r.chunk(r.row, end)
	r.row = end
	return chunk, err
}

// chunk returns rows of the batch.
func (r *Reader) chunk(from, to int) (chunk *engine.Chunk, err error) {
	columns := make([]engine.Vector, len(r.types))
	err = arrowipc.Guard(func() error { // wrong offsets are found when a value is read
		for i, t := range r.types {
			a := array.NewSlice(r.batch.Column(i), int64(from), int64(to))
			columns[i], err = vector(t, a)
			a.Release() // the batch has the memory
			if err != nil {
				return fmt.Errorf("column %q: %w", r.fields[i].Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return engine.NewChunk(to-from, columns, nil), nil
}

// Close ends the reading.
func (r *Reader) Close() {
	close(r.stop)
	r.cancel()
	for next := range r.ahead {
		if next.batch != nil {
			next.batch.Release()
		}
	}
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

// Column returns a chunk whose only column has the values of an array, at most
// [engine.ChunkRows]. It shares the memory of the array.
func Column(t *engine.Type, a arrow.Array) (chunk *engine.Chunk, err error) {
	err = arrowipc.Guard(func() error {
		v, err := vector(t, a)
		chunk = engine.NewChunk(a.Len(), []engine.Vector{v}, nil)
		return err
	})
	return chunk, err
}
