package engine

/*
#include <stdlib.h>

void spiced_native_bind(void *);
void spiced_batch_call(void *, void *, void *);

static void *spiced_batch_bind_ptr(void) { return (void *)spiced_native_bind; }
static void *spiced_batch_call_ptr(void) { return (void *)spiced_batch_call; }
*/
import "C"

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// BatchHandler computes a value for each row of args, with the function of that ID. The
// result has one column of type returns; the caller destroys it. ctx ends with the statement,
// which the error fails.
type BatchHandler func(ctx context.Context, id string, returns *Type, args *Chunk) (*Chunk, error)

// BatchFunction is a function that a [BatchHandler] computes.
type BatchFunction struct {
	ID      string
	Args    []Column
	Returns *Type
}

// maxBatchTypes is how many types of values there may be: DuckDB cannot drop a native
// function.
const maxBatchTypes = 10_000

// Bytes of the arguments of a function, which pass through the runtime. Those of several rows are
// split so that few are there at once.
const (
	callBytes    = 4 << 20  // of several rows
	maxCallBytes = 64 << 20 // of a row
	textSlot     = 4        // see [Chunk.Size]
)

// batches are the native functions that return vectors: one for each type of value.
type batches struct {
	mu    sync.Mutex
	types map[string]*Type // of values, by the name of the function
}

// batchFunction is a native function.
type batchFunction struct {
	in      *instance
	returns *Type
}

// batchPrefix begins the names of [BatchName].
const batchPrefix = "__spiced_batch_"

// BatchName is the name of the native function whose values have the type. Its arguments
// are the ID of a function, and those of the function. It is called once for each vector of
// rows, or more often if they are large. The guard refuses it to all but the runtime's own macros.
func BatchName(t *Type) string {
	sum := sha256.Sum256([]byte(t.String()))
	return batchPrefix + hex.EncodeToString(sum[:8])
}

// AddBatches makes the native function of [BatchName] for these types, where it does not
// exist yet.
func (db *DB) AddBatches(types ...*Type) error {
	db.batches.mu.Lock()
	defer db.batches.mu.Unlock()
	for _, t := range types {
		name := BatchName(t)
		if db.batches.types[name] != nil {
			continue
		}
		if len(db.batches.types) >= maxBatchTypes {
			return fmt.Errorf("functions have returned more than %d types since the start", maxBatchTypes)
		}
		if err := db.duck.Load().registerBatches(name, t); err != nil {
			return err
		}
		if db.batches.types == nil {
			db.batches.types = map[string]*Type{}
		}
		db.batches.types[name] = t
	}
	return nil
}

// registerBatches creates a native function in DuckDB.
func (in *instance) registerBatches(name string, returns *Type) error {
	c, err := in.connect("")
	if err != nil {
		return err
	}
	defer c.close()
	f := mapping.CreateScalarFunction()
	defer mapping.DestroyScalarFunction(&f)
	id, anything, result := mapping.CreateLogicalType(mapping.TypeVarchar), mapping.CreateLogicalType(mapping.TypeAny),
		returns.logical()
	defer mapping.DestroyLogicalType(&id)
	defer mapping.DestroyLogicalType(&anything)
	defer mapping.DestroyLogicalType(&result)
	mapping.ScalarFunctionSetName(f, name)
	mapping.ScalarFunctionAddParameter(f, id)
	mapping.ScalarFunctionSetVarargs(f, anything)
	mapping.ScalarFunctionSetReturnType(f, result)
	mapping.ScalarFunctionSetVolatile(f)        // never folded, never evaluated during planning
	mapping.ScalarFunctionSetSpecialHandling(f) // it gets NULL as an argument
	handle := goHandle(&batchFunction{in, returns})
	mapping.ScalarFunctionSetExtraInfo(f, handle, nil) // freed with the instance
	mapping.ScalarFunctionSetBind(f, C.spiced_batch_bind_ptr())
	mapping.ScalarFunctionSetFunction(f, C.spiced_batch_call_ptr())
	if mapping.RegisterScalarFunction(c.raw, f) != mapping.StateSuccess {
		freeHandle(handle)
		return fmt.Errorf("register the function of values of type %s", returns)
	}
	in.batches.Store(name, handle)
	return nil
}

func freeHandle(handle unsafe.Pointer) {
	cgo.Handle(*(*uintptr)(handle)).Delete()
	C.free(handle)
}

