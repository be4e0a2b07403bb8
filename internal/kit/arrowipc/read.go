package arrowipc

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxNested is how deep the types of a result may be nested.
const maxNested = 32

// results are the rules of streams that [Read] reads.
var results = Rules{Parts: 10_000, Depth: maxNested, Plain: true}

// ReadOptions are what [Read] accepts.
type ReadOptions struct {
	Named bool // the columns must have the names of the fields
	Limit int  // bytes of the values
}

// FaultKind is what is wrong with a stream.
type FaultKind int

// What is wrong with a stream.
const (
	Damaged    FaultKind = iota // it is no Arrow IPC stream, or has parts that are not read
	OtherTypes                  // its columns are not those wanted
	WrongValue                  // of a column
	TooLarge                    // its values take more than the limit
)

// Fault is an error of [Read].
type Fault struct {
	Kind FaultKind
	Err  error
}

// Error returns the message.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Read reads a stream, and returns the rows of all batches with the types of the columns wanted.
// No bytes are no rows. The error is a [*Fault].
//
// The writer may be hostile: every offset and length is checked here, so that those who
// read the arrays need not check again.
func Read(data []byte, want []arrow.Field, o ReadOptions) (columns []arrow.Array, err error) {
	allocator := &budget{left: o.Limit}
	defer func() {
		if recover() != nil { // the library panics on some data that is not valid
			columns, err = nil, &Fault{Damaged, errInvalid}
		}
		if allocator.exceeded {
			columns, err = nil, &Fault{TooLarge, fmt.Errorf("the values take more than %d bytes", o.Limit)}
		}
	}()
	if len(data) == 0 {
		return empty(want), nil
	}
	if err := VerifyStream(data, results); err != nil {
		return nil, &Fault{Damaged, err}
	}
	r, err := ipc.NewReader(bytes.NewReader(data), ipc.WithAllocator(allocator),
		ipc.WithMetadataSizeLimit(int64(len(data))), ipc.WithBodySizeLimit(int64(len(data))))
	if err != nil {
		return nil, &Fault{Damaged, err}
	}
	defer r.Release()
	if err := sameColumns(r.Schema().Fields(), want, o.Named); err != nil {
		return nil, &Fault{OtherTypes, err}
	}
	parts := make([][]arrow.Array, len(want))
	for r.Next() {
		batch := r.RecordBatch()
		for i, f := range want {
			a, err := conformed(batch.Column(i).Data(), f.Type, int(batch.NumRows()))
			if err != nil {
				return nil, &Fault{WrongValue, fmt.Errorf("column %q: %w", f.Name, err)}
			}
			parts[i] = append(parts[i], a)
		}
	}
	if err := r.Err(); err != nil {
		return nil, &Fault{Damaged, err}
	}
	if columns, err = joined(parts, want); err != nil {
		return nil, &Fault{Damaged, err}
	}
	return columns, nil
}

// empty returns columns without rows.
func empty(want []arrow.Field) []arrow.Array {
	columns := make([]arrow.Array, len(want))
	for i, f := range want {
		columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 0)
	}
	return columns
}

// joined returns the columns of all batches.
func joined(parts [][]arrow.Array, want []arrow.Field) ([]arrow.Array, error) {
	columns := empty(want)
	for i, p := range parts {
		switch len(p) {
		case 0:
		case 1:
			columns[i] = p[0]
		default:
			a, err := array.Concatenate(p, memory.DefaultAllocator)
			if err != nil {
				return nil, err
			}
			columns[i] = a
		}
	}
	return columns, nil
}

// budget is an allocator of a number of bytes. It has no memory for more: the library
// panics then.
type budget struct {
	memory.GoAllocator
	left     int
	exceeded bool
}

// Allocate implements [memory.Allocator].
func (b *budget) Allocate(size int) []byte {
	if !b.take(size) {
		return nil
	}
	return b.GoAllocator.Allocate(size)
}

// Reallocate implements [memory.Allocator].
func (b *budget) Reallocate(size int, old []byte) []byte {
	if !b.take(size - len(old)) {
		return nil
	}
	return b.GoAllocator.Reallocate(size, old)
}

func (b *budget) take(size int) bool {
	b.left -= max(size, 0)
	b.exceeded = b.exceeded || b.left < 0
	return !b.exceeded
}
