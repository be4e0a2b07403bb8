package pgwire

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// The codes of errors that are not the engine's (PostgreSQL, appendix A).
const (
	stateWarning          = "01000"
	stateProtocol         = "08P01"
	stateUnsupported      = "0A000"
	stateText             = "22P02" // invalid_text_representation
	stateBinary           = "22P03" // invalid_binary_representation
	stateValue            = "22023" // invalid_parameter_value
	stateActive           = "25001" // active_sql_transaction
	stateReadOnly         = "25006" // read_only_sql_transaction
	stateNoTransaction    = "25P01"
	stateAborted          = "25P02" // in_failed_sql_transaction
	stateNoStatement      = "26000"
	stateAuthorization    = "28000"
	statePassword         = "28P01"
	stateNoCursor         = "34000"
	stateNoSavepoint      = "3B001"
	stateSyntax           = "42601"
	stateLongName         = "42622" // name_too_long
	stateNoColumn         = "42703"
	stateUnknownSetting   = "42704"
	stateNoFunction       = "42883"
	stateDuplicateCursor  = "42P03"
	stateDuplicatePrepare = "42P05"
	stateUnknownType      = "42P18" // indeterminate_datatype
	stateTooMany          = "53300" // too_many_connections
	stateLimit            = "53400" // configuration_limit_exceeded
	stateProgram          = "54000" // program_limit_exceeded
	stateTooManyColumns   = "54011"
	stateNotReady         = "55000" // object_not_in_prerequisite_state
	stateSettingFixed     = "55P02" // cant_change_runtime_param
	stateCancelled        = "57014" // query_canceled
	stateShutdown         = "57P01"
	stateIdle             = "57P05" // idle_session_timeout
	stateInternal         = "XX000"
)

// states are the codes of the engine's errors.
var states = map[engine.Code]string{
	engine.CodeParse:     stateSyntax,
	engine.CodeRefused:   "42501",
	engine.CodeNotFound:  "42P01",
	engine.CodeArgument:  "42804",
	engine.CodeExecution: "22000",
	engine.CodeTimeout:   stateCancelled,
	engine.CodeCancelled: stateCancelled,
	engine.CodeLimit:     stateProgram,
	engine.CodeBusy:      stateTooMany,
	engine.CodeInternal:  stateInternal,
}

// stateError is an error as clients get it.
type stateError struct {
	state   string
	message string
	hint    string
	place   int  // 1-based, in characters of the client's text; 0: unknown
	fatal   bool // it ends the connection
}

func (e *stateError) Error() string { return e.message }

func failure(state, hint, format string, args ...any) *stateError {
	return &stateError{state: state, hint: hint, message: fmt.Sprintf(format, args...)}
}

// fatal is err as one that ends the connection.
func fatal(err error) error {
	e := *asState(err)
	e.fatal = true
	return &e
}

// asState returns err as clients get it.
func asState(err error) *stateError {
	var known *stateError
	if errors.As(err, &known) {
		return known
	}
	var limit *auth.LimitError
	if errors.As(err, &limit) {
		return failure(stateLimit, fmt.Sprintf("try again after %g s", limit.RetryAfter), "%s", limit.Message)
	}
	e := engine.AsError(err)
	state, ok := states[e.Code]
	switch {
	case !ok:
		state = stateInternal
	case e.Missing == engine.ObjectColumn:
		state = stateNoColumn
	case e.Missing == engine.ObjectFunction:
		state = stateNoFunction
	}
	return &stateError{state: state, message: e.Message, hint: e.Hint}
}

// placed is err with its place in text, of which the statement begins at
// start.
func placed(err error, text string, start int) error {
	out := asState(err)
	var e *engine.Error
	if errors.As(err, &e) && e.Offset >= 0 && start+e.Offset <= len(text) {
		out.place = utf8.RuneCountInString(text[:start+e.Offset]) + 1
	}
	return out
}

func (e *stateError) response(severity string) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{
		Severity: severity, SeverityUnlocalized: severity, Code: e.state, Message: e.message, Hint: e.hint,
		Position: int32(min(e.place, math.MaxInt32)),
	}
}

func notice(state, format string, args ...any) *pgproto3.NoticeResponse {
	return &pgproto3.NoticeResponse{
		Severity: "WARNING", SeverityUnlocalized: "WARNING", Code: state, Message: fmt.Sprintf(format, args...),
	}
}

// The ends of a connection that are no failure.
var (
	errShutdown = failure(stateShutdown, "connect again", "the server is shutting down")
	errIdle     = failure(stateIdle, "connect again", "the connection was idle for too long")
	errLate     = failure(stateCancelled, "connect again", "the login took too long")
	errClosed   = errors.New("the client is gone")
)
