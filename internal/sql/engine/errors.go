package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// MaxMessage is the maximum length in bytes of the message and of the hint of an
// [Error]. A statement can produce any text, as with error(repeat('x', 50000000)).
const MaxMessage = 4 << 10

// maxMissing is the maximum length in bytes of a missing name.
const maxMissing = 256

// Object is a kind of object that statements name.
type Object string

// The kinds of objects.
const (
	ObjectTable    Object = "table"
	ObjectColumn   Object = "column"
	ObjectFunction Object = "function"
)

// NotOneStatement is the [Error.Class] of a text that is SQL, but not exactly one statement.
const NotOneStatement = "Count"

// Error is a statement's failure, for its author.
type Error struct {
	Code    errcode.Code
	Message string
	Hint    string // what would be right; may be ""
	Class   string // of DuckDB's exception, such as "Conversion"; [NotOneStatement]; "": another error of the engine's own
	State   string // SQLSTATE of a server that a [Writer] writes to; else ""
	Missing Object // of [errcode.NotFound]; "" if unknown
	Offset  int    // byte offset in the statement, -1 when unknown
	Line    int    // 1-based, with Offset
	Column  int    // 1-based, in characters, with Offset
	Ran     bool   // the statement had begun to run: the message may contain values of rows
	Crashed bool   // the statement ended the process that an [Isolator] ran it in

	Loading *Loading // of [errcode.Loading]; nil: the runtime itself loads

	nesting bool // the statement is nested too deeply
	lost    bool // see isLost
}

// Loading is the load that an error waits for.
type Loading struct {
	Dataset string  `json:"dataset" doc:"The dataset that is loading."`
	Seconds float64 `json:"seconds" doc:"Since the load began."`
	Percent *int    `json:"percent,omitempty" doc:"How much is loaded; left out if it is unknown."`
}

// Error returns the message with its position and hint.
func (e *Error) Error() string {
	msg := e.Message
	if e.Line > 0 {
		msg += fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
	}
	if e.Hint != "" {
		msg += "; " + e.Hint
	}
	return msg
}

// NewError makes an Error without a position; format and args are its message.
func NewError(code errcode.Code, hint, format string, args ...any) *Error {
	return &Error{
		Code: code, Message: truncate.Fit(fmt.Sprintf(format, args...), MaxMessage),
		Hint: truncate.Fit(hint, MaxMessage), Offset: -1,
	}
}

// at sets the position of e within sql.
func (e *Error) at(sql string, offset int) *Error {
	if offset < 0 || offset > len(sql) {
		return e
	}
	before := sql[:offset]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	e.Offset = offset
	e.Line = strings.Count(before, "\n") + 1
	e.Column = utf8.RuneCountInString(before[lineStart:]) + 1
	return e
}

// ErrClosing is the error of all that the end of the runtime interrupts or refuses.
var ErrClosing = NewError(errcode.Cancelled, "", "the runtime is shutting down")

// AsError returns err as an [*Error]; any other error becomes [errcode.Internal].
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return NewError(errcode.Cancelled, "", "the caller disconnected")
	}
	var d *duckError
	if errors.As(err, &d) {
		return d.describe("", func(int) int { return -1 })
	}
	return NewError(errcode.Internal, "", "%s", err.Error())
}

// duckError is an error as DuckDB reports it under errors_as_json.
type duckError struct {
	kind     string // DuckDB's exception type, such as "Binder"
	message  string
	position int // in the text DuckDB saw, -1 when unknown
	subtype  string
	object   string // what is missing: "Table", "Scalar Function", …
	name     string
	lost     bool // the instance was lost before: see [conn.failure]
}

func (e *duckError) Error() string { return e.message }

func newDuckError(text string) *duckError {
	e := readDuckError(text)
	e.message, e.name = truncate.Fit(e.message, MaxMessage), truncate.Fit(e.name, maxMissing)
	return e
}

func readDuckError(text string) *duckError {
	text = withoutMarks(text)
	e := &duckError{message: text, position: -1}
	start := strings.IndexByte(text, '{')
	if start < 0 {
		// A connection that is being opened does not report JSON yet.
		if kind, message, ok := strings.Cut(text, " Error: "); ok && codes[kind] != "" {
			e.kind, e.message = kind, message
		}
		return e
	}
	var doc struct {
		Type     string `json:"exception_type"`
		Message  string `json:"exception_message"`
		Position string `json:"position"`
		Subtype  string `json:"error_subtype"`
		Object   string `json:"type"`
		Name     string `json:"name"`
	}
	if json.Unmarshal([]byte(text[start:]), &doc) != nil || doc.Message == "" {
		return e
	}
	e.kind, e.message, e.subtype, e.object, e.name = doc.Type, doc.Message, doc.Subtype, doc.Object, doc.Name
	if n, err := strconv.Atoi(doc.Position); err == nil {
		e.position = n
	}
	return e
}

// atCommit begins DuckDB's message about a COMMIT that failed.
const atCommit = "Failed to commit: "

