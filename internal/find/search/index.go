package search

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// Index answers searches over a set of documents. It is immutable and safe for
// concurrent use.
type Index struct {
	*corpus
	statistics
	settings Settings
	grams    *gramIndex
	scratch  *sync.Pool
}

// corpus is what the documents contain. An index and those [Index.Within] it share it.
type corpus struct {
	docs       []*Analysis
	rankByName []int32 // position of each document in the order of names
	folded     map[string][]int32

	ids    map[uint64]int32 // terms
	starts []int32          // offset of each term's postings, and the end
	posts  []posting
	firsts []int32 // offset of each document's terms, and the end
	terms  []int32 // in the order of [Analysis].terms
}

// statistics are computed over the documents that may be found.
type statistics struct {
	visible *bitmap.Bitmap // nil: all documents
	byName  []int32        // the documents, sorted by name
	idf     []float32      // of each term; 0: no document has it
	most    float32        // idf of a term in one document
	norm    []float32      // inverse length of each document's vector
	named   []float32      // idf of the words of each document's name
	typical float64        // see typicalScore
}

// posting is the occurrence of a term in a document.
type posting struct {
	doc    int32
	tf     float32 // weighted by field and damped
	where  field   // the best one
	schema uint8   // as in term
}

// fieldWeights are the weights of a word in full_text.
var fieldWeights = weights{3, 2, 1, .5}

// lengthWeights are those of a word in the length of a document, which its score is divided by.
// Texts of its use count half: else a tool that says when to use it is found worse by its
// description than it was before.
var lengthWeights = weights{3, 2, 1, .25}

// weights are the weights of the fields.
type weights [fields]float64

// New returns an index of documents, which are numbered from 0 in the order given.
func New(docs []*Analysis, s Settings) *Index {
	ix := &Index{corpus: &corpus{docs: slices.Clone(docs)}, settings: s}
	ix.scratch = &sync.Pool{New: func() any { return newScratch(len(docs)) }}
	var wait sync.WaitGroup
	wait.Go(func() { ix.grams = newGramIndex(ix.docs) })
	ix.sortNames()
	ix.invert()
	ix.measure()
	wait.Wait()
	return ix
}

// Within returns an index of the visible documents alone. Its answers are those of an
// index that has no others, except that documents keep their numbers. It shares the
// contents with ix.
func (ix *Index) Within(visible *bitmap.Bitmap) *Index {
	within := &Index{corpus: ix.corpus, settings: ix.settings, scratch: ix.scratch}
	within.visible = visible
	var wait sync.WaitGroup
	wait.Go(func() { within.grams = ix.grams.within(visible) })
	for _, doc := range ix.byName {
		if visible.Has(int(doc)) {
			within.byName = append(within.byName, doc)
		}
	}
	within.measure()
	wait.Wait()
	return within
}

// Len returns the number of documents.
func (ix *Index) Len() int { return len(ix.byName) }

// Sentences returns the first sentence of each document, see [Dense.Calibrate].
func (ix *Index) Sentences() []string {
	out := make([]string, len(ix.docs))
	for i, d := range ix.docs {
		out[i] = d.first
	}
	return out
}

// shows reports whether a document may be found.
func (s *statistics) shows(doc int) bool { return s.visible == nil || s.visible.Has(doc) }

// term returns the term of a hash, if a document has it.
func (ix *Index) term(hash uint64) (id int32, known bool) {
	id, known = ix.ids[hash]
	return id, known && ix.idf[id] > 0
}

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
	sizes := make([]int32, len(ix.docs))
	var df []int32
	for i, d := range ix.docs {
		sizes[i] = int32(len(d.terms))
		for _, t := range d.terms {
			id, known := ix.ids[t.id]
			if !known {
				id = int32(len(df))
				ix.ids[t.id] = id
				df = append(df, 0)
			}
			df[id]++
			ix.terms = append(ix.terms, id)
		}
	}
	ix.terms = slices.Clip(ix.terms)
	ix.firsts, ix.starts = starts(sizes), starts(df)
	ix.posts = make([]posting, ix.starts[len(df)])
	next := slices.Clone(ix.starts)
	for i, d := range ix.docs {
		for k, t := range d.terms {
			id := ix.termsOf(i)[k]
			ix.posts[next[id]] = ix.posting(int32(i), t)
			next[id]++
		}
	}
}

// termsOf returns the terms of a document.
func (c *corpus) termsOf(doc int) []int32 { return c.terms[c.firsts[doc]:c.firsts[doc+1]] }

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
func (c counts) weigh(w weights) float32 {
	var sum float64
	for f, n := range c {
		sum += w[f] * math.Sqrt(float64(n))
	}
	return float32(sum)
}

// measure computes the statistics.
func (ix *Index) measure() {
	ix.idf = make([]float32, len(ix.starts)-1)
	for id := range ix.idf {
		ix.idf[id] = idf(ix.Len(), ix.frequency(int32(id)))
	}
	ix.most = idf(ix.Len(), 1)
	ix.norm = make([]float32, len(ix.docs))
	ix.named = make([]float32, len(ix.docs))
	parallel(len(ix.docs), func(from, to int) {
		for i := from; i < to; i++ {
			if ix.shows(i) {
				ix.measureDocument(i)
			}
		}
	})
	if ix.settings.NoGoodMatch > 0 {
		ix.typical = ix.typicalScore()
	}
}

// frequency is the number of documents that have a term.
func (ix *Index) frequency(id int32) int32 {
	if ix.visible == nil {
		return ix.starts[id+1] - ix.starts[id]
	}
	n := int32(0)
	for _, p := range ix.postings(id) {
		if ix.visible.Has(int(p.doc)) {
			n++
		}
	}
	return n
}

// measureDocument computes the length of a document's vector.
func (ix *Index) measureDocument(doc int) {
	var squares float64
	ids := ix.termsOf(doc)
	for k, t := range ix.docs[doc].terms {
		if t.joined {
			continue
		}
		idf := ix.idf[ids[k]]
		w := float64(t.count.weigh(lengthWeights) * idf)
		squares += w * w
		if t.count[inName] > 0 {
			ix.named[doc] += idf
		}
	}
	if squares > 0 {
		ix.norm[doc] = float32(1 / math.Sqrt(squares))
	}
}

func (ix *Index) postings(id int32) []posting { return ix.posts[ix.starts[id]:ix.starts[id+1]] }

// idf returns the inverse document frequency of what n of all documents have; 0 if none
// has it.
func idf(all int, n int32) float32 {
	if n == 0 {
		return 0
	}
	return float32(math.Log(1 + float64(all)/float64(n)))
}

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
