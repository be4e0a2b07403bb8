package eval_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/eval"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// devSets are outside of the repository.
const devSets = "../../../../shared/retrieval/dev"

// everything prints what MEASURED.md shows.
var everything = flag.Bool("full", false, "measure everything, and print the tables of MEASURED.md")

func dev(t testing.TB) []*eval.Set {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(devSets, "*", "queries.jsonl"))
	if len(paths) == 0 {
		t.Skipf("the retrieval sets are not next to the repository: no %s", devSets)
	}
	full.Need(t, "it measures every set")
	var sets []*eval.Set
	for _, path := range paths {
		s, err := eval.Load(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	return sets
}

func run(t *testing.T, sets []*eval.Set, o eval.Options) []eval.Report {
	t.Helper()
	var reports []eval.Report
	for _, s := range sets {
		r, _, err := s.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	return reports
}

// TestDevelopmentSets checks the figures of MEASURED.md.
func TestDevelopmentSets(t *testing.T) {
	reports := run(t, dev(t), options())
	if mean := eval.Mean(reports); mean.NDCG10 < 70 || mean.R5 < 75 {
		t.Errorf("mean nDCG@10 %.2f, want 70; mean R@5 %.2f, want 75", mean.NDCG10, mean.R5)
	}
	if *everything {
		if err := eval.WriteTable(os.Stdout, reports); err != nil {
			t.Fatal(err)
		}
	}
}

func TestForeignQueriesAreFlagged(t *testing.T) {
	thresholds := []float64{search.Default().NoGoodMatch}
	if *everything {
		thresholds = append(thresholds, .1, .12, .14, .16, .18, .2, .25, .3)
	}
	found, err := eval.Abstain(t.Context(), dev(t), options(), thresholds)
	if err != nil {
		t.Fatal(err)
	}
	if a := found[0]; a.Falsely > 5 || a.Rightly < 27 {
		t.Errorf("flagged %.1f %% of a set's own queries, want at most 5; %.1f %% of foreign ones, want 27", a.Falsely, a.Rightly)
	}
	if *everything {
		for _, a := range found {
			fmt.Printf("| %.2f | %.1f | %.1f |\n", a.Threshold, a.Falsely, a.Rightly)
		}
	}
}

func TestEveryToolIsFoundByItsName(t *testing.T) {
	for _, s := range dev(t) {
		docs := make([]*search.Analysis, len(s.Tools))
		for i, tool := range s.Tools {
			docs[i] = search.Analyse(tool)
		}
		index := search.New(docs, search.Default())
		step := 7
		if *everything {
			step = 1
		}
		for i := 0; i < len(docs); i += step {
			name := s.Tools[i].Name
			a := index.Search(search.Query{Text: name, Limit: 2, Vector: index.NGrams(name)})
			if len(a.Hits) == 0 || a.Hits[0].Doc != i {
				t.Errorf("set %s: %q is not found first by its name: %+v", s.Name, name, a.Hits)
			}
		}
	}
}

// TestAblations prints the effect of each rule, and of tuning on a set that was left
// out.
func TestAblations(t *testing.T) {
	if !*everything {
		t.Skip("it takes minutes; -full runs it")
	}
	sets := dev(t)
	candidates := ablations()
	for _, c := range candidates {
		mean := eval.Mean(run(t, sets, c.Options))
		fmt.Printf("| %s | %.1f | %.1f |\n", c.Name, mean.NDCG10, mean.R5)
	}
	left, err := eval.LeaveOneOut(t.Context(), sets, candidates)
	if err != nil {
		t.Fatal(err)
	}
	var reports []eval.Report
	for _, r := range left {
		fmt.Printf("| %s | %s | %.1f | %.1f |\n", r.Set, r.Chosen, r.NDCG10, r.R5)
		reports = append(reports, r.Report)
	}
	mean := eval.Mean(reports)
	fmt.Printf("| **mean** | | **%.1f** | **%.1f** |\n", mean.NDCG10, mean.R5)
}

func ablations() []eval.Candidate {
	list := []eval.Candidate{{Name: "as it is", Options: options()}}
	add := func(name string, change func(*search.Settings)) {
		o := options()
		change(&o.Settings)
		list = append(list, eval.Candidate{Name: name, Options: o})
	}
	add("no query coverage", func(s *search.Settings) { s.Rules.Coverage = 0 })
	add("query coverage, exponent .5", func(s *search.Settings) { s.Rules.Coverage = .5 })
	add("query coverage, exponent 1.5", func(s *search.Settings) { s.Rules.Coverage = 1.5 })
	add("no name coverage", func(s *search.Settings) { s.Rules.NameCoverage = 0 })
	add("name coverage 1", func(s *search.Settings) { s.Rules.NameCoverage = 1 })
	add("no pairs", func(s *search.Settings) { s.Rules.Pairs = 0 })
	add("pairs .5", func(s *search.Settings) { s.Rules.Pairs = .5 })
	add("no synonyms", func(s *search.Settings) { s.Rules.Synonyms = 0 })
	add("synonyms .2", func(s *search.Settings) { s.Rules.Synonyms = .2 })
	add("synonyms .6", func(s *search.Settings) { s.Rules.Synonyms = .6 })
	add("conversational words at 1", func(s *search.Settings) { s.Rules.Chatter = 1 })
	add("conversational words at .3", func(s *search.Settings) { s.Rules.Chatter = .3 })
	add("numbers at 1", func(s *search.Settings) { s.Rules.Numbers = 1 })
	add("no parts of a request", func(s *search.Settings) { s.Rules.Segments = 0 })
	add("parts of a request .5", func(s *search.Settings) { s.Rules.Segments = .5 })
	add("no vector channel", func(s *search.Settings) { s.Vector = 0 })
	add("vector .5", func(s *search.Settings) { s.Vector = .5 })
	add("vector 2", func(s *search.Settings) { s.Vector = 2 })
	add("no keyword channel", func(s *search.Settings) { s.Keyword = 0 })
	add("keyword 1", func(s *search.Settings) { s.Keyword = 1 })
	add("no schema channel", func(s *search.Settings) { s.Schema = 0 })
	add("schema .3", func(s *search.Settings) { s.Schema = .3 })
	add("full_text alone", func(s *search.Settings) { s.Vector, s.Keyword, s.Schema = 0, 0, 0 })
	add("vector alone", func(s *search.Settings) { s.FullText, s.Keyword, s.Schema = 0, 0, 0 })
	add("keyword alone", func(s *search.Settings) { s.FullText, s.Vector, s.Schema = 0, 0, 0 })
	add("schema alone", func(s *search.Settings) { s.FullText, s.Vector, s.Keyword = 0, 0, 0 })
	add("equal weights, k 60", func(s *search.Settings) { s.FullText, s.Vector, s.Keyword, s.Schema, s.K = 1, 1, 1, 1, 60 })
	add("k 10", func(s *search.Settings) { s.K = 10 })
	add("k 60", func(s *search.Settings) { s.K = 60 })
	add("depth 20", func(s *search.Settings) { s.Depth = 20 })
	add("depth 100", func(s *search.Settings) { s.Depth = 100 })
	return list
}
