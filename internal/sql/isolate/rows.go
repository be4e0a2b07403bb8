package isolate

import (
	"context"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// rows are the rows of a job. They may be read after its worker was given back.
type rows struct {
	execution *execution
	ctx       context.Context // of the job, until Close
	cancel    context.CancelFunc
	columns   []engine.Column
	about     *engine.Description // instead of columns, if the job describes
	spool     *spool
	payload   decoder // the one that was taken last
	ended     chan struct{}
}

var _ engine.RemoteRows = (*rows)(nil)

// newRows begins a job in a worker that the caller has acquired.
func newRows(ctx context.Context, p *Pool, w *worker, job engine.Job) (*rows, error) {
	ctx, cancel := context.WithCancel(ctx)
	working, stop := context.WithCancel(ctx)
	x := &execution{pool: p, worker: w, job: job, scans: map[uint64]*tableScan{}}
	stopWithPool := context.AfterFunc(p.life, cancel)
	unwatch := context.AfterFunc(ctx, func() { time.AfterFunc(p.opts.Grace, x.overrun) })
	x.stop = func() { unwatch(); stop() }
	r := &rows{
		ended: make(chan struct{}), execution: x, ctx: ctx, cancel: func() { stopWithPool(); cancel() },
		spool: newSpool(p.opts.TempDir, &p.spool, func() bool { return w.level.slots.Stats().Waiting > 0 }),
	}
	if job.Whole {
		r.spool.rivals = rivals{contended: func() bool { return true }, eager: true}
	}
	f, err := x.begin(working)
	if err == nil {
		if err = r.read(f); err != nil {
			err = x.violation(err)
		}
	}
	if err != nil {
		r.Close()
		if x.ended {
			x.part()
		} else {
			p.work.Go(x.part)
		}
		return nil, err
	}
	if x.arrived(working, r.spool) {
		close(r.ended)
		return r, nil
	}
	p.work.Go(func() {
		defer close(r.ended)
		x.transfer(working, r.spool)
	})
	return r, nil
}

// read reads the first frame of the result.
func (r *rows) read(f frame) (err error) {
	if r.execution.job.Describe {
		r.about, err = readDescription(f)
		return err
	}
	r.columns, err = readColumns(f)
	return err
}

func readColumns(f frame) ([]engine.Column, error) {
	if f.kind != kindColumns {
		return nil, fmt.Errorf("%w: frame %q instead of columns", errFrame, byte(f.kind))
	}
	columns, err := decodeJSON[[]engine.Column](f)
	if err != nil {
		return nil, err
	}
	if err := checkColumns(columns); err != nil {
		return nil, err
	}
	if err := checkRoom(columns); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return columns, nil
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
	for r.ctx.Err() == nil {
		chunk, err := r.payload.next()
		if err != nil {
			r.execution.reject(err)
			return nil, errInvalid()
		}
		if chunk != nil {
			return chunk, nil
		}
		payload, err := r.spool.take(r.ctx)
		switch {
		case r.ctx.Err() != nil:
		case payload == nil || err != nil:
			return nil, err
		default:
			r.payload = newDecoder(r.columns, payload)
		}
	}
	return nil, errCancelled()
}

// Wait implements [engine.RemoteRows].
func (r *rows) Wait(ctx context.Context) error {
	select {
	case <-r.ended:
		return r.execution.err
	case <-ctx.Done():
		return errCancelled()
	}
}

// Close implements [engine.RemoteRows]. It does not wait for the worker.
func (r *rows) Close() {
	r.cancel()
	r.spool.close()
}
