package eval

import (
	"context"
	"fmt"
	"slices"
)

// Candidate is one of the settings to choose from.
type Candidate struct {
	Name string
	Options
}

// LeftOut is the result of a set with settings chosen without it.
type LeftOut struct {
	Report
	Chosen string // the candidate with the best mean over the other sets
}

// LeaveOneOut reports each set with the candidate whose mean nDCG@10 is best over the
// sets that share no tool and no query with it: the effect of tuning on an unseen
// catalogue.
func LeaveOneOut(ctx context.Context, sets []*Set, candidates []Candidate) ([]LeftOut, error) {
	reports := make([][]Report, len(candidates)) // by candidate and set
	for i, c := range candidates {
		for _, s := range sets {
			r, _, err := s.Run(ctx, c.Options)
			if err != nil {
				return nil, fmt.Errorf("candidate %q: %w", c.Name, err)
			}
			reports[i] = append(reports[i], r)
		}
	}
	var out []LeftOut
	for left, s := range sets {
		best, most := -1, 0.0
		for i := range candidates {
			sum := 0.0
			for other, r := range reports[i] {
				if !related(s, sets[other]) {
					sum += r.NDCG10
				}
			}
			if best < 0 || sum > most {
				best, most = i, sum
			}
		}
		if best >= 0 {
			out = append(out, LeftOut{reports[best][left], candidates[best].Name})
		}
	}
	return out, nil
}

// related reports whether two sets share a tool, by name and description, or a query.
func related(a, b *Set) bool {
	known := map[string]bool{}
	for _, t := range a.Tools {
		known[t.Name+"\n"+t.Description] = true
	}
	for _, q := range a.Queries {
		known["?"+q.Text] = true
	}
	for _, t := range b.Tools {
		if known[t.Name+"\n"+t.Description] {
			return true
		}
	}
	return slices.ContainsFunc(b.Queries, func(q Query) bool { return known["?"+q.Text] })
}

// Abstention is how well a threshold on [search.Answer.Confidence] separates a
// catalogue's own queries from foreign ones. Shares are percentages: means over sets.
type Abstention struct {
	Threshold float64 `json:"threshold"`
	Falsely   float64 `json:"falsely"` // flagged among the set's own queries
	Rightly   float64 `json:"rightly"` // flagged among the queries of unrelated sets
}

// Abstain measures thresholds: it searches each set's tools for its own queries, and
// for a sample of the queries of every other set.
func Abstain(ctx context.Context, sets []*Set, o Options, thresholds []float64) ([]Abstention, error) {
	out := make([]Abstention, len(thresholds))
	for i, t := range thresholds {
		out[i].Threshold = t
	}
	for _, s := range sets {
		own, err := s.confidences(ctx, o, s.Queries)
		if err != nil {
			return nil, err
		}
		foreign, err := s.confidences(ctx, o, foreignQueries(s, sets))
		if err != nil {
			return nil, err
		}
		for i, t := range thresholds {
			out[i].Falsely += shareBelow(own, t) / float64(len(sets))
			out[i].Rightly += shareBelow(foreign, t) / float64(len(sets))
		}
	}
	return out, nil
}

// fromEach is the size of the sample of another set's queries.
const fromEach = 100

func foreignQueries(s *Set, sets []*Set) []Query {
	var out []Query
	for _, other := range sets {
		if other != s && !related(s, other) {
			n := min(len(other.Queries), fromEach)
			for i := range n {
				out = append(out, other.Queries[i*len(other.Queries)/n])
			}
		}
	}
	return out
}

func (s *Set) confidences(ctx context.Context, o Options, queries []Query) ([]float64, error) {
	answers, err := s.search(ctx, o, queries)
	if err != nil {
		return nil, fmt.Errorf("set %q: %w", s.Name, err)
	}
	out := make([]float64, len(answers))
	for i, a := range answers {
		out[i] = a.Confidence
	}
	return out, nil
}

// shareBelow returns the percentage of values below a threshold.
func shareBelow(values []float64, threshold float64) float64 {
	n := 0
	for _, v := range values {
		if v < threshold {
			n++
		}
	}
	return 100 * float64(n) / float64(max(len(values), 1))
}
