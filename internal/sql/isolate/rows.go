package isolate

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// rows are the rows of a job in a worker.
type rows struct {
	pool    *Pool
	worker  *worker
	job     engine.Job
	ctx     context.Context // of the job
	cancel  context.CancelFunc
	columns []engine.Column
	about   *engine.Description // instead of columns, if the job describes
	calls   sync.WaitGroup      // calls in progress
	pending atomic.Int32        // number of calls in progress
	closing sync.Once

	mu      sync.Mutex // held while reading the worker's frames
	stop    func()     // stops closing the rows with ctx or the pool
	decoder *decoder
	ended   bool  // the worker is between statements, or gone
	err     error // of the statement, or why it ended early; no frame is read after it
}

var _ engine.RemoteRows = (*rows)(nil)

func newRows(ctx context.Context, p *Pool, w *worker, job engine.Job) *rows {
	r := &rows{pool: p, worker: w, job: job, ended: true}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.mu.Lock() // Close may be called at once
	defer r.mu.Unlock()
	stopWithPool, stopWithJob := context.AfterFunc(p.life, r.Close), context.AfterFunc(ctx, r.Close)
	r.stop = func() { stopWithPool(); stopWithJob() }
	return r
}

// begin sends the statement and waits until it runs.
func (r *rows) begin(params []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil { // closed meanwhile
		return r.err
	}
	r.ended = false
	r.worker.served++
	// If the worker is gone, receive returns the reason.
	_ = r.worker.out.send(kindQuery, query{
		Number: r.worker.served,
		SQL:    r.job.SQL, Describe: r.job.Describe, Params: params, Tables: r.job.Tables,
		Timeout: r.job.Limits.Timeout, MaxRows: r.job.Limits.MaxRows, MaxBytes: r.job.Limits.MaxBytes,
	})
	f, err := r.receive()
	if err != nil {
		return err
	}
	if f.kind == kindEnd {
		if r.over(f); r.err == nil {
			r.violation(fmt.Errorf("%w: a statement without columns", errFrame))
		}
		return r.err
	}
	if r.job.Describe {
		if r.about, err = readDescription(f); err != nil {
			return r.violation(err)
		}
		return nil
	}
	if r.columns, err = readColumns(f); err != nil {
		return r.violation(err)
	}
	if r.decoder, err = newDecoder(r.columns); err != nil {
		return r.violation(err)
	}
	return nil
}

func readColumns(f frame) ([]engine.Column, error) {
	if f.kind != kindColumns {
		return nil, fmt.Errorf("%w: frame %q instead of columns", errFrame, byte(f.kind))
	}
	columns, err := decodeJSON[[]engine.Column](f)
	if err != nil {
		return nil, err
	}
	return columns, checkColumns(columns)
}

func readDescription(f frame) (*engine.Description, error) {
	if f.kind != kindAbout {
		return nil, fmt.Errorf("%w: frame %q instead of a description", errFrame, byte(f.kind))
	}
	about, err := decodeJSON[engine.Description](f)
	if err != nil {
		return nil, err
	}
	var types []engine.Column // of known type
	for _, c := range about.Columns {
		if c.Type != nil {
			types = append(types, c)
		}
	}
	for _, p := range about.Params {
		if p.Type != nil {
			types = append(types, engine.Column(p))
		}
	}
	if len(types) > 0 {
		err = checkColumns(types)
	}
	return &about, err
}

// Description implements [engine.RemoteRows].
func (r *rows) Description() *engine.Description { return r.about }

// Columns implements [engine.RemoteRows].
func (r *rows) Columns() []engine.Column { return r.columns }

// Next implements [engine.RemoteRows].
func (r *rows) Next() (*engine.Chunk, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended && r.err == nil {
		f, err := r.receive()
		if err != nil {
			return nil, err
		}
		if f.kind == kindEnd {
			r.over(f)
			continue
		}
		chunk, err := r.chunk(f)
		if err != nil {
			return nil, r.violation(err)
		}
		return chunk, nil
	}
	return nil, r.err
}

func (r *rows) chunk(f frame) (*engine.Chunk, error) {
	if f.kind != kindRows || r.decoder == nil {
		return nil, fmt.Errorf("%w: frame %q instead of rows", errFrame, byte(f.kind))
	}
	return r.decoder.decode(f.payload)
}

// receive returns the next frame that is not a call; calls are answered in parallel.
func (r *rows) receive() (frame, error) {
	for {
		select {
		case f, ok := <-r.worker.frames:
			if !ok {
				return f, r.crashed()
			}
			if f.kind != kindCall {
				return f, nil
			}
			if err := r.take(f); err != nil {
				return f, r.violation(err)
			}
		case <-r.ctx.Done():
			r.err = errCancelled()
			return frame{}, r.err
		}
	}
}

