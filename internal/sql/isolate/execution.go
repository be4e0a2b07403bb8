package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// execution is a job while it has a worker. It belongs to one goroutine: that of Run
// and then that of transfer, which gives the worker back.
type execution struct {
	pool     *Pool
	worker   *worker
	job      engine.Job
	stop     context.CancelFunc    // ends its calls
	created  []*engine.Dependency  // in the worker, by this statement
	calls    sync.WaitGroup        // calls in progress, and what is read for scans
	snapshot *engine.Snapshot      // of what only this process can read; nil: nothing
	scans    map[uint64]*tableScan // by number
	scanned  scanned
	reading  atomic.Int32 // of the scans, those whose rows are not all in their spools
	pending  atomic.Int32 // number of calls in progress
	ended    bool         // the worker is between statements, or gone
	err      error        // of the statement, or why it ended early; no frame is read after it

	mu     sync.Mutex
	parted bool // the worker is given back
}

// begin sends the statement and returns the first frame of its result. The calls of
// the statement end with ctx.
func (x *execution) begin(ctx context.Context) (frame, error) {
	w := x.worker
	params, err := appendParams(nil, x.job.Params)
	if err != nil {
		x.ended, x.err = true, engine.NewError(errcode.Argument, "", "%s", err)
		return frame{}, x.err
	}
	if x.job.Snapshot != nil {
		if x.snapshot, err = x.job.Snapshot(); err != nil {
			x.ended, x.err = true, err
			return frame{}, err
		}
	}
	w.served++
	q := query{
		Number: w.served,
		SQL:    x.job.SQL, Describe: x.job.Describe, Tables: x.job.Tables,
		Timeout: x.job.Limits.Timeout, Parts: x.job.Parts, MaxRows: x.job.Limits.MaxRows, MaxBytes: x.job.Limits.MaxBytes,
	}
	x.created, q.Files, q.Definitions = w.missing(x.job.Dependencies)
	for _, d := range x.created {
		if d.Batch != nil {
			q.Batches = append(q.Batches, d.Batch.Returns)
		}
		if d.Table != nil {
			q.Streams = append(q.Streams, d.Table)
		}
	}
	_ = w.send(q, params) // if the worker is gone, receive returns the reason
	f, err := x.receive(ctx)
	if err != nil {
		return f, err
	}
	if f.kind == kindEnd {
		if x.end(f); x.err == nil {
			x.violation(fmt.Errorf("%w: a statement without columns", errFrame))
		}
		return f, x.err
	}
	x.record()
	return f, nil
}

// record notes what the worker has created.
func (x *execution) record() {
	for _, d := range x.created {
		x.worker.has[d.Name] = d
	}
	x.created = nil
}

// transfer receives the rows to their end, and gives the worker back.
func (x *execution) transfer(ctx context.Context, to *spool) {
	for !x.over() {
		x.forward(ctx, to)
	}
	x.conclude(to)
}

// arrived receives the rows and gives the worker back if they have arrived with the
// first frame. It reports whether it did: the goroutine of transfer costs more than a
// short statement's rows.
func (x *execution) arrived(ctx context.Context, to *spool) bool {
	for range framesAhead {
		if !x.over() && len(x.worker.frames) > 0 {
			x.forward(ctx, to)
		}
	}
	if x.over() {
		x.conclude(to)
	}
	return x.over()
}

// over reports whether there is no frame to receive.
func (x *execution) over() bool { return x.ended || x.err != nil }

// conclude ends the rows.
func (x *execution) conclude(to *spool) {
	to.finish(x.err)
	x.part()
}

// forward receives one frame.
func (x *execution) forward(ctx context.Context, to *spool) {
	f, err := x.receive(ctx)
	switch {
	case err != nil:
	case f.kind == kindEnd:
		x.end(f)
	case f.kind != kindRows || x.job.Describe:
		x.violation(fmt.Errorf("%w: frame %q instead of rows", errFrame, byte(f.kind)))
	default:
		if err := to.put(ctx, f.payload); err != nil {
			x.err = x.spoolError(ctx, err)
		}
	}
}

// spoolError is the statement's error for an error of its spool.
func (x *execution) spoolError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return errCancelled()
	case errors.Is(err, errSlowReader) && x.job.Whole:
		return engine.NewError(errcode.Limit, "write fewer rows at once",
			"the rows that the statement computes of what it can write, with those of others, take more than %d MiB",
			x.pool.opts.Spool>>20)
	case errors.Is(err, errSlowReader):
		return engine.NewError(errcode.Limit, "read the rows faster, or select fewer", "the statement was ended: %s", err)
	}
	return engine.NewError(errcode.Internal, "", "%s", err)
}

// receive returns the next frame that is not a call; calls are answered in parallel.
func (x *execution) receive(ctx context.Context) (frame, error) {
	for {
		select {
		case f, ok := <-x.worker.frames:
			if !ok {
				return f, x.crashed()
			}
			take := x.take
			switch f.kind {
			case kindCall:
			case kindBatch:
				take = x.takeBatch
			case kindScan:
				take = x.takeScan
			default:
				return f, nil
			}
			if err := take(ctx, f); err != nil {
				return f, x.violation(err)
			}
		case <-ctx.Done():
			x.err = errCancelled()
			return frame{}, x.err
		}
	}
}

