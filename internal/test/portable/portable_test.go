package portable

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// generated makes n statements over one catalog.
func generated(seed uint64, n int) (*Catalog, []Statement) {
	c := NewCatalog(rand.New(rand.NewPCG(seed, 0)))
	statements := make([]Statement, n)
	for i := range statements {
		statements[i] = c.Statement(Random(rand.New(rand.NewPCG(seed, uint64(i+1)))))
	}
	return c, statements
}

func TestEveryFeatureOccurs(t *testing.T) {
	count := map[string]int{}
	_, statements := generated(1, 4000)
	for _, s := range statements {
		for _, f := range s.Features {
			count[f]++
		}
	}
	for _, f := range Features {
		if count[f] < 10 {
			t.Errorf("%s is in %d of %d statements", f, count[f], len(statements))
		}
	}
	for f, n := range count {
		if !slices.Contains(Features, f) {
			t.Errorf("%s is in %d statements, and not in Features", f, n)
		}
	}
}

func TestStatementsDependOnTheirChoicesOnly(t *testing.T) {
	c, statements := generated(2, 300)
	again, _ := generated(2, 0)
	for _, s := range statements {
		for _, from := range []*Catalog{c, again} {
			if got := from.Statement(&Choices{given: s.choices}); got.SQL != s.SQL {
				t.Fatalf("the choices of\n%s\nmake\n%s", s.SQL, got.SQL)
			}
		}
	}
}

// Any list of numbers makes a statement, so that a search for a smaller one may try all.
func TestShrinkFindsASmallStatement(t *testing.T) {
	c, statements := generated(3, 2000)
	tested := 0
	for _, s := range statements {
		fails := func(s Statement) bool { return strings.Contains(s.SQL, "FULL JOIN") }
		if !fails(s) || len(s.SQL) < 400 {
			continue
		}
		small := c.Shrink(s, fails)
		if !fails(small) || len(small.SQL) > 250 {
			t.Errorf("the smallest statement that was found has %d bytes:\n%s", len(small.SQL), small.SQL)
		}
		if tested++; tested == 10 {
			return
		}
	}
	t.Fatalf("only %d statements were long enough", tested)
}

// With all choices at their end, generators reach theirs.
func TestNoChoicesMakeTheSimplestStatement(t *testing.T) {
	c, _ := generated(4, 0)
	if got, want := c.Statement(&Choices{}).SQL, "SELECT t1.id AS c1 FROM t1 AS t1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
