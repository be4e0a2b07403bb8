package isolate

import (
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// setup is the first message to a worker.
type setup struct {
	Script      []string
	Extensions  []engine.Extension
	Roots       []string // folders that statements may read
	TempDir     string   // where DuckDB spills
	Threads     int
	MaxSpill    int64
	MemoryLimit string // DuckDB's own
	Memory      int64  // of the process; 0: no limit
}

// failure is why a worker cannot start.
type failure struct {
	Message string
}

// query is a judged statement, after what it needs. Its parameters follow it in the frame, see
// appendParams.
type query struct {
	Number      int                     // counts the worker's statements
	Files       []string                // statements that attach and detach files
	Batches     []*engine.Type          // of values, for which Definitions need native functions
	Streams     []*engine.SnapshotTable // of the parent's, which Definitions need
	Definitions []string                // statements that create views and functions
	SQL         string                  // "" runs nothing else
	Describe    bool                    // instead of running it
	Tables      []engine.Table
	Timeout     time.Duration
	Parts       bool // see [engine.Request.Parts]
	MaxRows     int64
	MaxBytes    int64
}

// call is a call of one of the runtime's own functions by a statement. The call is
// answered for the current statement or rejected, whatever number a worker sends.
type call struct {
	Number  int // of the query
	ID      uint64
	Handler string
	Input   string
}

// answer is the result of a call, or its error.
type answer struct {
	ID     uint64
	Output string
	Error  *string `json:",omitempty"`
}

// batch is a call of a function that is not SQL; the rows follow it in the frame. It is
// answered as a call is, with the values after the answer.
type batch struct {
	Number   int // of the query
	ID       uint64
	Function string
}

// end reports how a statement ended.
type end struct {
	Error *problem `json:",omitempty"`
	// Unprepared says that Files or Definitions of the query failed. None of the
	// Definitions has taken effect then.
	Unprepared bool  `json:",omitempty"`
	Busy       bool  // DuckDB still works on it: the worker cannot be used again
	Data       int64 // bytes of memory that the worker uses now; 0: unknown
}

// problem is an engine.Error without the fields that follow from its offset.
type problem struct {
	Code    errcode.Code
	Message string
	Hint    string        `json:",omitempty"`
	Class   string        `json:",omitempty"`
	Missing engine.Object `json:",omitempty"`
	Offset  int
	Ran     bool `json:",omitempty"`
}

func newProblem(err error) *problem {
	if err == nil {
		return nil
	}
	e := engine.AsError(err)
	return &problem{e.Code, e.Message, e.Hint, e.Class, e.Missing, e.Offset, e.Ran}
}

// failure returns the problem as an error, or nil.
func (p *problem) failure() error {
	if p == nil {
		return nil
	}
	return p.err()
}

// err converts the problem to an error of a statement.
func (p *problem) err() *engine.Error {
	e := engine.NewError(p.Code, p.Hint, "%s", p.Message)
	e.Offset, e.Ran, e.Class = p.Offset, p.Ran, p.Class
	switch p.Missing {
	case engine.ObjectTable, engine.ObjectColumn, engine.ObjectFunction:
		e.Missing = p.Missing
	}
	switch p.Code {
	case errcode.Parse, errcode.Refused, errcode.NotFound, errcode.Argument, errcode.Execution,
		errcode.Timeout, errcode.Cancelled, errcode.Limit, errcode.Busy, errcode.Internal:
	default:
		e.Code = errcode.Internal
	}
	return e
}