func errCancelled() error {
	return engine.NewError(errcode.Cancelled, "", "the statement was cancelled")
}

// end records the end of the statement.
func (x *execution) end(f frame) {
	e, err := decodeJSON[end](f)
	if err != nil {
		x.violation(err)
		return
	}
	x.ended = true
	if e.Error != nil {
		x.err = e.Error.err()
	}
	x.finish(e)
}

// finish decides whether the worker is reused. It is not after many statements, if
// it uses three quarters of the memory limit, if it has some of the statement's files
// only, or if its database or memory may be damaged. A worker that still works on the
// statement is killed.
func (x *execution) finish(e end) {
	w := x.worker
	files := slices.ContainsFunc(x.created, func(d *engine.Dependency) bool { return d.File })
	if !e.Unprepared {
		x.record()
	}
	if w.served >= maxStatements || x.job.Corrupts || e.Unprepared && files ||
		w.opts.Memory > 0 && e.Data > w.opts.Memory/4*3 ||
		e.Error != nil && e.Error.err().Code == errcode.Internal {
		w.spent = true
	}
	if e.Busy {
		x.overrun()
	}
}

// crashed returns why the worker is gone.
func (x *execution) crashed() error {
	w := x.worker
	<-w.exited
	x.ended, x.err = true, w.fate
	if w.fault {
		e := engine.NewError(errcode.Execution, "", "the statement ended its worker: %s", w.cmd.ProcessState)
		e.Crashed = true
		x.err = e
	}
	return x.err
}

// violation kills a worker that violates the protocol.
func (x *execution) violation(err error) error {
	x.pool.opts.Log.Warn("killing a worker", "error", err)
	x.worker.kill()
	x.ended, x.err = true, errInvalid()
	return x.err
}

// reject kills the worker for rows that cannot be decoded, unless it is given back.
func (x *execution) reject(err error) {
	x.pool.opts.Log.Warn("a worker sent invalid rows", "error", err)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.parted {
		x.worker.kill()
	}
}

func errInvalid() error {
	return engine.NewError(errcode.Execution, "", "the worker was killed: it sent an invalid message")
}

// take answers a call. A call for another statement is a protocol violation: it must
// not be answered for this statement's caller.
func (x *execution) take(ctx context.Context, f frame) error {
	c, err := decodeJSON[call](f)
	if err != nil {
		return err
	}
	return x.answer(c.Number, func() {
		output, err := x.native(ctx, c)
		reply(x.worker, c.ID, output, err)
	})
}

// answer answers a call of statement number in parallel.
func (x *execution) answer(number int, reply func()) error {
	if number != x.worker.served {
		return fmt.Errorf("%w: a call of statement %d during statement %d", errFrame, number, x.worker.served)
	}
	if x.pending.Add(1) > maxCalls {
		return fmt.Errorf("%w: more than %d calls at once", errFrame, maxCalls)
	}
	x.calls.Go(func() {
		defer x.pending.Add(-1)
		reply()
	})
	return nil
}

func (x *execution) native(ctx context.Context, c call) (output string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("internal error in %s: %v", c.Handler, v)
		}
	}()
	return x.job.Native(ctx, c.Handler, c.Input)
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

// part gives the worker back. A statement that still runs is interrupted first; a
// worker that does not react within the grace is killed. The grace also limits calls
// of the runtime's functions: they may be blocked by a worker that does not read
// answers.
func (x *execution) part() {
	x.stop()
	if x.snapshot != nil {
		x.snapshot.Close() // interrupts what is read for scans
	}
	timer := time.AfterFunc(x.pool.opts.Grace, x.overrun)
	defer timer.Stop()
	if !x.ended {
		x.abort()
	}
	x.calls.Wait()
	for _, t := range x.scans {
		t.spool.close()
	}
	x.mu.Lock()
	x.parted = true
	x.mu.Unlock()
	x.pool.release(x.worker)
}

// overrun kills the worker for exceeding its time, and counts it.
func (x *execution) overrun() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.parted || x.worker.over() {
		return
	}
	x.pool.mu.Lock()
	x.pool.stats.Killed++
	x.pool.mu.Unlock()
	x.worker.kill()
}

// abort interrupts the statement and waits for its end, or that of the worker.
func (x *execution) abort() {
	_ = x.worker.out.send(kindCancel, nil)
	for f := range x.worker.frames {
		switch f.kind {
		case kindEnd:
			e, err := decodeJSON[end](f)
			if err != nil {
				x.worker.kill()
			}
			x.finish(e)
			return
		case kindCall:
			var c call
			_ = json.Unmarshal(f.payload, &c)
			reply(x.worker, c.ID, "", context.Canceled)
		case kindBatch:
			b, _, _ := cutHead[batch](f)
			replyValues(x.worker, b.ID, nil, context.Canceled)
		case kindScan:
			var s scan
			if _ = json.Unmarshal(f.payload, &s); !s.Close {
				replyRows(x.worker, s.ID, nil, context.Canceled)
			}
		}
	}
}
