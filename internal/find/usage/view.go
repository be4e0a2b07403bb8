package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Since returns when counting began: on the first run with this folder.
func (r *Recorder) Since() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.since
}

// Days returns how many days of counts are retained.
func (r *Recorder) Days() int { return r.state.days }

// Calls returns the retained calls, latest first.
func (r *Recorder) Calls() []Call { return newestFirst(r, &r.state.calls) }

// Searches returns the retained searches, latest first. Their lists of tools are shared
// and must not be modified.
func (r *Recorder) Searches() []Search { return newestFirst(r, &r.state.searches) }

func newestFirst[T any](r *Recorder, records *ring[T]) []T {
	now := r.now()
	r.mu.Lock()
	r.state.expire(now)
	items := records.since(0)
	r.mu.Unlock()
	out := make([]T, 0, len(items))
	for _, item := range slices.Backward(items) {
		out = append(out, *item)
	}
	return out
}

// Usage returns the counts of the retained days, sorted by tool, owner, caller and day.
// Concurrent calls may be in some rows only.
func (r *Recorder) Usage() []Usage {
	rows := copyRows(&r.mu, &r.state.usage)
	sorted := make([]*row[usageKey, Counts], len(rows)) // pointers, because rows are large
	for i := range rows {
		sorted[i] = &rows[i]
	}
	slices.SortFunc(sorted, func(a, b *row[usageKey, Counts]) int {
		return cmp.Or(strings.Compare(a.Key.Tool, b.Key.Tool), strings.Compare(a.Key.Owner, b.Key.Owner),
			strings.Compare(a.Key.Caller, b.Key.Caller), cmp.Compare(a.Key.Day, b.Key.Day))
	})
	out := make([]Usage, len(rows))
	for i, x := range sorted {
		out[i] = Usage{x.Key.Tool, x.Key.Owner, x.Key.Caller, x.Key.Day.time(), x.Value}
	}
	return out
}

// Totals returns the counts of a tool since counting began, which may be before the
// retained days. For an unknown tool they are zero.
func (r *Recorder) Totals(tool string) Totals {
	tool = tidyText(tool, MaxName)
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.state.tools.rows[tool]; x != nil {
		return x.Value
	}
	return Totals{}
}

// Window sums up the days from the given one on, by tool.
func (r *Recorder) Window(from time.Time) map[string]*Totals {
	first := dayOf(from)
	out := map[string]*Totals{}
	of := func(tool string) *Totals {
		if out[tool] == nil {
			out[tool] = &Totals{}
		}
		return out[tool]
	}
	for _, x := range copyRows(&r.mu, &r.state.usage) {
		if x.Key.Day >= first {
			of(x.Key.Tool).Merge(&x.Value)
		}
	}
	for _, x := range copyRows(&r.mu, &r.state.hits) {
		if x.Key.Day >= first {
			of(x.Key.Tool).Found.merge(x.Value)
		}
	}
	return out
}
