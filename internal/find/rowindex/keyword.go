package rowindex

import (
	"cmp"
	"math"
	"slices"

	"github.com/spiced-sql/spiced/internal/find/words"
	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// Parameters of BM25, and of what is added to it. internal/find/eval/MEASURED.md has how they were measured.
const (
	k1 = 1.2
	b  = .75

	pairWeight = .3 // of two adjacent words of the query that are adjacent in a chunk

	feedbackRows   = 10 // best rows that add words to the query
	feedbackTerms  = 30 // words that they add
	feedbackWeight = 1  // of all of these, relative to the query
	feedbackLeast  = 50 // chunks below which there are too few to tell rare words from common ones
	feedbackTried  = 120
	feedbackShare  = 4 // a word that more than one in so many chunks has is not added
)

// keywordQuery is a query by words.
type keywordQuery struct {
	terms []wanted
	pairs [][2]uint64 // adjacent words
}

type wanted struct {
	hash   uint64
	weight float64
}

// parse returns the words of a query, each once. A word that is there more than once counts twice.
func parse(text string, keywords []string) keywordQuery {
	var q keywordQuery
	q.add(text)
	for _, k := range keywords {
		q.add(k)
	}
	return q
}

func (q *keywordQuery) add(text string) {
	before := uint64(0)
	for _, w := range words.Split(text) {
		if words.Stop(w.Text) {
			before = 0
			continue
		}
		hash := stemHash(w.Text)
		i := slices.IndexFunc(q.terms, func(t wanted) bool { return t.hash == hash })
		switch {
		case i < 0 && len(q.terms) < maxTerms:
			q.terms = append(q.terms, wanted{hash, 1})
		case i >= 0:
			q.terms[i].weight = 2
		}
		if pair := [2]uint64{before, hash}; before != 0 && len(q.pairs) < maxTerms && !slices.Contains(q.pairs, pair) {
			q.pairs = append(q.pairs, pair)
		}
		before = hash
	}
}

// maxTerms bounds the distinct words of a query.
const maxTerms = 64

// scorer ranks rows by words, with figures of the rows that count.
type scorer struct {
	ix      *Index
	columns []columnScorer
}

// columnScorer has the figures of one column.
type columnScorer struct {
	column int
	// counts has, of each segment, a bit for each chunk whose row counts; nil: all do.
	counts [][]uint64
	chunks int // that count
	words  int // in these chunks
	mean   float64
	weight float64
	idf    map[uint64]float64
}

// newScorer counts the chunks and words of columns. The columns that are searched weigh as the
// root of their share of the words: a title counts less than the text below it, in which its words
// mostly are again.
func newScorer(ix *Index, q Query) *scorer {
	s := &scorer{ix: ix}
	most := 0
	for _, c := range q.Columns {
		if !ix.columns[c].Words {
			continue
		}
		cs := columnScorer{column: c, idf: map[uint64]float64{}}
		cs.count(ix, ix.counted(q, c))
		if cs.chunks > 0 {
			cs.mean = float64(cs.words) / float64(cs.chunks)
		}
		most = max(most, cs.words)
		s.columns = append(s.columns, cs)
	}
	for i := range s.columns {
		s.columns[i].weight = math.Sqrt(float64(s.columns[i].words) / float64(max(most, 1)))
	}
	return s
}

// count counts the chunks and words of rows; nil means all.
func (c *columnScorer) count(ix *Index, rows *bitmap.Bitmap) {
	if rows == nil {
		for _, seg := range ix.segments {
			c.chunks += len(seg.fields[c.column].rows)
			c.words += seg.fields[c.column].total
		}
		return
	}
	c.counts = make([][]uint64, len(ix.segments))
	chunks, words := make([]int, len(ix.segments)), make([]int, len(ix.segments))
	parallel(len(ix.segments), func(i int) {
		f := &ix.segments[i].fields[c.column]
		bits := make([]uint64, (len(f.rows)+63)/64)
		for chunk, row := range f.rows {
			if rows.Has(ix.bases[i] + int(row)) {
				bits[chunk/64] |= 1 << (chunk % 64)
				chunks[i]++
				words[i] += int(f.length[chunk])
			}
		}
		c.counts[i] = bits
	})
	for i := range chunks {
		c.chunks += chunks[i]
		c.words += words[i]
	}
}

// frequencies computes the idf of words in a column: of each word, the number of chunks that count.
func (s *scorer) frequencies(c *columnScorer, hashes []uint64) []int {
	parts := make([][]int, len(s.ix.segments))
	parallel(len(s.ix.segments), func(i int) {
		f := &s.ix.segments[i].fields[c.column]
		parts[i] = make([]int, len(hashes))
		for k, hash := range hashes {
			id, ok := f.term(hash)
			switch {
			case !ok:
			case c.counts == nil:
				parts[i][k] = int(f.df[id])
			default:
				parts[i][k] = f.frequency(id, c.counts[i])
			}
		}
	})
	all := make([]int, len(hashes))
	for k, hash := range hashes {
		for i := range parts {
			all[k] += parts[i][k]
		}
		c.idf[hash] = idfOf(c.chunks, all[k])
	}
	return all
}

func idfOf(all, n int) float64 {
	if n == 0 {
		return 0
	}
	return math.Log(1 + (float64(all)-float64(n)+.5)/(float64(n)+.5))
}

// gain is BM25's share of a word that is count times in a chunk of length words.
func (c *columnScorer) gain(count, length float64) float64 {
	return count * (k1 + 1) / (count + k1*(1-b+b*length/c.mean))
}

// candidate is a row that may be in the answer.
type candidate struct {
	row    int    // in the index
	key    uint64 // of the row
	score  float64
	chunks []int32 // of each column of the scorer: the best chunk, -1: none
}

// search returns the best rows by the words of the query, at most depth, best first. The first
// rescored are ranked with pairs and feedback.
func (s *scorer) search(q keywordQuery, depth, rescored int) []candidate {
	for i := range s.columns {
		hashes := make([]uint64, len(q.terms))
		for k, t := range q.terms {
			hashes[k] = t.hash
		}
		s.frequencies(&s.columns[i], hashes)
	}
	found := make([][]candidate, len(s.ix.segments))
	parallel(len(s.ix.segments), func(i int) { found[i] = s.segment(i, q, depth) })
	var all []candidate
	for _, list := range found {
		all = append(all, list...)
	}
	all = best(all, depth)
	head := all[:min(rescored, len(all))]
	for i := range head {
		head[i].score += s.adjacent(head[i], q)
	}
	slices.SortFunc(head, byScore)
	s.feedback(head, q)
	return all
}

// byScore sorts the best first. Of equal ones, keys decide, and not where an update put the rows: the
// first rows change the scores of the others, see [scorer.feedback] and [Index.agree].
func byScore(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row))
}

