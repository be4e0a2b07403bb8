package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/eval"
	"github.com/spiced-sql/spiced/internal/find/search"
)

// developmentSets are labelled queries outside of the repository.
const developmentSets = "../shared/retrieval/dev/*"

// sets reads the development sets, each with the table of builtin:semantic that was made without
// its family: the table of the program has seen them. Without the sets or the tables it
// returns a row for what is missing.
func (e *env) sets(what string) (list []*eval.Set, missing []row, err error) {
	dirs, err := filepath.Glob(developmentSets)
	if err != nil || len(dirs) == 0 {
		return nil, []row{{what, "not available", ""}}, err
	}
	if e.tables == "" {
		missing = []row{{what + ", " + semanticModel, "not available without -tables", ""}}
	}
	for _, dir := range dirs {
		set, err := eval.Load(dir)
		if err != nil {
			return nil, nil, err
		}
		if e.tables != "" {
			if set.Model, err = embeddings.Table(filepath.Join(e.tables, set.Name+".bin")); err != nil {
				return nil, nil, fmt.Errorf("-tables: %w", err)
			}
		}
		list = append(list, set)
	}
	return list, missing, nil
}

// benchRetrieval measures the ranking on the development sets, if they are available: with
// builtin:semantic, and with words and n-grams alone.
func benchRetrieval(ctx context.Context, e *env) ([]row, error) {
	sets, rows, err := e.sets("tool search on the nine development sets")
	if err != nil || len(sets) == 0 {
		return rows, err
	}
	if len(rows) == 0 {
		rows, err = ranking(ctx, sets, semanticModel+", family left out", "≥ 72.3 / ≥ 78.0", "≥ 40 %, ≤ 5 %")
		if err != nil {
			return nil, err
		}
	}
	for _, s := range sets {
		s.Model = nil
	}
	words, err := ranking(ctx, sets, "builtin:hash", "≥ 70 / ≥ 75", "≥ 27 %, ≤ 5 %")
	return append(rows, words...), err
}

// ranking measures the sets with their models.
func ranking(ctx context.Context, sets []*eval.Set, model, target, flagged string) ([]row, error) {
	var reports, unseen []eval.Report
	for _, s := range sets {
		r, _, err := s.Run(ctx, eval.Options{Settings: search.Default()})
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	left, err := eval.LeaveOneOut(ctx, sets, candidates())
	if err != nil {
		return nil, err
	}
	for _, l := range left {
		unseen = append(unseen, l.Report)
	}
	found, err := eval.Abstain(ctx, sets, eval.Options{Settings: search.Default()}, []float64{search.Default().NoGoodMatch})
	if err != nil {
		return nil, err
	}
	mean, out := eval.Mean(reports), eval.Mean(unseen)
	return []row{
		{"tool search on the nine development sets, " + model + ", nDCG@10 / R@5", fmt.Sprintf("%.1f / %.1f", mean.NDCG10, mean.R5), target},
		{"the same, each set with the settings that are best on the others", fmt.Sprintf("%.1f / %.1f", out.NDCG10, out.R5), "reported"},
		{"the same: queries flagged no_good_match: of other sets, of the same set", fmt.Sprintf("%.1f %%, %.1f %%", found[0].Rightly, found[0].Falsely), flagged},
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
