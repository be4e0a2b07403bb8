package sqlapi

import (
	"errors"
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/tools"
)

// The headers that say on whose behalf a request is made.
const (
	headerRequestID = "X-Request-Id"
	headerUser      = "X-Spiced-User"
	headerSpace     = "X-Spiced-Space"
	headerSession   = "X-Spiced-Session"
	headerAgent     = "X-Spiced-Agent"
)

// scopeParams describes them.
var scopeParams = []param{
	{headerUser, "header", "for whom the request is made", text("")},
	{headerSpace, "header", "the space that it belongs to; none: across spaces", text("")},
	{headerSession, "header", "the session that it belongs to", text("")},
	{headerAgent, "header", "the agent that makes it", text("")},
}

// named is a word of a scope with what a message calls it.
type named struct {
	name string
	word *string
}

// scopeOf is on whose behalf a request is made, by its headers, as far as its
// key permits.
func scopeOf(w http.ResponseWriter, r *http.Request, surface tools.Surface) (tools.Scope, error) {
	s := tools.Scope{RequestID: w.Header().Get(headerRequestID), Surface: surface}
	for _, f := range [...]named{{headerUser, &s.UserID}, {headerSpace, &s.SpaceID}, {headerSession, &s.SessionID}, {headerAgent, &s.Agent}} {
		*f.word = r.Header.Get(f.name)
		if err := checkWord(f.name, *f.word); err != nil {
			return s, err
		}
	}
	return permitted(r, s)
}

// permitted is what the request's key permits of a scope.
func permitted(r *http.Request, asked tools.Scope) (tools.Scope, error) {
	s, err := principalOf(r).Scope(asked)
	var denied *auth.DeniedError
	if errors.As(err, &denied) {
		return s, newError(codeDenied, "", "%s", denied.Message)
	}
	return s, err
}

// checkWord refuses what is unfit to be a word of a scope.
func checkWord(name, word string) error {
	if err := tools.CheckWord(word); err != nil {
		return newError(codeInvalidRequest, "", "%s %s", name, err)
	}
	return nil
}
