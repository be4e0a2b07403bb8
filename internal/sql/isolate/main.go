package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Shares of a worker's memory limit.
const (
	heapShare  = 8 // the Go heap takes this part of it
	fileFactor = 4 // a file that it writes takes this many times it
)

// endWait is how long a worker waits for DuckDB to end a statement before it reports
// that it does not, and after the parent is gone.
const endWait = time.Second

// Main is the body of a worker process: it reads frames from in and writes frames to
// out, pipes which nothing else may use. It returns when in ends because the parent is
// gone; the process must exit then.
func Main(in, out *os.File) error {
	s := &server{
		in: bufio.NewReaderSize(polled(in), 64<<10), out: newFrameWriter(polled(out)),
		statements: make(chan statement, 1),
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	f, err := readFrame(s.in, fromParent)
	if err != nil {
		return err
	}
	begin, err := decodeJSON[setup](f)
	if err != nil {
		return err
	}
	defer os.RemoveAll(begin.TempDir)
	if why := s.open(ctx, begin); why != nil {
		return s.out.send(kindFailed, why)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.serve()
	}()
	err = errors.Join(s.out.send(kindReady, nil), s.read(ctx))
	close(s.statements)
	stop()
	select {
	case <-served:
		s.db.Close()
	case <-time.After(endWait): // a kernel of DuckDB that cannot be interrupted
	}
	return err
}

// server is a worker.
type server struct {
	in         *bufio.Reader
	out        *frameWriter
	db         *engine.DB
	statements chan statement

	cancel context.CancelFunc // of the last statement; for read
	number atomic.Int64       // of the statement that runs, or ran last
	lastID atomic.Uint64      // of a call or scan
	calls  sync.Map           // id → chan answer, or chan frame of kindValues
}

// statement is a query with a context that begins when it arrives: a cancellation
// that arrives before it runs takes effect.
type statement struct {
	query
	params []byte // see appendParams
	ctx    context.Context
	cancel context.CancelFunc
}

// open limits the process and opens the database in which statements run.
func (s *server) open(ctx context.Context, begin setup) *failure {
	if err := confine(begin.Memory); err != nil {
		return &failure{Message: fmt.Sprintf("limit the worker: %s", err)}
	}
	if begin.Memory > 0 {
		debug.SetMemoryLimit(begin.Memory / heapShare)
	}
	var err error
	if s.db, err = engine.Open(ctx, s.options(begin)); err != nil {
		return &failure{Message: err.Error()}
	}
	for i, sql := range begin.Script {
		if err := s.db.Exec(ctx, sql); err != nil {
			return &failure{Message: fmt.Sprintf("statement %d of the setup: %s", i+1, err)}
		}
	}
	if err := s.db.Lock(begin.Roots); err != nil {
		return &failure{Message: err.Error()}
	}
	return nil
}

// options are those of the worker's database. The limits of a statement come with it.
func (s *server) options(begin setup) engine.Options {
	return engine.Options{
		Threads: begin.Threads, MemoryLimit: begin.MemoryLimit, TempDir: begin.TempDir, MaxSpill: begin.MaxSpill,
		Connections: 1, MaxSQL: maxFrame, Grace: endWait, Others: s.call, Batch: s.callBatch, Extensions: begin.Extensions,
		Limits: engine.Limits{Timeout: math.MaxInt64},
	}
}

// read handles frames until the parent is gone.
func (s *server) read(ctx context.Context) error {
	for {
		f, err := readFrame(s.in, fromParent)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.take(ctx, f)
		}
		if err != nil {
			return err
		}
	}
}

func (s *server) take(ctx context.Context, f frame) error {
	switch f.kind {
	case kindQuery:
		q, params, err := cutHead[query](f)
		if err != nil {
			return err
		}
		st := statement{query: q, params: params}
		st.ctx, st.cancel = context.WithCancel(ctx)
		select {
		case s.statements <- st:
			s.cancel = st.cancel
			return nil
		default:
			st.cancel()
			return fmt.Errorf("%w: two statements at once", errFrame)
		}
	case kindCancel:
		if s.cancel != nil {
			s.cancel()
		}
		return nil
	case kindAnswer:
		a, err := decodeJSON[answer](f)
		if ch, ok := s.calls.LoadAndDelete(a.ID); ok && err == nil {
			ch.(chan answer) <- a
		}
		return err
	case kindValues:
		a, _, err := cutHead[answer](f)
		if ch, ok := s.calls.LoadAndDelete(a.ID); ok && err == nil {
			ch.(chan frame) <- f
		}
		return err
	}
	return fmt.Errorf("%w: frame %q", errFrame, byte(f.kind))
}
