package sqlapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/audit"
	"github.com/spiced-sql/spiced/auth"
	"github.com/spiced-sql/spiced/query"
)

// authorised calls h for a request whose key permits the route, within the
// limits of whoever holds it.
func (a *API) authorised(rt route, h handler) handler {
	if rt.open {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := a.principal(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="spiced"`)
			a.opts.Audit.Record(r.Context(), audit.Entry{
				Kind: audit.Login, Door: string(query.HTTP), RequestID: w.Header().Get(headerRequestID), Remote: r.RemoteAddr, Outcome: string(codeUnauthorized),
			})
			return err
		}
		if rt.writes && !p.Write {
			return newError(codeDenied, "use a key that ends in :rw", "the key may only read")
		}
		end, err := p.Begin()
		if err != nil {
			return overLimit(err)
		}
		defer end()
		return h(w, r.WithContext(auth.With(r.Context(), p)))
	}
}

// principal is who sends the request.
func (a *API) principal(r *http.Request) (*auth.Principal, error) {
	keys := a.keys()
	if !keys.Enabled() {
		return keys.Anonymous(), nil
	}
	const hint = "send it as X-API-Key or as Authorization: Bearer"
	key, ok := auth.FromHeader(r.Header)
	if !ok {
		return nil, newError(codeUnauthorized, hint, "a key is needed")
	}
	p, ok := keys.Lookup(key)
	if !ok {
		return nil, newError(codeUnauthorized, hint, "the key is not known")
	}
	return p, nil
}

// principalOf is who sent a request that was let through.
func principalOf(r *http.Request) *auth.Principal {
	if p := auth.Of(r.Context()); p != nil {
		return p
	}
	return (&auth.Keyring{}).Anonymous()
}

// overLimit is the refusal of one request too many.
func overLimit(err error) error {
	var limit *auth.LimitError
	if !errors.As(err, &limit) {
		return err
	}
	e := newError(codeTooMany, "", "%s", limit.Message)
	e.header = http.Header{headerRetryAfter: {strconv.FormatFloat(math.Max(1, math.Ceil(limit.RetryAfter)), 'f', 0, 64)}}
	return e
}

// RequireKey asks for a key before a handler that is none of the API's.
func RequireKey(keys func() *auth.Keyring, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ok := auth.FromHeader(r.Header)
		if _, known := keys().Lookup(key); !ok || !known {
			w.Header().Set("WWW-Authenticate", `Bearer realm="spiced"`)
			http.Error(w, "a key is needed", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