// best sorts candidates and cuts them to depth.
func best(list []candidate, depth int) []candidate {
	slices.SortFunc(list, byScore)
	return list[:min(depth, len(list))]
}

// segment returns the best rows of a segment: the score of a row is the sum over the columns of
// its best chunk.
func (s *scorer) segment(number int, q keywordQuery, depth int) []candidate {
	seg := s.ix.segments[number]
	scores := make([]float32, seg.rowCount())
	chunks := make([][]int32, len(s.columns))
	for i := range s.columns {
		chunks[i] = s.column(number, &s.columns[i], q, scores)
	}
	// Only rows above the score of the last of the best are candidates.
	least := kthLargest(scores, depth)
	var out []candidate
	for row, score := range scores {
		if score <= 0 || score < least {
			continue
		}
		c := candidate{s.ix.bases[number] + row, seg.keys[row], float64(score), make([]int32, len(s.columns))}
		for i := range chunks {
			c.chunks[i] = -1
			if chunks[i] != nil {
				c.chunks[i] = chunks[i][row]
			}
		}
		out = append(out, c)
	}
	return best(out, depth)
}

// column adds the scores of a column's best chunks to those of their rows, and returns these
// chunks; nil if no chunk has a word of the query.
func (s *scorer) column(number int, c *columnScorer, q keywordQuery, scores []float32) []int32 {
	f := &s.ix.segments[number].fields[c.column]
	if c.mean == 0 {
		return nil
	}
	var sums []float32
	base, slope := float32(k1*(1-b)), float32(k1*b/c.mean)
	for _, t := range q.terms {
		id, ok := f.term(t.hash)
		if !ok {
			continue
		}
		if sums == nil {
			sums = make([]float32, len(f.rows))
		}
		weight := float32(t.weight * c.idf[t.hash] * c.weight * (k1 + 1))
		f.each(id, func(chunk, count int) {
			n := float32(count)
			sums[chunk] += weight * n / (n + base + slope*float32(f.length[chunk]))
		})
	}
	if sums == nil {
		return nil
	}
	best := make([]int32, len(scores))
	for i := range best {
		best[i] = -1
	}
	for chunk := 0; chunk < len(sums); {
		row := int(f.rows[chunk])
		at, top := -1, float32(0)
		for ; chunk < len(sums) && int(f.rows[chunk]) == row; chunk++ {
			if sums[chunk] > top {
				at, top = chunk, sums[chunk]
			}
		}
		if at >= 0 && (c.counts == nil || c.counts[number][at/64]&(1<<(at%64)) != 0) {
			best[row] = int32(at)
			scores[row] += top
		}
	}
	return best
}

