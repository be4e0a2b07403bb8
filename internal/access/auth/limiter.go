package auth

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"golang.org/x/time/rate"

	"github.com/spiced-sql/spiced/spicepod"
)

// Begin takes a slot within the principal's rate and concurrency; end releases
// it, and may be called more than once. The error is a [*LimitError]; end is
// then nil.
func (p *Principal) Begin() (end func(), err error) {
	if p.limiter == nil {
		return func() {}, nil
	}
	return p.limiter.begin(p.Name)
}

// Enter takes a slot within only the principal's concurrency, for work that is
// part of a request. Otherwise it is like Begin.
func (p *Principal) Enter() (leave func(), err error) {
	if p.limiter == nil {
		return func() {}, nil
	}
	return p.limiter.enter(p.Name)
}

// Spend takes a token of only the principal's rate, for a request of one who has a
// slot. The error is a [*LimitError].
func (p *Principal) Spend() error {
	if p.limiter == nil {
		return nil
	}
	return p.limiter.spend(p.Name)
}

// LimitError means that a request exceeds a limit.
type LimitError struct {
	Message    string
	RetryAfter float64 // seconds
}

// Error returns the message.
func (e *LimitError) Error() string { return e.Message }

// limiter is a token bucket and a number of slots.
type limiter struct {
	limits spicepod.PrincipalLimits
	bucket *rate.Limiter // nil: no rate limit
	places chan struct{} // one element per request; nil: no limit
}

// newLimiter returns nil if nothing is limited.
func newLimiter(limits spicepod.PrincipalLimits) *limiter {
	l := &limiter{limits: limits}
	if perSecond := limits.RequestsPerSecond; perSecond > 0 {
		burst := limits.Burst
		if burst == 0 {
			burst = max(1, int(min(perSecond, math.MaxInt32)))
		}
		l.bucket = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	if limits.MaxConcurrent > 0 {
		l.places = make(chan struct{}, limits.MaxConcurrent)
	}
	if l.bucket == nil && l.places == nil {
		return nil
	}
	return l
}

func (l *limiter) same(other *limiter) bool {
	return l != nil && other != nil && l.limits == other.limits
}

// begin takes the slot first: a request without a slot costs no token.
func (l *limiter) begin(name string) (end func(), err error) {
	end, err = l.enter(name)
	if err != nil {
		return nil, err
	}
	if err := l.spend(name); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// spend takes a token.
func (l *limiter) spend(name string) error {
	if l.bucket != nil && !l.bucket.Allow() {
		return l.tooFast(name)
	}
	return nil
}

// enter takes a slot.
func (l *limiter) enter(name string) (leave func(), err error) {
	if l.places == nil {
		return func() {}, nil
	}
	select {
	case l.places <- struct{}{}:
		return sync.OnceFunc(func() { <-l.places }), nil
	default:
		return nil, &LimitError{
			Message: fmt.Sprintf("principal %q has %d requests running, as many as it may (max_concurrent); try again when "+
				"one has ended", name, l.limits.MaxConcurrent),
			RetryAfter: 1, // the end of a running request is unknown
		}
	}
}

// tooFast is the error for a request without a token. Another request may take
// a token before the bucket is read, so the time is an estimate and never 0.
func (l *limiter) tooFast(name string) error {
	perSecond := l.limits.RequestsPerSecond
	wait := min(max((1-l.bucket.Tokens())/perSecond, 0.001), maxRetryAfter.Seconds())
	return &LimitError{
		Message: fmt.Sprintf("principal %q may make %s requests a second, %d at once (requests_per_second, burst); try "+
			"again in %s s",
			name, decimal(perSecond), l.bucket.Burst(), decimal(math.Ceil(wait*1000)/1000)),
		RetryAfter: wait,
	}
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