// codes maps DuckDB's exception types; a type that is not listed is [errcode.Execution].
var codes = map[string]errcode.Code{
	"Parser":                 errcode.Parse,
	"Syntax":                 errcode.Parse,
	"Binder":                 errcode.Argument,
	"Catalog":                errcode.NotFound,
	"Not implemented":        errcode.Argument,
	"Parameter Not Resolved": errcode.Argument,
	"Parameter Not Allowed":  errcode.Argument,
	"Permission":             errcode.Refused,
	"Out of Memory":          errcode.Limit,
	"FATAL":                  errcode.Internal,
	"INTERNAL":               errcode.Internal,
}

// candidates is how DuckDB ends the message about a column or table that is not there.
var candidates = regexp.MustCompile(`\s*Candidate (bindings|tables):[ :]*(.*)$`)

// withoutCandidates returns DuckDB's message about a column or table that is not there,
// without the names that it proposes, and a hint that has them.
func withoutCandidates(message string) (text, hint string) {
	m := candidates.FindStringSubmatchIndex(message)
	if m == nil {
		return message, ""
	}
	text = message[:m[0]]
	names := strings.ReplaceAll(message[m[4]:m[5]], `"`, "")
	what := map[string]string{"bindings": "columns", "tables": "tables"}[message[m[2]:m[3]]]
	quoted := strings.Split(text, `"`) // the last name is the one that is not there
	if len(quoted) < 3 {
		return text, ""
	}
	return text, nearest.Hint(quoted[len(quoted)-2], strings.Split(names, ", "), "there are "+what+" such as "+names)
}

// describe converts DuckDB's error about the text it saw to an error about the
// caller's statement sql. origin maps offsets back to it.
func (e *duckError) describe(sql string, origin func(int) int) *Error {
	if e.lost {
		return newLostError()
	}
	code, ok := codes[e.kind]
	if !ok {
		code = errcode.Execution
	}
	if e.subtype == "COLUMN_NOT_FOUND" || e.subtype == "MISSING_ENTRY" {
		code = errcode.NotFound
	}
	message, _, _ := strings.Cut(e.message, "\n\nLINE ")
	message, _, _ = strings.Cut(message, "\nDid you mean ")
	message, _, _ = strings.Cut(message, "\n\nPossible solutions:") // settings, which are locked
	message, _, _ = strings.Cut(message, "\n\nUse \"SET ")
	message, hint := withoutCandidates(withoutConnection(strings.TrimSpace(message)))
	out := NewError(code, hint, "%s", message)
	out.Class = e.kind
	switch {
	case e.subtype == "COLUMN_NOT_FOUND":
		out.Missing = ObjectColumn
	case e.object == "Table":
		out.Missing = ObjectTable
	case e.object == "Type":
		out.Hint = typeHint(e.name, e.message)
	case strings.HasSuffix(e.object, "Function"):
		out.Missing = ObjectFunction
	case e.kind == "Out of Memory" && strings.Contains(message, "max_temp_directory_size"):
		out.Message = "the statement needs more memory and more disk space than it may use"
		out.Hint = "make the statement cheaper, or raise runtime.query.max_spill"
	case e.kind == "Out of Memory":
		out.Hint = "make the statement cheaper, or raise runtime.query.memory_limit (worker_memory if it runs isolated)"
	case strings.HasPrefix(message, atCommit+"PRIMARY KEY or UNIQUE"):
		// The only constraint that DuckDB checks at COMMIT: others see the transaction's own rows.
		out.Message, out.Class = strings.TrimPrefix(message, atCommit), "Constraint"
		out.Hint = "another transaction has added the key since this one began"
	case e.kind == "TransactionContext":
		out.Hint = "another statement changed the same rows; try again"
	}
	out.ofExtension()
	if e.position >= 0 {
		out.at(sql, origin(e.position))
	}
	out.quoted(sql)
	return out
}

// moveError moves the offset of an error about a part or copy of sql to sql.
func moveError(err error, sql string, relocate func(int) int) error {
	var e *Error
	if errors.As(err, &e) && e.Offset >= 0 {
		moved := *e
		return moved.at(sql, relocate(e.Offset))
	}
	return err
}

// explain converts any error of the statement to an [*Error] about its own text.
func (p *producer) explain(err error) error {
	if errors.Is(err, errStale) {
		return err
	}
	if u := (*unopenedError)(nil); errors.As(err, &u) {
		return u
	}
	if p.rows.ctx.Err() != nil {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	var e *duckError
	if !errors.As(err, &e) {
		return AsError(err)
	}
	if err := p.explainInternal(e); err != nil {
		return err
	}
	origin := func(offset int) int { return offset }
	if p.verdict != nil {
		origin = p.verdict.origin
	}
	return p.explainAt(e, origin)
}

// explainAt explains an error about a text that has its origin in the statement.
func (p *producer) explainAt(e *duckError, origin func(int) int) error {
	if own := failedBy(p.rows.ctx, e.message); own != nil {
		own.Ran = true
		return p.redact(own)
	}
	out := e.describe(p.req.SQL, origin)
	out.Ran = p.ran
	p.db.improve(out, e, p.verdict, p.catalog.namesFor(p.req, p.catalog.hides(p.rows.ctx, &p.req)))
	return p.redact(out).located(p.req.SQL)
}
