package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/find/words"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// The channels.
const (
	Agreement = "agreement"
	FullText  = "full_text"
	Keyword   = "keyword"
	Learned   = "learned"
	NGrams    = "ngrams"
	Schema    = "schema"
	Vectors   = "vector"
)

// ListAll is the text of a query that lists all documents by name.
const ListAll = "*"

// Answer is the result of a search.
type Answer struct {
	Hits []Hit // best first
	// Total is the number of documents that matched, before Limit and MinScore apply;
	// for ListAll, the number of documents.
	Total    int
	Fallback bool // MinScore excluded all hits, and the best one is returned anyway
	// NoGoodMatch means that nothing matched, or Confidence is below the threshold.
	NoGoodMatch bool
	// Confidence compares the best match with the scores that the index's own documents
	// reach for their first sentence: 1 is as good. It is 0 for ListAll.
	Confidence float64
}

// Hit is a document that was found.
type Hit struct {
	Doc          int
	Name         string
	Score        float64  // 0 to 1; the best hit has 1
	MatchedTerms []string // words of the query in the document, sorted
	Sources      []Source // by rank, then by name
}

// Source is the rank and score of a document in one channel.
type Source struct {
	Source string  // one of the channels
	Rank   int     // from 1
	Score  float64 // on the channel's own scale
	Weight float64 // of the channel; of a Hit: with Explain
	Share  float64 // share in the document's score; of a Hit: with Explain, and the shares sum up to the score
}

// NGrams returns a vector channel that needs no model: the cosine of hashed words and
// character n-grams, weighted by idf in this index.
func (ix *Index) NGrams(text string) Vector {
	return ix.grams.query(ix.spoken(text, ix.settings.Rules.Synonyms))
}

// spoken returns the distinct words of a text and their synonyms, with weights.
func (ix *Index) spoken(text string, synonym float64) []weighed {
	var out []weighed
	seen := map[string]bool{}
	for _, w := range words.Split(truncate.Bytes(text, MaxQueryBytes)) {
		if words.Stop(w.Text) || seen[w.Text] {
			continue
		}
		seen[w.Text] = true
		weight := ix.weight(w.Text)
		out = append(out, weighed{w.Text, weight})
		if synonym > 0 {
			for _, other := range synonyms[words.Stem(w.Text)] {
				out = append(out, weighed{other, float32(synonym)})
			}
		}
	}
	return out
}

// Search answers a query. It is pure computation.
func (ix *Index) Search(q Query) Answer {
	if strings.TrimSpace(q.Text) == ListAll {
		return ix.list(q)
	}
	var a Answer
	p := ix.plan(q)
	var channels []Channel
	confidence := ix.eachChannel(q, p, func(source string, weight float64, scores []float32) {
		channels = append(channels, Channel{source, weight, ix.top(scores, q.Only)})
	})
	fused := Fuse(ix.settings.K, channels...)
	if len(q.Learned) > 0 {
		boundLearned(fused)
	}
	fused = ix.nameFirst(q, fused)
	a.Total = len(fused)
	a.Confidence = confidence
	a.NoGoodMatch = len(fused) == 0 || a.Confidence < ix.settings.NoGoodMatch
	ix.fill(&a, q, p, fused)
	return a
}

