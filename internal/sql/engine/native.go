package engine

/*
#include <stdint.h>
#include <stdlib.h>

void spiced_native_bind(void *);
void spiced_native_call(void *, void *, void *);

// A connection's number as bind data, which DuckDB copies with its plans.
static void *spiced_id_new(uint64_t id) {
	uint64_t *p = malloc(sizeof id);
	if (p) *p = id;
	return p;
}
static void *spiced_id_copy(void *p) { return spiced_id_new(*(uint64_t *)p); }

static void *spiced_bind_ptr(void) { return (void *)spiced_native_bind; }
static void *spiced_call_ptr(void) { return (void *)spiced_native_call; }
static void *spiced_copy_ptr(void) { return (void *)spiced_id_copy; }
static void *spiced_free_ptr(void) { return (void *)free; }
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// Native is the name of the only SQL function implemented in Go. It takes two
// texts, the name of a handler and its input, and returns a text. The runtime's
// own views and macros call it; the guard refuses it to all other callers.
const Native = "__spiced"

// Handler answers a call of [Native] from SQL, once for each row. ctx ends with
// the statement. A statement that the handler runs with ctx gets a separate
// connection (see [MaxNesting]). Its error fails the statement.
type Handler func(ctx context.Context, input string) (string, error)

// rowsAtOnce limits the concurrent calls for one chunk of rows.
const rowsAtOnce = 16

// Handle sets or replaces the handler of that name; nil removes it.
func (db *DB) Handle(name string, h Handler) {
	if h == nil {
		db.handlers.Delete(name)
		return
	}
	db.handlers.Store(name, h)
}

// Handles reports whether there is a handler of that name.
func (db *DB) Handles(name string) bool {
	_, ok := db.handlers.Load(name)
	return ok
}

// registerNative creates the function in DuckDB.
func (in *instance) registerNative() error {
	f := mapping.CreateScalarFunction()
	defer mapping.DestroyScalarFunction(&f)
	text := mapping.CreateLogicalType(mapping.TypeVarchar)
	defer mapping.DestroyLogicalType(&text)
	mapping.ScalarFunctionSetName(f, Native)
	mapping.ScalarFunctionAddParameter(f, text)
	mapping.ScalarFunctionAddParameter(f, text)
	mapping.ScalarFunctionSetReturnType(f, text)
	mapping.ScalarFunctionSetVolatile(f) // never folded, never evaluated during planning
	in.native = goHandle(in)
	mapping.ScalarFunctionSetExtraInfo(f, in.native, nil) // freed with the instance
	mapping.ScalarFunctionSetBind(f, C.spiced_bind_ptr())
	mapping.ScalarFunctionSetFunction(f, C.spiced_call_ptr())
	if mapping.RegisterScalarFunction(in.writer.raw, f) != mapping.StateSuccess {
		return fmt.Errorf("register %s", Native)
	}
	return nil
}

// nativeInstance returns the instance that a function was registered in.
func nativeInstance(extra unsafe.Pointer) *instance { return goValue(extra).(*instance) }

// spiced_native_bind records the connection on which a call is planned, to find
// the context of the statement.
//
//export spiced_native_bind
func spiced_native_bind(info unsafe.Pointer) {
	bind := mapping.BindInfo{Ptr: info}
	var client mapping.ClientContext
	mapping.ScalarFunctionGetClientContext(bind, &client)
	id := mapping.ClientContextGetConnectionId(client)
	mapping.DestroyClientContext(&client)
	mapping.ScalarFunctionSetBindData(bind, C.spiced_id_new(C.uint64_t(id)), C.spiced_free_ptr())
	mapping.ScalarFunctionSetBindDataCopy(bind, C.spiced_copy_ptr())
}

//export spiced_native_call
func spiced_native_call(info, input, output unsafe.Pointer) {
	function := mapping.FunctionInfo{Ptr: info}
	defer func() {
		if p := recover(); p != nil {
			mapping.ScalarFunctionSetError(function, fmt.Sprintf("internal error: %v", p))
		}
	}()
	in := nativeInstance(mapping.ScalarFunctionGetExtraInfo(function))
	id := in.number(*(*uint64)(mapping.ScalarFunctionGetBindData(function)))
	if err := in.db.callNative(id, mapping.DataChunk{Ptr: input}, mapping.Vector{Ptr: output}); err != nil {
		mapping.ScalarFunctionSetError(function, err.Error())
	}
}

// nativeCalls delays the calls of one attempt at a statement. DuckDB's threads may
// work on a statement as soon as it is planned, and it is planned again after a
// concurrent publication: a call must not be made twice.
type nativeCalls struct {
	ctx            context.Context // of the statement
	input          *Input          // of the statement
	memo           *memo           // of a snapshot; else nil
	begun, dropped chan struct{}   // one of them is closed
}

func newNativeCalls(ctx context.Context, input *Input) *nativeCalls {
	return &nativeCalls{ctx: ctx, input: input, begun: make(chan struct{}), dropped: make(chan struct{})}
}

// wait returns the statement's context once this attempt is the one that runs.
func (n *nativeCalls) wait() (context.Context, error) {
	select {
	case <-n.begun:
		return n.ctx, nil
	case <-n.dropped:
		return nil, errors.New("the statement is planned again")
	case <-n.ctx.Done():
		return nil, n.ctx.Err()
	}
}

var nativeColumns = []Column{{"handler", &Type{ID: Varchar}}, {"input", &Type{ID: Varchar}}}

// callNative answers the rows of one chunk. A NULL argument gives NULL.
func (db *DB) callNative(id uint64, input mapping.DataChunk, output mapping.Vector) error {
	var chunk Chunk
	chunk.load(input, nativeColumns)
	answers, err := db.answersFor(id, &chunk)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a == nil {
			mapping.VectorEnsureValidityWritable(output)
			mapping.ValiditySetRowInvalid(mapping.VectorGetValidity(output), mapping.IdxT(i))
			continue
		}
		mapping.VectorAssignStringElement(output, mapping.IdxT(i), *a)
	}
	return nil
}

// answersFor answers the rows for the statement that runs on the connection.
func (db *DB) answersFor(id uint64, chunk *Chunk) ([]*string, error) {
	natives, ok := db.running.Load(id)
	if !ok {
		return withoutStatement(chunk)
	}
	ctx, err := natives.(*nativeCalls).wait()
	if err != nil {
		return nil, err
	}
	return db.answer(WithNesting(ctx, Nesting(ctx)+1), chunk, natives.(*nativeCalls).memo)
}

// withoutStatement answers where no statement runs: there is no caller, and no
// handler other than ctx works there.
func withoutStatement(chunk *Chunk) ([]*string, error) {
	for i := range chunk.Len() {
		if chunk.Column(0).Valid(i) && string(chunk.Column(0).Bytes(i)) != Ctx {
			return nil, errors.New("it can only be called by a statement")
		}
	}
	return make([]*string, chunk.Len()), nil
}

// answer calls the handlers of the rows, or takes the answers of earlier calls from m, unless
// that is nil.
func (db *DB) answer(ctx context.Context, chunk *Chunk, m *memo) ([]*string, error) {
	answers := make([]*string, chunk.Len())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rowsAtOnce)
	for i := range answers {
		if !chunk.Column(0).Valid(i) || !chunk.Column(1).Valid(i) {
			continue
		}
		name, input := string(chunk.Column(0).Bytes(i)), string(chunk.Column(1).Bytes(i))
		h, ok := db.handler(name)
		if !ok {
			return nil, errors.Join(fmt.Errorf("there is no handler %q", name), group.Wait())
		}
		group.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("internal error in %s: %v", name, p)
				}
			}()
			answer, err := m.answer(ctx, name, input, h)
			answers[i] = &answer
			return err
		})
	}
	return answers, group.Wait()
}

func (db *DB) handler(name string) (Handler, bool) {
	if h, ok := db.handlers.Load(name); ok {
		return h.(Handler), true
	}
	if db.opts.Others == nil {
		return nil, false
	}
	return func(ctx context.Context, input string) (string, error) { return db.opts.Others(ctx, name, input) }, true
}

// MaxNesting is how deep statements run inside statements, through a tool that a
// statement calls. Each depth has separate connections, so that statements never
// wait for those that wait for them.
const MaxNesting = 3

type nestingKey struct{}

// WithNesting sets how deep statements run with ctx are inside others. Work that
// callers of several depths share must use a single depth, or it may wait for
// connections of statements that wait for it.
func WithNesting(ctx context.Context, depth int) context.Context {
	return context.WithValue(ctx, nestingKey{}, depth)
}

// Nesting is how deep statements run with ctx are inside others; 0 is the top
// level.
func Nesting(ctx context.Context) int {
	depth, _ := ctx.Value(nestingKey{}).(int)
	return depth
}

// poolFor returns the connections for the depth of ctx.
func (db *DB) poolFor(ctx context.Context) (*pool, error) {
	depth := Nesting(ctx)
	if depth > MaxNesting {
		return nil, NewError(errcode.Refused, "call the tool directly",
			"statements are nested through tools more than %d deep", MaxNesting)
	}
	return db.pools[depth], nil
}
