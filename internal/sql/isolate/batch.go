package isolate

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// encoders are those that write no frame, with memory that is used again.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

func (e *encoder) free() {
	if e.buf = e.buf[:0]; cap(e.buf) <= frameBytes {
		encoders.Put(e)
	}
}

// head begins a payload of a head and a chunk: the length of the head as JSON, the head,
// and padding.
func (e *encoder) head(head any) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	e.number(len(text))
	e.buf = append(e.buf, text...)
	e.pad()
	return nil
}

// chunk adds the first columns of a chunk.
func (e *encoder) chunk(chunk *engine.Chunk, columns int) {
	e.number(chunk.Len())
	e.pad()
	for i := range columns {
		e.vector(chunk.Column(i), []span{{0, chunk.Len()}})
	}
}

// cutHead reads the head of a payload.
func cutHead[T any](f frame) (head T, rest []byte, err error) {
	n := len(f.payload)
	if n < 4 {
		return head, nil, errShort
	}
	end := 4 + int64(binary.LittleEndian.Uint32(f.payload))
	padded := (end + 7) &^ 7
	if padded > int64(n) {
		return head, nil, errShort
	}
	head, err = decodeJSON[T](frame{f.kind, f.payload[4:end]})
	return head, f.payload[padded:], err
}

// readChunk reads the only chunk of a payload, which begins at rest. The caller destroys it.
func readChunk(columns []engine.Column, payload, rest []byte) (*engine.Chunk, error) {
	d := newDecoder(columns, payload)
	d.rest = rest
	chunk, err := d.next()
	switch {
	case err != nil:
		return nil, err
	case chunk == nil || len(d.rest) > 0:
		return nil, fmt.Errorf("%w: not one chunk", errFrame)
	}
	d.memory.release() // there is no further chunk
	return chunk, nil
}

// callBatch asks the parent to call a function for the rows of args.
func (s *server) callBatch(ctx context.Context, id string, returns *engine.Type,
	args *engine.Chunk,
) (*engine.Chunk, error) {
	number, _ := ctx.Value(numberKey{}).(int)
	call := s.lastID.Add(1)
	ch := make(chan frame, 1)
	s.calls.Store(call, ch)
	defer s.calls.Delete(call)
	if err := s.sendBatch(batch{number, call, id}, args); err != nil {
		return nil, fmt.Errorf("the arguments cannot be sent by the worker: %w", err)
	}
	f, rest, err := receiveValues(ctx, ch)
	if err != nil {
		return nil, err
	}
	return readChunk([]engine.Column{{Type: returns}}, f.payload, rest)
}

// receiveValues waits for the answer to a batch or a scan, and returns it with its values.
func receiveValues(ctx context.Context, ch <-chan frame) (f frame, values []byte, err error) {
	select {
	case f = <-ch:
		a, values, err := cutHead[answer](f)
		if err == nil && a.Error != nil {
			err = errors.New(*a.Error)
		}
		return f, values, err
	case <-ctx.Done():
		return f, nil, ctx.Err()
	}
}

func (s *server) sendBatch(b batch, args *engine.Chunk) error {
	e := encoders.Get().(*encoder)
	defer e.free()
	if err := e.head(b); err != nil {
		return err
	}
	e.chunk(args, args.Columns())
	return errors.Join(s.out.write(kindBatch, e.buf), s.out.flush())
}

// takeBatch answers a call of a function that is not SQL, if the statement may call it.
func (x *execution) takeBatch(ctx context.Context, f frame) error {
	b, rest, err := cutHead[batch](f)
	if err != nil {
		return err
	}
	var function *engine.BatchFunction
	for _, d := range x.job.Dependencies {
		if d.Batch != nil && d.Batch.ID == b.Function {
			function = d.Batch
		}
	}
	if function == nil {
		return fmt.Errorf("%w: a call of %q, which the statement does not use", errFrame, truncate.Ellipsis(b.Function, 100))
	}
	args, err := readChunk(function.Args, f.payload, rest)
	if err != nil {
		return err
	}
	return x.answer(b.Number, func() {
		defer args.Destroy()
		values, err := x.batch(ctx, function, args)
		replyValues(x.worker, b.ID, values, err)
	})
}

func (x *execution) batch(ctx context.Context, f *engine.BatchFunction,
	args *engine.Chunk,
) (values *engine.Chunk, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("internal error in %s: %v", f.ID, v)
		}
	}()
	return x.job.Batch(ctx, f.ID, f.Returns, args)
}

// replyValues answers a call, if the worker still runs.
func replyValues(w *worker, id uint64, values *engine.Chunk, err error) {
	if err == nil {
		defer values.Destroy()
	}
	sent := answerWith(w, id, err, func(e *encoder) []byte {
		e.chunk(values, 1)
		return nil
	})
	if large, ok := errors.AsType[tooLargeError](sent); ok {
		replyValues(w, id, nil, large)
	}
}

// answerWith answers a batch or a scan with the error, or else with what add adds to the
// answer or returns, if the worker still runs.
func answerWith(w *worker, id uint64, err error, add func(*encoder) []byte) error {
	a := answer{ID: id}
	if err != nil {
		text := truncate.Fit(err.Error(), engine.MaxMessage)
		a.Error = &text
	}
	e := encoders.Get().(*encoder)
	defer e.free()
	if err := e.head(a); err != nil {
		return err // not of an answer, which is always JSON
	}
	var rest []byte
	if err == nil {
		rest = add(e)
	}
	return errors.Join(w.out.write(kindValues, e.buf, rest), w.out.flush())
}
