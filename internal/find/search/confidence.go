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

// Meaning multiplies the confidence: a query whose words the index has, but for another
// purpose, is nearer to none of its documents than they are to their own sentences. The
// constants are chosen so that [Settings].NoGoodMatch flags as many of an index's own
// queries as it does by the words of the query only.
const (
	meaningScale  = 1.06
	meaningOffset = .1 // words may all be unknown where the meaning fits
)

// confidenceWith takes the cosines of the whole query into account.
func (ix *Index) confidenceWith(words float64, q Query, d *Dense, cosines []float32) float64 {
	var typical []float32
	for i := range min(ix.Len(), sampled) {
		if own := d.own[ix.byName[i*ix.Len()/min(ix.Len(), sampled)]]; own > 0 {
			typical = append(typical, own)
		}
	}
	if len(typical) == 0 {
		return words
	}
	slices.Sort(typical)
	var top float32
	for doc, v := range cosines {
		if v > top && ix.shows(doc) && (q.Only == nil || q.Only(doc)) {
			top = v
		}
	}
	return round(meaningScale * (words + meaningOffset) * float64(top/typical[len(typical)/2]))
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
