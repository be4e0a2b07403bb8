package search

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Index answers searches over a set of documents. It is immutable and safe for
// concurrent use.
type Index struct {
	settings   Settings
	docs       []*Analysis
	byName     []int32 // documents
	rankByName []int32 // position of each document in byName
	folded     map[string][]int32

	ids    map[uint64]int32 // terms
	idf    []float32        // of each term
	starts []int32          // offset of each term's postings, and the end
	posts  []posting
	most   float32 // idf of a term in one document

	norm  []float32 // inverse length of each document's vector
	named []float32 // idf of the words of each document's name

	grams   *gramIndex
	typical float64 // see typicalScore
	scratch sync.Pool
}

// posting is the occurrence of a term in a document.
type posting struct {
	doc    int32
	tf     float32 // weighted by field and damped
	where  field   // the best one
	schema uint8   // as in term
}

// fieldWeights are the weights of a word in full_text.
var fieldWeights = counts{3, 2, 1}

// New returns an index of documents, which are numbered from 0 in the order given.
func New(docs []*Analysis, s Settings) *Index {
	ix := &Index{settings: s, docs: slices.Clone(docs)}
	ix.scratch.New = func() any { return newScratch(len(docs)) }
	var wait sync.WaitGroup
	wait.Go(func() { ix.grams = newGramIndex(ix.docs) })
	ix.sortNames()
	ix.invert()
	ix.measure()
	if s.NoGoodMatch > 0 {
		ix.typical = ix.typicalScore()
	}
	wait.Wait()
	return ix
}

// Len returns the number of documents.
func (ix *Index) Len() int { return len(ix.docs) }

func (ix *Index) sortNames() {
	ix.byName = make([]int32, len(ix.docs))
	ix.rankByName = make([]int32, len(ix.docs))
	ix.folded = make(map[string][]int32, len(ix.docs))
	for i, d := range ix.docs {
		ix.byName[i] = int32(i)
		if d.fold != "" {
			ix.folded[d.fold] = append(ix.folded[d.fold], int32(i))
		}
	}
	slices.SortStableFunc(ix.byName, func(a, b int32) int { return cmp.Compare(ix.docs[a].name, ix.docs[b].name) })
	for rank, doc := range ix.byName {
		ix.rankByName[doc] = int32(rank)
	}
}

// invert builds the postings.
func (ix *Index) invert() {
	ix.ids = map[uint64]int32{}
	var df []int32
	for _, d := range ix.docs {
		for _, t := range d.terms {
			id, known := ix.ids[t.id]
			if !known {
				id = int32(len(df))
				ix.ids[t.id] = id
				df = append(df, 0)
			}
			df[id]++
		}
	}
	ix.starts = starts(df)
	ix.idf = make([]float32, len(df))
	for id, n := range df {
		ix.idf[id] = idf(len(ix.docs), n)
	}
	ix.most = idf(len(ix.docs), 1)
	ix.posts = make([]posting, ix.starts[len(df)])
	next := slices.Clone(ix.starts)
	for i, d := range ix.docs {
		for _, t := range d.terms {
			id := ix.ids[t.id]
			ix.posts[next[id]] = ix.posting(int32(i), t)
			next[id]++
		}
	}
}

func (ix *Index) posting(doc int32, t term) posting {
	p := posting{doc: doc, tf: t.count.weigh(fieldWeights), schema: t.schema}
	if t.joined {
		p.tf *= float32(ix.settings.Rules.Pairs)
	}
	for t.count[p.where] == 0 {
		p.where++
	}
	return p
}

// weigh returns the weighted sum of the counts, damped: a second occurrence counts less
// than the first.
func (c counts) weigh(weights counts) float32 {
	var sum float64
	for f, n := range c {
		sum += float64(weights[f]) * math.Sqrt(float64(n))
	}
	return float32(sum)
}

// measure computes the lengths of the document vectors.
func (ix *Index) measure() {
	ix.norm = make([]float32, len(ix.docs))
	ix.named = make([]float32, len(ix.docs))
	parallel(len(ix.docs), func(from, to int) {
		for i := from; i < to; i++ {
			var squares float64
			for _, t := range ix.docs[i].terms {
				if t.joined {
					continue
				}
				idf := ix.idf[ix.ids[t.id]]
				w := float64(t.count.weigh(fieldWeights) * idf)
				squares += w * w
				if t.count[inName] > 0 {
					ix.named[i] += idf
				}
			}
			if squares > 0 {
				ix.norm[i] = float32(1 / math.Sqrt(squares))
			}
		}
	})
}

func (ix *Index) postings(id int32) []posting { return ix.posts[ix.starts[id]:ix.starts[id+1]] }

// idf returns the inverse document frequency of what n of all documents have.
func idf(all int, n int32) float32 { return float32(math.Log(1 + float64(all)/float64(n))) }

// starts converts sizes of concatenated lists to offsets, with the end last.
func starts(sizes []int32) []int32 {
	out := make([]int32, len(sizes)+1)
	for i, n := range sizes {
		out[i+1] = out[i] + n
	}
	return out
}

// parallel calls f with parts of the range 0 to n, one for each CPU.
func parallel(n int, f func(from, to int)) {
	cpus := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for i := range cpus {
		wait.Go(func() { f(i*n/cpus, (i+1)*n/cpus) })
	}
	wait.Wait()
}