// kthLargest returns the k-th largest of the positive numbers of a list, 0 if there are fewer.
func kthLargest(list []float32, k int) float32 {
	h := make([]float32, 0, k) // a heap, the smallest first
	for _, v := range list {
		switch {
		case v <= 0:
		case len(h) < k:
			h = append(h, v)
			for i := len(h) - 1; i > 0 && h[(i-1)/2] > h[i]; i = (i - 1) / 2 {
				h[(i-1)/2], h[i] = h[i], h[(i-1)/2]
			}
		case v > h[0]:
			h[0] = v
			for i := 0; ; {
				j := 2*i + 1
				if j+1 < k && h[j+1] < h[j] {
					j++
				}
				if j >= k || h[i] <= h[j] {
					break
				}
				h[i], h[j] = h[j], h[i]
				i = j
			}
		}
	}
	if len(h) < k {
		return 0
	}
	return h[0]
}

// adjacent returns what the pairs of the query add to a row's score.
func (s *scorer) adjacent(r candidate, q keywordQuery) (sum float64) {
	if len(q.pairs) == 0 {
		return 0
	}
	number, _ := s.ix.locate(r.row)
	for i := range s.columns {
		if r.chunks[i] < 0 {
			continue
		}
		c := &s.columns[i]
		f := &s.ix.segments[number].fields[c.column]
		counts := make([]int, len(q.pairs))
		before := uint64(0)
		f.words(int(r.chunks[i]), func(term uint32, gap bool) {
			hash := f.of[term]
			if gap {
				before = 0
			}
			for p, pair := range q.pairs {
				if pair[0] == before && pair[1] == hash {
					counts[p]++
				}
			}
			before = hash
		})
		for p, n := range counts {
			if n > 0 {
				rarity := max(c.idf[q.pairs[p][0]], c.idf[q.pairs[p][1]])
				sum += pairWeight * c.weight * rarity * c.gain(float64(n), float64(f.length[r.chunks[i]]))
			}
		}
	}
	return sum
}

// feedback adds to the scores of rows for the words that the best of them share, and sorts them.
// Rows that have no word of the query are not candidates, so that none is found by words that the
// user did not write.
func (s *scorer) feedback(rows []candidate, q keywordQuery) {
	at := slices.IndexFunc(s.columns, func(c columnScorer) bool { return c.weight == 1 })
	if at < 0 || s.columns[at].chunks < feedbackLeast || len(rows) < 2 {
		return
	}
	c := &s.columns[at]
	added := s.shared(c, rows[:min(feedbackRows, len(rows))], at)
	var total, query float64
	for _, t := range added {
		total += t.weight
	}
	for _, t := range q.terms {
		query += t.weight
	}
	weights := make(map[uint64]float64, len(added))
	for _, t := range added {
		weights[t.hash] = feedbackWeight * query * t.weight / total * c.idf[t.hash]
	}
	for i := range rows {
		if rows[i].chunks[at] < 0 {
			continue
		}
		f, chunk := s.fieldOf(rows[i], c, at)
		for _, t := range f.counts(chunk) {
			if w := weights[f.of[t.term]]; w > 0 {
				rows[i].score += w * c.gain(float64(t.count), float64(f.length[chunk]))
			}
		}
	}
	slices.SortFunc(rows, byScore)
}

func (s *scorer) fieldOf(r candidate, c *columnScorer, at int) (*field, int) {
	number, _ := s.ix.locate(r.row)
	return &s.ix.segments[number].fields[c.column], int(r.chunks[at])
}

// shared returns the words that are typical of rows, with weights.
func (s *scorer) shared(c *columnScorer, rows []candidate, at int) []wanted {
	var sum float64
	for _, r := range rows {
		sum += r.score
	}
	weights := map[uint64]float64{}
	for _, r := range rows {
		if r.chunks[at] < 0 {
			continue
		}
		f, chunk := s.fieldOf(r, c, at)
		for _, t := range f.counts(chunk) {
			weights[f.of[t.term]] += r.score / sum * c.gain(float64(t.count), float64(f.length[chunk])) / (k1 + 1)
		}
	}
	list := make([]wanted, 0, len(weights))
	for hash, w := range weights {
		list = append(list, wanted{hash, w})
	}
	byWeight := func(a, b wanted) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.hash, b.hash)) }
	slices.SortFunc(list, byWeight)
	list = list[:min(feedbackTried, len(list))]
	ranked := make([]wanted, 0, len(list))
	hashes := make([]uint64, len(list))
	for i, t := range list {
		hashes[i] = t.hash
	}
	for i, n := range s.frequencies(c, hashes) {
		if t := list[i]; n >= 2 && n <= c.chunks/feedbackShare {
			ranked = append(ranked, wanted{t.hash, t.weight * c.idf[t.hash]})
		}
	}
	slices.SortFunc(ranked, byWeight)
	ranked = ranked[:min(feedbackTerms, len(ranked))]
	for i := range ranked {
		ranked[i].weight = weights[ranked[i].hash]
	}
	return ranked
}
