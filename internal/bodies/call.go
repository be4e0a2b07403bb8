package bodies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/kit/visible"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/spicepod"
)

// Function is one version of a function.
type Function struct {
	set     *Set
	id      string
	name    string
	args    []engine.Column
	returns *engine.Type
	arrow   arrow.DataType // of the values
	body    body.Body

	settings
	slots chan struct{} // nil: any number of calls at once

	batchers sync.Pool // of *format.Batcher
	calls    sync.WaitGroup
	users    int // guarded by the set
}

// settings say how a function is called.
type settings struct {
	distinct  bool // rows with equal arguments share a call
	immutable bool // and statements share values
	maxCalls  int  // of a statement; 0: no limit
	batchRows int
	timeout   time.Duration
}

// toolBatchTimeout is the time limit of a batch of calls of a tool. Each call has the limit
// of the tool, and the statement has its own, which is reached before.
const toolBatchTimeout = 24 * time.Hour

func newFunction(s *Set, f *functions.Function, b body.Body) *Function {
	code, d := f.Code(), f.Declared
	added := &Function{
		set: s, id: code.ID, name: f.Name, args: code.Args, returns: code.Returns, arrow: format.ArrowType(code.Returns),
		body: b, users: 1,
		settings: settings{
			distinct: distinct(f), maxCalls: d.Limits.MaxCalls, batchRows: body.MaxRows,
			timeout: body.DefaultTimeout,
		},
	}
	added.immutable = added.distinct && f.Volatility == spicepod.Immutable
	if n := d.Limits.BatchRows; n > 0 {
		added.batchRows = min(n, body.MaxRows)
	}
	if d.Limits.Timeout > 0 {
		added.timeout = d.Limits.Timeout
	}
	if f.Tool() != "" {
		added.timeout = toolBatchTimeout
	}
	if n := d.Limits.Concurrency; n > 0 {
		added.slots = make(chan struct{}, n)
	}
	added.batchers.New = func() any { return format.NewBatcher(added.args) }
	return added
}

// distinct reports whether rows with equal arguments share a call: the function only reads,
// and a call costs more than the search for equal ones. A volatile function without
// arguments is called for each row, as random() is.
func distinct(f *functions.Function) bool {
	d := f.Declared
	cheap := d.BodyKind != nil && d.BodyKind.Cheap
	return !d.Risk.Writes() && !cheap &&
		(f.Volatility != spicepod.Volatile || len(f.Code().Args) > 0)
}

func (f *Function) close() {
	f.calls.Wait()
	_ = f.body.Close() // nothing can be done about it
}

// call computes the values of a vector of rows.
func (f *Function) call(ctx context.Context, args *engine.Chunk) (*engine.Chunk, error) {
	values, err := f.values(ctx, args)
	if err != nil {
		return nil, err
	}
	return arrowrows.Column(f.returns, values)
}

// maxShared is the most bytes of arguments of one row that shares a call with equal ones: to find
// those, the arguments are copied.
const maxShared = 8 << 20