//export spiced_batch_call
func spiced_batch_call(info, input, output unsafe.Pointer) {
	function := mapping.FunctionInfo{Ptr: info}
	defer func() {
		if p := recover(); p != nil {
			mapping.ScalarFunctionSetError(function, fmt.Sprintf("internal error: %v", p))
		}
	}()
	f := goValue(mapping.ScalarFunctionGetExtraInfo(function)).(*batchFunction)
	conn := f.in.number(*(*uint64)(mapping.ScalarFunctionGetBindData(function)))
	if err := f.answer(conn, mapping.DataChunk{Ptr: input}, mapping.Vector{Ptr: output}); err != nil {
		mapping.ScalarFunctionSetError(function, err.Error())
	}
}

// answer computes the values of one vector.
func (f *batchFunction) answer(conn uint64, input mapping.DataChunk, output mapping.Vector) error {
	ctx, err := f.in.db.statementOf(conn)
	if err != nil {
		return err
	}
	columns := make([]Column, mapping.DataChunkGetColumnCount(input))
	for i := range columns {
		columns[i].Type = newType(mapping.VectorGetColumnType(mapping.DataChunkGetVector(input, mapping.IdxT(i))))
	}
	var chunk Chunk
	chunk.load(input, columns)
	if chunk.rows == 0 {
		return nil
	}
	id, args := string(chunk.Column(0).Bytes(0)), &Chunk{rows: chunk.rows, cols: chunk.cols[1:]}
	to := Vector{Type: f.returns}
	to.load(output)
	for done := 0; done < args.rows; {
		part, err := args.call(done)
		if err != nil {
			name, _, _ := strings.Cut(id, "@")
			return failStatement(ctx, NewError(errcode.Limit, "pass less to one call",
				"the arguments of function '%s' are too large: %s", name, err))
		}
		result, err := f.in.db.Batch(ctx, id, f.returns, part)
		if err != nil {
			return err
		}
		to.fill(result.Column(0), part.rows, done)
		result.Destroy()
		done += part.rows
	}
	return nil
}

// call returns the rows from a row on that a function is called with at once.
func (c *Chunk) call(from int) (*Chunk, error) {
	if from == 0 && c.Size(textSlot) <= callBytes {
		return c, nil
	}
	n, size := 0, int64(0)
	for ; from+n < c.rows; n++ {
		row := c.rowSize(from+n, textSlot)
		if row > maxCallBytes {
			return nil, fmt.Errorf("those of one call take %d MiB, and at most %d are possible", row>>20, maxCallBytes>>20)
		}
		if size += row; n > 0 && size > callBytes {
			break
		}
	}
	return c.part(from, n), nil
}

// statementOf returns the context of the statement that runs on a connection.
func (db *DB) statementOf(conn uint64) (context.Context, error) {
	if db.opts.Batch == nil {
		return nil, errors.New("there are no functions of that kind here")
	}
	if natives, ok := db.running.Load(conn); ok {
		return natives.(*nativeCalls).wait()
	}
	if ctx, ok := db.streams.contexts.Load(conn); ok {
		return ctx.(context.Context), nil
	}
	return nil, errors.New("it can only be called by a statement")
}

// statementKey is the context key of a [Statement].
type statementKey struct{}

// Statement has what the functions of one statement share. It is safe for concurrent use.
type Statement struct {
	state   sync.Map
	failure atomic.Pointer[Error] // of a function of the runtime; the last one
}

// StatementOf returns the statement that a function with this context belongs to, or nil.
func StatementOf(ctx context.Context) *Statement {
	s, _ := ctx.Value(statementKey{}).(*Statement)
	return s
}

// State returns the state of that key, which newState makes when it is first asked for.
func (s *Statement) State(key any, newState func() any) any {
	if state, ok := s.state.Load(key); ok {
		return state
	}
	state, _ := s.state.LoadOrStore(key, newState())
	return state
}

// failStatement notes the error of a function of the runtime: DuckDB passes on its text only.
func failStatement(ctx context.Context, err error) error {
	var own *Error
	if st := StatementOf(ctx); st != nil && errors.As(err, &own) {
		st.failure.Store(own)
	}
	return err
}

// failedBy returns the error of the function that ended the statement with this message, or
// nil.
func failedBy(ctx context.Context, message string) *Error {
	st := StatementOf(ctx)
	if st == nil {
		return nil
	}
	own := st.failure.Load()
	if own == nil || !strings.Contains(message, own.Message) {
		return nil
	}
	out := *own
	return &out
}

// withStatement returns a context for a new statement.
func withStatement(ctx context.Context) context.Context {
	return context.WithValue(ctx, statementKey{}, &Statement{})
}
