package rowindex

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// Mode says by what rows are found.
type Mode string

// Modes.
const (
	Hybrid  Mode = "hybrid"  // by words and vectors
	Vector  Mode = "vector"  // by vectors
	Keyword Mode = "keyword" // by words
)

// Query is what to look for.
type Query struct {
	Text     string
	Keywords []string // exact words or phrases that count in addition
	Mode     Mode     // without a vector, Keyword
	Columns  []int    // to look in; nil: all
	Vectors  []Near   // of the text, for the models of the columns
	Visible  *Rowset  // the rows that may be found; nil: all
	// Within has, for columns that show some callers less than others, the rows in which the column
	// may be searched.
	Within map[int]*Rowset
	Limit  int
}

// Near is the query's vector by the model of a column.
type Near struct {
	Column int
	Vector []float32
	// Weight of the vectors in a hybrid search, relative to words.
	Weight float64
}

// Hit is a row of an answer.
type Hit struct {
	Row   int
	Key   uint64
	Name  string
	Score float64
	// Best is the chunk that the row was found by.
	Best Place
	// Sources are the channels that found it.
	Sources []search.Source
}

// Place is a chunk of a column's text, in bytes; Hash is the hash of the text.
type Place struct {
	Column, Start, End int
	Hash               uint64
}

// Parameters of the fusion of words and vectors.
const (
	fusionK     = 60
	depth       = 200 // ranks that count in a hybrid search, and rows that are ranked with pairs and feedback
	depthFactor = 2   // ranks for each hit
)

// Search returns the best rows, best first.
//
// The score of a hit is that of BM25 in a search by words, and the cosine in one by vectors. In a
// hybrid search, it is the share that the row has of the most that a row can have: one that is
// first by words and by vectors has 1.
func (ix *Index) Search(q Query) []Hit {
	if q.Columns == nil {
		for i := range ix.columns {
			q.Columns = append(q.Columns, i)
		}
	}
	ranks := max(depth, depthFactor*q.Limit)
	var channels []channel
	// Rows found by words come first: the vectors then say which of them agree with the query.
	if q.Mode != Vector {
		if s := newScorer(ix, q); len(s.columns) > 0 {
			c := channel{name: "full_text", weight: 1, rows: s.search(parse(q.Text, q.Keywords), ranks, depth)}
			for _, column := range s.columns {
				c.columns = append(c.columns, column.column)
			}
			channels = append(channels, c)
		}
	}
	if q.Mode != Keyword {
		for _, near := range q.Vectors {
			if !slices.Contains(q.Columns, near.Column) {
				continue
			}
			if q.Mode == Hybrid && len(channels) == 1 && channels[0].name == "full_text" {
				ix.agree(channels[0].rows, ix.counted(q, near.Column), near)
			}
			rows := ix.nearest(ix.counted(q, near.Column), near.Column, near.Vector, ranks)
			channels = append(channels, channel{"vector", near.Weight, rows, []int{near.Column}})
		}
	}
	return ix.answer(channels, q)
}

// channel is a ranked list of rows. columns are those of [candidate].chunks.
type channel struct {
	name    string
	weight  float64
	rows    []candidate
	columns []int
}

// counted returns the rows that count in a column; nil if these are all rows of the segments.
func (ix *Index) counted(q Query, column int) *bitmap.Bitmap {
	counts := ix.live
	if ix.rows == ix.live.Size() {
		counts = nil
	}
	for _, visible := range []*Rowset{q.Visible, q.Within[column]} {
		switch {
		case visible == nil:
		case counts == nil:
			counts = visible.bits
		default:
			counts = counts.And(visible.bits)
		}
	}
	return counts
}

// answer fuses the channels.
func (ix *Index) answer(channels []channel, q Query) []Hit {
	lists := make([]search.Channel, len(channels))
	found := map[int]candidate{} // by the first channel that has the row
	columns := map[int][]int{}
	var most float64
	for i, c := range channels {
		lists[i] = search.Channel{Source: c.name, Weight: c.weight}
		for _, r := range c.rows {
			lists[i].Ranked = append(lists[i].Ranked, search.Scored{Doc: r.row, Score: r.score})
			if _, known := found[r.row]; !known {
				found[r.row], columns[r.row] = r, c.columns
			}
		}
		most += c.weight / (fusionK + 1)
	}
	fused := search.Fuse(fusionK, lists...)
	hits := make([]Hit, min(q.Limit, len(fused)))
	for i := range hits {
		f := fused[i]
		hits[i] = ix.hit(found[f.Doc], columns[f.Doc])
		hits[i].Score, hits[i].Sources = f.Score/most, f.Sources
		if q.Mode != Hybrid {
			hits[i].Score = bestScore(f.Sources)
		}
	}
	return hits
}

// bestScore returns the highest score of the channels: each has a column's vectors.
func bestScore(sources []search.Source) (score float64) {
	for _, s := range sources {
		score = max(score, s.Score)
	}
	return score
}

// hit describes a row. Its place is the chunk with the most words of its column, of those that the
// channel found it by.
func (ix *Index) hit(c candidate, columns []int) Hit {
	number, local := ix.locate(c.row)
	seg := ix.segments[number]
	h := Hit{Row: c.row, Key: seg.keys[local], Name: string(seg.name[seg.names[local]:seg.names[local+1]])}
	longest := -1
	for i, chunk := range c.chunks {
		if chunk < 0 {
			continue
		}
		f := &seg.fields[columns[i]]
		place := Place{columns[i], int(f.starts[chunk]), int(f.ends[chunk]), seg.hashes[columns[i]][local]}
		if size := place.End - place.Start; size > longest {
			h.Best, longest = place, size
		}
	}
	return h
}

// parallel calls do with the numbers below n, on all processors.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}
