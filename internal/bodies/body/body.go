// Package body says what the body of a function is that is not SQL: code that takes batches
// of rows and returns a value for each.
//
// The kinds of bodies are packages next to this one: each has a [Kind], whose [Maker] makes a
// [Body] of a [Spec]. The callers of bodies remove duplicate rows, split batches and bound concurrency before.
package body

import (
	"context"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/bodies/environment"
	"github.com/spiced-sql/spiced/spicepod"
)

// MaxRows is how many rows a batch has at most.
const MaxRows = 2048

// Spec is what a body is made of.
type Spec struct {
	Pod      *spicepod.Pod
	Path     string // of the function in the pod: "functions[2]"
	Declared spicepod.Function

	// Args are the columns of a batch: the table inputs of a table function, each as a
	// list<struct> of its rows, and then the arguments, each of its declared type.
	Args *arrow.Schema
	// Returns is the type of a value: of a table function, a list<struct> of its rows.
	Returns arrow.DataType
	// Environment is what code runs in; nil: the body does not belong to a sandbox.
	Environment *environment.Environment
	// Checksum changes with everything that affects the result of a call.
	Checksum string
}

// IsTable reports whether a value is a list of rows.
func (s Spec) IsTable() bool { return s.Declared.Kind == spicepod.KindTable }

// Body computes the values of a function. It is safe for concurrent use.
type Body interface {
	// Call returns a value of the type [Spec.Returns] for each row of the batch, in its order.
	// The batch has 1 to [MaxRows] rows with the columns [Spec.Args], and its memory is
	// reused after the call. The caller releases the array. ctx bounds the call in time and
	// ends with the statement: nothing of the call runs after Call returns.
	//
	// An error is one for the caller to read: it shows no secret. An [*Error] also says which
	// row it is about. A body that panics, exits or hangs is an error, and the next call works.
	Call(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error)
	io.Closer
}

// Parallel is a [Body] whose calls run at the same time on several processors, so that the
// rows of a statement are worth splitting.
type Parallel interface {
	Body
	AtOnce() int // how many calls
}

// Error is the error of one row.
type Error struct {
	Row int // of the batch
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// DefaultTimeout is the time limit of a call without another one.
const DefaultTimeout = 30 * time.Second
