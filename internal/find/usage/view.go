package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Since is when counting began: on the first run with this folder.
func (r *Recorder) Since() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.since
}

// Calls returns the calls that are kept, the last recorded first.
func (r *Recorder) Calls() []Call {
	now := r.now()
	r.mu.Lock()
	r.state.expire(now)
	kept := r.state.calls.since(0)
	r.mu.Unlock()
	return newestFirst(kept)
}

// Searches returns the searches that are kept, the last recorded first. Their
// lists of tools are shared; do not change them.
func (r *Recorder) Searches() []Search {
	now := r.now()
	r.mu.Lock()
	r.state.expire(now)
	kept := r.state.searches.since(0)
	r.mu.Unlock()
	return newestFirst(kept)
}

func newestFirst[T any](kept []*T) []T {
	out := make([]T, 0, len(kept))
	for _, item := range slices.Backward(kept) {
		out = append(out, *item)
	}
	return out
}

// Usage returns the counts of the days that are kept, sorted by tool, owner,
// caller and day. Calls that come meanwhile may be in some rows.
func (r *Recorder) Usage() []Usage {
	rows := copyRows(&r.mu, &r.state.usage)
	sorted := make([]*row[usageKey, Counts], len(rows)) // rows are large to move
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

// Hits returns how searches met each tool on the days that are kept, sorted
// by tool and day.
func (r *Recorder) Hits() []Hits {
	rows := copyRows(&r.mu, &r.state.hits)
	slices.SortFunc(rows, func(a, b row[hitKey, Found]) int {
		return cmp.Or(strings.Compare(a.Key.Tool, b.Key.Tool), cmp.Compare(a.Key.Day, b.Key.Day))
	})
	out := make([]Hits, len(rows))
	for i, x := range rows {
		out[i] = Hits{x.Key.Tool, x.Key.Day.time(), x.Value}
	}
	return out
}

// SearchDays returns how many searches there were on each of the days that are
// kept, oldest first.
func (r *Recorder) SearchDays() []SearchDay {
	rows := copyRows(&r.mu, &r.state.searched)
	slices.SortFunc(rows, func(a, b row[day, Searched]) int { return cmp.Compare(a.Key, b.Key) })
	out := make([]SearchDay, len(rows))
	for i, x := range rows {
		out[i] = SearchDay{x.Key.time(), x.Value}
	}
	return out
}

// Totals returns the counts of a tool since counting began; daily counts may
// reach less far back. A tool of which nothing is known has zeros.
func (r *Recorder) Totals(tool string) Totals {
	tool = tidyText(tool, MaxName)
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.state.tools.rows[tool]; x != nil {
		return x.Value
	}
	return Totals{}
}

// Window adds up the days from the one of a time on, by tool.
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
