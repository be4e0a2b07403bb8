package engine

/*
#include <stdint.h>
#include <stdlib.h>

void spiced_input_bind(void *);
void spiced_input_init(void *);
void spiced_input_scan(void *, void *);
void spiced_input_free(void *);

static void *spiced_input_bind_ptr(void) { return (void *)spiced_input_bind; }
static void *spiced_input_init_ptr(void) { return (void *)spiced_input_init; }
static void *spiced_input_scan_ptr(void) { return (void *)spiced_input_scan; }
static void *spiced_input_free_ptr(void) { return (void *)spiced_input_free; }
static void *spiced_c_free_ptr(void) { return (void *)free; }
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/sql/value"
)

// inputTable is a table function whose rows are those of [Request.Input]. Its first
// argument is a STRUCT of typed NULLs, its columns, the second the number of rows that
// DuckDB expects. The guard refuses it where there is no input.
//
// DuckDB plans a statement that has parameters and reads a table again at each
// execution. It keeps the plan of a statement that gets its values from this function
// (docs/decisions).
const inputTable = "__spiced_input"

// Input is the rows of a table that a statement of the runtime reads: [InputFrom].
type Input struct {
	Rows [][]any // values as [Params] takes them, which [InputType] describes
	// Alone says that the statement has one column and at most one row; no row is NULL.
	Alone bool
}

// InputFrom returns the table of [Request.Input] with these columns for a FROM clause.
// DuckDB plans for that number of rows.
func InputFrom(columns []Column, rows int) string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		fields[i] = Literal(c.Name) + ": CAST(NULL AS " + c.Type.String() + ")"
	}
	return fmt.Sprintf("%s({%s}, %d)", inputTable, strings.Join(fields, ", "), rows)
}

// InputType reports whether an argument of a function can be in an [Input]: a bool for
// BOOLEAN, int64 for BIGINT, uint64 for UBIGINT, float64 for DOUBLE, a string for VARCHAR,
// []byte for BLOB, a [value.Numeric] for DECIMAL, and the types of package value for DATE
// and TIMESTAMP. Rows may also have those for TIME, TIMETZ and INTERVAL, and []any for LIST.
func InputType(t *Type) bool {
	switch t.ID {
	case Boolean, BigInt, UBigInt, Double, Blob, Decimal, Date, Timestamp, TimestampTZ, TimestampNS:
		return true
	}
	return t.ID == Varchar && !t.JSON
}

// withInput are the names in a statement with an [Input].
type withInput struct{ Names }

// namesFor returns the names that a statement may use.
func (c *Catalog) namesFor(req Request, hides func(string) bool) Names {
	var names Names = c
	if req.Allow != nil || hides != nil {
		names = restricted{c, req.Allow, hides}
	}
	if req.Input != nil {
		names = withInput{names}
	}
	return names
}

var inputFunction = &Function{
	Name: inputTable, Signature: inputTable, Table: true,
	Args: []FunctionArg{{Name: "columns"}, {Name: "rows"}},
}

func (n withInput) Function(name string) *Function {
	if name == inputTable {
		return inputFunction
	}
	return n.Names.Function(name)
}

// registerInput creates the table function in DuckDB.
func (in *instance) registerInput() error {
	f := mapping.CreateTableFunction()
	defer mapping.DestroyTableFunction(&f)
	columns, rows := mapping.CreateLogicalType(mapping.TypeAny), mapping.CreateLogicalType(mapping.TypeBigInt)
	defer mapping.DestroyLogicalType(&columns)
	defer mapping.DestroyLogicalType(&rows)
	mapping.TableFunctionSetName(f, inputTable)
	mapping.TableFunctionAddParameter(f, columns)
	mapping.TableFunctionAddParameter(f, rows)
	mapping.TableFunctionSetExtraInfo(f, in.native, nil)
	mapping.TableFunctionSetBind(f, C.spiced_input_bind_ptr())
	mapping.TableFunctionSetInit(f, C.spiced_input_init_ptr())
	mapping.TableFunctionSetFunction(f, C.spiced_input_scan_ptr())
	if mapping.RegisterTableFunction(in.writer.raw, f) != mapping.StateSuccess {
		return errors.New("register " + inputTable)
	}
	return nil
}

// inputScan is the function in a plan.
type inputScan struct {
	db      *DB
	conn    uint64 // the connection's number
	columns []Column
}

//export spiced_input_bind
func spiced_input_bind(info unsafe.Pointer) {
	bind := mapping.BindInfo{Ptr: info}
	var client mapping.ClientContext
	mapping.TableFunctionGetClientContext(bind, &client)
	in := nativeInstance(mapping.BindGetExtraInfo(bind))
	s := &inputScan{db: in.db, conn: in.number(uint64(mapping.ClientContextGetConnectionId(client)))}
	mapping.DestroyClientContext(&client)
	columns, rows := mapping.BindGetParameter(bind, 0), mapping.BindGetParameter(bind, 1)
	defer mapping.DestroyValue(&columns)
	defer mapping.DestroyValue(&rows)
	t := readType(mapping.GetValueType(columns))
	if t.ID != Struct {
		mapping.BindSetError(bind, inputTable+" takes a STRUCT")
		return
	}
	for _, f := range t.Fields {
		s.columns = append(s.columns, Column(f))
		lt := f.Type.logical()
		mapping.BindAddResultColumn(bind, f.Name, lt)
		mapping.DestroyLogicalType(&lt)
	}
	mapping.BindSetCardinality(bind, mapping.IdxT(mapping.GetInt64(rows)), false)
	handle := C.malloc(C.size_t(unsafe.Sizeof(uintptr(0))))
	*(*uintptr)(handle) = uintptr(cgo.NewHandle(s))
	mapping.BindSetBindData(bind, handle, C.spiced_input_free_ptr())
}

//export spiced_input_free
func spiced_input_free(handle unsafe.Pointer) {
	cgo.Handle(*(*uintptr)(handle)).Delete()
	C.free(handle)
}

// spiced_input_init makes the number of rows that an execution has read.
//
//export spiced_input_init
func spiced_input_init(info unsafe.Pointer) {
	init := mapping.InitInfo{Ptr: info}
	mapping.InitSetInitData(init, C.calloc(1, C.size_t(unsafe.Sizeof(int(0)))), C.spiced_c_free_ptr())
	mapping.InitSetMaxThreads(init, 1)
}

//export spiced_input_scan
func spiced_input_scan(info, output unsafe.Pointer) {
	function := mapping.FunctionInfo{Ptr: info}
	defer func() {
		if p := recover(); p != nil {
			mapping.FunctionSetError(function, fmt.Sprintf("internal error: %v", p))
		}
	}()
	s := cgo.Handle(*(*uintptr)(mapping.FunctionGetBindData(function))).Value().(*inputScan)
	if err := s.scan((*int)(mapping.FunctionGetInitData(function)), mapping.DataChunk{Ptr: output}); err != nil {
		mapping.FunctionSetError(function, err.Error())
	}
}

// scan writes the rows after the first read ones, as many as fit.
func (s *inputScan) scan(read *int, output mapping.DataChunk) error {
	natives, ok := s.db.running.Load(s.conn)
	if !ok || natives.(*nativeCalls).input == nil {
		return errors.New("there is no input")
	}
	rows := natives.(*nativeCalls).input.Rows
	rows = rows[*read:min(len(rows), *read+ChunkRows)]
	*read += len(rows)
	if len(rows) == 0 {
		mapping.DataChunkSetSize(output, 0)
		return nil
	}
	for i, c := range s.columns {
		v := Vector{Type: c.Type}
		v.load(mapping.DataChunkGetVector(output, mapping.IdxT(i)))
		for row, values := range rows {
			if err := v.set(row, values[i]); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
	}
	mapping.DataChunkSetSize(output, mapping.IdxT(len(rows)))
	return nil
}

// set makes value i a copy of given, as [InputType] describes it.
func (v *Vector) set(i int, given any) error {
	id := v.Type.ID
	if err := checkTime(given); err != nil {
		return err
	}
	switch x := given.(type) {
	case nil:
		v.setNull(i)
		return nil
	case bool:
		return store(v, i, x, id == Boolean)
	case int64:
		return store(v, i, x, id == BigInt)
	case uint64:
		return store(v, i, x, id == UBigInt)
	case float64:
		return store(v, i, x, id == Double)
	case value.Date:
		return store(v, i, int32(x), id == Date)
	case value.Timestamp:
		return store(v, i, int64(x), id == Timestamp)
	case value.TimestampTZ:
		return store(v, i, int64(x), id == TimestampTZ)
	case value.TimestampNS:
		return store(v, i, int64(x), id == TimestampNS)
	case value.Time:
		return store(v, i, int64(x), id == Time)
	case value.TimeTZ:
		bits := mapping.CreateTimeTZ(int64(x.Time), x.Offset)
		return store(v, i, mapping.TimeTZMembers(&bits), id == TimeTZ)
	case value.Interval:
		return store(v, i, x, id == Interval)
	case value.Numeric:
		return v.setDecimal(i, string(x))
	case []any:
		return v.setList(i, x)
	case string:
		return v.setInput(i, []byte(x), id == Varchar)
	case []byte:
		return v.setInput(i, x, id == Blob)
	}
	return fmt.Errorf("a %T is not a %s", given, v.Type)
}

// setList makes value i a list of elements, which follow those of the lists before it.
func (v *Vector) setList(i int, elements []any) error {
	if v.Type.ID != List {
		return fmt.Errorf("a list is not a %s", v.Type)
	}
	from := int(mapping.ListVectorGetSize(v.raw))
	v.grow(from + len(elements))
	Values[ListEntry](v, i+1)[i] = ListEntry{Offset: uint64(from), Length: uint64(len(elements))}
	for j, e := range elements {
		if err := v.elem.set(from+j, e); err != nil {
			return fmt.Errorf("element %d: %w", j+1, err)
		}
	}
	return nil
}

// store writes value i if that is a value of the vector's type.
func store[T any](v *Vector, i int, x T, ok bool) error {
	if !ok {
		return fmt.Errorf("a %T is not a %s", x, v.Type)
	}
	*(*T)(unsafe.Add(v.data, uintptr(i)*unsafe.Sizeof(x))) = x
	return nil
}

func (v *Vector) setInput(i int, x []byte, ok bool) error {
	if !ok {
		return fmt.Errorf("a text is not a %s", v.Type)
	}
	mapping.VectorAssignStringElementLen(v.raw, mapping.IdxT(i), x)
	return nil
}

func (v *Vector) setDecimal(i int, text string) error {
	if v.Type.ID != Decimal {
		return fmt.Errorf("a number is not a %s", v.Type)
	}
	n, err := value.ParseDecimal(text, v.Type.Width, v.Type.Scale)
	switch width := v.Type.Width; {
	case err != nil:
		return err
	case width <= 4:
		return store(v, i, int16(n.Low), true)
	case width <= 9:
		return store(v, i, int32(n.Low), true)
	case width <= 18:
		return store(v, i, int64(n.Low), true)
	}
	return store(v, i, n, true)
}

// NewRow returns a chunk of one row, which the caller destroys. The values are as in
// [Input.Rows].
func NewRow(columns []Column, values []any) (*Chunk, error) {
	if len(columns) == 0 {
		return &Chunk{rows: 1}, nil
	}
	chunk := newDuckChunk(columns)
	for i := range columns {
		if err := chunk.cols[i].set(0, values[i]); err != nil {
			chunk.Destroy()
			return nil, fmt.Errorf("column %s: %w", columns[i].Name, err)
		}
	}
	chunk.setLen(1)
	return chunk, nil
}
