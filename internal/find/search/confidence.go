package search

import (
	"math"
	"slices"
)

// sampled is how many documents at most represent an index.
const sampled = 128

// confidence compares the best full_text score with those that this index's own
// documents reach. Words that no document has lower it. The root spreads small values.
func (ix *Index) confidence(best float32, wants []want) float64 {
	mass := ix.mass(wants)
	if mass == 0 || ix.typical == 0 {
		return 0
	}
	return round(math.Sqrt(float64(best/mass) / ix.typical))
}

// mass returns the weight of all words of a query, known and unknown.
func (ix *Index) mass(wants []want) float32 {
	var sum float32
	for _, w := range wants {
		switch {
		case w.joined:
		case w.known(ix) > 0:
			sum += w.known(ix)
		default:
			sum += w.weight * ix.most
		}
	}
	return sum
}

// typicalScore returns the median, over documents, of the best score for their own
// first sentence divided by the weight of the words. It needs no labelled queries.
func (ix *Index) typicalScore() float64 {
	n := min(ix.Len(), sampled)
	if n == 0 {
		return 0
	}
	reached := make([]float32, n)
	parallel(n, func(from, to int) {
		s := ix.scratch.Get().(*scratch)
		defer ix.scratch.Put(s)
		for i := from; i < to; i++ {
			wants := ix.plan(Query{Text: ix.docs[ix.byName[i*ix.Len()/n]].first}).whole
			ix.tfidf(s, s.scores, wants)
			if mass := ix.mass(wants); mass > 0 {
				reached[i] = highest(s.scores) / mass
			}
		}
	})
	slices.Sort(reached)
	return float64(reached[n/2])
}
