package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spiced-sql/spiced/internal/find/eval"
	"github.com/spiced-sql/spiced/internal/find/search"
)

// developmentSets are labelled queries outside of the repository.
const developmentSets = "../shared/retrieval/dev/*"

// benchRetrieval measures the ranking on the development sets, if they are available.
func benchRetrieval(ctx context.Context, _ *env) ([]row, error) {
	dirs, err := filepath.Glob(developmentSets)
	if err != nil || len(dirs) == 0 {
		return []row{{"retrieval on the development sets", "not available", ""}}, err
	}
	var sets []*eval.Set
	var reports []eval.Report
	for _, dir := range dirs {
		s, err := eval.Load(dir)
		if err != nil {
			return nil, err
		}
		r, _, err := s.Run(ctx, eval.Options{Settings: search.Default()})
		if err != nil {
			return nil, err
		}
		sets, reports = append(sets, s), append(reports, r)
	}
	left, err := eval.LeaveOneOut(ctx, sets, candidates())
	if err != nil {
		return nil, err
	}
	unseen := make([]eval.Report, len(left))
	for i, l := range left {
		unseen[i] = l.Report
	}
	found, err := eval.Abstain(ctx, sets, eval.Options{Settings: search.Default()}, []float64{search.Default().NoGoodMatch})
	if err != nil {
		return nil, err
	}
	mean, out := eval.Mean(reports), eval.Mean(unseen)
	return []row{
		{"tool search on the nine development sets, builtin:hash, nDCG@10 / R@5", fmt.Sprintf("%.1f / %.1f", mean.NDCG10, mean.R5), "≥ 70 / ≥ 75"},
		{"the same, each set with the settings that are best on the others", fmt.Sprintf("%.1f / %.1f", out.NDCG10, out.R5), "reported"},
		{"queries flagged no_good_match: of other sets, of the same set", fmt.Sprintf("%.1f %%, %.1f %%", found[0].Rightly, found[0].Falsely), "≥ 27 %, ≤ 5 %"},
	}, nil
}

// candidates are the settings to choose from when one set is left out.
func candidates() []eval.Candidate {
	vary := func(name string, change func(*search.Settings)) eval.Candidate {
		s := search.Default()
		change(&s)
		return eval.Candidate{Name: name, Options: eval.Options{Settings: s}}
	}
	return []eval.Candidate{
		vary("default", func(*search.Settings) {}),
		vary("k 60", func(s *search.Settings) { s.K = 60 }),
		vary("full text 1", func(s *search.Settings) { s.FullText = 1 }),
		vary("keyword 1", func(s *search.Settings) { s.Keyword = 1 }),
		vary("coverage .5", func(s *search.Settings) { s.Rules.Coverage = .5 }),
		vary("no synonyms", func(s *search.Settings) { s.Rules.Synonyms = 0 }),
	}
}
