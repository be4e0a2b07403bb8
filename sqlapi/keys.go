package sqlapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// authorised calls h for a request that comes from where it may and whose key
// permits the route, within the limits of whoever holds it.
func (a *API) authorised(rt route, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) (err error) {
		who := ""
		defer func() {
			if err != nil {
				a.opts.record(w, r, who, err)
			}
		}()
		if err := a.opts.admit(r); err != nil {
			return err
		}
		if rt.open {
			return h(w, r)
		}
		p, err := a.opts.principal(w, r)
		if err != nil {
			return err
		}
		who = p.Name
		if rt.writes && !p.Write {
			return newError(codeDenied, "use a key that ends in :rw", "the key may only read")
		}
		if !rt.free && (rt.waits == nil || !rt.waits(r)) {
			end, err := p.Begin()
			if err != nil {
				return overLimit(err)
			}
			defer end()
		}
		if x, ok := w.(*exchange); ok {
			x.principal = p
		}
		return h(w, r)
	}
}

// principalOf returns the principal of the request that w answers, or one
// without rights.
func principalOf(w http.ResponseWriter) *auth.Principal {
	if x, ok := w.(*exchange); ok && x.principal != nil {
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
