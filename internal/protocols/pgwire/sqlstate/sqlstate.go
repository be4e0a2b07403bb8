// Package sqlstate has PostgreSQL's error codes and the error that carries one
// to a client.
//
//	return sqlstate.Errorf(sqlstate.Value, "use UTF8", "the encoding %q is not served", value)
package sqlstate

import (
	"cmp"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// The codes that the server uses (PostgreSQL, appendix A).
const (
	Warning                = "01000"
	Protocol               = "08P01"
	Unsupported            = "0A000"
	Cardinality            = "21000" // cardinality_violation
	Execution              = "22000" // data_exception
	OutOfRange             = "22003" // numeric_value_out_of_range
	DatetimeFormat         = "22007" // invalid_datetime_format
	DatetimeOverflow       = "22008" // datetime_field_overflow
	DivisionByZero         = "22012"
	RegularExpression      = "2201B"
	LogArgument            = "2201E"
	PowerArgument          = "2201F"
	LimitValue             = "2201W" // invalid_row_count_in_limit_clause
	Text                   = "22P02" // invalid_text_representation
	Binary                 = "22P03" // invalid_binary_representation
	CopyFormat             = "22P04" // bad_copy_file_format
	Value                  = "22023" // invalid_parameter_value
	Constraint             = "23000" // integrity_constraint_violation
	NotNullViolation       = "23502"
	ForeignKeyViolation    = "23503"
	UniqueViolation        = "23505"
	CheckViolation         = "23514"
	Active                 = "25001" // active_sql_transaction
	ReadOnly               = "25006" // read_only_sql_transaction
	NoTransaction          = "25P01"
	Aborted                = "25P02" // in_failed_sql_transaction
	NoStatement            = "26000"
	Authorization          = "28000"
	Password               = "28P01"
	NoCursor               = "34000"
	NoSavepoint            = "3B001"
	NoSchema               = "3F000" // invalid_schema_name
	Serialization          = "40001" // serialization_failure
	Refused                = "42501" // insufficient_privilege
	Syntax                 = "42601"
	LongName               = "42622" // name_too_long
	DuplicateColumn        = "42701"
	AmbiguousColumn        = "42702"
	NoColumn               = "42703"
	UnknownSetting         = "42704" // undefined_object
	UndefinedObject        = UnknownSetting
	DuplicateAlias         = "42712"
	Grouping               = "42803" // grouping_error
	Argument               = "42804" // datatype_mismatch
	CannotCoerce           = "42846"
	NoFunction             = "42883"
	NoTable                = "42P01"
	UndefinedParameter     = "42P02"
	DuplicateCursor        = "42P03"
	DuplicatePrepare       = "42P05"
	InvalidColumnReference = "42P10"
	UnknownType            = "42P18" // indeterminate_datatype
	Windowing              = "42P20" // windowing_error
	OutOfMemory            = "53200"
	TooMany                = "53300" // too_many_connections
	Limit                  = "53400" // configuration_limit_exceeded
	Program                = "54000" // program_limit_exceeded
	TooManyColumns         = "54011"
	NotReady               = "55000" // object_not_in_prerequisite_state
	SettingFixed           = "55P02" // cant_change_runtime_param
	Cancelled              = "57014" // query_canceled
	Shutdown               = "57P01"
	Loading                = "57P03" // cannot_connect_now
	Idle                   = "57P05" // idle_session_timeout
	IO                     = "58030" // io_error
	Internal               = "XX000"
)

// states has the SQLSTATE of every code that statements return.
var states = map[errcode.Code]string{
	errcode.Parse:     Syntax,
	errcode.Refused:   Refused,
	errcode.NotFound:  NoTable,
	errcode.Argument:  Argument,
	errcode.Execution: Execution,
	errcode.Timeout:   Cancelled,
	errcode.Cancelled: Cancelled,
	errcode.Limit:     Program,
	errcode.Busy:      TooMany,
	errcode.Loading:   Loading,
	errcode.Internal:  Internal,
}

// Of returns the SQLSTATE of a code; an unknown code is [Internal].
func Of(code errcode.Code) string { return cmp.Or(states[code], Internal) }

// Error is an error as clients get it.
type Error struct {
	Code     string
	Message  string
	Hint     string
	Position int    // 1-based, in characters of the client's text; 0: unknown
	Fatal    bool   // it ends the connection
	Where    string // in what the client sent, as PostgreSQL's CONTEXT
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Errorf makes an error with a formatted message.
func Errorf(code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// Response is the message that reports the error.
func (e *Error) Response(severity string) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{
		Severity: severity, SeverityUnlocalized: severity, Code: e.Code, Message: e.Message, Hint: e.Hint,
		Position: int32(min(e.Position, math.MaxInt32)), Where: e.Where,
	}
}

// Notice is a warning, which does not end the statement.
func Notice(code, format string, args ...any) *pgproto3.NoticeResponse {
	return &pgproto3.NoticeResponse{
		Severity: "WARNING", SeverityUnlocalized: "WARNING", Code: code, Message: fmt.Sprintf(format, args...),
	}
}