// values returns the values of the rows.
func (f *Function) values(ctx context.Context, args *engine.Chunk) (arrow.Array, error) {
	m := f.memo(ctx)
	if !f.distinct || args.Len() == 1 && args.Size(0) > maxShared {
		if err := m.count(f, args.Len()); err != nil {
			return nil, err
		}
		return f.compute(ctx, args, allRows[:args.Len()])
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	if err := m.find(f, args, s); err != nil {
		return nil, err
	}
	if len(s.rows) > 0 {
		f.computeOwn(ctx, args, m, &s.found)
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.gather(f.arrow)
}

// allRows are the numbers of the rows of a vector.
var allRows = func() (rows [engine.ChunkRows]int) {
	for i := range rows {
		rows[i] = i
	}
	return rows
}()

// computeOwn computes the values of the rows that no one else computes.
func (f *Function) computeOwn(ctx context.Context, args *engine.Chunk, m *memo, of *found) {
	own := of.own
	own.values, own.err = f.compute(ctx, args, of.rows)
	close(own.done)
	if own.err != nil {
		return
	}
	m.computed(own.values)
	if len(of.keys) > 0 {
		f.keep(of.keys, own.values)
	}
}

// leastBatch is the least number of rows that are worth a call in parallel with others.
const leastBatch = 512

// compute calls the body for some rows: batch after batch or, if the body can, several
// batches at once.
func (f *Function) compute(ctx context.Context, args *engine.Chunk, rows []int) (arrow.Array, error) {
	size, atOnce := f.batchRows, 1
	if p, ok := f.body.(body.Parallel); ok && len(rows) > leastBatch {
		atOnce = p.AtOnce()
		size = min(size, max(leastBatch, (len(rows)+atOnce-1)/atOnce))
	}
	batches := slices.Collect(slices.Chunk(rows, size))
	parts, errs := make([][]arrow.Array, len(batches)), make([]error, len(batches))
	each := func(i int) error {
		parts[i], errs[i] = f.computeBatch(ctx, args, batches[i])
		return errs[i]
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range batches {
		if atOnce > 1 {
			group.Go(func() error { return each(i) })
		} else if each(i) != nil {
			break
		}
	}
	_ = group.Wait() // errs has the errors
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	values := slices.Concat(parts...)
	if len(values) == 1 {
		return values[0], nil
	}
	return array.Concatenate(values, memory.DefaultAllocator)
}

// computeBatch calls the body for the rows of one batch: once, or for large rows more often.
func (f *Function) computeBatch(ctx context.Context, args *engine.Chunk, rows []int) (parts []arrow.Array, err error) {
	defer func() { // it may run in its own goroutine
		if p := recover(); p != nil {
			parts, err = nil, fmt.Errorf("internal error: %v", p)
		}
	}()
	batcher := f.batchers.Get().(*format.Batcher)
	done := 0
	emit := func(batch arrow.RecordBatch) error {
		values, err := f.callBody(ctx, batch)
		if err != nil {
			return f.explain(err, args, rows[done:])
		}
		parts = append(parts, values)
		done += int(batch.NumRows())
		return nil
	}
	if err := errors.Join(batcher.AddRows(args, rows, emit), batcher.Emit(emit)); err != nil {
		return nil, err // the batcher, which has rows left, is dropped
	}
	f.batchers.Put(batcher)
	return parts, nil
}

func (f *Function) callBody(ctx context.Context, batch arrow.RecordBatch) (values arrow.Array, err error) {
	if f.slots != nil {
		select {
		case f.slots <- struct{}{}:
			defer func() { <-f.slots }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			values, err = nil, fmt.Errorf("internal error: %v", p)
		}
	}()
	values, err = f.body.Call(limited, batch)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && limited.Err() != nil:
		return nil, engine.NewError(errcode.Timeout, "make it faster, or raise limits.timeout of the function",
			"a call took longer than %s", f.timeout)
	case err != nil:
		return nil, err
	case values.Len() != int(batch.NumRows()):
		return nil, fmt.Errorf("it returned %s for a batch of %s", plural.Of(values.Len(), "value"),
			plural.Of(int(batch.NumRows()), "row"))
	case !arrow.TypeEqual(values.DataType(), f.arrow):
		return nil, fmt.Errorf("it returned values of type %s; it is declared to return %s", values.DataType(), f.arrow)
	}
	return values, nil
}

// shownArguments is how much of the arguments of a row an error shows.
const shownArguments = 200

// explain names the function, and the row if the error is one of a row.
func (f *Function) explain(err error, args *engine.Chunk, rows []int) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	where := ""
	if e, ok := errors.AsType[*body.Error](err); ok && e.Row >= 0 && e.Row < len(rows) {
		where = " for " + f.arguments(args, rows[e.Row])
	}
	code, hint, message := errcode.Execution, "", err.Error()
	if own, ok := errors.AsType[*engine.Error](err); ok {
		code, hint, message = own.Code, own.Hint, own.Message
	}
	message = visible.EscapeJSON(message)
	if named := "function '" + f.name + "'"; where == "" && strings.Contains(message, named) {
		return engine.NewError(code, hint, "%s", message)
	}
	return engine.NewError(code, hint, "function '%s' failed%s: %s", f.name, where, message)
}

// arguments renders a row as a call has it: (city := "Rome", days := 3).
func (f *Function) arguments(args *engine.Chunk, row int) string {
	text := []byte("(")
	for i, a := range f.args {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(append(text, a.Name...), " := "...)
		if v := args.Column(i); v.Valid(row) {
			text = format.JSON(text, v, row)
		} else {
			text = append(text, "NULL"...)
		}
		if len(text) > shownArguments {
			return truncate.Ellipsis(string(text), shownArguments)
		}
	}
	return string(append(text, ')'))
}
