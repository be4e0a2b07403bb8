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

// Query returns the query's normalized vector. The error is [ErrVector].
func (d *Dense) Query(vec []float32) (Vector, error) {
	unit, err := d.unit(vec)
	if err != nil {
		return nil, err
	}
	return &denseQuery{d, unit}, nil
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
	d    *Dense
	unit []float32
}

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
		var sum float32
		for k, v := range q.unit {
			sum += v * row[k]
		}
		dst[i] = sum
	}
}

// four computes the cosines of four rows at once: each number of the query is loaded
// once for all of them, and the four sums are independent.
func (q *denseQuery) four(dst []float32, row int) {
	n := len(q.unit)
	rows := q.d.rows[row*n : (row+4)*n]
	unit := q.unit // equal lengths eliminate bounds checks in the loop
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
