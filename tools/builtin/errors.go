package builtin

import (
	"fmt"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// SQLError converts the error of a statement to that of a call: the engine's
// code, message with its position, and hint. Any other error is [errcode.Internal].
func SQLError(err error) *tools.Error {
	e := engine.AsError(err)
	message := e.Message
	if e.Line > 0 {
		message += fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
	}
	out := tools.NewError(e.Code, message, e.Hint)
	out.Cause = err
	return out
}

func unknownColumn(message, name string, known []string) *tools.Error {
	return tools.NewError(errcode.InvalidArguments, message, "the columns are "+listed(known)).Suggest(name, known)
}
