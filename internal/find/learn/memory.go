package learn

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Agreeing is how many principals must support a tool for a query before another one profits. That one
// is not counted: with a second key, its own pairs would tell it how near the query of a third is.
const Agreeing = 3

const (
	// Least is the least cosine with a past query that counts: below it, what two queries have
	// in common is chance.
	Least = .3
	// Full is the number of calls of a tool from which on the cosine counts fully; with one call it
	// counts half. Of others, the principals are counted: many calls by one are worth one.
	Full = 8
)

// Pair is a past query that ended in a successful call of a tool.
type Pair struct {
	Tool             string
	Principal, Space string
	Vector           []float32 // of the query
	Calls            int64     // at least 1
}

// Caller is who searches.
type Caller struct{ Principal, Space string }

// Supported is a tool that past queries support.
type Supported struct {
	Tool  string
	Score float64 // the cosine of the nearest query, less with few pairs: above 0, at most 1
}

// Memory is pairs. It is immutable and safe for concurrent use.
type Memory struct {
	spaces map[string][]Pair // sorted by tool and principal; the vectors have length 1 or 0
}

// New returns a memory of pairs. Only vectors of one model can be compared.
func New(pairs []Pair) *Memory {
	m := &Memory{spaces: map[string][]Pair{}}
	for _, p := range pairs {
		p.Vector = unit(p.Vector)
		m.spaces[p.Space] = append(m.spaces[p.Space], p)
	}
	for _, list := range m.spaces {
		slices.SortStableFunc(list, func(a, b Pair) int {
			return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Principal, b.Principal))
		})
	}
	return m
}

// Support returns the tools that past queries support, by name. The vectors are those of the
// query as a whole and of its parts: the nearest counts.
func (m *Memory) Support(who Caller, query [][]float32) []Supported {
	list := m.spaces[who.Space]
	if len(list) == 0 {
		return nil
	}
	units := make([][]float32, len(query))
	for i, vector := range query {
		units[i] = unit(vector)
	}
	var out []Supported
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Tool == list[0].Tool {
			n++
		}
		if score := support(who, list[:n], units); score > 0 {
			out = append(out, Supported{list[0].Tool, score})
		}
		list = list[n:]
	}
	return out
}

// support is that of the pairs of one tool, which are sorted by principal.
func support(who Caller, pairs []Pair, query [][]float32) float64 {
	var best [Agreeing]float32 // of the other principals with the nearest pairs, in order
	var own float32
	counted, principals := int64(0), int64(0)
	for len(pairs) > 0 {
		n, calls, nearest := 0, int64(0), float32(0)
		for ; n < len(pairs) && pairs[n].Principal == pairs[0].Principal; n++ {
			for _, q := range query {
				nearest = max(nearest, dot(q, pairs[n].Vector))
			}
			calls += min(pairs[n].Calls, Full)
		}
		if pairs[0].Principal == who.Principal {
			own, counted = nearest, calls
		} else {
			principals++
			for i := range best {
				if nearest > best[i] {
					nearest, best[i] = best[i], nearest
				}
			}
		}
		pairs = pairs[n:]
	}
	return max(counting(own, counted), counting(best[Agreeing-1], principals))
}

// counting is how much a cosine counts that n calls or principals support.
func counting(cosine float32, n int64) float64 {
	if cosine < Least {
		return 0
	}
	return float64(cosine) * (1 + float64(min(n, Full)-1)/(Full-1)) / 2
}

// unit returns a vector of length 1; one of length 0 stays.
func unit(vector []float32) []float32 {
	var squares float64
	for _, x := range vector {
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return vector
	}
	out := make([]float32, len(vector))
	for i, x := range vector {
		out[i] = float32(float64(x) / math.Sqrt(squares))
	}
	return out
}

// dot returns the cosine of two vectors of length 1; 0 of vectors that have other dimensions,
// as those of a model may have that a provider replaced.
func dot(a, b []float32) float32 {
	if len(a) != len(b) {
		return 0
	}
	var w, x, y, z float32
	n := len(a) &^ 3
	for i := 0; i < n; i += 4 {
		w += a[i] * b[i]
		x += a[i+1] * b[i+1]
		y += a[i+2] * b[i+2]
		z += a[i+3] * b[i+3]
	}
	for i := n; i < len(a); i++ {
		w += a[i] * b[i]
	}
	return min(1, (w+x)+(y+z))
}
