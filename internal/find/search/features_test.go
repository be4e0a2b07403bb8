package search_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/search"
)

// Stored vectors are made of features: a change here invalidates them.
func TestFeaturesStayTheSame(t *testing.T) {
	got := ""
	for _, f := range search.Features("The cat, Ünï 天") {
		got += fmt.Sprintf("%08x %.4f\n", f.Hash, f.Weight)
	}
	if diff := cmp.Diff(featuresGolden, got); diff != "" {
		t.Error(diff)
	}
}

func TestFeaturesWeighWordsEqually(t *testing.T) {
	var squares float64
	for _, f := range search.Features("internationalisation") {
		squares += float64(f.Weight) * float64(f.Weight)
	}
	if math.Abs(squares-2) > .3 { // the word, and its n-grams, some of which are there twice
		t.Errorf("a word's features have the squared length %v, want about 2", squares)
	}
	if got := search.Features("the of"); len(got) != 0 {
		t.Errorf("stop words have features: %v", got)
	}
	one, three := search.Features("cat"), search.Features(strings.Repeat("cat ", 3))
	for i := range one {
		one[i].Weight *= 3
		if math.Abs(float64(one[i].Weight-three[i].Weight)) > 1e-5 || one[i].Hash != three[i].Hash {
			t.Errorf("feature %d of a word three times is %v, want %v", i, three[i], one[i])
		}
	}
}

const featuresGolden = `06745c07 0.4082
0b7034c3 0.4082
18b56597 0.4082
40c7be65 0.4082
4c2d0b19 0.4082
4fd49e49 0.4082
5926fa00 1.0000
61f511f6 0.4082
7a239b26 1.0000
d1282c4b 0.4082
d3cabd4d 0.4082
d5a3a0c4 0.4082
d8461fec 1.0000
db611dc4 0.4082
e18b16c5 1.0000
e8a347a5 0.4082
`