// eachChannel calls do with the scores of each channel that has a weight; they are
// valid until it returns. It returns the confidence. Vectors are compared concurrently.
func (ix *Index) eachChannel(q Query, p plan, do func(source string, weight float64, scores []float32)) float64 {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	w := ix.settings
	compared := ix.compare(q, s)
	defer compared.running.Wait()
	ix.tfidf(s, s.scores, p.whole)
	var best float32 // for the query as a whole
	for doc, v := range s.scores {
		if v > best && (q.Only == nil || q.Only(doc)) { // hidden documents have 0
			best = v
		}
	}
	ix.addParts(s, p)
	if w.FullText > 0 {
		do(FullText, w.FullText, s.scores)
	}
	s.scores, s.words = s.words, s.scores // kept for agreement
	if w.Keyword > 0 {
		do(Keyword, w.Keyword, ix.keyword(s, p))
	}
	if w.Schema > 0 {
		do(Schema, w.Schema, ix.schema(s, p))
	}
	compared.running.Wait()
	if w.Learned > 0 && len(q.Learned) > 0 {
		do(Learned, w.Learned, compared.learned(s, q.Learned))
	}
	if compared.grams > 0 {
		do(compared.gramsSource, compared.grams, s.grams)
	}
	if compared.vectors > 0 {
		do(Vectors, compared.vectors, s.cosines)
		if w.Agreement > 0 {
			do(Agreement, w.Agreement, agreement(s))
		}
	}
	confidence := ix.confidence(best, p.whole)
	if d, ok := q.Vector.(*denseQuery); ok && compared.vectors > 0 && d.d.own != nil {
		if len(d.units) == 1 {
			return ix.confidenceWith(confidence, q, d.d, s.cosines)
		}
		d.whole().Cosines(s.whole)
		return ix.confidenceWith(confidence, q, d.d, s.whole)
	}
	return confidence
}

// comparison is the vector channel and that of n-grams while they are computed.
type comparison struct {
	running        sync.WaitGroup
	vectors, grams float64 // weights; 0: not computed
	gramsSource    string
}

// compare begins to compare the query's vectors with the documents. The vectors of
// builtin:hash are the n-grams, which otherwise are a channel of their own.
func (ix *Index) compare(q Query, s *scratch) *comparison {
	c := &comparison{grams: ix.settings.NGrams, gramsSource: NGrams}
	grams, isGrams := q.Vector.(*gramQuery)
	switch {
	case isGrams && ix.settings.Vector > 0:
		c.gramsSource = Vectors
	case !isGrams && q.Vector != nil && ix.settings.Vector > 0:
		c.vectors = ix.settings.Vector
		c.running.Go(func() { q.Vector.Cosines(s.cosines) })
	}
	if c.grams > 0 {
		c.running.Go(func() {
			if !isGrams {
				grams = ix.grams.query(ix.spoken(q.Text, ix.settings.Rules.Synonyms))
			}
			grams.Cosines(s.grams)
		})
	}
	return c
}

// meaningAlone is what the vector counts for a document that shares no word with the query,
// relative to the best by words.
const meaningAlone = .2

// agreement scores documents that words and vectors support together: the product of both.
// It is the second vote that lifts a document which is good in both above one that is the
// best in one; the sum of ranks alone does not.
func agreement(s *scratch) []float32 {
	dst, top := s.scores, highest(s.words)
	for i, cosine := range s.cosines {
		share := float32(meaningAlone)
		if top > 0 {
			share += s.words[i] / top
		}
		dst[i] = share * max(0, cosine)
	}
	return dst
}

// top ranks the documents with a score above 0, up to Settings.Depth. Ties are ranked
// by name.
func (ix *Index) top(scores []float32, only func(int) bool) []Scored {
	depth := ix.settings.Depth
	order := func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(ix.rankByName[a.Doc], ix.rankByName[b.Doc]))
	}
	var out []Scored
	var least float32 // the least score among the first
	for doc, score := range scores {
		if score <= 0 || score < least || !ix.shows(doc) || only != nil && !only(doc) {
			continue
		}
		out = append(out, Scored{doc, float64(score)})
		if len(out) == 4*depth {
			slices.SortFunc(out, order)
			out = out[:depth]
			least = float32(out[depth-1].Score)
		}
	}
	slices.SortFunc(out, order)
	return out[:min(len(out), depth)]
}

// nameLift is how far a document whose name is the query is lifted above all others,
// relative to the best; multiplied by the result of isNamed.
const nameLift = .01

// isNamed reports how well a query matches a document's name: 0 not, 1 except for case
// and separators, 2 except for case, 3 exactly.
func (ix *Index) isNamed(doc int, text string) int {
	name := strings.TrimSpace(ix.docs[doc].name)
	switch text = strings.TrimSpace(text); {
	case name == text:
		return 3
	case strings.EqualFold(name, text):
		return 2
	}
	return 1
}

