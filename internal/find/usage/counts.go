package usage

import (
	"fmt"
	"time"
)

// Counts are sums over calls. A failed call is in exactly one of the five classes of
// errors, by its code; Failed has the codes of no other class.
type Counts struct {
	Calls   int64 `json:"calls"`
	Invalid int64 `json:"invalid,omitempty"` // invalid_argument(s), parse_error, not_found, tool_not_found
	// refused, forbidden, unauthorized, approval_required, too_many_requests, rate_limited
	Refused   int64         `json:"refused,omitempty"`
	TimedOut  int64         `json:"timed_out,omitempty"` // timeout, deadline_exceeded
	Cancelled int64         `json:"cancelled,omitempty"` // cancelled, canceled
	Failed    int64         `json:"failed,omitempty"`
	Cached    int64         `json:"cached,omitempty"`
	Truncated int64         `json:"truncated,omitempty"`
	Foreign   int64         `json:"foreign,omitempty"`
	Rows      int64         `json:"rows,omitempty"`
	Bytes     int64         `json:"bytes,omitempty"`
	Time      time.Duration `json:"time,omitempty"` // of all calls
	Shortest  time.Duration `json:"shortest,omitempty"`
	Longest   time.Duration `json:"longest,omitempty"`
	FirstAt   time.Time     `json:"first_at,omitzero"`
	LastAt    time.Time     `json:"last_at,omitzero"`
	Latencies Histogram     `json:"latencies"`
}

// Errors returns how many calls failed.
func (c *Counts) Errors() int64 {
	return c.Invalid + c.Refused + c.TimedOut + c.Cancelled + c.Failed
}

// Quantile estimates the latency that a share p of the calls, 0 to 1, does not exceed.
// The error is at most about a sixth: see [Histogram].
func (c *Counts) Quantile(p float64) time.Duration {
	return min(max(c.Latencies.quantile(p), c.Shortest), c.Longest)
}

// Merge adds the counts of another day, caller or tool.
func (c *Counts) Merge(other *Counts) {
	if other.Calls == 0 {
		return
	}
	c.span(other.FirstAt, other.LastAt, other.Shortest, other.Longest)
	mine, others := c.numbers(), other.numbers()
	for i := range mine {
		*mine[i] += *others[i]
	}
	c.Time += other.Time
	c.Latencies.merge(&other.Latencies)
}

func (c *Counts) numbers() [11]*int64 {
	return [...]*int64{
		&c.Calls, &c.Invalid, &c.Refused, &c.TimedOut, &c.Cancelled, &c.Failed,
		&c.Cached, &c.Truncated, &c.Foreign, &c.Rows, &c.Bytes,
	}
}

func (c *Counts) add(call *Call) {
	c.span(call.At, call.At, call.Latency, call.Latency)
	c.Calls++
	if !call.OK {
		*c.class(call.Code)++
	}
	for _, f := range [...]struct {
		is bool
		n  *int64
	}{{call.Cached, &c.Cached}, {call.Truncated, &c.Truncated}, {call.Foreign, &c.Foreign}} {
		if f.is {
			*f.n++
		}
	}
	c.Rows += call.Rows
	c.Bytes += call.Bytes
	c.Time += call.Latency
	c.Latencies.add(call.Latency)
}

// span widens the times and latencies; it must run before Calls is incremented.
func (c *Counts) span(first, last time.Time, shortest, longest time.Duration) {
	if c.Calls == 0 {
		c.FirstAt, c.LastAt, c.Shortest, c.Longest = first, last, shortest, longest
		return
	}
	if first.Before(c.FirstAt) {
		c.FirstAt = first
	}
	if last.After(c.LastAt) {
		c.LastAt = last
	}
	c.Shortest, c.Longest = min(c.Shortest, shortest), max(c.Longest, longest)
}

// class returns the counter for an error code.
func (c *Counts) class(code string) *int64 {
	switch code {
	case "invalid_argument", "invalid_arguments", "parse_error", "not_found", "tool_not_found":
		return &c.Invalid
	case "refused", "forbidden", "unauthorized", "approval_required", "too_many_requests", "rate_limited":
		return &c.Refused
	case "timeout", "deadline_exceeded":
		return &c.TimedOut
	case "cancelled", "canceled":
		return &c.Cancelled
	}
	return &c.Failed
}

// check rejects impossible values.
func (c *Counts) check() error {
	for _, n := range c.numbers() {
		if *n < 0 {
			return fmt.Errorf("count %d: want 0 or more", *n)
		}
	}
	if c.Errors() > c.Calls || c.Shortest < 0 || c.Shortest > c.Longest || c.Time < 0 {
		return fmt.Errorf("%d errors in %d calls of %s to %s are impossible", c.Errors(), c.Calls, c.Shortest, c.Longest)
	}
	return nil
}

// Found counts searches that found one tool.
type Found struct {
	Returned int64 `json:"returned,omitempty"` // searches that returned it
	// Chosen is how many of those searches led to a call of the tool: the last search
	// of the same session, or of the same caller if neither has a session, with the
	// call within ChosenWithin. One search counts once.
	Chosen int64 `json:"chosen,omitempty"`
}

func (f *Found) merge(other Found) {
	f.Returned += other.Returned
	f.Chosen += other.Chosen
}

// Usage is the usage of one tool by one caller on one day.
type Usage struct {
	Tool, Owner, Caller string
	Day                 time.Time // 0:00 UTC
	Counts
}

// Totals are the calls of one tool and the searches that found it.
type Totals struct {
	Counts
	Found
}

// Verdict is why no caller benefits from a tool.
type Verdict string

// The verdicts on a tool.
const (
	Alive  Verdict = ""       // some call succeeded
	Broken Verdict = "broken" // called, and every call failed or timed out
	// callers pass wrong arguments, or do not call it after a search returned it
	BadlyDescribed Verdict = "badly_described"
	AlwaysRefused  Verdict = "refused"  // called, and every call was refused or cancelled
	Unneeded       Verdict = "unneeded" // not called, and not returned by a search
	// not called, and observed for less than [Observed], or too little was called to judge
	TooEarly Verdict = "too_early"
)

// Observed is how long a tool is observed before it is judged by calls that it did not get.
const Observed = 24 * time.Hour

// Verdict judges a tool by its calls and searches, observed for some time. If there are few searches, or models
// see all tools without one, Unneeded only means "not called".
func (t *Totals) Verdict(observed time.Duration) Verdict {
	switch {
	case t.Calls > t.Errors():
		return Alive
	case t.Failed+t.TimedOut > 0:
		return Broken
	case t.Calls == 0 && observed < Observed:
		return TooEarly
	case t.Invalid > 0 || t.Calls == 0 && t.Returned > 0:
		return BadlyDescribed
	case t.Calls > 0:
		return AlwaysRefused
	}
	return Unneeded
}
