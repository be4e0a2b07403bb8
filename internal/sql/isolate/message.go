package isolate

import (
	"time"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// setup is what a worker begins with.
type setup struct {
	Script      []string
	Roots       []string // folders that statements may read
	TempDir     string   // where DuckDB spills
	Threads     int
	MemoryLimit string // DuckDB's own
	Memory      int64  // of the process; 0: no limit
}

// failure is why a worker does not begin.
type failure struct {
	Message string
	Script  bool // the script fails, so would one of another worker
}

// query is a judged statement.
type query struct {
	Number   int // of the worker's statements
	SQL      string
	Describe bool   // and do not run it
	Params   []byte // see appendParams
	Tables   []engine.Table
	Timeout  time.Duration
	MaxRows  int64
	MaxBytes int64
}

// call is a call of one of the runtime's own functions by a statement. A worker
// that lies about its number gains nothing: the call is answered as the current
// statement's, or not at all.
type call struct {
	Number  int // of the query
	ID      uint64
	Handler string
	Input   string
}

// answer is a call's result, or why there is none.
type answer struct {
	ID     uint64
	Output string
	Error  *string `json:",omitempty"`
}

// end is how a statement ended.
type end struct {
	Error *problem `json:",omitempty"`
	Busy  bool     // DuckDB works on it all the same: the worker is of no use any more
	Data  int64    // bytes of memory that the worker holds now; 0: unknown
}

// problem is an engine.Error without what follows from its offset.
type problem struct {
	Code    engine.Code
	Message string
	Hint    string        `json:",omitempty"`
	Missing engine.Object `json:",omitempty"`
	Offset  int
	Ran     bool `json:",omitempty"`
}

func newProblem(err error) *problem {
	if err == nil {
		return nil
	}
	e := engine.AsError(err)
	return &problem{e.Code, e.Message, e.Hint, e.Missing, e.Offset, e.Ran}
}

// err is the problem as an error of a statement.
func (p *problem) err() *engine.Error {
	e := newError(p.Code, p.Message, p.Hint)
	e.Offset, e.Ran = p.Offset, p.Ran
	switch p.Missing {
	case engine.ObjectTable, engine.ObjectColumn, engine.ObjectFunction:
		e.Missing = p.Missing
	}
	switch p.Code {
	case engine.CodeParse, engine.CodeRefused, engine.CodeNotFound, engine.CodeArgument, engine.CodeExecution,
		engine.CodeTimeout, engine.CodeCancelled, engine.CodeLimit, engine.CodeBusy, engine.CodeInternal:
	default:
		e.Code = engine.CodeInternal
	}
	return e
}

// newError makes an engine.Error without a place.
func newError(code engine.Code, message, hint string) *engine.Error {
	return &engine.Error{
		Code: code, Message: truncate.Fit(message, engine.MaxMessage), Hint: truncate.Fit(hint, engine.MaxMessage), Offset: -1,
	}
}
