package engine

/*
#include <stdint.h>
#include <stdlib.h>

void spiced_stream_bind(void *);
void spiced_stream_init(void *);
void spiced_stream_scan(void *, void *);
void spiced_stream_free(void *);

static void *spiced_stream_bind_ptr(void) { return (void *)spiced_stream_bind; }
static void *spiced_stream_init_ptr(void) { return (void *)spiced_stream_init; }
static void *spiced_stream_scan_ptr(void) { return (void *)spiced_stream_scan; }
static void *spiced_stream_free_ptr(void) { return (void *)spiced_stream_free; }
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// streamTable is a table function whose rows are those of a [Stream]. Its argument is the
// name of the stream. Statements cannot call it.
const streamTable = "__spiced_stream"

// Stream is a table of rows from outside of DuckDB. Each scan reads it from its beginning.
type Stream struct {
	Columns []Column
	Rows    int64 // how many are expected, for the plans of statements; 0: unknown
	// Open begins to read the columns of these numbers, in this order. The context ends with
	// the statement that reads, if that is one of the runtime.
	Open func(ctx context.Context, columns []int) (StreamReader, error)
}

// StreamReader reads rows. It is used by one goroutine at a time.
type StreamReader interface {
	// Next returns the next rows, which the caller destroys, or nil after the last ones.
	Next() (*Chunk, error)
	Close()
}

// streams are the streams of a database.
type streams struct {
	byName   sync.Map     // → *Stream
	last     atomic.Int64 // number, which is the name of one without
	contexts sync.Map     // connection id → context of what runs on a stage
}

// AddStream returns the table of a stream for a FROM clause, until remove is called.
// Other processes cannot read it.
func (db *DB) AddStream(s *Stream) (from string, remove func()) {
	name := strconv.FormatInt(db.streams.last.Add(1), 10)
	db.streams.byName.Store(name, s)
	return streamTable + "(" + Literal(name) + ")", func() { db.streams.byName.Delete(name) }
}

// SetStream sets or replaces the stream that [SnapshotTable.Stream] names.
func (db *DB) SetStream(name string, s *Stream) { db.streams.byName.Store(name, s) }

// registerStream creates the table function in DuckDB.
func (in *instance) registerStream() error {
	f := mapping.CreateTableFunction()
	defer mapping.DestroyTableFunction(&f)
	name := mapping.CreateLogicalType(mapping.TypeVarchar)
	defer mapping.DestroyLogicalType(&name)
	mapping.TableFunctionSetName(f, streamTable)
	mapping.TableFunctionAddParameter(f, name)
	mapping.TableFunctionSupportsProjectionPushdown(f, true)
	mapping.TableFunctionSetExtraInfo(f, in.native, nil)
	mapping.TableFunctionSetBind(f, C.spiced_stream_bind_ptr())
	mapping.TableFunctionSetInit(f, C.spiced_stream_init_ptr())
	mapping.TableFunctionSetFunction(f, C.spiced_stream_scan_ptr())
	if mapping.RegisterTableFunction(in.writer.raw, f) != mapping.StateSuccess {
		return errors.New("register " + streamTable)
	}
	return nil
}

// streamPlan is the function in a plan.
type streamPlan struct {
	*Stream
	db   *DB
	conn uint64 // the connection's number
}

// streamScan is a scan that runs.
type streamScan struct {
	StreamReader
	at []int // of each column that is read, in the output
}

// goHandle returns memory of C with a handle of v, which spiced_stream_free frees.
func goHandle(v any) unsafe.Pointer {
	handle := C.malloc(C.size_t(unsafe.Sizeof(uintptr(0))))
	*(*uintptr)(handle) = uintptr(cgo.NewHandle(v))
	return handle
}

func goValue(handle unsafe.Pointer) any { return cgo.Handle(*(*uintptr)(handle)).Value() }

//export spiced_stream_free
func spiced_stream_free(handle unsafe.Pointer) {
	if scan, ok := goValue(handle).(*streamScan); ok {
		scan.Close()
	}
	cgo.Handle(*(*uintptr)(handle)).Delete()
	C.free(handle)
}

//export spiced_stream_bind
func spiced_stream_bind(info unsafe.Pointer) {
	bind := mapping.BindInfo{Ptr: info}
	in := nativeInstance(mapping.BindGetExtraInfo(bind))
	db := in.db
	var client mapping.ClientContext
	mapping.TableFunctionGetClientContext(bind, &client)
	conn := in.number(uint64(mapping.ClientContextGetConnectionId(client)))
	mapping.DestroyClientContext(&client)
	name := mapping.BindGetParameter(bind, 0)
	defer mapping.DestroyValue(&name)
	s, ok := db.streams.byName.Load(mapping.GetVarchar(name))
	if !ok {
		mapping.BindSetError(bind, "the source of the table is closed")
		return
	}
	plan := &streamPlan{Stream: s.(*Stream), db: db, conn: conn}
	for _, c := range plan.Columns {
		lt := c.Type.logical()
		mapping.BindAddResultColumn(bind, c.Name, lt)
		mapping.DestroyLogicalType(&lt)
	}
	if plan.Rows > 0 {
		mapping.BindSetCardinality(bind, mapping.IdxT(plan.Rows), false)
	}
	mapping.BindSetBindData(bind, goHandle(plan), C.spiced_stream_free_ptr())
}

// contextOf returns the context of what runs on a connection.
func (db *DB) contextOf(conn uint64) context.Context {
	if ctx, ok := db.streams.contexts.Load(conn); ok {
		return ctx.(context.Context)
	}
	if natives, ok := db.running.Load(conn); ok {
		return natives.(*nativeCalls).ctx
	}
	return db.life
}

//export spiced_stream_init
func spiced_stream_init(info unsafe.Pointer) {
	init := mapping.InitInfo{Ptr: info}
	defer func() {
		if p := recover(); p != nil {
			mapping.InitSetError(init, fmt.Sprintf("internal error: %v", p))
		}
	}()
	plan := goValue(mapping.InitGetBindData(init)).(*streamPlan)
	scan := &streamScan{}
	var columns []int
	for i := range int(mapping.InitGetColumnCount(init)) {
		// Where DuckDB only counts rows, it may ask for a column that does not exist.
		if n := uint64(mapping.InitGetColumnIndex(init, mapping.IdxT(i))); n < uint64(len(plan.Columns)) {
			columns, scan.at = append(columns, int(n)), append(scan.at, i)
		}
	}
	var err error
	if scan.StreamReader, err = plan.Open(plan.db.contextOf(plan.conn), columns); err != nil {
		mapping.InitSetError(init, err.Error())
		return
	}
	mapping.InitSetMaxThreads(init, 1)
	mapping.InitSetInitData(init, goHandle(scan), C.spiced_stream_free_ptr())
}

//export spiced_stream_scan
func spiced_stream_scan(info, output unsafe.Pointer) {
	function := mapping.FunctionInfo{Ptr: info}
	defer func() {
		if p := recover(); p != nil {
			mapping.FunctionSetError(function, fmt.Sprintf("internal error: %v", p))
		}
	}()
	scan := goValue(mapping.FunctionGetInitData(function)).(*streamScan)
	if err := scan.read(mapping.DataChunk{Ptr: output}); err != nil {
		mapping.FunctionSetError(function, err.Error())
	}
}

// read writes the next rows.
func (s *streamScan) read(output mapping.DataChunk) error {
	chunk, err := s.Next()
	if err != nil || chunk == nil {
		mapping.DataChunkSetSize(output, 0)
		return err
	}
	defer chunk.Destroy()
	for i, at := range s.at {
		v := Vector{Type: chunk.cols[i].Type}
		v.load(mapping.DataChunkGetVector(output, mapping.IdxT(at)))
		v.fill(&chunk.cols[i], chunk.rows, 0)
	}
	mapping.DataChunkSetSize(output, mapping.IdxT(chunk.rows))
	return nil
}
