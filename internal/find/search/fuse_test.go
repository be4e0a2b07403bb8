package search_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/find/search"
)

func ranked(docs ...int) []search.Scored {
	var out []search.Scored
	for i, d := range docs {
		out = append(out, search.Scored{Doc: d, Score: float64(100 - i)})
	}
	return out
}

func TestFuse(t *testing.T) {
	got := search.Fuse(10, search.Channel{Source: "a", Weight: 2, Ranked: ranked(7, 3)}, search.Channel{Source: "b", Weight: 1, Ranked: ranked(3, 5)})
	want := []search.Fused{
		{
			Doc: 3, Score: 2./12 + 1./11,
			Sources: []search.Source{{Source: "a", Rank: 2, Score: 99, Weight: 2, Share: 2. / 12}, {Source: "b", Rank: 1, Score: 100, Weight: 1, Share: 1. / 11}},
		},
		{Doc: 7, Score: 2. / 11, Sources: []search.Source{{Source: "a", Rank: 1, Score: 100, Weight: 2, Share: 2. / 11}}},
		{Doc: 5, Score: 1. / 12, Sources: []search.Source{{Source: "b", Rank: 2, Score: 99, Weight: 1, Share: 1. / 12}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if got := search.Fuse(10); len(got) != 0 {
		t.Errorf("nothing fused is %v", got)
	}
}

func TestTwoVotesBeatOne(t *testing.T) {
	s := search.Default()
	weights := []float64{s.FullText, s.Vector}
	for first := 1; first <= 3; first++ {
		for second := 1; second <= 3; second++ {
			a, b := []int{10, 11, 12}, []int{20, 21, 22}
			a[first-1], b[second-1] = 1, 1
			got := search.Fuse(s.K, search.Channel{Weight: weights[0], Ranked: ranked(a...)}, search.Channel{Weight: weights[1], Ranked: ranked(b...)})
			if got[0].Doc != 1 {
				t.Errorf("ranks %d and %d of two channels lose to %d, first of one", first, second, got[0].Doc)
			}
		}
	}
}

func TestFuseKeepsTheSum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var channels []search.Channel
		total := 0.0
		for range 1 + rnd.IntN(5) {
			c := search.Channel{Weight: rnd.Float64(), Ranked: ranked(rnd.Perm(12)[:rnd.IntN(12)]...)}
			for i := range c.Ranked {
				total += c.Weight / (20 + float64(i+1))
			}
			channels = append(channels, c)
		}
		sum, last := 0.0, math.Inf(1)
		for _, f := range search.Fuse(20, channels...) {
			if f.Score > last {
				t.Fatal("the fused list is out of order")
			}
			last = f.Score
			for _, s := range f.Sources {
				sum += s.Share
			}
		}
		if math.Abs(sum-total) > 1e-9 {
			t.Fatalf("the shares add up to %v, the votes to %v", sum, total)
		}
	}
}
