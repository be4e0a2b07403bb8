package pgwire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// fatal is err as one that ends the connection.
func fatal(err error) error {
	e := *asError(err)
	e.Fatal = true
	return &e
}

// asError returns err as clients get it.
func asError(err error) *sqlstate.Error {
	if known, ok := errors.AsType[*sqlstate.Error](err); ok {
		return known
	}
	if full, ok := errors.AsType[*listen.FullError](err); ok {
		return sqlstate.Errorf(sqlstate.TooMany, "close others, or use a pool", "%s", full.Message)
	}
	if limit, ok := errors.AsType[*auth.LimitError](err); ok {
		return sqlstate.Errorf(sqlstate.Limit, fmt.Sprintf("try again after %g s", limit.RetryAfter), "%s", limit.Message)
	}
	e := engine.AsError(err)
	return &sqlstate.Error{Code: sqlstate.OfError(e), Message: e.Message, Hint: e.Hint}
}

// positioned is err with its position in text, in which the statement begins at
// start.
func positioned(err error, text string, start int) error {
	out := asError(err)
	if e, ok := errors.AsType[*engine.Error](err); ok && e.Offset >= 0 && start+e.Offset <= len(text) {
		out.Position = utf8.RuneCountInString(text[:start+e.Offset]) + 1
	}
	return out
}

// moved is an error about what follows before, with its position in the text of
// both.
func moved(err error, before string) error {
	e := *asError(err)
	if e.Position > 0 {
		e.Position += utf8.RuneCountInString(before)
	}
	return &e
}

// The reasons for which a connection ends without a failure.
var (
	errShutdown = sqlstate.Errorf(sqlstate.Shutdown, "connect again", "the server is shutting down")
	errIdle     = sqlstate.Errorf(sqlstate.Idle, "connect again", "the connection was idle for too long")
	errLate     = sqlstate.Errorf(sqlstate.Cancelled, "connect again", "the login took too long")
	errClosed   = errors.New("the client is gone")
)
