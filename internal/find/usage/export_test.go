package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Hits counts one day's searches that found one tool.
type Hits struct {
	Tool string
	Day  time.Time // 0:00 UTC
	Found
}

// Hits returns how often searches found each tool on the retained days, sorted by tool
// and day.
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
