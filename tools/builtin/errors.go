package builtin

import (
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// codes maps the engine's codes to those of a call. A statement that cannot run
// as written is an argument that a model can correct.
var codes = map[engine.Code]tools.Code{
	engine.CodeParse:     tools.CodeInvalidArguments,
	engine.CodeNotFound:  tools.CodeInvalidArguments,
	engine.CodeArgument:  tools.CodeInvalidArguments,
	engine.CodeRefused:   tools.CodeRefused,
	engine.CodeExecution: tools.CodeExecution,
	engine.CodeTimeout:   tools.CodeTimeout,
	engine.CodeCancelled: tools.CodeCancelled,
	engine.CodeLimit:     tools.CodeLimit,
	engine.CodeBusy:      tools.CodeBusy,
	engine.CodeInternal:  tools.CodeInternal,
}

// SQLError converts the error of a statement to that of a call: the engine's
// message with its position, the hint, and a code that tells a model whether
// another statement may succeed. Any other error is [tools.CodeInternal].
func SQLError(err error) *tools.Error {
	e := engine.AsError(err)
	code, ok := codes[e.Code]
	if !ok {
		code = tools.CodeInternal
	}
	message := e.Message
	if e.Line > 0 {
		message += fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
	}
	out := tools.NewError(code, message, e.Hint)
	out.Cause = err
	return out
}

// engineError is the engine's error in err, or nil.
func engineError(err error) *engine.Error {
	var e *engine.Error
	errors.As(err, &e)
	return e
}