// nameFirst puts documents first whose name is the query. The lift is added to the
// share of the keyword channel.
func (ix *Index) nameFirst(q Query, fused []Fused) []Fused {
	if len(q.Text) > MaxQueryBytes {
		return fused
	}
	top := 1.0
	if len(fused) > 0 {
		top = fused[0].Score
	}
	for _, doc := range ix.folded[words.Fold(q.Text)] {
		if !ix.shows(int(doc)) || q.Only != nil && !q.Only(int(doc)) {
			continue
		}
		at := slices.IndexFunc(fused, func(f Fused) bool { return f.Doc == int(doc) })
		if at < 0 {
			at = len(fused)
			fused = append(fused, Fused{Doc: int(doc)})
		}
		fused[at].lift(top*(1+nameLift*float64(ix.isNamed(int(doc), q.Text))), ix.settings.Keyword)
	}
	return fused
}

// lift raises a document to a score.
func (f *Fused) lift(score, weight float64) {
	at := slices.IndexFunc(f.Sources, func(s Source) bool { return s.Source == Keyword })
	if at < 0 {
		at = len(f.Sources)
		f.Sources = append(f.Sources, Source{Source: Keyword, Weight: weight})
	}
	f.Sources[at].Rank = 1
	f.Sources[at].Share += score - f.Score
	f.Score = score
}

// fill makes hits of the fused documents.
func (ix *Index) fill(a *Answer, q Query, p plan, fused []Fused) {
	slices.SortFunc(fused, func(a, b Fused) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(ix.rankByName[a.Doc], ix.rankByName[b.Doc]))
	})
	from := min(len(fused), max(q.Offset, 0))
	for i, f := range fused[from:min(len(fused), from+max(q.Limit, 0))] {
		hit := Hit{Doc: f.Doc, Name: ix.docs[f.Doc].name, Score: round(f.Score / fused[0].Score), Sources: f.Sources}
		if hit.Score < q.MinScore {
			if from+i > 0 {
				break
			}
			a.Fallback = true
		}
		hit.MatchedTerms = ix.matched(p, f.Doc)
		hit.explain(fused[0].Score, q.Explain)
		a.Hits = append(a.Hits, hit)
		if a.Fallback {
			break
		}
	}
}

// explain rounds the numbers of the sources so that the shares sum up to the hit's
// score.
func (h *Hit) explain(top float64, wanted bool) {
	left := h.Score
	largest := 0
	for i := range h.Sources {
		s := &h.Sources[i]
		s.Score = round(s.Score)
		if !wanted {
			s.Weight, s.Share = 0, 0
			continue
		}
		s.Share = round(s.Share / top)
		left -= s.Share
		if s.Share > h.Sources[largest].Share {
			largest = i
		}
	}
	if wanted {
		h.Sources[largest].Share = round(h.Sources[largest].Share + left)
	}
	slices.SortFunc(h.Sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Source, b.Source))
	})
}

// round rounds to three decimals.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// matched returns the words and phrases of the query that a document has.
func (ix *Index) matched(p plan, doc int) []string {
	out := []string{}
	d := ix.docs[doc]
	for _, w := range p.whole {
		if !w.joined && slices.ContainsFunc(w.ways, func(way way) bool { return ix.has(way.term, doc) }) {
			out = append(out, w.text)
		}
	}
	for _, phrase := range p.phrases {
		if d.landing(phrase) < fields {
			out = append(out, strings.TrimSpace(phrase))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// has reports whether a document has a term. Postings are sorted by document.
func (ix *Index) has(term int32, doc int) bool {
	_, found := slices.BinarySearchFunc(ix.postings(term), int32(doc), func(p posting, doc int32) int {
		return cmp.Compare(p.doc, doc)
	})
	return found
}

func (ix *Index) list(q Query) Answer {
	var a Answer
	for _, doc := range ix.byName {
		if q.Only != nil && !q.Only(int(doc)) {
			continue
		}
		if a.Total++; a.Total > q.Offset && a.Total-q.Offset <= q.Limit {
			a.Hits = append(a.Hits, Hit{Doc: int(doc), Name: ix.docs[doc].name, Score: 1, MatchedTerms: []string{}})
		}
	}
	a.NoGoodMatch = a.Total == 0
	return a
}
