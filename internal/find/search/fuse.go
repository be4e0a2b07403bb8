package search

import (
	"cmp"
	"slices"
)

// Channel is one ranked list and its weight.
type Channel struct {
	Source string
	Weight float64
	Ranked []Scored // best first, no duplicates
}

// Scored is a document with the score of a channel.
type Scored struct {
	Doc   int
	Score float64
}

// Fused is a document with its sources.
type Fused struct {
	Doc     int
	Score   float64  // sum of the shares
	Sources []Source // in the order of the channels
}

// Fuse combines ranked lists by weighted reciprocal rank fusion: a document gets weight
// / (k + rank) from each list that contains it, with ranks from 1. Best first, ties by
// document. Cormack, Clarke and Büttcher, SIGIR 2009.
func Fuse(k float64, channels ...Channel) []Fused {
	var out []Fused
	at := map[int]int{}
	for _, c := range channels {
		for i, s := range c.Ranked {
			n, known := at[s.Doc]
			if !known {
				n = len(out)
				at[s.Doc] = n
				out = append(out, Fused{Doc: s.Doc})
			}
			share := c.Weight / (k + float64(i+1))
			out[n].Score += share
			out[n].Sources = append(out[n].Sources, Source{c.Source, i + 1, s.Score, c.Weight, share})
		}
	}
	sortFused(out)
	return out
}

func sortFused(list []Fused) {
	slices.SortFunc(list, func(a, b Fused) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
	})
}
