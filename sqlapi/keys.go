package sqlapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// authorised calls h for a request that comes from an allowed site and whose key
// permits the route, within the limits of its principal.
func (g *Guard) authorised(rt route, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) (err error) {
		who := ""
		defer func() {
			if err != nil {
				g.record(w, r, who, err)
			}
		}()
		if err := g.admit(r); err != nil {
			return err
		}
		if rt.is.has(public) {
			return h(w, r)
		}
		p, err := g.principal(w, r)
		if err != nil {
			return err
		}
		who = p.Name
		if rt.is.has(writes) && !p.Write {
			return newError(codeDenied, "use a key that ends in :rw", "the key may only read")
		}
		if !rt.is.has(free) && (rt.waits == nil || !rt.waits(r)) {
			end, err := p.Begin()
			if err != nil {
				return overLimit(err)
			}
			defer end()
		}
		if x, ok := w.(*responseWriter); ok {
			x.principal = p
		}
		return h(w, r)
	}
}

// principalOf returns the principal of the request that w answers, or one
// without rights.
func principalOf(w http.ResponseWriter) *auth.Principal {
	if x, ok := w.(*responseWriter); ok && x.principal != nil {
		return x.principal
	}
	return &auth.Principal{}
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
