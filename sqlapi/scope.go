package sqlapi

import (
	"errors"
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/schema"
)

// The headers that say on whose behalf a request is made.
const (
	headerRequestID = "X-Request-Id"
	headerUser      = "X-Spiced-User"
	headerSpace     = "X-Spiced-Space"
	headerSession   = "X-Spiced-Session"
	headerAgent     = "X-Spiced-Agent"
)

// word is a text of a caller in a header, which carries ASCII.
var word = schema.Schema{"type": "string", "maxLength": caller.MaxWord, "pattern": "^[ -~]*$"}

// scopeParams describes them.
var scopeParams = []param{
	{headerUser, "header", "for whom the request is made", word},
	{headerSpace, "header", "the space that it belongs to; none: across spaces", word},
	{headerSession, "header", "the session that it belongs to", word},
	{headerAgent, "header", "the agent that makes it", word},
}

// named is a text of a caller with what a message calls it.
type named struct {
	name string
	word *string
}

// callerOf returns the caller that the headers of a request name, if its key permits it.
func callerOf(w http.ResponseWriter, r *http.Request, protocol caller.Protocol) (caller.Caller, error) {
	s := caller.Caller{
		RequestID: w.Header().Get(headerRequestID), Protocol: protocol,
		Address: caller.Address(r.RemoteAddr),
	}
	for _, f := range [...]named{
		{headerUser, &s.UserID},
		{headerSpace, &s.SpaceID},
		{headerSession, &s.SessionID},
		{headerAgent, &s.Agent},
	} {
		*f.word = r.Header.Get(f.name)
		if err := checkWord(f.name, *f.word); err != nil {
			return s, err
		}
	}
	return permitted(w, s)
}

// callerHandler is a handler that needs the caller.
type callerHandler func(w http.ResponseWriter, r *http.Request, who caller.Caller) error

// withCaller is h for requests by a protocol.
func withCaller(protocol caller.Protocol, h callerHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		who, err := callerOf(w, r, protocol)
		if err != nil {
			return err
		}
		return h(w, r, who)
	}
}

// permitted returns asked with the rights of the request's key, or an error.
func permitted(w http.ResponseWriter, asked caller.Caller) (caller.Caller, error) {
	s, err := principalOf(w).Caller(asked)
	var denied *auth.DeniedError
	if errors.As(err, &denied) {
		return s, newError(codeDenied, "", "%s", denied.Message)
	}
	return s, err
}

// checkWord refuses what is unfit to be a text of a caller.
func checkWord(name, word string) error {
	if err := caller.CheckWord(word); err != nil {
		return newError(errcode.InvalidRequest, "", "%s %s", name, err)
	}
	return nil
}
