package search

import (
	"math"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/words"
)

// scratch is the working memory of one search.
type scratch struct {
	scores, words, part, best, cover, named, cosines, whole, grams []float32
	stamp                                                          []int32
}

func newScratch(n int) *scratch {
	s := &scratch{stamp: make([]int32, n)}
	for _, list := range []*[]float32{
		&s.scores, &s.words, &s.part, &s.best, &s.cover, &s.named, &s.cosines, &s.whole, &s.grams,
	} {
		*list = make([]float32, n)
	}
	return s
}

// addParts adds the best score of the query's parts to each document's score for the
// whole query.
func (ix *Index) addParts(s *scratch, p plan) {
	if len(p.parts) == 0 {
		return
	}
	clear(s.best)
	for _, wants := range p.parts {
		ix.tfidf(s, s.part, wants)
		top := highest(s.part)
		if top == 0 {
			continue
		}
		for i, v := range s.part {
			s.best[i] = max(s.best[i], v/top)
		}
	}
	gain := highest(s.scores) * float32(ix.settings.Rules.Segments)
	for i, v := range s.best {
		s.scores[i] += gain * v
	}
}

func highest(scores []float32) float32 {
	var top float32
	for _, v := range scores {
		top = max(top, v)
	}
	return top
}

// tfidf scores documents by the words that they share with the query: higher for a rare
// word than for a common one, for a short document than for a long one, and for a large
// share of the query than for a small one.
func (ix *Index) tfidf(s *scratch, dst []float32, wants []want) {
	clear(dst)
	clear(s.cover)
	clear(s.named)
	clear(s.stamp)
	var known float32 // idf of the query's words that occur in the index
	for i, w := range wants {
		stamp := int32(i + 1)
		for _, way := range w.ways {
			idf := ix.idf[way.term]
			gain := w.weight * way.factor * idf * float32(math.Sqrt(float64(idf)))
			cover := w.weight * way.factor * idf
			for _, p := range ix.postings(way.term) {
				dst[p.doc] += gain * p.tf
				if w.joined || s.stamp[p.doc] == stamp {
					continue
				}
				s.stamp[p.doc] = stamp
				s.cover[p.doc] += cover
				if p.where == inName {
					s.named[p.doc] += way.factor * idf
				}
			}
		}
		known += w.known(ix)
	}
	ix.shape(s, dst, known)
}

// known returns the weight for a document that has the word itself; 0 if no document
// has it.
func (w want) known(ix *Index) float32 {
	if w.joined || len(w.ways) == 0 || w.ways[0].factor < 1 {
		return 0
	}
	return w.weight * ix.idf[w.ways[0].term]
}

// shape applies the factors that depend on a document as a whole.
func (ix *Index) shape(s *scratch, dst []float32, known float32) {
	r := ix.settings.Rules
	for i, v := range dst {
		if v == 0 {
			continue
		}
		v *= ix.norm[i]
		if known > 0 {
			v *= power(min(1, s.cover[i]/known), r.Coverage)
		}
		if ix.named[i] > 0 {
			v *= 1 + float32(r.NameCoverage)*min(1, s.named[i]/ix.named[i])
		}
		dst[i] = v
	}
}

func power(x float32, exponent float64) float32 {
	if exponent == 1 {
		return x
	}
	return float32(math.Pow(float64(x), exponent))
}

// Gains in the keyword channel, by field.
var (
	wordGain   = [fields]float32{3, 2, 1, .5}
	phraseGain = [fields]float32{6, 4, 2, 1}
)

// keyword scores documents by the fields in which the words and phrases of the query
// occur, however often.
func (ix *Index) keyword(s *scratch, p plan) []float32 {
	dst := s.scores
	clear(dst)
	for _, w := range p.whole {
		for _, way := range w.ways {
			// A synonym that few documents have is not worth more than the word itself.
			gain := w.weight * way.factor * min(ix.idf[way.term], ix.idf[w.ways[0].term])
			for _, post := range ix.postings(way.term) {
				dst[post.doc] += gain * wordGain[post.where]
			}
		}
	}
	for _, phrase := range p.phrases {
		for _, post := range ix.candidates(phrase) {
			if f := ix.docs[post.doc].landing(phrase); f < fields {
				dst[post.doc] += phraseGain[f] * ix.most
			}
		}
	}
	return dst
}

// landing returns the first field with a phrase, or fields if no field has it.
func (a *Analysis) landing(phrase string) field {
	for f := range fields {
		if strings.Contains(a.field(f), phrase) {
			return f
		}
	}
	return fields
}

// candidates returns the documents that may have a phrase: those with its rarest word.
func (ix *Index) candidates(phrase string) []posting {
	var rarest []posting
	found := false
	for text := range strings.FieldsSeq(phrase) {
		id, known := ix.term(words.Hash(words.Stem(text)))
		if !known {
			if words.Stop(text) {
				continue
			}
			return nil
		}
		if list := ix.postings(id); !found || len(list) < len(rarest) && !words.Stop(text) {
			rarest, found = list, !words.Stop(text)
		}
	}
	return rarest
}

// schema scores documents by the names, descriptions and possible values of their
// parameters.
func (ix *Index) schema(s *scratch, p plan) []float32 {
	dst := s.scores
	clear(dst)
	for _, w := range p.whole {
		if w.known(ix) == 0 {
			continue
		}
		gain := w.known(ix) / 16
		for _, post := range ix.postings(w.ways[0].term) {
			dst[post.doc] += gain * float32(post.schema)
		}
	}
	return dst
}
