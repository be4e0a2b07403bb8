package search

import (
	"math"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// gramWeights are the weights of a word's fields in its document's n-gram vector.
var gramWeights = weights{3, 1, 1, .5}

// gramIndex holds the n-gram vectors of documents. A document's vector is the sum over
// the words' vectors, so the index stores the n-grams of each distinct word and the
// documents of each word.
type gramIndex struct {
	*gramCorpus
	idf  []float32 // of each n-gram; 0: no document has it
	most float32   // of an n-gram in no document
	norm []float32 // length of each document's vector; 0: it is hidden
}

// gramCorpus is what the documents contain.
type gramCorpus struct {
	docs  []*Analysis
	words []string         // sorted
	ids   map[uint32]int32 // n-grams, by hash

	gramStarts []int32 // of each n-gram's words
	gramPosts  []gramPost
	wordStarts []int32 // of each word's documents
	wordPosts  []wordPost

	spells []int32 // word of each spelling, grouped by document
	first  []int32 // start of each document's spells
	starts []int32 // offsets of each word's n-grams
	grams  []gramPost
}

type gramPost struct {
	id     int32 // of the word; during construction of the n-gram
	weight float32
}

type wordPost struct {
	doc int32
	tf  float32
}

func newGramIndex(docs []*Analysis) *gramIndex {
	b := gramBuilder{gramCorpus: &gramCorpus{docs: docs, ids: map[uint32]int32{}}, at: map[string]int32{}}
	b.collectWords()
	b.collectGrams()
	b.postWords()
	return b.measured(nil)
}

// within returns the index of the visible documents alone.
func (g *gramIndex) within(visible *bitmap.Bitmap) *gramIndex { return g.measured(visible) }

// gramBuilder builds a gramCorpus.
type gramBuilder struct {
	*gramCorpus
	at map[string]int32 // words
}

func (b *gramBuilder) collectWords() {
	sizes := make([]int32, len(b.docs))
	for i, d := range b.docs {
		sizes[i] = int32(len(d.vocab))
		for _, s := range d.vocab {
			if text := d.spell(s); b.at[text] == 0 {
				b.at[text] = 1
				b.words = append(b.words, text)
			}
		}
	}
	slices.Sort(b.words) // independent of the order of documents
	for i, text := range b.words {
		b.at[text] = int32(i)
	}
	b.first = starts(sizes)
	b.spells = make([]int32, 0, b.first[len(b.docs)])
	for _, d := range b.docs {
		for _, s := range d.vocab {
			b.spells = append(b.spells, b.at[d.spell(s)])
		}
	}
}

// collectGrams computes the n-grams of each word, and the words of each n-gram.
func (b *gramBuilder) collectGrams() {
	b.starts = make([]int32, 1, len(b.words)+1)
	var sizes []int32
	for _, text := range b.words {
		eachGram(text, func(hash uint32, weight float32) {
			id, known := b.ids[hash]
			if !known {
				id = int32(len(sizes))
				b.ids[hash] = id
				sizes = append(sizes, 0)
			}
			sizes[id]++
			b.grams = append(b.grams, gramPost{id, weight})
		})
		b.starts = append(b.starts, int32(len(b.grams)))
	}
	b.gramStarts = starts(sizes)
	b.gramPosts = make([]gramPost, len(b.grams))
	next := slices.Clone(b.gramStarts)
	for word := range b.words {
		for _, g := range b.of(int32(word)) {
			b.gramPosts[next[g.id]] = gramPost{int32(word), g.weight}
			next[g.id]++
		}
	}
}

// of returns the n-grams of a word.
func (c *gramCorpus) of(word int32) []gramPost { return c.grams[c.starts[word]:c.starts[word+1]] }

// postWords computes the documents of each word.
func (b *gramBuilder) postWords() {
	sizes := make([]int32, len(b.words))
	for _, word := range b.spells {
		sizes[word]++
	}
	b.wordStarts = starts(sizes)
	b.wordPosts = make([]wordPost, len(b.spells))
	next := slices.Clone(b.wordStarts)
	for i, d := range b.docs {
		for k, s := range d.vocab {
			word := b.spells[int(b.first[i])+k]
			b.wordPosts[next[word]] = wordPost{int32(i), s.count.weigh(gramWeights)}
			next[word]++
		}
	}
}

// measured computes the statistics of the visible documents; nil: of all.
func (c *gramCorpus) measured(visible *bitmap.Bitmap) *gramIndex {
	all := len(c.docs)
	if visible != nil {
		all = visible.Count()
	}
	g := &gramIndex{gramCorpus: c, most: idf(all, 1)}
	shows := func(doc int) bool { return visible == nil || visible.Has(doc) }
	g.countGrams(all, shows)
	g.measure(shows)
	return g
}

// countGrams counts the documents of each n-gram.
func (g *gramIndex) countGrams(all int, shows func(int) bool) {
	df := make([]int32, len(g.ids))
	last := make([]int32, len(g.ids))
	for i := range g.docs {
		if !shows(i) {
			continue
		}
		for _, word := range g.spells[g.first[i]:g.first[i+1]] {
			for _, gram := range g.of(word) {
				if last[gram.id] != int32(i+1) {
					last[gram.id] = int32(i + 1)
					df[gram.id]++
				}
			}
		}
	}
	g.idf = make([]float32, len(df))
	for id, n := range df {
		g.idf[id] = idf(all, n)
	}
}

// measure computes the length of each document's vector.
func (g *gramIndex) measure(shows func(int) bool) {
	g.norm = make([]float32, len(g.docs))
	parallel(len(g.docs), func(from, to int) {
		sum := make([]float32, len(g.idf))
		var touched []int32
		for i := from; i < to; i++ {
			if !shows(i) {
				continue
			}
			touched = touched[:0]
			for k, s := range g.docs[i].vocab {
				tf := s.count.weigh(gramWeights)
				for _, gram := range g.of(g.spells[int(g.first[i])+k]) {
					if sum[gram.id] == 0 {
						touched = append(touched, gram.id)
					}
					sum[gram.id] += tf * gram.weight
				}
			}
			var squares float64
			for _, id := range touched {
				v := float64(sum[id] * g.idf[id])
				squares += v * v
				sum[id] = 0
			}
			g.norm[i] = float32(math.Sqrt(squares))
		}
	})
}

// gramQuery is a query's n-gram vector.
type gramQuery struct {
	g       *gramIndex
	ids     []int32
	weights []float32 // multiplied by the idf twice, for the query and the documents
	norm    float32   // of the vector, including n-grams in no document
}

// weighed is a word of a query and its weight.
type weighed struct {
	text   string
	weight float32
}

func (g *gramIndex) query(list []weighed) *gramQuery {
	q := &gramQuery{g: g}
	sum := map[uint32]float32{}
	var order []uint32
	for _, w := range list {
		eachGram(w.text, func(hash uint32, weight float32) {
			if _, known := sum[hash]; !known {
				order = append(order, hash)
			}
			sum[hash] += w.weight * weight
		})
	}
	var squares float64
	for _, hash := range order {
		idf := g.most
		if id, known := g.ids[hash]; known && g.idf[id] > 0 {
			idf = g.idf[id]
			q.ids = append(q.ids, id)
			q.weights = append(q.weights, sum[hash]*idf*idf)
		}
		v := float64(sum[hash] * idf)
		squares += v * v
	}
	q.norm = float32(math.Sqrt(squares))
	return q
}

// Cosines implements [Vector].
func (q *gramQuery) Cosines(dst []float32) {
	clear(dst)
	if q.norm == 0 {
		return
	}
	g := q.g
	like := make([]float32, len(g.words)) // similarity of each word and the query
	for i, id := range q.ids {
		for _, p := range g.gramPosts[g.gramStarts[id]:g.gramStarts[id+1]] {
			like[p.id] += q.weights[i] * p.weight
		}
	}
	for word, v := range like {
		if v == 0 {
			continue
		}
		for _, p := range g.wordPosts[g.wordStarts[word]:g.wordStarts[word+1]] {
			dst[p.doc] += v * p.tf
		}
	}
	for i, n := range g.norm {
		if n > 0 {
			dst[i] /= n * q.norm
		}
	}
}
