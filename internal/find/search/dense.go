package search

import (
	"errors"
	"fmt"
	"math"
)

// Vector is the query of the vector channel.
type Vector interface {
	// Cosines fills dst with the cosine of the query and every document, in index
	// order. A search calls it once, from a separate goroutine.
	Cosines(dst []float32)
}

// ErrVector is returned for a vector that cannot be compared.
var ErrVector = errors.New("invalid vector")

// Dense holds an embedding model's vectors of the documents and compares exactly. Add
// all documents in index order before searching; then it is safe for concurrent use.
type Dense struct {
	dim  int
	rows []float32 // concatenated, each of length 1 or 0
	own  []float32 // of each document, the cosine with its own first sentence; nil: unknown
}

// NewDense returns an empty Dense for vectors of dim dimensions.
func NewDense(dim int) *Dense { return &Dense{dim: dim} }

// Len returns the number of vectors.
func (d *Dense) Len() int { return len(d.rows) / max(d.dim, 1) }

// Add copies and normalizes the next document's vector. A zero vector is similar to
// nothing. The error is [ErrVector]: a wrong dimension, NaN or infinity.
func (d *Dense) Add(vec []float32) error {
	unit, err := d.unit(vec)
	if err != nil {
		return err
	}
	d.rows = append(d.rows, unit...)
	return nil
}

// Calibrate takes the vectors of the documents' first sentences, see [Index.Sentences]. The
// cosine of a document with its own sentence tells how near a good match is, so that the
// confidence of an answer can tell a poor one. The error is [ErrVector].
func (d *Dense) Calibrate(sentences [][]float32) error {
	own := make([]float32, len(sentences))
	for i, vec := range sentences {
		unit, err := d.unit(vec)
		if err != nil {
			return err
		}
		for k, v := range d.rows[i*d.dim : (i+1)*d.dim] {
			own[i] += v * unit[k]
		}
	}
	d.own = own
	return nil
}

// Query returns a query of the vectors of [Texts]: a document's cosine is the best of them,
// so that a tool for one step of a request of many is found. The error is [ErrVector].
func (d *Dense) Query(vectors ...[]float32) (Vector, error) {
	q := &denseQuery{d: d}
	for _, vec := range vectors {
		unit, err := d.unit(vec)
		if err != nil {
			return nil, err
		}
		q.units = append(q.units, unit)
	}
	return q, nil
}

func (d *Dense) unit(vec []float32) ([]float32, error) {
	if len(vec) != d.dim {
		return nil, fmt.Errorf("%w: it has %d dimensions; must have %d", ErrVector, len(vec), d.dim)
	}
	var squares float64
	for i, v := range vec {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%w: number %d is %v", ErrVector, i, v)
		}
		squares += float64(v) * float64(v)
	}
	unit := make([]float32, len(vec))
	if squares == 0 {
		return unit, nil
	}
	length := math.Sqrt(squares)
	for i, v := range vec {
		unit[i] = float32(float64(v) / length)
	}
	return unit, nil
}

type denseQuery struct {
	d     *Dense
	units [][]float32 // one or more: that of the whole text first
}

// whole returns the query without the parts of the text.
func (q *denseQuery) whole() *denseQuery { return &denseQuery{q.d, q.units[:1]} }

// Cosines implements [Vector].
func (q *denseQuery) Cosines(dst []float32) {
	n := min(q.d.Len(), len(dst))
	clear(dst[n:])
	parallel(n/4, func(from, to int) {
		for i := 4 * from; i < 4*to; i += 4 {
			q.four(dst[i:i+4], i)
		}
	})
	for i := n - n%4; i < n; i++ {
		row := q.d.rows[i*q.d.dim : (i+1)*q.d.dim]
		for k, unit := range q.units {
			var sum float32
			for j, v := range unit {
				sum += v * row[j]
			}
			dst[i] = better(k, dst[i], sum)
		}
	}
}

// better returns the larger cosine; that of the first vector has none before it.
func better(k int, before, now float32) float32 {
	if k == 0 {
		return now
	}
	return max(before, now)
}

// four computes the best cosines of four rows.
func (q *denseQuery) four(dst []float32, row int) {
	n := q.d.dim
	rows := q.d.rows[row*n : (row+4)*n]
	for k, unit := range q.units {
		var sums [4]float32
		dotFour(&sums, unit, rows)
		for i, sum := range sums {
			dst[i] = better(k, dst[i], sum)
		}
	}
}

// dotFour computes the products of a vector and four rows at once: each number of the
// vector is loaded once for all of them, and the four sums are independent.
func dotFour(dst *[4]float32, unit, rows []float32) {
	n := len(unit)
	// Equal lengths eliminate bounds checks in the loop.
	a, b, c, d := rows[:n][:len(unit)], rows[n:][:len(unit)], rows[2*n:][:len(unit)], rows[3*n:][:len(unit)]
	var w, x, y, z float32
	for k, v := range unit {
		w += v * a[k]
		x += v * b[k]
		y += v * c[k]
		z += v * d[k]
	}
	dst[0], dst[1], dst[2], dst[3] = w, x, y, z
}
