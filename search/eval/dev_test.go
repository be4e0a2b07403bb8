package eval_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/search"
	"github.com/spiced-sql/spiced/search/eval"
)

const devSets = "/work/shared/retrieval/dev"

var table = flag.Bool("table", false, "print the tables of docs/retrieval.md")

func dev(t testing.TB) []*eval.Set {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(devSets, "*", "queries.jsonl"))
	if len(dirs) == 0 {
		t.Skipf("the development sets are not there: %s", devSets)
	}
	var sets []*eval.Set
	for _, path := range dirs {
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

func TestDevelopmentSets(t *testing.T) {
	sets := dev(t)
	reports := run(t, sets, eval.Options{Settings: search.Default()})
	if mean := eval.Mean(reports); mean.NDCG10 < 70 || mean.R5 < 75 {
		t.Errorf("mean nDCG@10 %.2f, R@5 %.2f; it was 70 and 75", mean.NDCG10, mean.R5)
	}
	if *table {
		if err := eval.WriteTable(os.Stdout, reports); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAbstain(t *testing.T) {
	sets := dev(t)
	var thresholds []float64
	for i := range 30 {
		thresholds = append(thresholds, .1+.01*float64(i))
	}
	found, err := eval.Abstain(t.Context(), sets, eval.Options{Settings: search.Default()}, thresholds)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		t.Logf("%.2f falsely %.1f rightly %.1f", a.Threshold, a.Falsely, a.Rightly)
	}
}

func TestExactNames(t *testing.T) {
	for _, s := range dev(t) {
		docs := make([]*search.Analysis, len(s.Tools))
		for i, tool := range s.Tools {
			docs[i] = search.Analyse(tool)
		}
		index := search.New(docs, search.Default())
		for i, tool := range s.Tools {
			a := index.Search(search.Query{Text: tool.Name, Limit: 3, Vector: index.NGrams(tool.Name)})
			if len(a.Hits) == 0 || a.Hits[0].Doc != i {
				t.Errorf("set %s: %q is not found first by its name: %+v", s.Name, tool.Name, a.Hits)
			}
		}
	}
}