func errCancelled() error {
	return engine.NewError(errcode.Cancelled, "", "the statement was cancelled")
}

// over records the end of the statement.
func (r *rows) over(f frame) {
	e, err := decodeJSON[end](f)
	if err != nil {
		r.violation(err)
		return
	}
	r.ended = true
	if e.Error != nil {
		r.err = e.Error.err()
	}
	r.finish(e)
}

// finish decides whether the worker is reused. It is not after many statements, if
// it uses three quarters of the memory limit, or if its database may be damaged. A worker
// that still works on the statement is killed.
func (r *rows) finish(e end) {
	w := r.worker
	if w.served >= maxStatements || w.opts.Memory > 0 && e.Data > w.opts.Memory/4*3 ||
		e.Error != nil && e.Error.err().Code == errcode.Internal {
		w.spent = true
	}
	if e.Busy {
		r.overrun()
	}
}

// crashed returns why the worker is gone.
func (r *rows) crashed() error {
	<-r.worker.exited
	r.ended, r.err = true, r.worker.fate
	return r.err
}

// violation kills a worker that violates the protocol.
func (r *rows) violation(err error) error {
	r.pool.opts.Log.Warn("killing a worker", "error", err)
	r.worker.kill()
	r.ended, r.err = true, engine.NewError(errcode.Execution, "", "the worker was killed: it sent an invalid message")
	return r.err
}

// take answers a call. A call for another statement is a protocol violation: it must
// not be answered for this statement's caller.
func (r *rows) take(f frame) error {
	c, err := decodeJSON[call](f)
	if err != nil {
		return err
	}
	if c.Number != r.worker.served {
		return fmt.Errorf("%w: a call of statement %d during statement %d", errFrame, c.Number, r.worker.served)
	}
	if r.pending.Add(1) > maxCalls {
		return fmt.Errorf("%w: more than %d calls at once", errFrame, maxCalls)
	}
	r.calls.Go(func() {
		defer r.pending.Add(-1)
		output, err := r.native(c)
		reply(r.worker, c.ID, output, err)
	})
	return nil
}

func (r *rows) native(c call) (output string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("internal error in %s: %v", c.Handler, v)
		}
	}()
	return r.job.Native(r.ctx, c.Handler, c.Input)
}

// reply answers a call, if the worker still runs.
func reply(w *worker, id uint64, output string, err error) {
	a := answer{ID: id, Output: output}
	if err != nil {
		text := truncate.Fit(err.Error(), engine.MaxMessage)
		a = answer{ID: id, Error: &text}
	}
	_ = w.out.send(kindAnswer, a)
}

// Close implements [engine.RemoteRows]. It asks the worker of a running statement to
// interrupt it and kills the worker after the grace, without waiting for either. It
// waits only for calls of the runtime's functions. After the end of the statement the
// grace limits those too: they may be blocked by a worker that does not read answers.
func (r *rows) Close() {
	r.closing.Do(func() {
		r.cancel()
		timer := time.AfterFunc(r.pool.opts.Grace, r.overrun) // before locking: the holder of the lock may be blocked
		r.mu.Lock()
		r.stop()
		ended := r.ended
		if r.err == nil {
			r.err = errCancelled()
		}
		if r.decoder != nil {
			r.decoder.close()
		}
		r.mu.Unlock()
		if !ended {
			r.pool.work.Go(func() { r.abort(timer) })
		}
		r.calls.Wait()
		if ended {
			r.giveBack(timer)
		}
	})
}

// giveBack gives the worker back, unless it is being killed.
func (r *rows) giveBack(timer *time.Timer) {
	if !timer.Stop() {
		r.worker.kill() // no one else uses it
	}
	r.pool.release(r.worker)
}

// overrun kills the worker for exceeding its time, and counts it.
func (r *rows) overrun() {
	if r.worker.over() {
		return
	}
	r.pool.mu.Lock()
	r.pool.stats.Killed++
	r.pool.mu.Unlock()
	r.worker.kill()
}

// abort cancels the statement; the timer kills its worker.
func (r *rows) abort(timer *time.Timer) {
	defer r.giveBack(timer)
	_ = r.worker.out.send(kindCancel, nil)
	for f := range r.worker.frames {
		switch f.kind {
		case kindEnd:
			e, err := decodeJSON[end](f)
			if err != nil {
				r.worker.kill()
			}
			r.finish(e)
			return
		case kindCall:
			var c call
			_ = json.Unmarshal(f.payload, &c)
			reply(r.worker, c.ID, "", context.Canceled)
		}
	}
}
